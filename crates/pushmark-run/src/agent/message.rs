//! What shards and agents send to their run.

use pushmark_model::agent::AgentCost;
use pushmark_model::record::Record;

/// A message from a shard or an agent.
pub(crate) enum PoolMessage {
    Record(Box<Record>),
    Spent(Box<Spent>),
    Silent(Silence),
    Lost(Lost),
}

/// What the machine of an agent spent.
#[derive(Clone, Debug)]
pub(crate) struct Spent {
    /// The position of the agent among those of the arm, from 0.
    pub(crate) agent: usize,
    pub(crate) cost: AgentCost,
}

/// Nothing was heard of an agent for a while, or it is back.
#[derive(Clone, Debug)]
pub(crate) struct Silence {
    /// The position of the agent among those of the arm, from 0.
    pub(crate) agent: usize,
    /// It is back.
    pub(crate) over: bool,
    /// The same for people.
    pub(crate) text: String,
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
