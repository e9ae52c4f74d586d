//! Spools with a flipped bit: what a disk has changed is told, and no run passes for whole with it.

use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

use pushmark_cluster::{Spool, wire};
use pushmark_console::exit::Exit;
use pushmark_model::agent::{AgentCost, Said};
use pushmark_model::cluster::{SpoolHead, SpooledPlan, SpooledRun};
use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::plan::ArmPlan;
use pushmark_model::record::Record;
use pushmark_model::run::{Run, VerdictState};
use pushmark_model::transport::Transport;
use pushmark_net::Clock;

use super::reconcile;
use crate::gather::testing;
use crate::session::exit_of;

/// Flips of a bit for each number of agents.
const TRIALS: u64 = 200;
/// Shards of the arm.
const SHARDS: u32 = 2;

/// Writes the spools of an arm that went well, one for each agent.
fn spools(folder: &Path, agents: u32) -> Vec<PathBuf> {
    spools_of(folder, agents, &run_of(&testing::arm()))
}

fn spools_of(folder: &Path, agents: u32, run: &SpooledRun) -> Vec<PathBuf> {
    let arm = testing::arm();
    let seconds = (arm.phases.end_ns() / 1_000_000_000) as u32;
    let one = |agent: u32| {
        let own: Vec<u32> = (0..SHARDS).filter(|shard| shard % agents == agent).collect();
        let plan = SpooledPlan {
            arm: serde_json::to_string(&arm.without_words()).unwrap(),
            host: "there".into(),
            version: "1".into(),
            shards: SHARDS,
            own: own.clone(),
            run: serde_json::to_string(run).unwrap(),
        };
        let agent = format!("agent-{agent}");
        let head = SpoolHead { claim: "1f-2a".into(), arm: 0, agent, plan: Some(plan) };
        let mut spool = Spool::create(folder, &head).unwrap();
        let mut say = |said: &Said| spool.append(&wire::encode(said)).map(drop).unwrap();
        for second in 0..seconds {
            for &shard in &own {
                say(&Said::Record(Box::new(record(shard, second, seconds))));
            }
        }
        say(&Said::Cost(serde_json::to_string(&AgentCost::default()).unwrap()));
        say(&Said::Ended(Ok(())));
        spool.path().to_owned()
    };
    (0..agents).map(one).collect()
}

/// What its coordinator has told of the run.
fn run_of(arm: &ArmPlan) -> SpooledRun {
    SpooledRun {
        name: "goes-on".into(),
        started_at: "2026-11-25T20:00:00Z".into(),
        scenario: serde_json::json!({ "thresholds": { "delivery.missing": "== 0" } }),
        text: "name = \"goes-on\"\n".into(),
        thresholds: vec!["delivery.missing == 0".into()],
        arms: vec![arm.without_words()],
        server: None,
        case: None,
    }
}

/// A second in which every delivery came.
fn record(shard: u32, second: u32, seconds: u32) -> Record {
    let mut record = Record { shard, second, last: second + 1 == seconds, ..Record::default() };
    record.connected = 2;
    record.counts.opened = if second == 0 { 2 } else { 0 };
    if (2..12).contains(&second) {
        let counts = &mut record.counts;
        (counts.intended, counts.delivered, counts.received) = (20, 20, 20);
        if shard == 0 {
            (counts.publications_due, counts.published) = (10, 10);
        }
        for n in 0..20 {
            record.times.latency.record_us(900 + 37 * n);
            record.times.from_sent.record_us(800 + 37 * n);
        }
    }
    record
}

/// What a run tells, without when it was made.
fn told_by(run: &Run) -> serde_json::Value {
    let Run { arms, verdict, thresholds, .. } = run;
    serde_json::json!([arms, verdict, thresholds])
}

/// Reconciles a folder of spools. Returns the run or the error, and the lines that were printed.
fn made(folder: &Path) -> (Result<Run, String>, String) {
    let said = RefCell::new(String::new());
    let say = |text: &str| said.borrow_mut().push_str(&format!("{text}\n"));
    let made = reconcile(&[folder.to_owned()], "pushmark runs reconcile", &say);
    let made = made.map_err(|error| format!("{error:#}")).map(|mut made| made.remove(0).1.run);
    (made, said.into_inner())
}

fn every_flip_is_told(agents: u32) {
    let folder = tempfile::tempdir().unwrap();
    let paths = spools(folder.path(), agents);
    let (whole, said) = made(folder.path());
    let whole = whole.unwrap();
    assert_eq!(said, "");
    assert_eq!(whole.arms[0].delivery.as_ref().map(|delivery| delivery.delivered), Some(400));
    assert_eq!((exit_of(&whole), &whole.name[..]), (Exit::Pass, "goes-on"), "{:#?}", whole.verdict.reasons);
    let seed = Clock::realtime();
    println!("seed {seed}, {agents} agents");
    let mut draw = Draw::new(seed, Purpose::Nonce, 0);
    for trial in 0..TRIALS {
        let path = &paths[draw.below(paths.len() as u64) as usize];
        let bytes = fs::read(path).unwrap();
        let bit = draw.below(8 * bytes.len() as u64) as usize;
        let what = format!("seed {seed}, {agents} agents, trial {trial}: bit {bit} of {}", path.display());
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        fs::write(path, &flipped).unwrap();
        let (run, said) = made(folder.path());
        fs::write(path, &bytes).unwrap();
        let place = format!("{} is damaged at byte ", path.display());
        assert!(said.contains(&place), "{what}: {said}");
        match run {
            // Without the head of its only spool there is no run.
            Err(error) => assert!(agents == 1 && error.contains(&place), "{what}: {error}"),
            Ok(run) => {
                assert_ne!(told_by(&run), told_by(&whole), "{what}");
                let mut reasons = run.verdict.reasons.iter();
                let is_it = |reason: &pushmark_model::run::Reason| {
                    reason.state == VerdictState::Incomplete && reason.seen.contains(&place)
                };
                assert!(reasons.any(is_it), "{what}: {:#?}", run.verdict.reasons);
                assert_eq!(exit_of(&run), Exit::Incomplete, "{what}: {:#?}", run.verdict.reasons);
            }
        }
    }
}

#[test]
fn every_flipped_bit_of_a_spool_is_told() {
    every_flip_is_told(1);
}

#[test]
fn every_flipped_bit_of_one_of_two_spools_is_told() {
    every_flip_is_told(2);
}

/// The whole one of two copies counts.
#[test]
fn a_damaged_copy_beside_a_whole_one_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = spools(folder.path(), 1).remove(0);
    let (whole, _) = made(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 8;
    let copy = folder.path().join("copy.spool");
    fs::write(&copy, bytes).unwrap();
    let (run, said) = made(folder.path());
    assert_eq!(told_by(&run.unwrap()), told_by(&whole.unwrap()));
    assert!(said.contains(&format!("{} is damaged at byte ", copy.display())), "{said}");
}

/// Its coordinator was lost before the second arm began.
#[test]
fn an_arm_without_a_spool_makes_the_run_incomplete() {
    let folder = tempfile::tempdir().unwrap();
    let arm = testing::arm();
    let mut run = run_of(&arm);
    run.arms.push(ArmPlan { transport: Transport::LongPoll, ..arm.without_words() });
    spools_of(folder.path(), 1, &run);
    let run = made(folder.path()).0.unwrap();
    let errors: Vec<Option<&str>> = run.arms.iter().map(|arm| arm.error.as_deref()).collect();
    assert_eq!(errors, [Some("no spool of this arm was given"), None]);
    assert_eq!(run.arms[1].delivery.as_ref().map(|delivery| delivery.delivered), Some(400));
    assert_eq!((exit_of(&run), run.started_at), (Exit::Incomplete, "2026-11-25T20:00:00Z".to_owned()));
}
