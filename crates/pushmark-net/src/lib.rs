//! The base of pushmark's loops: readiness, time, timers, connections and bytes.
//!
//! It is the only crate with sockets on the hot path. It knows no protocol and no message. `load` and
//! `server` each run one loop per thread on these parts and share nothing else.
//!
//! `unsafe` is confined to [`files`], [`stamps`], [`sockopt`], `ring`, `prefetch` and `wall_clock`, which use system and
//! processor features that std, rustix and socket2 do not expose.

#![deny(unsafe_code)]

mod blocking;
pub mod clock;
mod datagram;
#[allow(unsafe_code)]
pub mod files;
pub mod limits;
pub mod listener;
pub mod poller;
#[allow(unsafe_code)]
mod prefetch;
mod ready;
#[allow(unsafe_code)]
mod ring;
pub mod slab;
#[allow(unsafe_code)]
pub mod sockopt;
#[allow(unsafe_code)]
pub mod stamps;
pub mod stream;
pub mod tls;
mod transfer;
pub mod waker;
#[allow(unsafe_code)]
mod wall_clock;
pub mod wheel;

pub use blocking::Blocking;
pub use clock::{Clock, Nanos, sleep_until};
pub use datagram::{Datagram, Datagrams};
pub use files::FdChannel;
pub use listener::Listener;
pub use poller::{Batch, Poller, set_timer_slack_1ns};
pub use prefetch::prefetch;
pub use ready::{Arrival, BATCH_MAX, Interest, Ready};
pub use slab::Slab;
pub use sockopt::TcpInfo;
pub use stream::Link;
pub use transfer::{Connect, Read};
pub use waker::Waker;
pub use wall_clock::WallClock;
pub use wheel::Wheel;
