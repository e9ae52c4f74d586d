//! What one agent has kept of an arm.

use anyhow::bail;
use pushmark_cluster::{Found, wire};
use pushmark_model::agent::{AgentCost, Said};
use pushmark_model::cluster::SpooledPlan;
use pushmark_model::plan::ArmPlan;
use pushmark_model::record::Record;
use pushmark_model::run::AgentPart;

/// The records of an agent, and its last words.
pub(super) struct Told {
    pub(super) name: String,
    host: String,
    version: String,
    pub(super) own: Vec<u32>,
    pub(super) records: Vec<Box<Record>>,
    pub(super) cost: Option<AgentCost>,
    /// It has told all.
    pub(super) ended: bool,
    /// Why what it has kept cannot be read to its end.
    pub(super) damage: Option<String>,
}

/// An agent that was killed, or is at work.
pub(super) const NO_END: &str = "its spool has no end";

impl Told {
    /// Reads a spool.
    ///
    /// # Errors
    /// Fails if it is a monitor's.
    pub(super) fn of(spool: &Found) -> anyhow::Result<Told> {
        let name = spool.head.agent.clone();
        let Some(kept) = &spool.head.plan else { bail!("{name} is a monitor, and has records of an arm") };
        let SpooledPlan { host, version, own, .. } = kept.clone();
        let damage = spool.damage.clone();
        let mut told =
            Told { name, host, version, own, records: Vec::new(), cost: None, ended: false, damage };
        for message in &spool.messages {
            match wire::decode::<Said>(message) {
                Some(Said::Record(record)) => told.records.push(record),
                Some(Said::Cost(text)) => told.cost = serde_json::from_str(&text).ok(),
                Some(Said::Ended(outcome)) => told.ended = outcome.is_ok(),
                // Of another version: what came before is whole.
                None => {
                    told.damage.get_or_insert_with(|| "its spool is of another version".to_owned());
                    break;
                }
            }
        }
        told.ended &= told.damage.is_none();
        Ok(told)
    }

    /// Its part in the figures of the arm.
    pub(super) fn part(&self, plan: &ArmPlan, shards: u32) -> AgentPart {
        let connections = |shard: &u32| plan.share_of(*shard, shards, None);
        let cost = self.cost.clone().unwrap_or_default();
        AgentPart {
            name: self.name.clone(),
            host: self.host.clone(),
            version: self.version.clone(),
            shards: self.own.len() as u32,
            connections: self.own.iter().map(connections).sum(),
            generator: cost.generator,
            foreign: cost.foreign,
            started_late_us: Some(cost.started_late_ns / 1_000),
            lost: (!self.ended).then(|| self.damage.clone().unwrap_or_else(|| NO_END.to_owned())),
            ..AgentPart::default()
        }
    }
}
