//! A starved generator reads late; kernel stamps still show when deliveries arrived.
//!
//! It is stopped repeatedly, each time for less than a connection's interval between two messages: so a
//! socket never holds two messages, and every stamp belongs to its message.

use std::time::Duration;

use anyhow::Context as _;
use pushmark_model::run::Latency;

use super::Check;
use super::bench::{Attempt, Bench};
use super::command::UnderWay;
use super::scenario::Ask;

/// Interval between two messages of a connection.
const INTERVAL_MS: u64 = 200;
const STOP: Duration = Duration::from_millis(120);
/// Longer than a stop, so that the delayed messages are read before the next stop.
const GO: Duration = Duration::from_millis(170);
/// Each stop that delays a message delays it by more than this.
const STARVED_MS: f64 = 30.0;
/// The longest time from the server's write to the kernel's stamp, ms.
const ARRIVAL_MS: f64 = 1.0;
/// The largest difference between the median of all writes and the median of the measured ones, ms.
const GRAIN_MS: f64 = 0.1;

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    for &transport in bench.scale.over(&["sse"], &["sse", "websocket"], &["stream", "sse", "websocket"]) {
        bench.timed(|bench| starved(bench, transport))?;
    }
    Ok(())
}

fn starved(bench: &mut Bench, transport: &'static str) -> anyhow::Result<Attempt> {
    let stops: u64 = bench.scale.pick(12, 100);
    let ask = Ask::builtin(transport)
        .top("threads = 1")
        .top("stamp_sample = 1")
        .connections(20)
        .phases(300, 300, stops * (STOP + GO).as_millis() as u64 + 500, 1_000)
        .publisher("mode = \"emitter\"")
        .rate(1_000.0 / INTERVAL_MS as f64);
    let run = UnderWay::start(bench, &ask)?;
    run.wait_measure()?;
    for _ in 0..stops {
        run.stop_for(STOP)?;
        std::thread::sleep(GO);
    }
    let ended = run.wait()?;
    bench.add_up(&ended.run)?;
    let delivery = ended.run.arms[0].delivery.as_ref().context("a run that publishes")?;
    let stamped = delivery.latency_stamped.as_ref().context("every connection is stamped")?;
    let ms = |us: Option<i64>| us.map(|us| us as f64 / 1_000.0);
    let p99 = |latency: &Latency| ms(latency.p99_us.or(latency.max_us));
    let mut written: Vec<u64> = ended.truth.delays_us();
    written.sort_unstable();
    let written_ms = |share: f64| written[((written.len() - 1) as f64 * share) as usize] as f64 / 1_000.0;

    let mut attempt = Attempt::default();
    if delivery.stamps_unused > 0 {
        attempt.excuses.push("two messages lay on a socket".to_owned());
    }
    let name = |what: &str| format!("{transport} starved: {what}");
    let mut keep = |check| attempt.checks.push(check);
    keep(Check::exact(name("stamps"), delivery.delivered + delivery.late, stamped.count));
    let lag_ms = delivery.read_lag_stamped.as_ref().and_then(p99);
    keep(Check::between(name("read lag p99"), STARVED_MS, lag_ms, f64::INFINITY, "ms"));
    keep(Check::between(name("latency p99"), STARVED_MS, p99(&delivery.latency), f64::INFINITY, "ms"));
    let (low, high) = (written_ms(0.5) - GRAIN_MS, written_ms(0.5) + ARRIVAL_MS);
    keep(Check::between(name("stamped p50"), low, ms(stamped.p50_us), high, "ms"));
    let high = written_ms(0.99) + ARRIVAL_MS;
    keep(Check::between(name("stamped p99"), 0.0, p99(stamped), high, "ms"));
    Ok(attempt)
}
