//! Bayeux 1.0 messages for both roles: reading and writing requests and replies.
//!
//! Bayeux is JSON in HTTP bodies or WebSocket texts. A server has whole bodies and reads them with
//! [`messages`]. A client reads replies as a stream (`client::bayeux`). Both share the small parts:
//! [`Value`], [`Advice`], [`Error`], the extensions in [`ext`], and the rules of channel names in
//! [`channel`]. Both write with [`Batch`].
//!
//! Section numbers are those of the Bayeux specification in CometD's manual.
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

/// The protocol version of both roles, and the lowest version that they accept.
pub const VERSION: &str = "1.0";

/// A connection type, by its name in `supportedConnectionTypes` and `connectionType`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionType {
    /// HTTP requests, one of them held (section "The long-polling Transport").
    LongPolling,
    /// One WebSocket. Not in the specification, but in every current server.
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
