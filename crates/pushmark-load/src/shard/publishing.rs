//! What a shard publishes: the schedules, what is due, and who sends it (the publisher, or the clients).

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;

use pushmark_model::plan::{Mode, ShardPlan};
use pushmark_model::record::Record;
use pushmark_model::schedule::Schedule;
use pushmark_net::Nanos;

use super::Shard;
use super::crowd::members;
use crate::job::Job;
use crate::publisher::{Publisher, PublisherContext};
use crate::secure::Route;

/// The schedules of an arm, and who sends what they say.
pub(crate) struct Publishing {
    /// The publisher, if this shard has one.
    pub(crate) publisher: Option<Publisher>,
    /// Peers: the clients that publish on each channel, in turn. `None` stands for one of another shard.
    members: Vec<Vec<Option<u32>>>,
    /// When the arm begins. Schedules count from there.
    start_ns: Nanos,
    /// One for each channel.
    schedules: Vec<Schedule>,
    /// When the next publication of each channel is due: the instant, and the channel.
    due: BinaryHeap<Reverse<(Nanos, u32)>>,
}

impl Publishing {
    pub(super) fn new(plan: &ShardPlan, numbers: &[u64]) -> io::Result<Publishing> {
        let (arm, start_ns) = (&plan.arm, plan.start_ns);
        let publisher = match (&arm.publisher, &arm.publish) {
            (Some(p), Some(publish)) if p.mode == Mode::External => {
                let tls = arm.tls.as_ref().filter(|_| publish.tls);
                let route = |to| Route::new(to, &publish.host, tls, p.connections as usize);
                let route = plan.publish_to.map(route).transpose()?;
                let measure_ns =
                    (start_ns + arm.phases.measure_start_ns(), start_ns + arm.phases.measure_end_ns());
                Publisher::new(
                    arm,
                    p,
                    route,
                    (plan.port, plan.shard, plan.shards, plan.clock_ahead_us),
                    measure_ns,
                )
            }
            _ => None,
        };
        let mut schedules = Vec::new();
        let mut due = BinaryHeap::new();
        if arm.publisher.is_some() {
            for channel in 0..arm.subscriptions.channels {
                let schedule = arm.schedule(channel);
                if let Some((_, at_ns)) = schedule.peek() {
                    due.push(Reverse((start_ns + at_ns, channel)));
                }
                schedules.push(schedule);
            }
        }
        Ok(Publishing { publisher, members: members(plan, numbers), start_ns, schedules, due })
    }

    /// When the next publication is due.
    #[inline]
    pub(super) fn next_ns(&self) -> Option<Nanos> {
        self.due.peek().map(|Reverse((at_ns, _))| *at_ns)
    }

    /// Takes the next publication that is due by `now_ns`: its channel, its sequence, and when it was due.
    fn take_due(&mut self, now_ns: Nanos) -> Option<(u32, u64, Nanos)> {
        while let Some(&Reverse((due_ns, channel))) = self.due.peek() {
            if due_ns > now_ns {
                break;
            }
            self.due.pop();
            let schedule = &mut self.schedules[channel as usize];
            let Some((sequence, _)) = schedule.take_due(now_ns - self.start_ns) else { continue };
            if let Some((_, next_ns)) = schedule.peek() {
                self.due.push(Reverse((self.start_ns + next_ns, channel)));
            }
            return Some((channel, sequence, due_ns));
        }
        None
    }

    /// The client whose turn it is to publish, if it belongs to this shard.
    pub(super) fn peer(&self, job: Job) -> Option<u32> {
        let members = &self.members[job.channel as usize];
        if members.is_empty() {
            return None;
        }
        members[(job.sequence % members.len() as u64) as usize]
    }

    /// Changes the bounds of the measure phase.
    pub(super) fn measures(&mut self, measure_ns: (Nanos, Nanos)) {
        if let Some(publisher) = &mut self.publisher {
            publisher.measures(measure_ns);
        }
    }

    /// Nothing is due from this instant on.
    pub(super) fn end_at(&mut self, at_ns: Nanos) {
        self.schedules.iter_mut().for_each(|schedule| schedule.end_at(at_ns - self.start_ns));
    }

    /// The publisher stops sending.
    pub(super) fn stop(&mut self, record: &mut Record) {
        if let Some(publisher) = &mut self.publisher {
            publisher.stop(record);
        }
    }
}

impl Shard {
    /// Renews the time of this turn, and sends what is due by then.
    #[inline]
    pub(super) fn reach(&mut self, now_ns: Nanos) {
        self.time.now_ns = now_ns;
        self.publish_due(now_ns);
    }

    /// Gives publications due by `now_ns` their provisional fates, and sends those that this shard publishes.
    #[inline]
    pub(super) fn publish_due(&mut self, now_ns: Nanos) {
        if self.publishing.next_ns().is_some_and(|due_ns| due_ns <= now_ns) {
            self.publish_all_due(now_ns);
        }
    }

    fn publish_all_due(&mut self, now_ns: Nanos) {
        while let Some((channel, sequence, due_ns)) = self.publishing.take_due(now_ns) {
            self.accounting.publication_due(channel, sequence, due_ns);
            let measured = self.accounting.in_measure(due_ns);
            if self.plan.publishes(channel) {
                let counts = &mut self.accounting.record.counts;
                counts.publications_due_all += 1;
                counts.publications_due += u64::from(measured);
            }
            let job = Job { channel, sequence, due_ns, measured };
            match self.plan.arm.publisher.as_ref().map(|p| p.mode) {
                Some(Mode::External) if self.plan.publishes(channel) => {
                    if let Some((publisher, mut context)) = self.publisher() {
                        publisher.publish(job, &mut context);
                    }
                }
                Some(Mode::Peer) => {
                    if let Some(index) = self.publishing.peer(job) {
                        self.client_publishes(index, job);
                    }
                }
                _ => {}
            }
        }
        if let Some((publisher, mut context)) = self.publisher() {
            publisher.flush(&mut context);
        }
    }

    /// Returns the publisher, and what it borrows for a call.
    pub(super) fn publisher(&mut self) -> Option<(&mut Publisher, PublisherContext<'_>)> {
        let publisher = self.publishing.publisher.as_mut()?;
        let context = PublisherContext {
            arm: &self.plan.arm,
            poller: &self.io.poller,
            requests: &mut self.asking.requests,
            record: &mut self.accounting.record,
            buffer: &mut self.io.buffer,
        };
        Some((publisher, context))
    }
}
