//! One probe: the scenario at a load against a fresh server, kept as a run, and its answer.

use std::path::Path;

use pushmark_model::metrics::{Expression, WITHIN};
use pushmark_model::run::{Arm, Reason, Run, RunFiles, ServerRef, VerdictState};
use pushmark_model::search::{Answer, Probe, ProbeRow};
use pushmark_model::units::Nanos;

use super::{Ask, without_run};
use crate::run::Start;
use crate::session::{Asking, Session};
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::progress::Progress;

/// Measures a load.
///
/// # Errors
/// Fails if the search cannot continue: the scenario is not valid at this load, the target cannot be started,
/// or the run cannot be kept.
pub(super) fn probe(
    ask: &Ask,
    wanted: Probe,
    session: &Session<'_>,
    server: Option<ServerRef>,
    folder: &Path,
    progress: &mut Progress,
) -> anyhow::Result<(Answer, ProbeRow)> {
    let loaded = ask.at(wanted.at, wanted.why, session.registry)?;
    let asking = Asking { start: Start { number: 1, of: 1 }, server, case: None };
    let assembled = match session.measure(&loaded, asking, progress) {
        Ok(assembled) => assembled,
        Err(error) if Ending::exit_of(&error) == Exit::Refused => {
            let note = format!("{error:#}").lines().next().unwrap_or_default().to_owned();
            return Ok(without_run(ask, wanted, Answer::Refused, note));
        }
        Err(error) => return Err(error),
    };
    let files = [RunFiles { run: assembled.run, windows: assembled.windows }];
    let run = &files[0].run;
    let mut row = without_run(ask, wanted, Answer::Held, String::new()).1;
    row.notes.clear();
    row.run = Some(run.id.clone());
    row.verdict = Some(run.verdict.state);
    row.answer = judge(&ask.keep, run, &mut row);
    if session.keep(&files, &assembled.intervals, &assembled.logs, &folder.join(&run.id)).is_none() {
        return Err(Ending::error(Exit::Internal, "the run of a probe could not be kept"));
    }
    Ok((row.answer, row))
}

/// Returns the answer of a run; adds values and failed conditions to the row.
fn judge(keep: &[Expression], run: &Run, row: &mut ProbeRow) -> Answer {
    let Some(arm) = run.arms.first() else {
        row.notes.push("nothing was measured".to_owned());
        return Answer::Unbelieved;
    };
    for expression in keep {
        let text = expression.to_string();
        let outcome = expression.evaluate(arm);
        match outcome.value {
            Some(value) => {
                row.values.insert(text.clone(), value);
            }
            None => row.notes.push(format!("{} is absent", expression.metric().name)),
        }
        if !outcome.ok && outcome.value.is_some() {
            row.notes.push(format!("not kept: {text}"));
        }
    }
    let kept = keep.iter().all(|expression| expression.evaluate(arm).ok);
    let doubts_of = |keep: &[Expression]| doubts(keep, run, arm);
    let doubts = doubts_of(keep);
    // A condition that fails on a figure without a doubt has failed, whatever is doubted beside it.
    let certain = |expression: &Expression| {
        let outcome = expression.evaluate(arm);
        let state = doubts_of(std::slice::from_ref(expression)).first().map(|reason| reason.state);
        !outcome.ok && outcome.value.is_some() && state <= Some(VerdictState::Suspect)
    };
    let believed = match doubts.iter().map(|reason| reason.state).max() {
        None | Some(VerdictState::Valid | VerdictState::Suspect) => true,
        Some(VerdictState::Incomplete) => false,
        Some(VerdictState::Invalid) => kept && only_looks_worse(&doubts),
    };
    match () {
        // A server that could not be driven to the end did not hold.
        () if arm.error.is_some() => {
            row.notes.extend(arm.error.clone());
            Answer::Failed
        }
        () if keep.iter().any(certain) => Answer::Failed,
        () if !believed => {
            let reason = doubts.first().map(|reason| reason.seen.clone());
            row.notes.insert(0, reason.unwrap_or_else(|| format!("the run is {}", run.verdict.state.name())));
            Answer::Unbelieved
        }
        () if kept => Answer::Held,
        () => Answer::Failed,
    }
}

/// Returns doubts about the conditions, worst first. An overflow of the target's listen queue is its
/// limit and not a doubt here: its effect on clients is what is searched.
fn doubts<'a>(keep: &[Expression], run: &'a Run, arm: &Arm) -> Vec<&'a Reason> {
    let names: Vec<&str> = keep.iter().map(|expression| decided_by(&expression.metric().name, arm)).collect();
    let arm = arm.transport;
    let of_arm = |reason: &&Reason| reason.arm.is_none_or(|of| of == arm);
    let about = |reason: &&Reason| names.iter().any(|name| reason.concerns_metric(name));
    let own = run.verdict.reasons.iter().filter(of_arm).filter(about);
    let mut all: Vec<&Reason> = own.filter(|reason| reason.code != "listen_overflows").collect();
    all.sort_by_key(|reason| std::cmp::Reverse(reason.state));
    all
}

/// Returns the figure that decides a condition. If every delivery that arrived came within the time of
/// `delivery.within_…`, lags did not matter: how many did not arrive decides, and that is a count.
fn decided_by<'n>(name: &'n str, arm: &Arm) -> &'n str {
    let limit = name.strip_prefix(WITHIN).and_then(|time| time.parse::<Nanos>().ok());
    let latency = arm.delivery.as_ref().map(|delivery| &delivery.latency);
    let arrived = latency.map(|latency| latency.delivered_only.as_deref().unwrap_or(latency));
    match (limit, arrived.and_then(|arrived| arrived.max_us)) {
        (Some(limit), Some(slowest_us)) if slowest_us.saturating_mul(1_000) <= limit.0 as i64 => {
            "delivery.of_intended"
        }
        _ => name,
    }
}

/// Doubts that can only make figures worse than the server's: the generator's queueing and lack of
/// CPU add to every latency. A condition that holds despite them holds; a failed one may be the generator's.
const ONLY_WORSE: [&str; 7] =
    ["generator_busy", "run_queue_wait", "read_lag", "publisher_lag", "steal", "foreign_cpu", "server_wait"];

fn only_looks_worse(reasons: &[&Reason]) -> bool {
    let mut invalid = reasons.iter().filter(|reason| reason.state == VerdictState::Invalid);
    invalid.all(|reason| ONLY_WORSE.contains(&reason.code.as_str()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use pushmark_model::search::Why;

    use super::*;

    #[test]
    fn a_loss_is_certain_though_a_latency_beside_it_is_doubted() {
        let mut run = pushmark_store::testing::run("20261121T200412Z-fan-out-k3f9");
        run.verdict.reasons.push(Reason {
            code: "read_lag".to_owned(),
            state: VerdictState::Invalid,
            arm: None,
            concerns: vec!["latency.p90".to_owned()],
            seen: "read lag p90 is 75 %".to_owned(),
            why: String::new(),
            try_: String::new(),
        });
        let keep = |metric, bound| Expression::parse(metric, bound).unwrap();
        let answer = |run: &Run, keep: &[Expression]| {
            let mut row = ProbeRow {
                at: 8.0,
                why: Why::Start,
                window_s: 1.0,
                answer: Answer::Held,
                run: None,
                verdict: None,
                values: BTreeMap::new(),
                notes: Vec::new(),
            };
            judge(keep, run, &mut row)
        };
        // Two deliveries are missing.
        let (missing, late) = (keep("delivery.missing", "== 0"), keep("delivery.p90", "< 100us"));
        assert_eq!(answer(&run, &[missing.clone(), late.clone()]), Answer::Failed);
        assert_eq!(
            answer(&run, std::slice::from_ref(&late)),
            Answer::Unbelieved,
            "it may be the generator's"
        );
        // Whatever arrived came in time, so what is short of all is loss.
        let within = keep("delivery.within_1s", ">= 101%");
        assert_eq!(answer(&run, std::slice::from_ref(&within)), Answer::Failed);
        let soon = keep("delivery.within_500us", ">= 99%");
        assert_eq!(answer(&run, &[soon]), Answer::Unbelieved);
        run.verdict.reasons[0].concerns = vec!["counts".to_owned()];
        assert_eq!(answer(&run, &[missing]), Answer::Unbelieved);
        run.verdict.reasons.clear();
        assert_eq!(answer(&run, &[late]), Answer::Failed);
    }

    #[test]
    fn our_own_queueing_only_looks_worse_and_a_load_not_made_does_not() {
        let reason = |code: &str, state| Reason {
            code: code.to_owned(),
            state,
            arm: None,
            concerns: Vec::new(),
            seen: String::new(),
            why: String::new(),
            try_: String::new(),
        };
        let lag = reason("read_lag", VerdictState::Invalid);
        let short = |state| reason("achieved_rate", state);
        assert!(only_looks_worse(&[&lag]));
        assert!(only_looks_worse(&[&lag, &short(VerdictState::Suspect)]));
        assert!(!only_looks_worse(&[&lag, &short(VerdictState::Invalid)]));
    }

    #[test]
    fn the_codes_are_those_of_the_verdict() {
        let bounds = include_str!("../verdict/bounds.rs");
        assert!(ONLY_WORSE.iter().all(|code| bounds.contains(&format!("code: \"{code}\""))));
    }
}
