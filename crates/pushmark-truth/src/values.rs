//! Hand-made stamps: negative latencies are shown, stamps of other runs are kept apart.

use std::time::Duration;

use pushmark_model::stamp::{NONCES, Stamp};
use pushmark_net::Clock;

use super::Check;
use super::bench::{Bench, distribution};
use super::foreign::{Foreign, stamp_of, text_of};
use super::scenario::Ask;

/// One in this many publications has a due instant after its sent instant.
const FUTURE: u64 = 4;
/// The difference, µs: longer than the flight time of a publication.
const FUTURE_US: u64 = 100_000;
/// One in this many is followed by a publication of another run.
const REPLAYED: u64 = 5;
/// One in this many is followed by an unstamped message.
const UNSTAMPED: u64 = 7;

/// Publications of warm-up, which are not counted. No rule applies in its last 100 ms.
const WARM_UP: u64 = 20;

/// Applies each rule by the number of the publication.
fn relay(n: u64, payload: &str) -> Vec<String> {
    let Some(stamp) = stamp_of(payload) else { return vec![payload.to_owned()] };
    let now_us = Clock::now() / 1_000;
    let mut events = vec![match n % FUTURE {
        0 => text_of(&Stamp { due_us: now_us + FUTURE_US, ..stamp }),
        _ => payload.to_owned(),
    }];
    if n.is_multiple_of(REPLAYED) {
        events.push(text_of(&Stamp { nonce: (stamp.nonce + 1) % NONCES, ..stamp }));
    }
    if n.is_multiple_of(UNSTAMPED) {
        events.push("a message of somebody else, long enough to hold a stamp if it were ours".to_owned());
    }
    events
}

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let target = Foreign::start(Duration::ZERO, relay)?;
    let (subscribe, publish) = target.urls();
    let crowd = bench.scale.pick(10, 50);
    let ask = Ask::url("sse", subscribe, publish)
        .connections(crowd)
        .phases(300, 1_000, bench.scale.pick(2_000, 10_000), 1_000)
        .publisher("phase = \"aligned\"")
        // Nothing is published in the last 100 ms, so that a publication due later is still in measure.
        .publisher(&format!("count = {}", WARM_UP + bench.scale.pick(36, 196)))
        .rate(20.0);
    let measured = bench.run(&ask)?;
    let all = target.posts().len() as u64;
    let (delivery, posts) = (measured.delivery(), all - WARM_UP);
    let name = |what: &str| format!("stamps by hand: {what}");
    let every = |n: u64| (all.div_ceil(n) - WARM_UP.div_ceil(n)) * crowd;
    bench.keep(Check::exact(name("published"), bench.scale.pick(36, 196), posts));
    bench.keep(Check::exact(name("counted"), posts * crowd, delivery.latency.count));
    bench.keep(Check::exact(name("arrived"), posts * crowd, delivery.delivered + delivery.late));
    bench.keep(Check::exact(name("negative"), every(FUTURE), delivery.latency.negative));
    let least_us = delivery.latency.min_us.unwrap_or(0);
    // Exact to three digits.
    let shown = (-(FUTURE_US as i64 * 1_001 / 1_000)..0).contains(&least_us);
    bench.keep(Check::holds(name("least"), "-100 ms to 0", format!("{least_us} µs"), shown));
    let negative = distribution(&delivery.latency)?.negative_count();
    bench.keep(Check::exact(name("negative, in the file"), every(FUTURE), negative));
    bench.keep(Check::exact(name("foreign"), every(REPLAYED), delivery.foreign));
    bench.keep(Check::exact(name("unstamped"), every(UNSTAMPED), delivery.unstamped));
    bench.keep(Check::exact(name("duplicate"), 0, delivery.duplicate));
    Ok(())
}
