//! A run whose coordinator was lost, made from what its agents have kept: the records are theirs, so the figures are
//! those that the run would have had, but for what only a coordinator knows (how far the clocks were apart, and what
//! the server used).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, anyhow, bail};
use pushmark_cluster::{Found, read_spool};
use pushmark_console::exit::Exit;
use pushmark_model::cluster::{SpooledPlan, SpooledRun};
use pushmark_model::metrics::Expression;
use pushmark_model::plan::{ArmPlan, Plan, SCHEMA};
use pushmark_model::record::Record;
use pushmark_model::run::Environment;
use pushmark_model::transport::Transport;
use pushmark_store::Utc;
use serde_json::Value;

use crate::gather::Gathered;
use crate::marks::Marks;
use crate::run::{About, ArmDone, Assembled, assemble, failed, figures_of};
use crate::verdict::{self, AgentLost, Facts};

mod told;

use told::{NO_END, Told};

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
        let runs = runs_of(claim);
        if runs.is_empty() {
            last = Some(anyhow!("{name}: no agent has kept a record"));
        }
        for (n, arms) in runs.into_iter().enumerate() {
            let name = if n == 0 { name.clone() } else { format!("{name}-{}", n + 1) };
            match run_of(&name, arms, command, &unreadable, say) {
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

/// The runs of a claim: a suite has several. Each begins with a text of its own, and has an arm of a transport once.
fn runs_of(claim: Claim) -> Vec<Claim> {
    let mut runs: Vec<(String, Vec<Transport>, Claim)> = Vec::new();
    for (number, spools) in claim {
        // A monitor's work has an arm of its own, without records.
        let Some(plan) = spools.iter().find_map(|spool| spool.head.plan.as_ref()) else { continue };
        let its = serde_json::from_str::<ArmPlan>(&plan.arm).ok().map(|arm| arm.transport);
        let is_same = |(text, seen, _): &(String, Vec<Transport>, Claim)| {
            *text == plan.run && its.is_none_or(|its| !seen.contains(&its))
        };
        if !runs.last().is_some_and(is_same) {
            runs.push((plan.run.clone(), Vec::new(), Claim::new()));
        }
        if let Some((_, seen, run)) = runs.last_mut() {
            seen.extend(its);
            run.insert(number, spools);
        }
    }
    runs.into_iter().map(|(.., run)| run).collect()
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

fn run_of(
    name: &str,
    claim: Claim,
    command: &str,
    unreadable: &[String],
    say: &dyn Fn(&str),
) -> anyhow::Result<Assembled> {
    let mut done = Vec::new();
    let mut arms = Vec::new();
    let mut text = String::new();
    for (number, spools) in claim {
        let Some(kept) = spools.iter().find_map(|spool| spool.head.plan.clone()) else { continue };
        let plan: ArmPlan =
            serde_json::from_str(&kept.arm).with_context(|| format!("the plan of arm {number}"))?;
        arms.push(plan.clone());
        done.push(arm_of(plan, &kept, &spools, unreadable)?);
        text = kept.run;
    }
    if done.is_empty() {
        bail!("{name}: no agent has kept a record");
    }
    let run: Option<SpooledRun> = serde_json::from_str(&text).ok();
    if run.is_none() {
        say(&format!("{name}: its spools do not hold the scenario, so it has no name and no thresholds"));
    }
    let lacking: Vec<ArmPlan> = lacking(run.as_ref(), &arms);
    let seed = arms[0].seed;
    let plan_of = |arms| Plan {
        schema: SCHEMA.to_owned(),
        name: run.as_ref().map_or("reconciled", |run| run.name.as_str()).to_owned(),
        analysis: analysis(run.as_ref()).to_owned(),
        seed,
        arms,
    };
    if !lacking.is_empty() {
        let why = format!("no spool of this arm was given{}", in_words(unreadable));
        done.extend(failed(&plan_of(lacking.clone()), Exit::Incomplete, &why));
    }
    done.sort_by_key(|done| done.arm.transport);
    arms.extend(lacking);
    let plan = plan_of(arms);
    let parsed = |text: &String| {
        Expression::parse_text(text).with_context(|| format!("{name}: the threshold {text:?}"))
    };
    let expressions: Vec<Expression> =
        run.iter().flat_map(|run| &run.thresholds).map(parsed).collect::<anyhow::Result<_>>()?;
    let started = run.as_ref().and_then(|run| Utc::unix_s_of_rfc3339(&run.started_at));
    let about = About {
        started: started.map_or_else(Utc::now, Utc::of_unix_s),
        command: command.to_owned(),
        scenario: run.as_ref().map_or(Value::Null, |run| run.scenario.clone()),
        plan: serde_json::to_value(&plan)?,
        text: run.as_ref().map(|run| run.text.clone()),
        environment: Environment::default(),
        expressions: &expressions,
        selftest: None,
        calibration: None,
    };
    let mut assembled = assemble(&plan, about, done);
    if let Some(run) = run {
        (assembled.run.environment.server, assembled.run.case) = (run.server, run.case);
    }
    Ok(assembled)
}

/// The arms of a run that no spool is of: its coordinator was lost before they began, or they were not copied.
fn lacking(run: Option<&SpooledRun>, arms: &[ArmPlan]) -> Vec<ArmPlan> {
    let is_there = |arm: &&ArmPlan| arms.iter().any(|own| own.transport == arm.transport);
    run.iter().flat_map(|run| &run.arms).filter(|arm| !is_there(arm)).cloned().collect()
}

fn analysis(run: Option<&SpooledRun>) -> &str {
    run.and_then(|run| run.scenario.get("analysis")?.as_str()).unwrap_or_default()
}

/// The files that were given and tell nothing.
fn in_words(unreadable: &[String]) -> String {
    if unreadable.is_empty() { String::new() } else { format!(": {}", unreadable.join("; ")) }
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
        let why = in_words(unreadable);
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

/// Returns the folder of the run of a claim.
pub fn place(results: &Path, claim: &str) -> PathBuf {
    results.join(format!("reconciled-{claim}"))
}

#[cfg(test)]
mod tests;
