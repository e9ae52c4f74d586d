//! The built-in push server: every transport that pushmark measures, in one process without an async runtime,
//! and faults with known results to check the measuring tool.
//!
//! It implements `servers/CONTRACT.md`, whose clauses the code cites. Each thread is one event loop with its
//! own listener, connections and lists of subscribers. Threads share a directory of channels and exchange
//! publications through bounded inboxes.
//!
//! The cost of a delivery: a publication is encoded once for each framing and thread and then written to each
//! subscriber with one `write`, directly from the shared bytes. 15,000 subscribers cost 15,000 system calls
//! of 1 to 3 µs, and a copy of the subscriber list (16 bytes each). A connection that reads its messages owns
//! no buffer. A queue exists only while a socket is full, and it is bounded.
//!
//! A Bayeux session costs about 300 bytes in addition to its connection. Its events are encoded once for all
//! receivers. Over a WebSocket the whole frame is shared. The answer to a held connect adds the session's own
//! reply and the head.
//!
//! | file | holds |
//! |---|---|
//! | `serve.rs`, `shared.rs` | binding, threads, the summary; what the threads share |
//! | `shard/` | one thread's loop, a file for each kind of event |
//! | `hub.rs`, `channel.rs` | the shared state of publishing; one thread's channels |
//! | `emitter.rs`, `emitters.rs` | absolute schedules, as arithmetic |
//! | `request.rs`, `reply.rs`, `documents.rs`, `instrumented.rs` | the contract's HTTP |
//! | `bayeux/` | sessions of Bayeux, and patterns of channels |
//! | `access.rs` | access control: Host, Origin, token |
//! | `framing.rs`, `connection.rs`, `outbox.rs`, `answer_cache.rs`, `rules.rs` | bytes to subscribers |
//! | `frame.rs`, `kept.rs` | waiting output and incomplete input, and their bounds |
//! | `faults/`, `truth.rs` | faults on request, and the record of them |

#![forbid(unsafe_code)]

mod access;
mod answer_cache;
mod bayeux;
mod channel;
mod connection;
mod documents;
mod emitter;
mod emitters;
pub mod faults;
mod frame;
mod framing;
mod hub;
mod instrumented;
mod kept;
mod ledger;
mod options;
mod outbox;
mod publication;
mod reply;
mod request;
mod rules;
mod serve;
mod shard;
mod shared;
mod stats;
mod stop;
mod truth;

pub use access::{Access, Token};
pub use faults::Faults;
pub use options::{Bayeux, Options, Page, QueuePolicy};
pub use serve::{Summary, serve};
pub use stop::Stop;
