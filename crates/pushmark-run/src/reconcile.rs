//! A run whose coordinator was lost, made from what its agents have kept: the records are theirs, so the figures are
//! those that the run would have had, but for what only a coordinator knows (how far the clocks were apart, and what
//! the server used).

use std::collections::{BTreeMap, BTreeSet};
use std::{fs, io};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use pushmark_cluster::{Found, read_spool, wire};
use pushmark_model::agent::{AgentCost, Said};
use pushmark_model::cluster::SpooledPlan;
use pushmark_model::plan::{ArmPlan, Plan, SCHEMA};
use pushmark_model::record::Record;
use pushmark_model::run::{AgentPart, Environment};
use pushmark_model::transport::Transport;
use pushmark_store::Utc;
use serde_json::Value;

use crate::gather::Gathered;
use crate::marks::Marks;
use crate::run::{About, ArmDone, Assembled, assemble, figures_of};
use crate::verdict::{self, AgentLost, Facts};

/// The spools of one claim, by arm.
type Claim = BTreeMap<u32, Vec<Found>>;

/// Returns the runs of each command whose agents have kept something in these folders, by the name of its claim: one, or
/// one for each case of a suite. `say` tells people which of several cannot be made.
///
/// # Errors
/// Fails if a folder or a file in it cannot be read, they hold no spool, or none makes a run.
pub fn reconcile(
    folders: &[PathBuf],
    command: &str,
    say: &dyn Fn(&str),
) -> anyhow::Result<Vec<(String, Assembled)>> {
    let mut claims: BTreeMap<String, Claim> = BTreeMap::new();
    let mut unreadable = Vec::new();
    for path in spools(folders)? {
        let found = match read_spool(&path) {
            Ok(found) => found,
            // It does not tell what it is of, so that the shards in it are missing.
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                say(&error.to_string());
                unreadable.push(error.to_string());
                continue;
            }
            Err(error) => return Err(error).with_context(|| path.display().to_string()),
        };
        if let Some(damage) = &found.damage {
            say(damage);
        }
        let arm = claims.entry(found.head.claim.clone()).or_default().entry(found.head.arm).or_default();
        // A copy of the same spool, possibly an older or a damaged one: the longer one holds all of the other.
        match arm.iter_mut().find(|other| other.head.agent == found.head.agent) {
            Some(other) if worth(other) >= worth(&found) => {}
            Some(other) => *other = found,
            None => arm.push(found),
        }
    }
    if claims.is_empty() && !unreadable.is_empty() {
        bail!("{}", unreadable.join("; "));
    }
    if claims.is_empty() {
        bail!(
            "no spool in {}",
            folders.iter().map(|f| f.display().to_string()).collect::<Vec<_>>().join(", ")
        );
    }
    let mut made = Vec::new();
    let mut last = None;
    for (name, claim) in claims {
        for (n, arms) in runs_of(claim).into_iter().enumerate() {
            let name = if n == 0 { name.clone() } else { format!("{name}-{}", n + 1) };
            match run_of(&name, arms, command, &unreadable) {
                Ok(run) => made.push((name, run)),
                Err(error) => {
                    say(&format!("{error:#}"));
                    last = Some(error);
                }
            }
        }
    }
    match last {
        Some(error) if made.is_empty() => Err(error),
        _ => Ok(made),
    }
}

/// The runs of a claim: a suite has several, and each has an arm of a transport once.
fn runs_of(claim: Claim) -> Vec<Claim> {
    let transport = |spools: &[Found]| {
        let plan = spools.iter().find_map(|spool| spool.head.plan.as_ref())?;
        serde_json::from_str::<ArmPlan>(&plan.arm).ok().map(|arm| arm.transport)
    };
    let mut runs: Vec<(Vec<Transport>, Claim)> = Vec::new();
    for (number, spools) in claim {
        let its = transport(&spools);
        if runs.last().is_none_or(|(seen, _)| its.is_some_and(|its| seen.contains(&its))) {
            runs.push((Vec::new(), Claim::new()));
        }
        if let Some((seen, run)) = runs.last_mut() {
            seen.extend(its);
            run.insert(number, spools);
        }
    }
    runs.into_iter().map(|(_, run)| run).collect()
}

/// How much of a spool there is: of two with the same messages the one that is not damaged is to be believed.
fn worth(spool: &Found) -> (usize, bool) {
    (spool.messages.len(), spool.damage.is_none())
}

fn spools(folders: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut all = Vec::new();
    for folder in folders {
        let entries = fs::read_dir(folder).with_context(|| folder.display().to_string())?;
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "spool") {
                all.push(path);
            }
        }
    }
    all.sort();
    Ok(all)
}

fn run_of(name: &str, claim: Claim, command: &str, unreadable: &[String]) -> anyhow::Result<Assembled> {
    let mut done = Vec::new();
    let mut arms = Vec::new();
    for (number, spools) in claim {
        // A monitor's work has an arm of its own, without records.
        let Some(kept) = spools.iter().find_map(|spool| spool.head.plan.clone()) else { continue };
        let plan: ArmPlan =
            serde_json::from_str(&kept.arm).with_context(|| format!("the plan of arm {number}"))?;
        arms.push(plan.clone());
        done.push(arm_of(plan, &kept, &spools, unreadable)?);
    }
    if done.is_empty() {
        bail!("{name}: no agent has kept a record");
    }
    let seed = arms[0].seed;
    let (schema, analysis) = (SCHEMA.to_owned(), String::new());
    let plan = Plan { schema, name: "reconciled".to_owned(), analysis, seed, arms };
    let about = About {
        started: Utc::now(),
        command: command.to_owned(),
        scenario: Value::Null,
        plan: serde_json::to_value(&plan)?,
        text: None,
        environment: Environment::default(),
        expressions: &[],
        selftest: None,
        calibration: None,
    };
    Ok(assemble(&plan, about, done))
}

fn arm_of(
    mut plan: ArmPlan,
    kept: &SpooledPlan,
    spools: &[Found],
    unreadable: &[String],
) -> anyhow::Result<ArmDone> {
    let halves = plan.halves().len() as u32;
    let mut told = Vec::new();
    for spool in spools {
        told.push(Told::of(spool)?);
    }
    // An order that moved the phases reached all of them, or the arm says so.
    if let Some(phases) = told.iter().find_map(|told| told.cost.as_ref()?.phases) {
        plan.phases = phases;
    }
    let mut gathered = Gathered::new(&plan, kept.shards / halves);
    let mut records: Vec<&Record> =
        told.iter().flat_map(|told| &told.records).map(|record| &**record).collect();
    records.sort_by_key(|record| record.second);
    for record in records {
        gathered.add(record);
    }
    let heard: BTreeSet<u32> =
        told.iter().filter(|told| told.ended).flat_map(|told| told.own.iter().copied()).collect();
    let lost: Vec<u32> = (0..kept.shards).filter(|shard| !heard.contains(shard)).collect();
    gathered.lose(&lost);
    gathered.close()?;
    let mut arm = figures_of(&plan, &gathered, (&Marks::default(), 0), None, None);
    arm.agents = told.iter().map(|told| told.part(&plan, kept.shards)).collect();
    let mut facts = Facts { clocks_unknown: told.len() > 1, ..Facts::default() };
    facts.heard = Some(verdict::ReceivedTotals::of(&gathered));
    let given: BTreeSet<u32> = told.iter().flat_map(|told| told.own.iter().copied()).collect();
    let missing = (0..kept.shards).filter(|shard| !given.contains(shard)).count();
    let of = told.len() + usize::from(missing > 0);
    let quiet = told.iter().enumerate().filter(|(_, told)| !told.ended).map(|(at, told)| (at + 1, told));
    for (number, told) in quiet {
        match &told.damage {
            Some(damage) => facts.spools_damaged.push(format!("agent {}: {damage}", told.name)),
            None => {
                let how = format!("{}: {NO_END}", told.name);
                facts.agents_lost.push(AgentLost::new((number, of), how, plan.phases.end_ns(), &plan));
            }
        }
    }
    if of > told.len() {
        let why = if unreadable.is_empty() { String::new() } else { format!(": {}", unreadable.join("; ")) };
        let how = format!("{missing} of {} shards are in no spool that was given{why}", kept.shards);
        facts.agents_lost.push(AgentLost::new((of, of), how, 0, &plan));
    }
    arm.outcome = verdict::outcome(&arm, &facts);
    let reasons = verdict::judge(&arm, &facts);
    arm.verdict = verdict::worst(&reasons);
    let windows = gathered.windows();
    let intervals = gathered.intervals(std::time::Duration::ZERO);
    let troubles = gathered.total().troubles.clone();
    Ok(ArmDone { arm, windows, intervals, reasons, logs: Vec::new(), troubles })
}

/// What one agent has kept of an arm.
struct Told {
    name: String,
    host: String,
    version: String,
    own: Vec<u32>,
    records: Vec<Box<Record>>,
    cost: Option<AgentCost>,
    /// It has told all.
    ended: bool,
    /// Why what it has kept cannot be read to its end.
    damage: Option<String>,
}

/// An agent that was killed, or is at work.
const NO_END: &str = "its spool has no end";

impl Told {
    fn of(spool: &Found) -> anyhow::Result<Told> {
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

    fn part(&self, plan: &ArmPlan, shards: u32) -> AgentPart {
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

/// Returns the folder of the run of a claim.
pub fn place(results: &Path, claim: &str) -> PathBuf {
    results.join(format!("reconciled-{claim}"))
}

#[cfg(test)]
mod tests;
