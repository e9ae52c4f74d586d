//! Shared code of the conformance tests: foreign programs, and our machines driven over real sockets.
//!
//! Nothing here is part of the instrument; it serves the tests in `tests/`. A test waits for one thing at a
//! time, and every wait has a deadline.

#![forbid(unsafe_code)]

pub mod builtin;
pub mod echo;
pub mod http;
pub mod interop;
pub mod kosoku;
pub mod ports;
pub mod process;
pub mod session;
pub mod tools;
pub mod wait;
pub mod wire;

use std::path::PathBuf;
use std::time::Duration;

/// The longest wait for anything that should arrive soon. A browser on a busy machine can be slow.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Returns the root of the tree.
pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Returns the path of a file in this crate.
pub fn own(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Messages that show what a relay does to bytes. Each is one line, ends in its number and differs from its
/// neighbours in length.
pub fn messages(count: usize) -> Vec<String> {
    let texts = ["a", "two words", "naïve ☕ 𝄞", "data: looks like a field", ": a comment", "{\"json\":[1]}"];
    let mut messages: Vec<String> =
        (0..count).map(|number| format!("{} {number}", texts[number % texts.len()])).collect();
    // One message that does not fit into a single read.
    if let Some(last) = messages.last_mut() {
        *last = format!("{}{last}", "long ".repeat(20_000));
    }
    messages
}
