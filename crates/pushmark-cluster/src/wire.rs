//! Subjects, and messages as bytes.
//!
//! | subject | who sends | what |
//! |---|---|---|
//! | `pushmark.who` | coordinator | asks for every agent's [`Card`](pushmark_model::cluster::Card) |
//! | `pushmark.agent.NAME` | coordinator | an [`Ask`](pushmark_model::cluster::Ask), answered by an [`Answer`](pushmark_model::cluster::Answer) |
//! | `pushmark.said.CLAIM.NAME` | agent | its [`Piece`](pushmark_model::cluster::Piece)s |
//! | `pushmark.claim.CLAIM` | another coordinator | nothing: whether anybody listens tells whether its coordinator lives |

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest part of a message: half of what a NATS server accepts unless it is configured.
pub const PIECE_MAX: usize = 512 << 10;

/// Where every agent listens.
pub fn who() -> String {
    "pushmark.who".to_owned()
}

/// Where one agent listens.
pub fn agent(name: &str) -> String {
    format!("pushmark.agent.{name}")
}

/// Where an agent sends its pieces.
pub fn said(claim: &str, name: &str) -> String {
    format!("pushmark.said.{claim}.{name}")
}

/// Where the coordinator of a claim listens as long as it lives.
pub fn claim(claim: &str) -> String {
    format!("pushmark.claim.{claim}")
}

/// Writes a message.
///
/// # Panics
/// Never: these messages can always be written.
pub fn encode<T: Serialize>(message: &T) -> Vec<u8> {
    postcard::to_stdvec(message).expect("a message is data")
}

/// Reads a message. Returns `None` if the bytes are not one.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok()
}
