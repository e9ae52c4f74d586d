//! Entry points for fuzz targets and tests; not part of the API.
//!
//! Each feeds a machine as the driver does, whole and in pieces. It panics if the pieces change the output,
//! or if the machine leaves more input than its documented bound.

pub mod bayeux;
pub mod machines;
mod transcript;

pub use transcript::{Pull, Transcript, replay};

use crate::client::Transport;

/// A fuzz target's name and its function.
pub type Entry = (&'static str, fn(&[u8]));

/// Every target that has a corpus.
pub const ENTRIES: [Entry; 9] = [
    ("http1_request", http1_request),
    ("http1_response", http1_response),
    ("chunked_body", chunked_body),
    ("sse", sse),
    ("websocket_client", websocket_client),
    ("websocket_server", websocket_server),
    ("conversation", conversation),
    ("bayeux", bayeux::body),
    ("bayeux_session", bayeux::conversation),
];

/// A request and its body, as a server reads them.
pub fn http1_request(bytes: &[u8]) {
    agree(bytes, machines::request);
}

/// A response and its body, as a publisher reads them.
pub fn http1_response(bytes: &[u8]) {
    agree(bytes, machines::response);
}

/// A chunked body.
pub fn chunked_body(bytes: &[u8]) {
    agree(bytes, machines::chunked);
}

/// An event stream.
pub fn sse(bytes: &[u8]) {
    agree(bytes, machines::sse);
}

/// Frames that a client receives.
pub fn websocket_client(bytes: &[u8]) {
    agree(bytes, || machines::websocket(crate::websocket::Role::Client));
}

/// Frames that a server receives.
pub fn websocket_server(bytes: &[u8]) {
    agree(bytes, || machines::websocket(crate::websocket::Role::Server));
}

/// A client conversation: the first byte selects its transport, the rest is the server's output.
pub fn conversation(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let transports =
        [Transport::Poll, Transport::LongPoll, Transport::Stream, Transport::Sse, Transport::WebSocket];
    let transport = transports[usize::from(*first) % transports.len()];
    let config = machines::busy_config(transport);
    agree(bytes, || machines::client(&config));
}

/// Runs a fresh machine with the whole input, byte by byte and in a few uneven pieces. Returns the output,
/// which is the same for all.
pub fn agree<P: Pull>(bytes: &[u8], machine: impl Fn() -> P) -> Transcript {
    let whole = replay([bytes], machine());
    for piece_len in [1, 2, 3, 7, 13] {
        let pieces = replay(bytes.chunks(piece_len), machine());
        assert_eq!(whole, pieces, "pieces of {piece_len} changed the events");
    }
    whole
}
