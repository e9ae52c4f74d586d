//! Known delays are measured as latencies: never less, and little more.

use anyhow::{Context as _, ensure};
use pushmark_model::run::Latency;

use super::bench::{Attempt, Bench, Measured, distribution};
use super::scenario::Ask;
use super::{Check, Scale};

/// The tolerance above the delay and the median without one, ms.
const OVER_MS: f64 = 0.3;
/// Resolution of the histograms: three digits, and whole µs.
const RESOLUTION: f64 = 0.001;

/// Transports over which a delay of the server is a delay of the delivery.
const ALL: &[&str] = &["stream", "sse", "websocket", "long-poll", "bayeux", "bayeux-websocket"];

const DELAYS_MS: [f64; 4] = [1.0, 5.0, 50.0, 500.0];

/// Fixed delays over each transport that pushes, and long polling.
///
/// Small: one crowd, whose publications take turns at the five delays (one of them 0 ms). The delays are far
/// enough apart for ranks to separate them. In full: a crowd for each.
pub(super) fn fixed(bench: &mut Bench) -> anyhow::Result<()> {
    for &transport in bench.scale.over(&["sse", "long-poll"], ALL, ALL) {
        match bench.scale {
            Scale::Minute | Scale::Small => bench.timed(|bench| in_turns(bench, transport))?,
            Scale::Full => bench.timed(|bench| one_by_one(bench, transport))?,
        }
    }
    Ok(())
}

fn in_turns(bench: &mut Bench, transport: &'static str) -> anyhow::Result<Attempt> {
    let mut attempt = Attempt::default();
    let measured = bench.run(
        &Ask::builtin(transport)
            .connections(10)
            .phases(300, 0, 2_600, 1_500)
            .top("stamp_sample = 1")
            // No delay is a multiple of the interval: a delayed message does not meet one that is due.
            .rate(97.0)
            .publisher("count = 240")
            .arguments(&["--delay", "table:0ms,1ms,5ms,50ms,500ms"]),
    )?;
    disturbances(&mut attempt, &measured);
    let latencies = distribution(&measured.delivery().latency)?;
    let n = latencies.count();
    ensure!(
        n == measured.delivery().intended && n % 5 == 0,
        "{n} deliveries of {}",
        measured.delivery().intended
    );
    let part = n / 5;
    let at_ms = |rank: u64| latencies.value_at_rank(rank).map_or(f64::NAN, |us| us as f64 / 1_000.0);
    let base_ms = at_ms(part / 2);
    let late_ms = |turn: u64, delay_ms| written_late_ms(&measured, |n| n % 5 == turn, delay_ms);
    let base_late_ms = late_ms(0, 0.0)?;
    for (turn, delay_ms) in (1..).zip(DELAYS_MS) {
        if late_ms(turn, delay_ms)? > base_late_ms + OVER_MS {
            attempt.excuses.push("the server wrote late".to_owned());
        }
        let (first, median) = (turn * part + 1, turn * part + part / 2);
        check(&mut attempt, transport, delay_ms, base_ms, at_ms(first), at_ms(median));
    }
    Ok(attempt)
}

/// The generator's part of a latency, by the figures of the run itself: more than one publication in ten was
/// sent late, or more than one delivery in ten waited unread, for longer than the tolerance.
///
/// The verdict's own bounds on both are shares of the 99th percentile. Without a delay that percentile is
/// half a millisecond. Any wake-up takes a tenth of it, and that does not move a median.
fn disturbances(attempt: &mut Attempt, measured: &Measured) {
    attempt.of_all_but(measured, &["read_lag", "publisher_lag"]);
    let over = |latency: Option<&Latency>| {
        latency.and_then(|l| l.p90_us).is_some_and(|us| us as f64 > OVER_MS * 1_000.0)
    };
    if over(Some(&measured.published().lag)) {
        attempt.excuses.push("published late".to_owned());
    }
    if over(measured.delivery().read_lag_stamped.as_ref()) {
        attempt.excuses.push("read late".to_owned());
    }
}

/// The median of the extra time that a server took beyond the delay: its truth log shows a wait for a core.
fn written_late_ms(measured: &Measured, mine: impl Fn(u64) -> bool, delay_ms: f64) -> anyhow::Result<f64> {
    let delays_us = measured.truth()?.delays_us_by(mine);
    let mut delays_us: Vec<u64> = delays_us.into_iter().filter(|(mine, _)| *mine).map(|(_, us)| us).collect();
    delays_us.sort_unstable();
    let median_us = delays_us.get(delays_us.len() / 2).context("the truth log has none of these")?;
    Ok(*median_us as f64 / 1_000.0 - delay_ms)
}

fn one_by_one(bench: &mut Bench, transport: &'static str) -> anyhow::Result<Attempt> {
    let mut attempt = Attempt::default();
    let run = |bench: &mut Bench, attempt: &mut Attempt, delay: Option<&str>| {
        let ask = Ask::builtin(transport)
            .connections(50)
            .phases(500, 500, 10_000, 1_500)
            .rate(20.0)
            .top("stamp_sample = 1");
        let ask = delay.map_or(ask.clone(), |delay| ask.arguments(&["--delay", delay]));
        let measured = bench.run(&ask)?;
        disturbances(attempt, &measured);
        anyhow::Ok(measured)
    };
    let ms = |us: Option<i64>| us.map_or(f64::NAN, |us| us as f64 / 1_000.0);
    let median_ms = |measured: &Measured| ms(measured.delivery().latency.p50_us);
    let base = run(bench, &mut attempt, None)?;
    let (base_ms, base_late_ms) = (median_ms(&base), written_late_ms(&base, |_| true, 0.0)?);
    for delay_ms in DELAYS_MS {
        let measured = run(bench, &mut attempt, Some(&format!("{delay_ms}ms")))?;
        if written_late_ms(&measured, |_| true, delay_ms)? > base_late_ms + OVER_MS {
            attempt.excuses.push("the server wrote late".to_owned());
        }
        let min_ms = ms(measured.delivery().latency.min_us);
        check(&mut attempt, transport, delay_ms, base_ms, min_ms, median_ms(&measured));
    }
    Ok(attempt)
}

fn check(attempt: &mut Attempt, transport: &str, delay_ms: f64, base_ms: f64, min_ms: f64, median_ms: f64) {
    let name = format!("{transport} delayed {delay_ms} ms");
    let high_ms = (delay_ms + base_ms + OVER_MS) * (1.0 + RESOLUTION);
    attempt.checks.push(Check::between(format!("{name}: p50"), delay_ms, Some(median_ms), high_ms, "ms"));
    // A bucket is named by its lower end.
    let low_ms = delay_ms * (1.0 - RESOLUTION);
    let passed = min_ms >= low_ms;
    let shown = format!("{} ms", super::short(min_ms));
    attempt.checks.push(Check::new(
        format!("{name}: least"),
        format!("≥ {delay_ms} ms"),
        shown,
        "0.1 %",
        passed,
    ));
}

/// One in ten takes 20 ms, the rest 2 ms: the share above 10 ms must equal the share in the server's log.
pub(super) fn bimodal(bench: &mut Bench) -> anyhow::Result<()> {
    for &transport in bench.scale.over(&["sse"], &["sse"], ALL) {
        bench.timed(|bench| share(bench, transport))?;
    }
    Ok(())
}

fn share(bench: &mut Bench, transport: &'static str) -> anyhow::Result<Attempt> {
    const BOUND_US: u64 = 10_000;
    let mut attempt = Attempt::default();
    let ask = Ask::builtin(transport)
        .connections(bench.scale.pick(20, 50))
        .duration(bench.scale.pick(2_000, 20_000))
        .rate(50.0)
        .arguments(&["--delay", "bimodal:2ms,20ms,10"]);
    let measured = bench.run(&ask)?;
    // The part of the latency before the server's write is in both sides of the comparison.
    attempt.of_all_but(&measured, &["publisher_lag", "read_lag"]);
    let written = measured.truth()?.delays_us();
    // Deliveries that may have crossed the bound while they were unread.
    let lag_us = measured.delivery().read_lag.max_us.unwrap_or(0) as u64 + 500;
    let doubtful = written.iter().filter(|&&us| us <= BOUND_US && us + lag_us > BOUND_US).count();
    if doubtful * 1_000 > written.len() {
        attempt.excuses.push(format!("{doubtful} lay near the bound"));
    }
    let above = |share: usize, of: usize| 100.0 * share as f64 / of.max(1) as f64;
    let truth = above(written.iter().filter(|&&us| us > BOUND_US).count(), written.len());
    let latencies = distribution(&measured.delivery().latency)?;
    let seen = latencies.positive().iter_recorded().filter(|step| step.value_iterated_to() > BOUND_US);
    let seen: u64 = seen.map(|step| step.count_since_last_iteration()).sum();
    let got = above(seen as usize, latencies.count() as usize);
    attempt.checks.push(Check::near(format!("{transport} bimodal: above 10 ms"), truth, Some(got), 0.1, "%"));
    Ok(attempt)
}
