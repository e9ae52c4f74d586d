//! The three sentences of each doubt: what was seen, why it matters, what to try.

use pushmark_model::run::{Arm, Flood, Reason, VerdictState};

use super::{Seen, lag};
use crate::progress::grouped;

/// A reason of an arm from its three sentences.
pub(super) fn reason(arm: &Arm, code: &str, state: VerdictState, [seen, why, try_]: [String; 3]) -> Reason {
    Reason { code: code.to_string(), state, arm: Some(arm.transport), seen, why, try_ }
}

pub(super) fn generator_busy(s: &Seen<'_>) -> [String; 3] {
    let fewer = round_down(s.arm.connections.asked as f64 * 0.75 / s.share);
    let seen = format!("generator core {} busy in {} {}", percent(s.share), s.arm.transport, from(s));
    let smaller = format!("--set load.connections={fewer}, or a machine with more cores");
    [seen, "its slowest deliveries may be ours, not the server's".into(), smaller]
}

pub(super) fn run_queue_wait(s: &Seen<'_>) -> [String; 3] {
    [
        format!(
            "a generator thread waited {} of the window for a core in {} {}",
            percent(s.share),
            s.arm.transport,
            from(s)
        ),
        "deliveries that arrived while it waited look later than they were".into(),
        "end other programs, or give the server and the generator a machine each".into(),
    ]
}

pub(super) fn read_lag(s: &Seen<'_>) -> [String; 3] {
    let delivery = s.arm.delivery.as_ref();
    let figures = delivery.and_then(|d| lag::pair(lag::of_reading(d), &d.latency));
    [
        lag_seen("read lag", figures, s),
        "so much of the latency shown is our own queueing, after the kernel had the message".into(),
        format!(
            "--set load.connections={}, or a lower rate",
            round_down(s.arm.connections.asked as f64 / 2.0)
        ),
    ]
}

pub(super) fn publisher_lag(s: &Seen<'_>) -> [String; 3] {
    let published = s.arm.published.as_ref();
    let figures = published.and_then(|p| lag::pair(&p.lag, &s.arm.delivery.as_ref()?.latency));
    let exhausted = published.is_some_and(|p| p.pool_exhausted > 0);
    let advice = if exhausted {
        "more publisher connections (--set publisher.connections=256), or a lower rate"
    } else {
        "a lower rate, or fewer connections"
    };
    [
        lag_seen("publisher lag", figures, s),
        "latency counts from due: so much of it passed before we had sent".into(),
        advice.into(),
    ]
}

pub(super) fn achieved_rate(s: &Seen<'_>) -> [String; 3] {
    let rates = s.arm.published.as_ref().map_or((0.0, 0.0), |p| (p.achieved_per_s, p.asked_per_s));
    [
        format!(
            "published {} of {}/s asked in {} ({} from {} %)",
            rate(rates.0),
            rate(rates.1),
            s.arm.transport,
            s.state.name(),
            100.0 - s.limit * 100.0
        ),
        "the load was lighter than planned: the figures are those of another scenario".into(),
        format!("--set publisher.rate={}/s", rate(rates.0 * 0.95)),
    ]
}

pub(super) fn steal(s: &Seen<'_>) -> [String; 3] {
    [
        format!(
            "the hypervisor took {} of the CPU time in {} {}",
            percent(s.share),
            s.arm.transport,
            from(s)
        ),
        "server and generator both stood still without knowing it".into(),
        "a machine of its own, or another time".into(),
    ]
}

pub(super) fn excused(s: &Seen<'_>) -> [String; 3] {
    let (excused, intended) = s.arm.delivery.as_ref().map_or((0, 0), |d| (d.excused, d.intended));
    [
        format!(
            "{} of {} deliveries excused in {} {}",
            grouped(excused),
            grouped(intended),
            s.arm.transport,
            from(s)
        ),
        "for these it cannot be known if a subscriber was to hear them: a loss may hide here".into(),
        "a longer settle (--set load.settle=5s), or a target that acknowledges subscriptions".into(),
    ]
}

pub(super) fn clock_bound(s: &Seen<'_>) -> [String; 3] {
    [
        format!("clock uncertainty is {} of the median in {} {}", percent(s.share), s.arm.transport, from(s)),
        "due and received were read on two clocks whose offset is not known better".into(),
        "publish from the host that subscribes, or set both clocks by the same source".into(),
    ]
}

pub(super) fn listen_overflows(overflows: u64) -> [String; 3] {
    [
        format!("{} connects found the listen queue full (invalid from 1)", grouped(overflows)),
        "the kernel dropped them and tried again after 1 s: connect times are not the server's".into(),
        "a slower ramp (--set load.ramp.rate=200), or sysctl -w net.core.somaxconn=4096".into(),
    ]
}

pub(super) fn shortage(what: &str, shortages: u64) -> [String; 3] {
    let (seen, advice) = match what {
        "ports" => (
            "connects refused for want of a local port",
            "fewer connections, load.keep_alive = true, or more source addresses",
        ),
        _ => ("sockets refused for want of a file descriptor", "pushmark doctor says how to raise the limit"),
    };
    [
        format!("{} {seen} (invalid from 1)", grouped(shortages)),
        "this machine ended the crowd, not the server".into(),
        advice.into(),
    ]
}

pub(super) fn interrupted(measured_s: f64) -> [String; 3] {
    [
        format!("stopped by a signal after {measured_s:.1} s of measure"),
        "what is here was measured; totals and tails are those of a shorter run".into(),
        "run it again to the end".into(),
    ]
}

pub(super) fn broken_off(error: &str) -> [String; 3] {
    [
        format!("ended early: {error}"),
        "what is here was measured until then".into(),
        "mend the cause, then run it again".into(),
    ]
}

pub(super) fn clock_step(step_ns: i64) -> [String; 3] {
    let ms = step_ns as f64 / 1e6;
    let sign = if ms < 0.0 { "−" } else { "+" };
    [
        format!("the wall clock was set by {sign}{:.1} ms during the run", ms.abs()),
        "times of day of before and after differ; latencies use a clock that is never set".into(),
        "let the clock settle (chronyc waitsync), then run it again".into(),
    ]
}

pub(super) fn no_steady_state(arm: &Arm) -> [String; 3] {
    let length_us = arm.warmup.as_ref().map_or(0, |warmup| warmup.length_us);
    [
        format!(
            "no steady state after {:.0} s: cost or latency still moved when measure began",
            length_us as f64 / 1e6
        ),
        "a part of the figures is the server's warm-up".into(),
        "a longer warm-up (--set load.warmup.max=120s)".into(),
    ]
}

pub(super) fn flood_cut(flood: &Flood) -> [String; 3] {
    [
        format!(
            "the flood ended where this machine did, at {} connections ({})",
            grouped(flood.limit),
            flood.cut_by.as_deref().unwrap_or("this machine")
        ),
        "the server's own limit was not met: it lies beyond".into(),
        "a machine that holds more, or a higher limit of open files (pushmark doctor)".into(),
    ]
}

fn lag_seen(name: &str, figures: Option<(&'static str, i64, i64)>, s: &Seen<'_>) -> String {
    let (percentile, lag_us, latency_us) = figures.unwrap_or(("p99", 0, 0));
    format!(
        "{name} {percentile} {} is {} of the delivery {percentile} {} in {} {}",
        time(lag_us),
        percent(s.share),
        time(latency_us),
        s.arm.transport,
        from(s)
    )
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

/// To one significant digit: a crowd to try is a round number.
fn round_down(value: f64) -> u64 {
    let value = value.max(1.0) as u64;
    let unit = 10u64.pow(value.ilog10());
    value / unit * unit
}
