//! A server that is stopped for a tenth of the run: every publication due in this time is late by the rest of
//! the freeze. A closed-model tool would record one slow delivery.

use super::Check;
use super::bench::{Attempt, Bench};
use super::scenario::Ask;

/// Tolerance as a share of the freeze.
const TOLERANCE: f64 = 0.02;

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    for &transport in bench.scale.over(&["sse"], &["sse"], &["sse", "websocket"]) {
        bench.timed(|bench| freeze(bench, transport))?;
    }
    Ok(())
}

fn freeze(bench: &mut Bench, transport: &'static str) -> anyhow::Result<Attempt> {
    let (measure_ms, rate) = bench.scale.pick((5_000, 400.0), (100_000, 100.0));
    let freeze_ms = measure_ms / 10;
    let ask = Ask::builtin(transport)
        .connections(bench.scale.pick(5, 20))
        .phases(300, 300, measure_ms, freeze_ms + 1_000)
        .publisher("mode = \"emitter\"")
        .rate(rate)
        .arguments(&["--freeze", &format!("{freeze_ms}ms@{}ms", 300 + measure_ms / 3)]);
    let mut attempt = Attempt::default();
    let measured = bench.run(&ask)?;
    attempt.of(&measured);
    let (latency, from_sent) = (&measured.delivery().latency, &measured.delivery().from_sent);
    let (spread, sent) = (distribution_ms(latency)?, distribution_ms(from_sent)?);
    let freeze = freeze_ms as f64;
    let within = freeze * TOLERANCE;
    let name = |what: &str| format!("{transport} frozen {freeze} ms: {what}");
    for (what, quantile, expected) in
        [("p50", 0.5, 0.0), ("p95", 0.95, freeze * 0.5), ("p99", 0.99, freeze * 0.9)]
    {
        attempt.checks.push(Check::near(name(what), expected, spread(quantile), within, "ms"));
    }
    attempt.checks.push(Check::near(name("max"), freeze, latency.max_us.map(ms), within, "ms"));
    // Not the 99th: one late wake-up after the freeze is a hundredth of these.
    attempt.checks.push(Check::near(name("p95 from sent"), 0.0, sent(0.95), within, "ms"));
    Ok(attempt)
}

fn ms(us: i64) -> f64 {
    us as f64 / 1_000.0
}

fn distribution_ms(latency: &pushmark_model::run::Latency) -> anyhow::Result<impl Fn(f64) -> Option<f64>> {
    let distribution = super::bench::distribution(latency)?;
    Ok(move |quantile| distribution.quantile(quantile).map(ms))
}
