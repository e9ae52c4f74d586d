//! TLS for clients, by rustls without I/O of its own.
//!
//! | file | holds |
//! |---|---|
//! | `client.rs` | what the connections of a crowd share: whom they trust, who they are |
//! | `sessions.rs` | tickets that servers gave, for those who come back |
//! | `machine.rs` | one connection's machine: ciphertext in, plaintext out, and the other way round |
//! | `link.rs` | the machine on a socket: handshake, reads, writes |
//! | `trouble.rs` | what goes wrong, in words |
//!
//! Between messages a connection owns no buffer: ciphertext is read into the caller's buffer, and
//! kept only while a record is not whole or did not fit into the socket.
//!
//! What may block and is not measured has [`Blocking`](crate::Blocking) instead, by the same
//! [`Client`].

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
