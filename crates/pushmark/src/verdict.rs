//! Whether an arm's figures can be believed: one table of bounds, and the words for each doubt.
//!
//! Nothing is measured here. What an [`Arm`] does not hold comes in as [`Facts`]; a figure that
//! is absent raises no doubt, and is not taken for a good one either.

mod bounds;
mod browser;
mod facts;
mod lag;
mod words;

use pushmark_model::run::{Arm, FloodEnd, Outcome, Reason, Verdict, VerdictState};

pub use bounds::{BOUNDS, Bound};
pub use facts::Facts;

/// From which share of a core on a generator is too busy to be believed.
pub(crate) fn generator_busy_from() -> f64 {
    bounds::GENERATOR_BUSY.suspect
}

/// Every doubt about an arm, worst first.
pub fn judge(arm: &Arm, facts: &Facts) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut doubt = |bound: &Bound, share: Option<f64>, words: &dyn Fn(&Seen<'_>) -> [String; 3]| {
        if let Some(share) = share
            && let Some((state, limit)) = bound.crossed(share)
        {
            reasons.push(words::reason(arm, bound.code, state, words(&Seen { arm, share, limit, state })));
        }
    };
    let generator = &arm.generator;
    doubt(&bounds::GENERATOR_BUSY, Some(generator.busiest_core), &words::generator_busy);
    doubt(&bounds::RUN_QUEUE_WAIT, facts.shard_wait(generator), &words::run_queue_wait);
    doubt(&bounds::READ_LAG, lag::read(arm), &words::read_lag);
    // What publishes inside the server is the server's: late or silent, that is an outcome of it.
    let ours = arm.published.as_ref().is_some_and(|p| !p.emitter);
    doubt(&bounds::PUBLISHER_LAG, lag::publisher(arm).filter(|_| ours), &words::publisher_lag);
    // A flood goes on until its server can no more: that it publishes no more is what was sought.
    let rate_short = lag::rate_short(arm).filter(|_| ours && arm.flood.is_none());
    doubt(&bounds::ACHIEVED_RATE, rate_short, &words::achieved_rate);
    doubt(&bounds::STEAL, Some(generator.steal), &words::steal);
    doubt(&bounds::EXCUSED, lag::excused(arm), &words::excused);
    doubt(&bounds::CLOCK_BOUND, lag::clock(arm, facts), &words::clock_bound);

    reasons.extend(browser::doubts(arm));
    let mut found = |code, state, text| reasons.push(words::reason(arm, code, state, text));
    // A flood fills queues: that they ran over is what it found.
    let flooded = arm.flood.is_some();
    if let Some(overflows) = arm.wire.listen_overflows.filter(|&n| n > 0 && !flooded) {
        found("listen_overflows", VerdictState::Invalid, words::listen_overflows(overflows));
    }
    for (code, shortage) in [("ports", facts.port_shortages), ("descriptors", facts.descriptor_shortages)] {
        if shortage > 0 {
            found(code, VerdictState::Invalid, words::shortage(code, shortage));
        }
    }
    if let Some(measured_s) = facts.interrupted_after_s {
        found("interrupted", VerdictState::Incomplete, words::interrupted(measured_s));
    }
    if let Some(error) = &facts.broken_off {
        found("broken_off", VerdictState::Incomplete, words::broken_off(error));
    }
    if let Some(step_ns) = facts.clock_step_ns {
        found("clock_step", VerdictState::Suspect, words::clock_step(step_ns));
    }
    if facts.no_steady_state {
        found("no_steady_state", VerdictState::Suspect, words::no_steady_state(arm));
    }
    if let Some(flood) =
        arm.flood.as_ref().filter(|flood| flood.end == FloodEnd::Limit && flood.cut_by.is_some())
    {
        found("flood_cut", VerdictState::Suspect, words::flood_cut(flood));
    }
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.state));
    reasons
}

/// What a doubt's words are made from.
struct Seen<'a> {
    arm: &'a Arm,
    share: f64,
    limit: f64,
    state: VerdictState,
}

/// The worst of some reasons; `Valid` if there is none.
pub fn worst(reasons: &[Reason]) -> VerdictState {
    reasons.iter().map(|r| r.state).max().unwrap_or(VerdictState::Valid)
}

/// The verdict of a run: every reason of its arms, worst first, and the worst of them.
pub fn of_run(reasons: Vec<Reason>) -> Verdict {
    let mut reasons = reasons;
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.state));
    Verdict { state: worst(&reasons), reasons }
}

/// What became of the server: not whether the figures hold, but whether it did.
///
/// It died if its process ended by itself, if everything it held was lost and nothing of what
/// was expected arrived, or if publications, its own or ours, came to nothing from then on. It is degraded if
/// a connection or a delivery was lost, or late, or if its emitter made fewer publications than due.
pub fn outcome(arm: &Arm, facts: &Facts) -> Outcome {
    let connections = &arm.connections;
    let delivery = arm.delivery.as_ref();
    let ended = facts.server_ended || arm.server.as_ref().is_some_and(|s| s.ended.is_some());
    let all_lost = connections.opened > 0 && connections.lost >= connections.opened;
    let silent = delivery.is_some_and(|d| d.delivered == 0);
    if ended || (all_lost && silent) || fell_silent(arm) {
        return Outcome::Died;
    }
    let publications = arm.published.as_ref().is_some_and(|p| p.failed > 0 || (p.emitter && p.sent < p.due));
    // A flood's crowd comes while it is measured: who has not been offered yet is not unserved,
    // and a flood that met no limit asked for no more.
    let flood = arm.flood.as_ref();
    let short = delivery.is_some_and(|d| {
        let unserved = if flood.is_some() { 0 } else { d.unserved };
        d.missing + d.late + unserved + d.unpublished > 0 || d.delivered < d.expected || d.unstable
    });
    let asked = flood.map_or(connections.asked, |flood| flood.offered);
    let connections = connections.lost > 0 || connections.opened < asked;
    if short || publications || connections { Outcome::Degraded } else { Outcome::Held }
}

/// Whether the target stopped: what publishes by itself, inside it, left publications unsent, or nobody
/// could reach it with one; and nothing that was due in the last seconds of measure was ever heard,
/// though two were.
fn fell_silent(arm: &Arm) -> bool {
    let (Some(delivery), Some(published)) = (&arm.delivery, &arm.published) else { return false };
    if published.unreachable == 0 && (!published.emitter || delivery.unpublished == 0) {
        return false;
    }
    let measure = arm.phases.iter().find(|phase| phase.name == "measure");
    let seconds = measure.map_or(0, |m| (m.end_us - m.start_us).div_ceil(1_000_000));
    let heard = u64::from(delivery.heat.first_second) + delivery.heat.columns.len() as u64;
    seconds > heard && (seconds - heard) * published.due >= 2 * seconds
}

#[cfg(test)]
mod tests;
