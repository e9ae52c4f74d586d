//! What a run and its agents say to one another, in [frames](crate::frame).
//!
//! An agent is a process of the generator. It gets the plans of its shards and the orders to them,
//! gives their records, and needs nothing else: a local run is the same with threads in its place.

use serde::{Deserialize, Serialize};

use crate::plan::ShardPlan;
use crate::record::Record;
use crate::steer::Steer;

/// What an agent is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// First of all: its shards.
    Begin(Begin),
    /// To all of them.
    Steer(Steer),
}

/// The work of an agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Begin {
    /// Plans as JSON: they leave out what is absent, which a form without names cannot tell.
    plans: String,
    /// Where its threads run; empty: anywhere.
    pub cpus: Vec<u32>,
}

impl Begin {
    /// Of these shards.
    ///
    /// # Panics
    /// Never: a plan is data.
    pub fn new(plans: &[ShardPlan], cpus: &[u32]) -> Begin {
        let plans = serde_json::to_string(plans).expect("a plan is data");
        Begin { plans, cpus: cpus.to_vec() }
    }

    /// Its shards, bit for bit.
    ///
    /// # Errors
    /// What is no list of plans.
    pub fn plans(&self) -> Result<Vec<ShardPlan>, serde_json::Error> {
        serde_json::from_str(&self.plans)
    }
}

/// What an agent says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Said {
    /// A second of one of its shards.
    Record(Box<Record>),
    /// All have ended; or why one could not run.
    Ended(Result<(), String>),
}
