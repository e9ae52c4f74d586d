//! The messages between a run and its agents, in [frames](crate::frame).
//!
//! An agent is a process of the generator. It receives the plans of its shards and orders to them, sends
//! their records, and needs nothing else. A local run is the same with threads in place of agents.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::monitor::WatchOrder;
use crate::plan::{Phases, ShardPlan};
use crate::record::Record;
use crate::run::{Foreign, Generator};
use crate::secret::SecretValues;
use crate::steer::Steer;

/// A message to an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// The first message: the agent's shards.
    Begin(Begin),
    /// To all of its shards.
    Steer(Steer),
}

/// An order to an agent or a monitor on another machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum RemoteOrder {
    /// Its shards of an arm.
    Begin {
        /// The number of the arm.
        arm: u32,
        /// The shards.
        begin: Begin,
        /// The run, to be kept beside what is measured: a [`SpooledRun`](crate::cluster::SpooledRun) as JSON.
        run: String,
    },
    /// To its shards of an arm.
    Steer {
        /// The number of the arm.
        arm: u32,
        /// The order.
        steer: Steer,
    },
    /// To a monitor.
    Watch {
        /// The number of the arm.
        arm: u32,
        /// The order.
        order: WatchOrder,
    },
}

/// The work of an agent.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// Plans as JSON: they leave out absent fields, which a format without field names cannot represent.
    plans: String,
    /// CPUs for its threads; empty: any.
    pub cpus: Vec<u32>,
    /// Values of `{secret.NAME}`, which plans do not hold. They are sent through a socket to a child process.
    secrets: Vec<(String, String)>,
}

/// Omits the values of secrets.
impl std::fmt::Debug for Begin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Begin").field("cpus", &self.cpus).finish_non_exhaustive()
    }
}

impl Begin {
    /// Creates the work for these shards.
    ///
    /// # Panics
    /// Never: a plan can always be serialised.
    pub fn new(plans: &[ShardPlan], cpus: &[u32]) -> Begin {
        let all = plans.iter().flat_map(|plan| plan.arm.secrets.iter());
        let secrets: BTreeMap<&str, &str> = all.collect();
        let secrets = secrets.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let plans = serde_json::to_string(plans).expect("a plan is data");
        Begin { plans, cpus: cpus.to_vec(), secrets }
    }

    /// Returns its shards, bit for bit.
    ///
    /// # Errors
    /// Fails if the text is not a list of plans.
    pub fn plans(&self) -> Result<Vec<ShardPlan>, serde_json::Error> {
        let mut plans: Vec<ShardPlan> = serde_json::from_str(&self.plans)?;
        let secrets: SecretValues = self.secrets.iter().cloned().collect();
        plans.iter_mut().for_each(|plan| plan.arm.secrets = secrets.clone());
        Ok(plans)
    }
}

/// A message from an agent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Said {
    /// A second of one of its shards.
    Record(Box<Record>),
    /// What the agent's machine spent on its shards: an [`AgentCost`] as JSON, which leaves out absent fields. Only
    /// agents on other machines say it.
    Cost(String),
    /// All shards have ended; or why one could not run.
    Ended(Result<(), String>),
}

/// What an agent's machine spent on its shards during measure, and what disturbed it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AgentCost {
    /// Its generator, without the loop lag, which records hold.
    pub generator: Generator,
    /// Other programs on its CPUs.
    pub foreign: Foreign,
    /// The longest that one shard waited for a core, as a share of the window.
    pub worst_shard_wait: f64,
    /// Times in which the agent was paused: its start from the arm's start, and its length, ns.
    pub stalls: Vec<(i64, u64)>,
    /// Largest step of its wall clock, ns; absent: none.
    pub clock_step_ns: Option<i64>,
    /// How late its first turn began after the arm's start, ns.
    pub started_late_ns: u64,
    /// The phases at the end: an order may have moved them.
    #[serde(default)]
    pub phases: Option<Phases>,
}
