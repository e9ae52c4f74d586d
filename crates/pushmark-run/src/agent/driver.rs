//! An agent as the pool sees it, wherever it runs.

use std::io;
use std::sync::mpsc::SyncSender;

use pushmark_model::plan::ShardPlan;
use pushmark_model::steer::Steer;

use super::message::PoolMessage;

/// An agent that waits for its shards.
pub(crate) trait Agent: Send {
    /// Its process, if it runs on this machine and this run has started it.
    fn pid(&self) -> Option<i32>;

    /// Sends its work. Returns the channel for orders to its shards, or `None` if the agent has ended.
    fn begin(&mut self, plans: &[ShardPlan], cpus: &[u32]) -> io::Result<Option<Box<dyn Orders>>>;

    /// Passes on what it says until it has ended. An agent that ends in the middle of its work is reported and
    /// does not affect the others.
    fn hear(
        self: Box<Self>,
        agent: (usize, usize),
        shards: Vec<u32>,
        told: &SyncSender<PoolMessage>,
    ) -> io::Result<()>;
}

/// The way of orders to an agent.
pub(crate) trait Orders: Send + std::fmt::Debug {
    /// Sends an order. An agent that has ended needs none.
    fn tell(&mut self, order: Steer);
}
