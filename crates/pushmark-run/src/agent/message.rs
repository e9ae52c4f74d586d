//! What shards and agents send to their run.

use pushmark_model::record::Record;

/// A message from a shard or an agent.
pub(super) enum PoolMessage {
    Record(Box<Record>),
    Lost(Lost),
}

/// An agent that ended in the middle of its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    /// The number of the agent, from 1, and the number of agents.
    pub(crate) agent: (usize, usize),
    /// How: `signal 9`, `exit 1`.
    pub(crate) how: String,
    /// Its shards.
    pub(crate) shards: Vec<u32>,
}
