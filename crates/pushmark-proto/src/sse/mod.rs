//! Event streams as the WHATWG HTML standard defines them (9.2 Server-sent events), both roles.

pub mod decode;
pub mod encode;
mod id;

pub use decode::{Decoder, Event};

/// Longest event id that is kept. A longer one is a failure: to resume without it would lose messages.
pub const ID_MAX: usize = 1024;
