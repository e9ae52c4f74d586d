//! Stamps made by hand: latencies below zero are shown, those of other runs told apart.

use std::time::Duration;

use pushmark_model::stamp::{NONCES, Stamp};
use pushmark_net::Clock;

use super::Check;
use super::bench::{Bench, distribution};
use super::foreign::{Foreign, stamp_of, text_of};
use super::scenario::Ask;

/// Every so many publications are said to be due later than they are sent.
const FUTURE: u64 = 4;
/// By so much, µs: longer than they are on their way.
const FUTURE_US: u64 = 100_000;
/// Every so many are followed by one of another run.
const REPLAYED: u64 = 5;
/// Every so many are followed by a message of somebody else.
const UNSTAMPED: u64 = 7;

/// Every rule by the number of the publication.
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
        events.push("a message of somebody else".to_owned());
    }
    events
}

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    let target = Foreign::start(Duration::ZERO, relay)?;
    let (subscribe, publish) = target.urls();
    let crowd = bench.scale.pick(10, 50);
    let ask = Ask::url("sse", subscribe, publish)
        .connections(crowd)
        .duration(bench.scale.pick(2_000, 10_000))
        .publisher("phase = \"aligned\"")
        // Nothing is published in the last 100 ms: what is due later is still in measure.
        .publisher(&format!("count = {}", bench.scale.pick(36, 196)))
        .rate(20.0);
    let measured = bench.run(&ask)?;
    let (delivery, posts) = (measured.delivery(), target.posts().len() as u64);
    let name = |what: &str| format!("stamps by hand: {what}");
    let every = |n: u64| posts.div_ceil(n) * crowd;
    bench.keep(Check::exact(name("published"), bench.scale.pick(36, 196), posts));
    bench.keep(Check::exact(name("counted"), posts * crowd, delivery.latency.count));
    bench.keep(Check::exact(name("arrived"), posts * crowd, delivery.delivered + delivery.late));
    bench.keep(Check::exact(name("negative"), every(FUTURE), delivery.latency.negative));
    let least_us = delivery.latency.min_us.unwrap_or(0);
    // To three digits.
    let shown = (-(FUTURE_US as i64 * 1_001 / 1_000)..0).contains(&least_us);
    bench.keep(Check::holds(name("least"), "-100 ms to 0", format!("{least_us} µs"), shown));
    let negative = distribution(&delivery.latency)?.negative_count();
    bench.keep(Check::exact(name("negative, in the file"), every(FUTURE), negative));
    bench.keep(Check::exact(name("foreign"), every(REPLAYED), delivery.foreign));
    bench.keep(Check::exact(name("unstamped"), every(UNSTAMPED), delivery.unstamped));
    bench.keep(Check::exact(name("duplicate"), 0, delivery.duplicate));
    Ok(())
}
