//! Publishing from outside, on an open schedule: what is due goes out whatever became of what
//! was due before it. By request over a pool (`post`), or over WebSockets that stay open (`feed`).
//!
//! The sum, for messages of 60 bytes. A request is some 230 bytes out and 180 back: a write, a
//! wake-up, a read and a head to parse, 12 µs of a core. A text of a WebSocket is 85 bytes and has
//! no answer: the stamp, the mask and its part of a write that it shares, below 1 µs. 10,000
//! publications a second are an eighth of a core by request, and a hundredth over WebSockets.

mod feed;
mod post;

use pushmark_model::content::draw_padding;
use pushmark_model::plan::{ArmPlan, Over, PublisherPlan, Size};
use pushmark_model::record::{Record, TROUBLES_MAX};
use pushmark_model::stamp::{STAMP_LEN, Stamp, write_payload};
use pushmark_net::{Clock, Nanos, Poller, Ready};

use crate::requests::Requests;
use crate::secure::Way;
use feed::Feed;
use post::Pool;

/// Most publications waiting for a connection; more are never sent.
const BACKLOG_MAX: usize = 65_536;

/// A publication that is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) channel: u32,
    pub(crate) sequence: u64,
    pub(crate) due_ns: Nanos,
    /// Due in the measure phase.
    pub(crate) measured: bool,
}

/// What the publisher needs of its shard for a moment.
pub(crate) struct Desk<'d> {
    pub(crate) arm: &'d ArmPlan,
    pub(crate) poller: &'d Poller,
    pub(crate) requests: &'d mut Requests,
    pub(crate) record: &'d mut Record,
    /// Empty while a client is being read.
    pub(crate) buffer: &'d mut [u8],
}

/// Who publishes.
#[derive(Debug)]
pub(crate) enum Publisher {
    Post(Box<Pool>),
    Feed(Box<Feed>),
}

impl Publisher {
    pub(crate) fn new(
        arm: &ArmPlan,
        plan: &PublisherPlan,
        way: Way,
        shards: u32,
        measure_ns: (Nanos, Nanos),
    ) -> Publisher {
        let press = Press {
            payload: vec![0; plan.size.max()],
            size: plan.size,
            nonce: arm.nonce,
            seed: arm.seed,
            check: plan.check,
            measure_ns,
        };
        match arm.publish.as_ref().map(|publish| &publish.over) {
            Some(over @ Over::WebSocket { .. }) => {
                Publisher::Feed(Box::new(Feed::new(arm.seed, plan, over, way, shards, press)))
            }
            _ => Publisher::Post(Box::new(Pool::new(arm, plan, way, shards, press))),
        }
    }

    /// The measure phase has other bounds.
    pub(crate) fn measures(&mut self, measure_ns: (Nanos, Nanos)) {
        match self {
            Publisher::Post(pool) => pool.press.measure_ns = measure_ns,
            Publisher::Feed(feed) => feed.press.measure_ns = measure_ns,
        }
    }

    /// A publication is due. [`Publisher::flush`] follows once all that is due has been told.
    pub(crate) fn publish(&mut self, job: Job, desk: &mut Desk<'_>) {
        match self {
            Publisher::Post(pool) => pool.publish(job, desk),
            Publisher::Feed(feed) => feed.publish(job, desk),
        }
    }

    /// What was gathered goes out.
    pub(crate) fn flush(&mut self, desk: &mut Desk<'_>) {
        match self {
            Publisher::Post(_) => {}
            Publisher::Feed(feed) => feed.flush_gathered(desk),
        }
    }

    /// The poller says that a connection of ours can do something.
    pub(crate) fn handle_ready(&mut self, at: u32, generation: u32, ready: Ready, desk: &mut Desk<'_>) {
        match self {
            Publisher::Post(pool) => pool.handle_ready(at, generation, ready, desk),
            Publisher::Feed(feed) => feed.handle_ready(at, generation, ready, desk),
        }
    }

    /// Ends what takes too long. To be called now and then.
    pub(crate) fn give_up(&mut self, now_ns: Nanos, desk: &mut Desk<'_>) {
        match self {
            Publisher::Post(pool) => pool.give_up(now_ns, desk),
            Publisher::Feed(feed) => feed.look_after(now_ns, desk),
        }
    }

    /// Nothing more is sent: what waits was never published.
    pub(crate) fn stop(&mut self, record: &mut Record) {
        match self {
            Publisher::Post(pool) => pool.stop(record),
            Publisher::Feed(feed) => feed.stop(record),
        }
    }
}

/// Makes payloads, in one buffer.
#[derive(Debug)]
struct Press {
    payload: Vec<u8>,
    size: Size,
    nonce: u32,
    seed: u64,
    check: bool,
    measure_ns: (Nanos, Nanos),
}

impl Press {
    /// The payload of a publication, stamped now.
    fn stamp(&mut self, job: Job) -> (Nanos, &[u8]) {
        let size = self.size.of(self.seed, job.channel, job.sequence);
        let sent_ns = Clock::now();
        let stamp = Stamp {
            nonce: self.nonce,
            publisher: 0,
            channel: job.channel,
            sequence: job.sequence,
            due_us: job.due_ns / 1_000,
            sent_us: sent_ns / 1_000,
        };
        let payload = &mut self.payload[..size];
        write_payload(&stamp, payload);
        if self.check {
            draw_padding(self.seed, &stamp, &mut payload[..size - STAMP_LEN]);
        }
        (sent_ns, payload)
    }

    /// Counts a publication that is sent.
    fn count(&self, job: Job, sent_ns: Nanos, record: &mut Record) {
        record.counts.published_all += 1;
        if job.measured {
            record.counts.published += 1;
            record.times.publish_lag.record_ns(job.due_ns, sent_ns);
        }
        let (from_ns, to_ns) = self.measure_ns;
        record.counts.sent_in_measure += u64::from((from_ns..to_ns).contains(&sent_ns));
    }
}

/// A publication was sent, and the target did not take it.
fn fail(record: &mut Record, measured: bool, kind: &str, what: &str) {
    record.counts.publish_failed += u64::from(measured);
    *record.publish_failed.entry(kind.to_owned()).or_default() += 1;
    note(record, what);
}

fn note(record: &mut Record, what: &str) {
    if record.troubles.len() < TROUBLES_MAX {
        record.troubles.push(what.to_owned());
    }
}
