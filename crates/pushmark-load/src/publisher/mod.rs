//! Publishing from outside, as an open model: a due publication is sent whatever became of the earlier
//! ones. It is sent by request over a pool (`post`), over WebSockets that stay open (`feed`), or as a line to
//! a process (`command`).
//!
//! The cost, for messages of 60 bytes: a request is about 230 bytes out and 180 back. It takes a write, a
//! wake-up, a read and a head to parse: 12 µs of a core. A WebSocket text is 85 bytes and has no answer.
//! It takes the stamp, the mask and its share of a write: below 1 µs. 10,000 publications a second take
//! an eighth of a core by request, and a hundredth over WebSockets.

mod command;
mod feed;
mod heard;
mod outbox;
mod post;
mod queue;

use pushmark_model::content::draw_padding;
use pushmark_model::plan::{ArmPlan, Over, PublisherPlan, Size};
use pushmark_model::record::{Record, Sent, TROUBLES_MAX};
use pushmark_model::stamp::{STAMP_LEN, Stamp, write_payload};
use pushmark_net::{Clock, Nanos, Poller, Ready};

use crate::job::Job;
use crate::requests::Requests;
use crate::secure::Route;
use command::Commands;
use feed::Feed;
use post::Pool;

/// Most publications that wait for a connection. Further ones are never sent.
const BACKLOG_MAX: usize = 65_536;
/// The parts of its shard that the publisher borrows for a call.
pub(crate) struct PublisherContext<'d> {
    pub(crate) arm: &'d ArmPlan,
    pub(crate) poller: &'d Poller,
    pub(crate) requests: &'d mut Requests,
    pub(crate) record: &'d mut Record,
    /// Empty while a client is being read.
    pub(crate) buffer: &'d mut [u8],
}

/// The publisher of a shard.
#[derive(Debug)]
pub(crate) enum Publisher {
    Post(Box<Pool>),
    Feed(Box<Feed>),
    Commands(Box<Commands>),
}

impl Publisher {
    pub(crate) fn new(
        arm: &ArmPlan,
        plan: &PublisherPlan,
        route: Option<Route>,
        (port, shard, shards, clock_ahead_us): (u16, u32, u32, i64),
        measure_ns: (Nanos, Nanos),
    ) -> Option<Publisher> {
        let writer = PayloadWriter {
            payload: vec![0; plan.size.max()],
            size: plan.size,
            nonce: arm.nonce,
            seed: arm.seed,
            check: plan.check,
            clock_ahead_us,
            measure_ns,
        };
        Some(match (&arm.publish.as_ref()?.over, route) {
            (Over::Command(command), _) => {
                Publisher::Commands(Box::new(Commands::new(arm, plan, command, (port, shards), writer)))
            }
            (over @ Over::WebSocket { .. }, Some(route)) => {
                Publisher::Feed(Box::new(Feed::new(arm.seed, plan, over, route, (shard, shards), writer)))
            }
            (Over::Post, Some(route)) => {
                Publisher::Post(Box::new(Pool::new(arm, plan, route, shards, writer)))
            }
            (_, None) => return None,
        })
    }

    /// Changes the bounds of the measure phase.
    pub(crate) fn measures(&mut self, measure_ns: (Nanos, Nanos)) {
        match self {
            Publisher::Post(pool) => pool.writer.measure_ns = measure_ns,
            Publisher::Feed(feed) => feed.writer.measure_ns = measure_ns,
            Publisher::Commands(commands) => commands.writer.measure_ns = measure_ns,
        }
    }

    /// Publishes what is due. The caller calls [`Publisher::flush`] after the last of the due
    /// publications.
    pub(crate) fn publish(&mut self, job: Job, context: &mut PublisherContext<'_>) {
        match self {
            Publisher::Post(pool) => pool.publish(job, context),
            Publisher::Feed(feed) => feed.publish(job, context),
            Publisher::Commands(commands) => commands.publish(job, context),
        }
    }

    /// Sends what was gathered.
    pub(crate) fn flush(&mut self, context: &mut PublisherContext<'_>) {
        match self {
            Publisher::Post(_) => {}
            Publisher::Feed(feed) => feed.flush_gathered(context),
            Publisher::Commands(commands) => commands.flush_gathered(context),
        }
    }

    /// The poller reports that a connection of the publisher is ready.
    pub(crate) fn handle_ready(
        &mut self,
        at: u32,
        generation: u32,
        ready: Ready,
        context: &mut PublisherContext<'_>,
    ) {
        match self {
            Publisher::Post(pool) => pool.handle_ready(at, generation, ready, context),
            Publisher::Feed(feed) => feed.handle_ready(at, generation, ready, context),
            Publisher::Commands(commands) => commands.handle_ready(at, generation, ready, context),
        }
    }

    /// Ends what takes too long. To be called regularly.
    pub(crate) fn give_up(&mut self, now_ns: Nanos, context: &mut PublisherContext<'_>) {
        match self {
            Publisher::Post(pool) => pool.give_up(now_ns, context),
            Publisher::Feed(feed) => feed.look_after(now_ns, context),
            Publisher::Commands(commands) => commands.look_after(now_ns, context),
        }
    }

    /// Stops sending. Publications that wait are never published.
    pub(crate) fn stop(&mut self, record: &mut Record) {
        match self {
            Publisher::Post(pool) => pool.stop(record),
            Publisher::Feed(feed) => feed.stop(record),
            Publisher::Commands(commands) => commands.stop(record),
        }
    }
}

/// Makes payloads, in one buffer.
#[derive(Debug)]
struct PayloadWriter {
    payload: Vec<u8>,
    size: Size,
    nonce: u32,
    seed: u64,
    check: bool,
    clock_ahead_us: i64,
    measure_ns: (Nanos, Nanos),
}

impl PayloadWriter {
    /// Returns the payload of a publication, stamped now, and the instant of the stamp.
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
        write_payload(&stamp.on_clock_ahead(-self.clock_ahead_us), payload);
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
        record.counts.sent_in_measure += u64::from(self.measures(sent_ns));
    }

    /// Whether an instant lies in the measure phase.
    fn measures(&self, at_ns: Nanos) -> bool {
        let (from_ns, to_ns) = self.measure_ns;
        (from_ns..to_ns).contains(&at_ns)
    }
}

/// Counts a publication that was sent and that the target did not take.
fn fail(record: &mut Record, job: Job, kind: &str, what: &str) {
    if job.measured {
        record.counts.publish_failed += 1;
        job.not_taken(record, Sent::InVain);
    }
    record.publications_failed(kind, 1, job.measured);
    note(record, what);
}

fn note(record: &mut Record, what: &str) {
    record.words.refusal.get_or_insert_with(|| what.to_owned());
    if record.troubles.len() < TROUBLES_MAX {
        record.troubles.push(what.to_owned());
    }
}
