//! Judges whether an arm's figures can be trusted: one table of bounds, and the text of each doubt.
//!
//! Nothing is measured here. Facts that an [`Arm`] does not hold are passed as [`Facts`]. An absent
//! figure raises no doubt, and does not count as a good figure.

mod accounts;
mod bounds;
mod browser;
mod displaced;
mod facts;
mod lag;
mod percentile;
mod subscription;
mod words;

use pushmark_model::metrics::family;
use pushmark_model::run::{Arm, FloodEnd, Outcome, Reason, Verdict, VerdictState};

pub use bounds::{BOUNDS, Bound};
pub use displaced::{displaced, rank_slack};
pub use facts::{AgentLost, Displaced, Facts, ReceivedTotals, StoodStill};
pub use percentile::own_allowed_us;
pub(crate) use subscription::shown;
pub(crate) use words::agent_lost;

/// A doubt about every figure.
const ALL: &[&str] = &[];

/// Metrics that use the wall clock: the target's timestamps and the kernel's receive stamps.
const WALL_CLOCK: &[&str] = &[family::LATENCY_STAMPED, "delivery.read_lag_stamped", "observed.latency"];

/// Share of measure from which a paused generator determines the p99.
const STOOD_STILL_INVALID: f64 = 0.01;

/// How far the starts of several machines may be apart.
const START_SPREAD_SUSPECT_NS: u64 = 5_000_000;
const START_SPREAD_INVALID_NS: u64 = 50_000_000;

/// Returns the share of a core from which a generator is too busy to be trusted.
pub(crate) fn generator_busy_from() -> f64 {
    bounds::GENERATOR_BUSY.suspect
}

/// Returns the share of the CPUs from which other programs disturb a run.
pub fn foreign_cpu_from() -> f64 {
    bounds::FOREIGN_CPU.suspect
}

/// Returns every doubt about an arm, worst first.
pub fn judge(arm: &Arm, facts: &Facts) -> Vec<Reason> {
    let mut reasons = Vec::new();
    let mut doubt = |bound: &Bound, share: Option<f64>, words: &dyn Fn(&Seen<'_>) -> [String; 3]| {
        if let Some(share) = share
            && let Some((state, limit)) = bound.crossed(share)
        {
            reasons.push(words::reason(
                arm,
                bound.code,
                state,
                bound.concerns,
                words(&Seen { arm, facts, share, limit, state }),
            ));
        }
    };
    let generator = &arm.generator;
    doubt(&bounds::GENERATOR_BUSY, Some(generator.busiest_core), &words::generator_busy);
    doubt(&bounds::RUN_QUEUE_WAIT, facts.shard_wait(generator), &words::run_queue_wait);
    // An emitter is part of the server: if it is late or silent, that is an outcome.
    let ours = arm.published.as_ref().is_some_and(|p| !p.emitter);
    // A flood continues until its server fails, so a low rate is expected.
    let rate_short = lag::rate_short(arm).filter(|_| ours && arm.flood.is_none());
    doubt(&bounds::ACHIEVED_RATE, rate_short, &words::achieved_rate);
    doubt(&bounds::STEAL, Some(generator.steal), &words::steal);
    let foreign = arm.foreign.as_ref().map(|foreign| foreign.cpu);
    doubt(&bounds::FOREIGN_CPU, foreign, &words::foreign_cpu);
    let waited = facts.server_wait.filter(|_| foreign >= Some(bounds::FOREIGN_MIN));
    doubt(&bounds::SERVER_WAIT, waited, &words::server_wait);
    doubt(&bounds::EXCUSED, lag::excused(arm), &words::excused);
    doubt(&bounds::UNSTAMPED, subscription::unstamped(arm), &subscription::unstamped_words);

    reasons.extend(lags(arm, facts, ours));
    reasons.extend(displacements(arm, facts));
    reasons.extend(browser::doubts(arm));
    reasons.extend(accounts::doubt(arm));
    if let Some(heard) = &facts.heard {
        reasons.extend(subscription::doubts(arm, heard, outcome(arm, facts)));
    }
    let mut found = |code, state, concerns: &[&str], text| {
        reasons.push(words::reason(arm, code, state, concerns, text));
    };
    // Drops of the target's own listener are an outcome. The host's counter raises a doubt only if
    // those drops are not known. A flood fills queues on purpose.
    let known = arm.wire.listener_drops.is_some() || arm.flood.is_some();
    if let Some(overflows) = arm.wire.listen_overflows.filter(|&n| n > 0 && !known) {
        found(
            "listen_overflows",
            VerdictState::Suspect,
            &[family::CONNECT],
            words::listen_overflows(overflows),
        );
    }
    let longest = facts.stood_still.iter().max_by(|a, b| a.length_s.total_cmp(&b.length_s));
    if let Some(longest) = longest {
        let measured: f64 = facts.stood_still.iter().map(|still| still.measured).sum();
        let state =
            if measured >= STOOD_STILL_INVALID { VerdictState::Invalid } else { VerdictState::Suspect };
        found("stood_still", state, bounds::LOAD, words::stood_still(longest, facts.stood_still.len()));
    }
    for (code, shortage) in [("ports", facts.port_shortages), ("descriptors", facts.descriptor_shortages)] {
        if shortage > 0 {
            found(code, VerdictState::Invalid, ALL, words::shortage(code, shortage));
        }
    }
    let silent = arm.connections.assumed_silent;
    if silent > 0 {
        let (state, concerns) = match silent >= arm.connections.opened {
            true => (VerdictState::Invalid, ALL),
            false => (VerdictState::Suspect, &[family::COUNTS][..]),
        };
        found("assumed_silent", state, concerns, words::assumed_silent(arm));
    }
    if let Some(measured_s) = facts.interrupted_after_s {
        found("interrupted", VerdictState::Incomplete, ALL, words::interrupted(measured_s));
    }
    if let Some(error) = &facts.broken_off {
        found("broken_off", VerdictState::Incomplete, ALL, words::broken_off(error));
    }
    for agent in &facts.agents_lost {
        found("agent_lost", VerdictState::Incomplete, ALL, words::agent_was_lost(agent));
    }
    for spool in &facts.spools_damaged {
        found("spool_damaged", VerdictState::Incomplete, ALL, words::spool_damaged(spool));
    }
    if let Some(why) = &facts.monitor_lost {
        let concerns = &[family::CPU, family::MEMORY, family::WIRE];
        found("monitor_lost", VerdictState::Incomplete, concerns, words::monitor_lost(why));
    }
    if facts.clocks_unknown {
        found("clocks", VerdictState::Invalid, bounds::CLOCK_BOUND.concerns, words::clocks_unknown(arm));
    }
    let spread_ns = facts.start_spread_ns.unwrap_or(0);
    if spread_ns > START_SPREAD_SUSPECT_NS {
        let state = match spread_ns > START_SPREAD_INVALID_NS {
            true => VerdictState::Invalid,
            false => VerdictState::Suspect,
        };
        found("start_spread", state, bounds::LOAD, words::start_spread(arm, spread_ns));
    }
    if let Some(step_ns) = facts.clock_step_ns {
        found("clock_step", VerdictState::Suspect, WALL_CLOCK, words::clock_step(step_ns));
    }
    if facts.no_steady_state {
        found("no_steady_state", VerdictState::Suspect, bounds::LOAD, words::no_steady_state(arm));
    }
    if let Some(flood) =
        arm.flood.as_ref().filter(|flood| flood.end == FloodEnd::Limit && flood.cut_by.is_some())
    {
        found("flood_cut", VerdictState::Suspect, &[family::FLOOD], words::flood_cut(flood));
    }
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.state));
    reasons
}

/// Returns doubts about single percentiles: a reason for each lag and each state.
fn lags(arm: &Arm, facts: &Facts, ours: bool) -> Vec<Reason> {
    let publisher = if ours { lag::publisher(arm) } else { Vec::new() };
    let all = lag::read(arm, facts).into_iter().map(|crossed| (&bounds::READ_LAG, crossed));
    let all = all.chain(publisher.into_iter().map(|crossed| (&bounds::PUBLISHER_LAG, crossed)));
    let all = all.chain(lag::clocks(arm, facts).into_iter().map(|crossed| (&bounds::CLOCK_BOUND, crossed)));
    all.map(|(bound, (state, limit, crossings))| {
        let of = |family: &str| crossings.iter().map(move |c| format!("{family}.{}", c.p.metric())).collect();
        let names: Vec<String> =
            bound.concerns.iter().flat_map(|family| -> Vec<String> { of(family) }).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let seen = Seen { arm, facts, share: crossings[0].share, limit, state };
        let words = match bound.code == bounds::CLOCK_BOUND.code {
            true => words::clock_bound(&crossings, &seen),
            false => words::lag(bound, &crossings, &seen),
        };
        words::reason(arm, bound.code, state, &names, words)
    })
    .collect()
}

/// Returns doubts about percentiles that the generator's delays moved along the ranks: one for each state.
fn displacements(arm: &Arm, facts: &Facts) -> Vec<Reason> {
    let of = |state: VerdictState| {
        let all = facts.displaced.iter().filter_map(|moved| Some((moved, moved.crossed()?)));
        let some: Vec<(&Displaced, f64)> =
            all.filter(|(_, crossed)| crossed.0 == state).map(|(moved, (_, limit))| (moved, limit)).collect();
        let &(worst, limit) = some.first()?;
        let names: Vec<String> = some
            .iter()
            .flat_map(|(moved, _)| {
                [family::LATENCY, family::LOOPBACK_SHARE, family::FROM_SENT, family::LATENCY_STAMPED]
                    .map(|family| format!("{family}.{}", moved.p.metric()))
            })
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let seen = Seen { arm, facts, share: worst.share(), limit, state };
        Some(words::reason(arm, "displaced", state, &names, words::displaced(worst, &seen)))
    };
    [VerdictState::Invalid, VerdictState::Suspect].into_iter().filter_map(of).collect()
}

/// The input of a doubt's text.
struct Seen<'a> {
    arm: &'a Arm,
    facts: &'a Facts,
    share: f64,
    limit: f64,
    state: VerdictState,
}

/// Returns the worst state of some reasons; `Valid` if there are no reasons.
pub fn worst(reasons: &[Reason]) -> VerdictState {
    reasons.iter().map(|r| r.state).max().unwrap_or(VerdictState::Valid)
}

/// Returns the verdict of a run: every reason of its arms, worst first, and the worst state.
pub fn of_run(reasons: Vec<Reason>) -> Verdict {
    let mut reasons = reasons;
    reasons.sort_by_key(|reason| std::cmp::Reverse(reason.state));
    Verdict { state: worst(&reasons), reasons }
}

/// Returns the outcome: what the server did, whether or not the figures can be trusted.
///
/// The server died if its process ended by itself; if all connections were lost, no delivery arrived and
/// connects are refused; or if it fell silent (`fell_silent`). It is degraded if a connection or a delivery
/// was lost or late, if a publication failed, if its listen queue was full, or if its emitter made fewer
/// publications than due.
pub fn outcome(arm: &Arm, facts: &Facts) -> Outcome {
    let connections = &arm.connections;
    let delivery = arm.delivery.as_ref();
    let ended = facts.server_ended || arm.server.as_ref().is_some_and(|s| s.ended.is_some());
    let all_lost = connections.opened > 0 && connections.lost >= connections.opened;
    let silent = delivery.is_some_and(|d| d.delivered == 0);
    // A server that closes every connection and still accepts connects has refused its clients.
    let gone = all_lost && silent && facts.heard.as_ref().is_none_or(|heard| heard.refused);
    if ended || gone || fell_silent(arm, facts) {
        return Outcome::Died;
    }
    let publications = arm.published.as_ref().is_some_and(|p| p.failed > 0 || (p.emitter && p.sent < p.due));
    // A flood's crowd connects during measure. A client that has not been offered yet is not unserved,
    // and a flood that met no limit has asked for the clients it offered, not for more.
    let flood = arm.flood.as_ref();
    let short = delivery.is_some_and(|d| {
        let unserved = if flood.is_some() { 0 } else { d.unserved };
        d.missing + d.late + unserved + d.unpublished > 0 || d.delivered < d.expected || d.unstable
    });
    let asked = flood.map_or(connections.asked, |flood| flood.offered);
    // A client that meets a full listen queue connects a second later or never.
    let dropped = flood.is_none() && arm.wire.listener_drops.is_some_and(|n| n > 0);
    let connections = connections.lost > 0 || connections.opened < asked || dropped;
    if short || publications || connections { Outcome::Degraded } else { Outcome::Held }
}

/// Whether the target fell silent. Its emitter left publications unsent, or publications could not
/// reach it and clients lost it too: a target that refuses a feed and keeps its clients is alive. And
/// no client received any of the publications due in the last seconds of measure, though at least two
/// were due. A server that still delivers earlier ones at the end of measure, or later, is behind and alive.
fn fell_silent(arm: &Arm, facts: &Facts) -> bool {
    let (Some(delivery), Some(published)) = (&arm.delivery, &arm.published) else { return false };
    let emitter_stopped = published.emitter && delivery.unpublished > 0;
    let lost_clients = arm.connections.lost > 0 || !arm.transport.is_push();
    let unreachable = published.unreachable > 0 && lost_clients;
    if !emitter_stopped && !unreachable {
        return false;
    }
    let measure = arm.phases.iter().find(|phase| phase.name == "measure");
    let last = facts.heard.as_ref().and_then(|heard| heard.last_second);
    let ends_us = measure.map_or(0, |measure| measure.end_us);
    if last.is_some_and(|last| (u64::from(last) + 1) * 1_000_000 >= ends_us) {
        return false;
    }
    let seconds = measure.map_or(0, |m| (m.end_us - m.start_us).div_ceil(1_000_000));
    let heard = u64::from(delivery.heat.first_second) + delivery.heat.columns.len() as u64;
    seconds > heard && (seconds - heard) * published.due >= 2 * seconds
}

#[cfg(test)]
mod host_tests;
#[cfg(test)]
mod lag_tests;
#[cfg(test)]
mod tests;
