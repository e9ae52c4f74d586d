//! The built-in push server: every transport pushmark measures, in one process without a
//! runtime, and faults with known answers to check the instrument against.
//!
//! It follows `servers/CONTRACT.md`, whose clauses the code quotes. Each thread is one event
//! loop with its own listener, connections and lists of subscribers; threads share a directory
//! of channels and hand each other publications through bounded inboxes.
//!
//! What a delivery costs: a publication is encoded once for each framing and thread, and then
//! written to each subscriber with one `write`, straight from the shared bytes. 15,000
//! subscribers are 15,000 system calls of 1 to 3 µs, and a copy of the subscriber list
//! (16 bytes each). A connection that takes what it is given owns no buffer; a queue exists
//! only while a socket is full, and is bounded.
//!
//! A Bayeux session costs about 300 bytes beside its connection. Its events are encoded once for
//! all who hear them; over a WebSocket the whole frame is shared, in the answer to a held connect
//! the session's own reply and the head stand around them.
//!
//! | file | holds |
//! |---|---|
//! | `serve.rs` | binding, threads, the summary |
//! | `shard/` | one thread's loop, a file for each thing that happens to it |
//! | `hub.rs`, `channel.rs` | what threads share of publishing; what one thread knows of channels |
//! | `emitter.rs`, `emitters.rs` | absolute schedules, as arithmetic |
//! | `request.rs`, `reply.rs`, `documents.rs`, `instrumented.rs` | the contract's HTTP |
//! | `bayeux/` | sessions of Bayeux, and patterns of channels |
//! | `framing.rs`, `connection.rs`, `outbox.rs` | bytes to subscribers |
//! | `faults/`, `truth.rs` | what goes wrong on request, and the record of it |

#![forbid(unsafe_code)]

mod bayeux;
mod channel;
mod connection;
mod documents;
mod emitter;
mod emitters;
pub mod faults;
mod framing;
mod hub;
mod instrumented;
mod ledger;
mod options;
mod outbox;
mod publication;
mod reply;
mod request;
mod serve;
mod shard;
mod stats;
mod stop;
mod truth;

pub use faults::Faults;
pub use options::{Bayeux, Options, Page, QueuePolicy};
pub use serve::{Summary, serve};
pub use stop::Stop;
