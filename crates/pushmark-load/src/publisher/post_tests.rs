//! The fate of waiting publications if no target can be reached any more.

use pushmark_model::plan::ShardPlan;
use pushmark_model::transport::Transport;
use pushmark_net::Poller;

use super::*;
use crate::requests::Requests;
use crate::testing::arm;

/// A connect to it fails at once on any host: TCP does not connect to the broadcast address.
const NOBODY: &str = "255.255.255.255:9";

#[test]
fn tens_of_thousands_that_wait_are_lost_one_after_the_other() {
    let plan = ShardPlan {
        arm: arm(Transport::Sse, 1),
        shard: 0,
        shards: 1,
        start_ns: 0,
        subscribe_to: NOBODY.parse().unwrap(),
        half: None,
        publish_to: None,
        before_to: Vec::new(),
        port: 0,
        clock_ahead_us: 0,
        machine_shards: Vec::new(),
    };
    let publisher = plan.arm.publisher.as_ref().expect("it publishes");
    let writer = PayloadWriter {
        payload: vec![0; publisher.size.max()],
        size: publisher.size,
        nonce: plan.arm.nonce,
        seed: plan.arm.seed,
        clock_ahead_us: 0,
        check: false,
        measure_ns: (0, NEVER),
    };
    let route = Route::new(plan.subscribe_to, "", None, 0).unwrap();
    let mut pool = Pool::new(&plan.arm, publisher, route, 1, writer);
    let job = |sequence| Job { channel: 0, sequence, due_ns: 0, measured: true };
    // One publication that has timed out, and as many behind it as may wait.
    pool.connections.push(PoolConnection { job: Some(job(0)), give_up_ns: 0, ..PoolConnection::new() });
    pool.backlog.extend((1..=BACKLOG_MAX as u64).map(job));
    let (poller, mut requests, mut record) =
        (Poller::new().unwrap(), Requests::new(&plan), Box::<Record>::default());
    let mut context = PublisherContext {
        arm: &plan.arm,
        poller: &poller,
        requests: &mut requests,
        record: &mut record,
        buffer: &mut [0; 1_024],
    };
    let mut before = pool.backlog.len();
    while before > 0 {
        pool.give_up(1, &mut context);
        let lost = before - pool.backlog.len();
        assert!((1..=LOST_MAX).contains(&lost), "{lost} in a turn");
        before = pool.backlog.len();
    }
    assert!(pool.connections[0].job.is_none());
    assert_eq!(record.counts.unpublished, BACKLOG_MAX as u64 + 1, "each has its fate");
}
