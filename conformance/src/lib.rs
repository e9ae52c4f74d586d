//! What the tests from outside share: foreign programs, and our machines driven over real sockets.
//!
//! The tests are the point (`tests/`); nothing here is part of the instrument. A test waits for one
//! thing at a time, and every wait has a deadline.

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

/// Longest wait for anything that should come soon; a browser on a busy machine takes a while.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// The root of the tree.
pub fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// A file of this crate.
pub fn own(path: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Messages that find out what a relay does to bytes: each is one line, ends in its number and
/// is told apart from its neighbours by length.
pub fn messages(count: usize) -> Vec<String> {
    let texts = ["a", "two words", "naïve ☕ 𝄞", "data: looks like a field", ": a comment", "{\"json\":[1]}"];
    let mut messages: Vec<String> =
        (0..count).map(|number| format!("{} {number}", texts[number % texts.len()])).collect();
    // One that fits into no single read.
    if let Some(last) = messages.last_mut() {
        *last = format!("{}{last}", "long ".repeat(20_000));
    }
    messages
}
