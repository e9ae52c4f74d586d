//! The three sentences of each doubt: what was seen, why it matters, what to try.

use pushmark_model::run::{Arm, Flood, Reason, VerdictState};

use super::bounds::{self, Bound};
use super::lag::{self, Crossing, ReadLag};
use super::{AgentLost, Displaced, Seen, StoodStill};
use pushmark_chart::numbers::TERMINAL;

/// Builds a reason of an arm from its three sentences. `concerns` names metrics or families of metrics;
/// empty means all.
pub(super) fn reason(
    arm: &Arm,
    code: &str,
    state: VerdictState,
    concerns: &[&str],
    [seen, why, try_]: [String; 3],
) -> Reason {
    let concerns = concerns.iter().map(ToString::to_string).collect();
    Reason { code: code.to_string(), state, arm: Some(arm.transport), concerns, seen, why, try_ }
}

pub(super) fn generator_busy(s: &Seen<'_>) -> [String; 3] {
    [
        format!("generator core {} busy in {} {}", percent(s.share), s.arm.transport, from(s)),
        "pushmark, not the server, may have caused the slowest deliveries".into(),
        less_load(s.arm, 0.75 / s.share),
    ]
}

pub(super) fn run_queue_wait(s: &Seen<'_>) -> [String; 3] {
    [
        format!(
            "a generator thread was kept off the CPU for {} of the time in {} {}",
            percent(s.share),
            s.arm.transport,
            from(s)
        ),
        "deliveries that arrived in that time appear later than they were".into(),
        QUIETER.into(),
    ]
}

/// Describes a lag at the percentiles at which it crosses its bound, the worst one with its figures.
pub(super) fn lag(bound: &Bound, crossings: &[Crossing], s: &Seen<'_>) -> [String; 3] {
    let publisher = bound.code == bounds::PUBLISHER_LAG.code;
    let worst = crossings[0];
    let delivery = s.arm.delivery.as_ref();
    let stamped =
        delivery.is_some_and(|d| matches!(lag::of_reading(d, s.facts, worst.p), ReadLag::Stamped(_)));
    let name = match publisher {
        true => "publisher lag",
        false if stamped => "kernel wait",
        false => "read lag",
    };
    let seen = format!(
        "{name} {p} {} is {} of the delivery {p} {} in {}{} {}",
        time(worst.lag_us),
        percent(worst.share),
        time(worst.latency_us),
        s.arm.transport,
        others(crossings),
        from(s),
        p = worst.p.name(),
    );
    match publisher {
        true => [
            seen,
            "pushmark sent late, and the latency shown includes that delay".into(),
            publisher_advice(s),
        ],
        false => [
            seen,
            "the latency shown includes this delay: messages had arrived, and pushmark had not read them yet"
                .into(),
            reading_advice(s),
        ],
    }
}

/// Describes a percentile that the generator's delays moved along the ranks.
pub(super) fn displaced(moved: &Displaced, s: &Seen<'_>) -> [String; 3] {
    let p = moved.p.name();
    [
        format!(
            "{} of the deliveries in {} were sent or read late by pushmark: the delivery {p} is {}, and {} \
             without them {}",
            percent(moved.late),
            s.arm.transport,
            time(moved.shown_us),
            time(moved.without_us),
            from(s),
        ),
        "deliveries that pushmark delayed push others beyond the percentile, even if they are fewer than lie \
         beyond it"
            .into(),
        reading_advice(s),
    ]
}

/// Advice against read lag. It depends on the cause.
fn reading_advice(s: &Seen<'_>) -> String {
    match s.facts.batch_us {
        Some(us) => format!("a shorter --batch: arrivals stay unread for up to {}", time(us as i64)),
        None if s.arm.generator.busiest_core >= BUSY => less_load(s.arm, 0.5),
        None => QUIETER.into(),
    }
}

fn publisher_advice(s: &Seen<'_>) -> String {
    let exhausted = s.arm.published.as_ref().is_some_and(|p| p.pool_exhausted > 0);
    match s.facts.publisher_connections {
        Some(now) if exhausted => {
            format!("more publisher connections (--set publisher.connections={}), or a lower rate", now * 4)
        }
        _ if exhausted => "more publisher connections, or a lower rate".into(),
        _ if s.arm.generator.busiest_core >= BUSY => less_load(s.arm, 0.5),
        _ => QUIETER.into(),
    }
}

/// Share of a core from which the load itself may keep a generator busy.
const BUSY: f64 = 0.5;

/// Advice against noise from other programs: a smaller crowd would not help.
const QUIETER: &str =
    "stop other programs (pushmark doctor lists busy ones), or run server and generator on two machines";

/// Advises a smaller crowd if the crowd can be smaller.
fn less_load(arm: &Arm, share: f64) -> String {
    let (asked, fewer) = (arm.connections.asked, round_down(arm.connections.asked as f64 * share));
    match fewer < asked {
        true => format!("--set load.connections={fewer}, a lower rate, or more cores"),
        false => "a lower rate, or more cores".into(),
    }
}

pub(super) fn achieved_rate(s: &Seen<'_>) -> [String; 3] {
    let rates = s.arm.published.as_ref().map_or((0.0, 0.0), |p| (p.achieved_per_s, p.asked_per_s));
    [
        format!(
            "published {} of {}/s planned in {} ({} from {} %)",
            rate(rates.0),
            rate(rates.1),
            s.arm.transport,
            s.state.name(),
            100.0 - s.limit * 100.0
        ),
        "the load was lower than planned: the figures are not those of this scenario".into(),
        slower(s, rates),
    ]
}

/// Advises a rate that can be kept. The scenario's rate is that of one channel.
fn slower(s: &Seen<'_>, (achieved, asked): (f64, f64)) -> String {
    match s.facts.rate_per_channel {
        Some(each) if achieved > 0.0 && asked > 0.0 => {
            format!("--set publisher.rate={}/s", rate(each * achieved / asked * 0.95))
        }
        _ => "a lower rate".into(),
    }
}

pub(super) fn steal(s: &Seen<'_>) -> [String; 3] {
    [
        format!(
            "the hypervisor took {} of the CPU time in {} {}",
            percent(s.share),
            s.arm.transport,
            from(s)
        ),
        "server and generator were paused, and neither can detect it".into(),
        "use a dedicated machine, or run it again at another time".into(),
    ]
}

pub(super) fn foreign_cpu(s: &Seen<'_>) -> [String; 3] {
    let by = s.arm.foreign.as_ref().map_or("", |foreign| &foreign.by);
    let named = if by.is_empty() { String::new() } else { format!(": {by}") };
    [
        format!(
            "other programs used {} of the CPU in {} {}{named}",
            percent(s.share),
            s.arm.transport,
            from(s)
        ),
        "they delay server and generator and evict their caches: latencies and CPU costs include that effect"
            .into(),
        "stop them, and run it again on a quiet machine".into(),
    ]
}

pub(super) fn server_wait(s: &Seen<'_>) -> [String; 3] {
    [
        format!(
            "other programs kept the server off the CPU for {} of the time it wanted to run in {} {}",
            percent(s.share),
            s.arm.transport,
            from(s)
        ),
        "the server did not cause that part of its latency".into(),
        "stop other programs, and run it again on a quiet machine".into(),
    ]
}

pub(super) fn stood_still(longest: &StoodStill, times: usize) -> [String; 3] {
    let at = of_measure(longest.began_s);
    let more = if times > 1 { format!(", the longest of {times} pauses") } else { String::new() };
    [
        format!("pushmark itself was paused for {:.1} s {at}{more}", longest.length_s),
        "pushmark or its machine was stopped: nothing was sent or read in that time".into(),
        "run it again, and do not stop pushmark or suspend the machine".into(),
    ]
}

/// `agent 2 of 2 ended (signal 9) at 3.2 s of measure`.
pub(crate) fn agent_lost(lost: &AgentLost) -> String {
    let (agent, of) = lost.agent;
    format!("agent {agent} of {of} ended ({}) {}", lost.how, of_measure(lost.at_s))
}

/// An instant relative to the start of measure.
fn of_measure(at_s: f64) -> String {
    match at_s {
        s if s < 0.0 => format!("{:.1} s before measure", -s),
        s => format!("at {s:.1} s of measure"),
    }
}

pub(super) fn agent_was_lost(lost: &AgentLost) -> [String; 3] {
    [
        agent_lost(lost),
        "its clients are counted until then, and all others to the end: totals mix two crowds".into(),
        "find out what ended it (the kernel log reports a lack of memory), then run it again".into(),
    ]
}

pub(super) fn spool_damaged(spool: &str) -> [String; 3] {
    [
        spool.to_owned(),
        "what stands behind that place is not counted: its clients are counted until then, and all others to the end"
            .into(),
        "copy the spool again, or look for a fault of that disk, then reconcile again".into(),
    ]
}

pub(super) fn monitor_lost(why: &str) -> [String; 3] {
    [
        format!("the monitor beside the server was lost: {why}"),
        "what the server and its machine used is not known; what clients received is not affected".into(),
        "look at the monitor's output on its machine, then run it again".into(),
    ]
}

pub(super) fn excused(s: &Seen<'_>) -> [String; 3] {
    let (unknown, intended) =
        s.arm.delivery.as_ref().map_or((0, 0), |d| (lag::unknown(s.arm, d), d.intended));
    let settle = if s.facts.settle_s < 5.0 { 5.0 } else { s.facts.settle_s * 2.0 };
    [
        format!(
            "{} of {} deliveries excused in {} {}",
            TERMINAL.count(unknown),
            TERMINAL.count(intended),
            s.arm.transport,
            from(s)
        ),
        "pushmark does not know whether these should have arrived: some may be lost".into(),
        format!(
            "a longer settle (--set load.settle={settle:.0}s), or a target that acknowledges subscriptions"
        ),
    ]
}

pub(super) fn clock_bound(crossings: &[Crossing], s: &Seen<'_>) -> [String; 3] {
    let worst = crossings[0];
    [
        format!(
            "clock uncertainty {} is {} of the delivery {} {} in {}{} {}",
            time(worst.lag_us),
            percent(worst.share),
            worst.p.name(),
            time(worst.latency_us),
            s.arm.transport,
            others(crossings),
            from(s)
        ),
        "due and received were read on two clocks, and their offset is not known more precisely".into(),
        "publish from the host that subscribes, or synchronise both clocks with the same source".into(),
    ]
}

/// The crossings behind the worst one.
fn others(crossings: &[Crossing]) -> String {
    crossings[1..].iter().map(|c| format!("; {} of {}", percent(c.share), c.p.name())).collect()
}

pub(super) fn clocks_unknown(arm: &Arm) -> [String; 3] {
    let unknown: Vec<&str> =
        arm.agents.iter().filter(|agent| agent.clock.is_none()).map(|agent| agent.name.as_str()).collect();
    [
        format!(
            "the clock of {} is not known through all of measure in {}",
            unknown.join(", "),
            arm.transport
        ),
        "a clock was set, a machine stood still, or its clock probes (UDP) did not come back".into(),
        "one agent alone needs no second clock; else let UDP pass between the machines".into(),
    ]
}

pub(super) fn start_spread(arm: &Arm, spread_ns: u64) -> [String; 3] {
    [
        format!(
            "agents may have started {:.1} ms apart in {} (suspect from 5 ms, invalid from 50 ms)",
            spread_ns as f64 / 1e6,
            arm.transport
        ),
        "their loads were not laid over each other as planned".into(),
        "agents nearer to the coordinator, or less work beside them".into(),
    ]
}

pub(super) fn listen_overflows(overflows: u64) -> [String; 3] {
    [
        format!(
            "{} connects to programs on this host met a full listen queue (suspect from 1)",
            TERMINAL.count(overflows)
        ),
        "if the crowd made them, each connected a second later: connect times may not be the server's".into(),
        "a slower ramp (--set load.ramp.rate=200), or sysctl -w net.core.somaxconn=4096".into(),
    ]
}

pub(super) fn shortage(what: &str, shortages: u64) -> [String; 3] {
    let (seen, advice) = match what {
        "ports" => (
            "connects failed: no local port was free",
            "fewer connections, load.keep_alive = true, or more source addresses",
        ),
        _ => (
            "sockets could not be opened: no file descriptor was free",
            "pushmark doctor says how to raise the limit",
        ),
    };
    [
        format!("{} {seen} (invalid from 1)", TERMINAL.count(shortages)),
        "this machine limited the crowd, not the server".into(),
        advice.into(),
    ]
}

pub(super) fn assumed_silent(arm: &Arm) -> [String; 3] {
    let connections = &arm.connections;
    [
        format!(
            "{} of {} subscriptions in {} are only assumed: the target sent them no response head",
            TERMINAL.count(connections.assumed_silent),
            TERMINAL.count(connections.opened),
            arm.transport
        ),
        "a target that never answers looks like a target that has nothing to send".into(),
        "run pushmark check on this scenario to see the answers; use a target that sends its head at once"
            .into(),
    ]
}

pub(super) fn interrupted(measured_s: f64) -> [String; 3] {
    [
        format!("stopped by a signal after {measured_s:.1} s of measure"),
        "the figures were measured, but totals and tail latencies are those of a shorter run".into(),
        "run it again to the end".into(),
    ]
}

pub(super) fn broken_off(error: &str) -> [String; 3] {
    [
        format!("ended early: {error}"),
        "the figures cover only the time until then".into(),
        "fix the cause, then run it again".into(),
    ]
}

pub(super) fn clock_step(step_ns: i64) -> [String; 3] {
    let ms = step_ns as f64 / 1e6;
    let sign = if ms < 0.0 { "−" } else { "+" };
    [
        format!("the wall clock was changed by {sign}{:.1} ms during the run", ms.abs()),
        "times of day before and after do not match; other latencies use a clock that is never set".into(),
        "let the clock settle (chronyc waitsync), then run it again".into(),
    ]
}

pub(super) fn no_steady_state(arm: &Arm) -> [String; 3] {
    let length_us = arm.warmup.as_ref().map_or(0, |warmup| warmup.length_us);
    [
        format!(
            "no steady state after {:.0} s: cost or latency was still changing when measure began",
            length_us as f64 / 1e6
        ),
        "the figures include a part of the server's warm-up".into(),
        "a longer warm-up (--set load.warmup.max=120s)".into(),
    ]
}

pub(super) fn flood_cut(flood: &Flood) -> [String; 3] {
    [
        format!(
            "this machine, not the server, ended the flood at {} connections ({})",
            TERMINAL.count(flood.limit),
            flood.cut_by.as_deref().unwrap_or("this machine")
        ),
        "the server's own limit was not reached: it is higher".into(),
        "use a larger machine, or raise the limit of open files (pushmark doctor)".into(),
    ]
}

/// `(suspect from 80 %)`.
fn from(s: &Seen<'_>) -> String {
    let limit = s.limit * 100.0;
    format!("({} from {} %)", s.state.name(), (limit * 10.0).round() / 10.0)
}

fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent < 10.0 { format!("{percent:.1} %") } else { format!("{percent:.0} %") }
}

fn rate(per_s: f64) -> String {
    if per_s < 10.0 { format!("{per_s:.2}") } else { format!("{per_s:.0}") }
}

pub(super) fn time(us: i64) -> String {
    match us {
        ..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{} ms", three(us as f64 / 1e3)),
        _ => format!("{} s", three(us as f64 / 1e6)),
    }
}

/// Three significant digits.
fn three(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

/// Rounds down to one significant digit: the advice names a round number.
fn round_down(value: f64) -> u64 {
    let value = value.max(1.0) as u64;
    let unit = 10u64.pow(value.ilog10());
    value / unit * unit
}
