//! The driver: it takes a [`ShardPlan`](pushmark_model::plan::ShardPlan) and produces [`Record`]s.
//!
//! One thread runs one loop for one shard: [`run_shard`] holds its part of the crowd, publishes what is
//! due and accounts for every delivery. It knows nothing of servers, suites, stores and reports. It
//! blocks only in its wait, and it never logs: errors are counted by kind.
//!
//! [`Record`]: pushmark_model::record::Record

#![forbid(unsafe_code)]

mod accounting;
mod before;
mod conn;
mod job;
mod last_poll;
mod ledger;
mod never;
mod payload_state;
mod publisher;
mod requests;
mod secure;
mod shard;
mod steps;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod token;
mod trouble;

pub use shard::{Orders, Sink, run_shard};
