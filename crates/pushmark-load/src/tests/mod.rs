//! The driver as a whole, against targets that run in its own loop.

mod backpressure;
mod publications;
mod silence;
mod speaker;
mod whole;
mod words;

use pushmark_model::plan::ShardPlan;
use pushmark_model::record::Record;
use pushmark_model::steer::Steer;
use pushmark_net::Clock;

use crate::shard::run_shard;

/// Returns the seed of the draws: `PUSHMARK_SEED` if it is set, to repeat a failure, else the clock.
fn seed() -> u64 {
    std::env::var("PUSHMARK_SEED").map_or_else(|_| Clock::realtime(), |text| text.parse().expect("a number"))
}

/// Drives a shard until it is ordered to stop. Returns everything that it recorded.
fn merged(plan: ShardPlan, orders: &mut impl FnMut() -> Option<Steer>) -> Record {
    let mut total = Record::default();
    run_shard(plan, orders, &mut |mut record: Box<Record>| {
        total.merge(&record);
        record.clear();
        record
    })
    .unwrap();
    total
}
