//! Many machines as one instrument: who is there, orders that only their coordinator can give, records that
//! nothing on the way can lose, and how far the clocks of two machines may be apart.
//!
//! NATS carries all of it and keeps nothing. An agent writes what it measured into a [`Spool`] of its own
//! before it sends it, and sends it again when it is asked; the coordinator takes the pieces in the order of
//! their numbers. So a broker may stall, restart or forget, and the result is the same. Clock probes are UDP
//! datagrams between the machines themselves: they never take the way through the broker.
//!
//! | file | holds |
//! |---|---|
//! | `access.rs` | how to reach the bus |
//! | `bus.rs` | NATS, from threads that block; the only file that names its client |
//! | `card.rs` | names of agents and of machines |
//! | `wire.rs` | subjects, and messages as bytes |
//! | `foundation.rs` | keys, certificates, logins and a NATS configuration for new machines |
//! | `signed.rs` | orders, signed by their coordinator |
//! | `targets.rs` | where an agent may send traffic |
//! | `spool.rs` | an agent's pieces, numbered, on its disk |
//! | `checked.rs` | the frames of that file, with checksums |
//! | `pieces.rs` | the same pieces, put in order by the coordinator |
//! | `listening.rs` | what is due when pieces come, and when they do not |
//! | `clock/` | datagrams that bound the offset between two clocks |

#![forbid(unsafe_code)]

mod access;
mod bus;
mod card;
mod checked;
pub mod clock;
mod foundation;
mod listening;
mod pieces;
mod sealed;
mod signed;
mod spool;
mod targets;
pub mod wire;

pub use access::Access;
pub use bus::{Bus, Heard, Silence};
pub use card::{hostname, is_name, machine};
pub use foundation::{Given, found};
pub use listening::{Due, Listening};
pub use pieces::Pieces;
pub use sealed::SealKey;
pub use signed::{Checked, Claimed, Signer, TrustedKeys, challenge, to_hex};
pub use spool::{Found, Spool, head as spool_head, named as spool_named, read as read_spool};
pub use targets::Targets;
