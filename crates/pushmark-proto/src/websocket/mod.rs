//! WebSocket (RFC 6455) for both roles: handshake, frames, masking. One extension, of clients: permessage-deflate.

pub mod close;
pub mod deflate;
pub mod encode;
pub mod frame;
pub mod handshake;
pub mod mask;
pub mod utf8;

pub use frame::{Decoder, Event};

/// The role of an endpoint. Clients mask, servers do not (RFC 6455 5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads unmasked frames.
    Client,
    /// Reads masked frames.
    Server,
}

/// The type of a frame (RFC 6455 11.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    /// Continues a message.
    Continuation = 0x0,
    /// A message of UTF-8.
    Text = 0x1,
    /// A message of bytes.
    Binary = 0x2,
    /// The last frame from its sender.
    Close = 0x8,
    /// Requests a pong.
    Ping = 0x9,
    /// Answers a ping, or is sent without one.
    Pong = 0xA,
}

impl Opcode {
    /// Returns the opcode of a first frame byte, or `None` for a reserved one.
    fn from_bits(bits: u8) -> Option<Opcode> {
        Some(match bits {
            0x0 => Opcode::Continuation,
            0x1 => Opcode::Text,
            0x2 => Opcode::Binary,
            0x8 => Opcode::Close,
            0x9 => Opcode::Ping,
            0xA => Opcode::Pong,
            _ => return None,
        })
    }

    fn is_control(self) -> bool {
        self as u8 & 0x8 != 0
    }
}
