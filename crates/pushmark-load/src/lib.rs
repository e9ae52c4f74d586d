//! The driver: a [`ShardPlan`](pushmark_model::plan::ShardPlan) goes in, [`Record`]s come out.
//!
//! One thread, one loop, one shard: [`run_shard`] holds its part of the crowd, publishes what
//! is due and accounts for every delivery. It knows no server, no suite, no store and no
//! report; it never blocks but in its wait, and never logs: errors are counted by kind.
//!
//! [`Record`]: pushmark_model::record::Record

#![forbid(unsafe_code)]

mod accounting;
mod conn;
mod crowd;
mod ledger;
mod look;
mod publisher;
mod requests;
mod secure;
mod shard;
#[cfg(test)]
mod testing;
mod token;
mod trouble;

pub use shard::{Orders, Sink, run_shard};
