//! Event streams as the WHATWG HTML standard defines them (9.2 Server-sent events), both roles.

pub mod decode;
pub mod encode;
mod id;

pub use decode::{Decoder, Event};

/// The longest event id that is stored. A longer one is a failure, because resuming without it would lose
/// messages.
pub const ID_MAX: usize = 1024;
