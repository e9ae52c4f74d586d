//! The wire protocols of server push as state machines: bytes in, events and bytes out.
//!
//! No sockets, no clock, no logging, no allocation per message. [`http1`], [`sse`] and [`websocket`]
//! implement the framings for both roles. [`bayeux`] implements the messages that two of them carry.
//! [`client`] implements one conversation for each transport.
//!
//! # Usage
//!
//! A machine takes events out of the caller's buffer. Call `handle_input` (or `next`) until it returns
//! `None`. Then read more bytes and append them to the rest of `input`. The rest is bounded: an incomplete
//! head ([`client::Config::head_max`]), a frame header with its control payload
//! ([`websocket::frame::LEFT_MAX`]) or a chunk-size line ([`http1::body::LINE_MAX`]). Payload is returned as
//! it arrives and never assembled, so a message of any size costs no memory. Bytes to be written are appended
//! to `out`.
//!
//! | call | when |
//! |---|---|
//! | [`Client::new`] | once a session, which outlives its connections |
//! | [`Client::write_request`] | connection made, or [`Client::reusable`] and the next poll is due |
//! | [`Client::handle_input`] until `None` | bytes were read |
//! | [`Client::handle_eof`] until `None` | the peer closed its side |
//! | [`Client::write_text`], [`Client::write_ping`], [`Client::write_close`] | a WebSocket sends something |
//! | [`Client::connection_lost`] | the connection is gone; cursor, last event id and cookies are kept |
//!
//! A Bayeux client may have two connections and decides itself what to request: [`client::bayeux`] describes
//! its calls.
//!
//! [`client::Exchange`] does the same for plain requests, one after another: publishing. A server reads with
//! [`http1::RequestHead::parse`], [`http1::BodyDecoder`], [`websocket::handshake::Upgrade`] and
//! [`websocket::Decoder`], and writes with [`http1::write`], [`sse::encode`] and [`websocket::encode`]. For
//! Bayeux it uses [`bayeux::messages`] and [`bayeux::Batch`].
//!
//! After a [`Failure`] the connection is unusable: write `out`, then close it.
//!
//! ```
//! use pushmark_proto::client::{Client, Config, Event, Request, Transport};
//!
//! let config = Config::new(Transport::Sse);
//! let mut client = Client::new(&config, 42);
//! let mut out = Vec::new();
//! client.write_request(&config, &Request::get("/news", "127.0.0.1:9001"), &mut out);
//! assert!(out.starts_with(b"GET /news HTTP/1.1\r\nHost: 127.0.0.1:9001\r\n"));
//!
//! let mut read = *b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: hello\n\n";
//! let mut input = &mut read[..];
//! let mut heard = Vec::new();
//! while let Some(event) = client.handle_input(&config, &mut input, &mut out)? {
//!     heard.push(event);
//! }
//! assert_eq!(heard, [
//!     Event::Opened { status: 200, acknowledged: None },
//!     Event::Data(b"hello"),
//!     Event::MessageEnd,
//! ]);
//! assert!(input.is_empty(), "a message leaves nothing in the buffer");
//! # Ok::<(), pushmark_proto::Failure>(())
//! ```
//!
//! [`Client::new`]: client::Client::new
//! [`Client::write_request`]: client::Client::write_request
//! [`Client::reusable`]: client::Client::reusable
//! [`Client::handle_input`]: client::Client::handle_input
//! [`Client::handle_eof`]: client::Client::handle_eof
//! [`Client::write_text`]: client::Client::write_text
//! [`Client::write_ping`]: client::Client::write_ping
//! [`Client::write_close`]: client::Client::write_close
//! [`Client::connection_lost`]: client::Client::connection_lost

#![forbid(unsafe_code)]

pub mod bayeux;
pub mod client;
mod failure;
pub mod http1;
mod input;
pub mod json_pointer;
pub mod sse;
pub mod websocket;

#[doc(hidden)]
pub mod fuzzing;

pub use failure::Failure;
