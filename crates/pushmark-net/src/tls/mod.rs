//! Client-side TLS, with rustls in its mode without I/O.
//!
//! | file | holds |
//! |---|---|
//! | `client.rs` | shared TLS state of a crowd: trusted authorities, own certificate |
//! | `sessions.rs` | tickets from servers, for clients that return |
//! | `machine.rs` | one connection's machine: ciphertext in, plaintext out, and the reverse |
//! | `link.rs` | the machine on a socket: handshake, reads, writes |
//! | `trouble.rs` | error messages |
//!
//! Between messages a connection owns no buffer. Ciphertext is read into the caller's buffer. It is kept only
//! while a record is incomplete or did not fit into the socket.
//!
//! Unmeasured connections that may block use [`Blocking`](crate::Blocking) with the same [`Client`].

mod client;
mod link;
mod machine;
mod sessions;
#[cfg(test)]
pub(crate) mod testing;
mod trouble;

pub use client::{Client, Fault, Part, Settings};
pub use link::{ROOM_MIN, TlsLink};
pub use trouble::Trouble;
