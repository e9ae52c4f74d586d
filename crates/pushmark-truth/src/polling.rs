//! Polling: the age of a message when a poll finds it, compared with theory; and intervals that adapt to the
//! messages.
//!
//! Each client has its own channel with independent Poisson publications, so that every
//! receipt is an independent draw.

use pushmark_model::histogram::Distribution;

use super::bench::{Attempt, Bench, Measured, distribution};
use super::ks::{self, Fit};
use super::scenario::Ask;
use super::{Check, short};

/// Everything since the cursor, in the form of a foreign target.
const SINCE: &str = r#"{ url = "http://127.0.0.1:{port}/poll?channel={channel}&since={cursor}", cursor = "header:pushmark-cursor", resumes = true }"#;

/// Smallest accepted p value: one in a hundred correct samples fails, so the seed is fixed.
const P_MIN: f64 = 0.01;

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    for (per_interval, clients) in [(0.2, 40), (1.0, 10), (5.0, 10)] {
        bench.timed(|bench| all_since(bench, per_interval, clients))?;
        bench.timed(|bench| only_latest(bench, per_interval, clients))?;
    }
    bench.timed(age_at_receipt)?;
    adaptive(bench)
}

/// Polls at this interval find `per_interval` publications on average.
fn measure(bench: &mut Bench, ask: Ask, per_interval: f64, clients: u64) -> anyhow::Result<(Measured, f64)> {
    let interval_ms = bench.scale.pick(125.0, 500.0);
    let ask = ask
        .connections(clients)
        .phases(300, 300, bench.scale.pick(5_000, 20_000), 1_000)
        .load(&format!("poll_interval = \"{interval_ms}ms\""))
        .subscriptions("rooms = { size = 1 }")
        .publisher("arrivals = \"poisson\"")
        .rate(1_000.0 * per_interval / interval_ms);
    Ok((bench.run(&ask)?, interval_ms * 1_000.0))
}

/// If an answer carries all messages since the cursor, the wait for the next poll is uniform.
fn all_since(bench: &mut Bench, per_interval: f64, clients: u64) -> anyhow::Result<Attempt> {
    let mut attempt = Attempt::default();
    let (measured, interval_us) = measure(bench, Ask::by_template("poll", SINCE), per_interval, clients)?;
    attempt.of(&measured);
    let (latencies, base_us) = sample(&measured)?;
    let fit = ks::fit(&latencies, |us| ((us - base_us) / interval_us).clamp(0.0, 1.0));
    let name = format!("poll since, {per_interval} an interval");
    attempt.checks.push(judged(format!("{name}: uniform"), fit));
    let lacking = measured.delivery().missing + measured.delivery().superseded;
    attempt.checks.push(Check::exact(format!("{name}: missing"), 0, lacking));
    Ok(attempt)
}

/// If an answer carries only the latest message, the age of that message is a truncated exponential.
fn only_latest(bench: &mut Bench, per_interval: f64, clients: u64) -> anyhow::Result<Attempt> {
    let mut attempt = Attempt::default();
    let (measured, interval_us) = measure(bench, Ask::builtin("poll"), per_interval, clients)?;
    attempt.of(&measured);
    let (latencies, base_us) = sample(&measured)?;
    let share = |intervals: f64| (1.0 - (-per_interval * intervals).exp()) / (1.0 - (-per_interval).exp());
    let fit = ks::fit(&latencies, |us| share(((us - base_us) / interval_us).clamp(0.0, 1.0)));
    let name = format!("poll latest, {per_interval} an interval");
    attempt.checks.push(judged(format!("{name}: truncated exp."), fit));
    let d = measured.delivery();
    attempt.checks.push(Check::exact(format!("{name}: missing"), 0, d.missing));
    attempt.checks.push(Check::exact(
        format!("{name}: shown or passed over"),
        d.intended,
        d.delivered + d.late + d.superseded,
    ));
    Ok(attempt)
}

/// The latencies, and the part of them that is not the wait for a poll: about the time of one request.
fn sample(measured: &Measured) -> anyhow::Result<(Distribution, f64)> {
    let base_us = measured.published().accept.as_ref().and_then(|accept| accept.p50_us).unwrap_or(0);
    Ok((distribution(&measured.delivery().latency)?, base_us as f64))
}

fn judged(name: String, fit: Fit) -> Check {
    let got = format!("p = {}, n = {}", short(fit.p), fit.n);
    Check::new(
        name,
        format!("p > {P_MIN}"),
        got,
        format!("D = {}", short(fit.distance)),
        fit.p > P_MIN && fit.n >= 100,
    )
}

/// Published every 50 s and polled every 15 s (here faster by a factor), the message in an answer is half the
/// publish interval old on average: the push-pull study's trip time.
fn age_at_receipt(bench: &mut Bench) -> anyhow::Result<Attempt> {
    let mut attempt = Attempt::default();
    let (publish_ms, pull_ms, measure_ms) = bench.scale.pick((1_000, 300, 6_000), (5_000, 1_500, 60_000));
    let ask = Ask::builtin("poll")
        .connections(100)
        .phases(300, publish_ms + 500, measure_ms, 1_000)
        .load(&format!("poll_interval = \"{pull_ms}ms\""))
        .load("ramp = { rate = 1000 }")
        .rate(1_000.0 / publish_ms as f64);
    let measured = bench.run(&ask)?;
    attempt.of(&measured);
    let mean_ms = measured.arm().poll.as_ref().and_then(|p| p.age_at_receipt.mean_us).map(|us| us / 1_000.0);
    let half_ms = publish_ms as f64 / 2.0;
    attempt.checks.push(Check::near("poll: mean age at receipt", half_ms, mean_ms, half_ms * 0.02, "ms"));
    Ok(attempt)
}

/// Without new messages the interval converges: `halving` at the longest, 400 ms; `ttr`, with half of each
/// weight, at 0.5 × 100 + 0.5 × (0.5 × 400 + 0.5 × x) = x, which is 200 ms.
fn adaptive(bench: &mut Bench) -> anyhow::Result<()> {
    for (rule, rest_ms) in [("ttr", 200.0), ("halving", 400.0)] {
        let adaptive = format!("{{ rule = \"{rule}\", min = \"50ms\", max = \"400ms\" }}");
        let load = format!("poll_interval = {{ interval = \"100ms\", adaptive = {adaptive} }}");
        let (crowd, measure_ms) = bench.scale.pick((20, 2_000), (200, 20_000));
        let ask = Ask::builtin("poll").connections(crowd).duration(measure_ms).rate(2.0);
        let quiet = bench.run(&ask.publisher("count = 1").load(&load))?;
        let mean_ms = quiet.arm().poll.as_ref().and_then(|p| p.interval_mean_us).map(|us| us / 1e3);
        // The first polls are closer together, and an unfinished interval of a shard is not counted.
        let (least, most) = (rest_ms * 0.75, rest_ms * 1.25);
        bench.keep(Check::between(format!("{rule}, no news: mean interval"), least, mean_ms, most, "ms"));
    }
    Ok(())
}
