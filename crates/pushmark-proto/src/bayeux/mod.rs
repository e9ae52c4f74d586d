//! Bayeux 1.0 messages for both roles: reading and writing what requests and replies carry.
//!
//! Bayeux is JSON over something that carries it: bodies of HTTP, texts of WebSocket. A server
//! has whole ones and reads them with [`messages`]; a client reads replies as they pass
//! (`client::bayeux`) and shares with the server everything that is small: [`Value`],
//! [`Advice`], [`Error`], the extensions in [`ext`], the rules of channel names in [`channel`].
//! Both write with [`Batch`].
//!
//! Section numbers are those of the Bayeux specification as CometD's manual carries it.
//!
//! ```
//! use pushmark_proto::bayeux::{Advice, Batch, Error, messages};
//!
//! let body = br#"[{"channel":"/meta/connect","clientId":"k7","id":"4","connectionType":"long-polling"}]"#;
//! let mut out = Vec::new();
//! let mut batch = Batch::new(&mut out);
//! for message in messages(body)? {
//!     assert_eq!(message.channel, "/meta/connect");
//!     assert_eq!(message.client_id.as_deref(), Some("k7"));
//!     let mut reply = batch.message(&message.channel).reply_to(&message, false);
//!     reply = reply.text("error", &Error { code: Some(402), arguments: "k7", text: "Unknown client" }.to_string());
//!     reply.advice(&Advice::handshake()).end();
//! }
//! batch.end();
//! assert_eq!(
//!     String::from_utf8_lossy(&out),
//!     r#"[{"channel":"/meta/connect","id":"4","successful":false,"error":"402:k7:Unknown client","advice":{"reconnect":"handshake"}}]"#
//! );
//! # Ok::<(), pushmark_proto::bayeux::Malformed>(())
//! ```

mod advice;
pub mod channel;
mod error;
pub mod ext;
mod json;
mod message;
mod write;

pub use advice::{Advice, Reconnect};
pub use error::Error;
pub use json::{DEPTH_MAX, Items, Malformed, Value};
pub use message::{MESSAGES_MAX, Message, Messages, messages};
pub use write::{Batch, Fields, quote};

/// The protocol's version that both roles speak, and the least one that they accept.
pub const VERSION: &str = "1.0";

/// What carries messages, by its name in `supportedConnectionTypes` and `connectionType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionType {
    /// Requests of HTTP, one of them held (section "The long-polling Transport").
    LongPolling,
    /// One WebSocket. Not in the specification, but in every server of today.
    WebSocket,
}

impl ConnectionType {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            ConnectionType::LongPolling => "long-polling",
            ConnectionType::WebSocket => "websocket",
        }
    }
}
