//! The second connection of a Bayeux client over long polling. It carries publications while the first
//! connection holds a connect request. It is opened when there is something to send and closed after an
//! idle second. The number of second connections is bounded; beyond it clients take turns.

use std::collections::VecDeque;

use pushmark_net::{Clock, Nanos, Ready};
use pushmark_proto::client::Lane;
use pushmark_proto::client::bayeux::PENDING_MAX;

use super::Crowd;
use crate::conn::{Phase, Side};
use crate::job::Job;
use crate::never::NEVER;
use crate::shard::Shard;
use crate::trouble;

/// An unused second connection is closed after this time.
const IDLE_NS: Nanos = 1_000_000_000;

/// Most publications of one client that wait for its second connection. Further ones are never sent.
const JOBS_MAX: usize = 1_024;

/// Most publications in one request.
const BATCH_MAX: usize = 16;

/// The second connections of a shard.
#[derive(Debug)]
pub(crate) struct Seconds {
    /// Open, or being opened.
    pub(crate) open: u64,
    max: u64,
    /// Clients that wait for a free second connection, in their order.
    waiting: VecDeque<u32>,
    /// Idle connections, the longest idle first: since when, the client, the generation of the
    /// connection.
    idle: VecDeque<(Nanos, u32, u32)>,
}

impl Seconds {
    pub(crate) fn new(max: u64) -> Seconds {
        Seconds { open: 0, max, waiting: VecDeque::new(), idle: VecDeque::new() }
    }

    /// The arm is over: no client waits any more.
    pub(crate) fn end(&mut self) {
        self.waiting.clear();
        self.idle.clear();
    }
}

impl Side {
    /// Whether the target must connect or answer before this line can carry anything.
    fn waits_for_target(&self) -> bool {
        matches!(self.line.phase, Phase::Connecting | Phase::Asked)
    }

    /// Neither open nor needed.
    fn is_useless(&self) -> bool {
        self.line.link.is_none() && self.jobs.is_empty() && self.queued_ns.is_none() && !self.polls()
    }
}

impl Crowd {
    /// Drops a second line that is neither open nor needed. It is called where nothing works on that line,
    /// or where what does so asks next whether its connection is still current.
    pub(super) fn drop_useless_side(&mut self, index: u32) {
        let conn = &mut self[index];
        if conn.side.as_ref().is_some_and(|side| side.is_useless()) {
            conn.side = None;
        }
    }

    /// Whether this connection has been idle since then. One that was read and is not parsed yet is not.
    fn is_idle(&self, (since_ns, index, generation): (Nanos, u32, u32)) -> bool {
        self[index].side.as_ref().is_some_and(|side| {
            side.line.generation == generation
                && side.line.phase == Phase::Resting
                && !side.line.unparsed
                && side.idle_since_ns == since_ns
        })
    }
}

impl Shard {
    /// The poller reports that a client's second socket is ready.
    pub(crate) fn side_ready(&mut self, index: u32, generation: u32, ready: Ready) {
        self.client_ready(index, Lane::Command, generation, ready);
        self.crowd.drop_useless_side(index);
    }

    /// The second connection is established.
    pub(super) fn side_connected(&mut self, index: u32) {
        let line = self.crowd[index].line_mut(Lane::Command);
        line.phase = Phase::Resting;
        line.give_up_ns = NEVER;
        if let Some(side) = &mut self.crowd[index].side {
            side.free_ns = self.time.now_ns;
        }
        match self.asking.safety {
            Some(_) => self.safety_asks(index),
            None => self.second_line_goes_on(index),
        }
    }

    /// A publication of this client is due. It goes over the second line, which is made if need be.
    pub(super) fn publishes_aside(&mut self, index: u32, job: Job) {
        let side = self.crowd[index].side_or_new();
        if side.jobs.len() >= JOBS_MAX {
            let waits_for_target = side.waits_for_target();
            let counts = &mut self.accounting.record.counts;
            counts.pool_exhausted += u64::from(job.measured && !waits_for_target);
            counts.backpressured += u64::from(job.measured && waits_for_target);
            job.never_written(&mut self.accounting.record, false);
            return;
        }
        side.jobs.push(job);
        self.second_line_goes_on(index);
        self.crowd.drop_useless_side(index);
    }

    /// Writes what waits, opens a connection for it, or rests.
    pub(super) fn second_line_goes_on(&mut self, index: u32) {
        let conn = &self.crowd[index];
        let line = conn.line(Lane::Command);
        if conn.side.as_ref().is_some_and(|side| side.waits_for_target()) {
            return;
        }
        // A connection that has carried nothing yet is as good as a reusable one.
        let reusable = conn.client.lane_reusable(Lane::Command) && self.plan.arm.keep_alive;
        if line.link.is_some() && line.reused && !reusable {
            self.close_second(index);
        }
        let is_awaited = !self.crowd.seconds.waiting.is_empty();
        let conn = &mut self.crowd[index];
        let side = conn.side.as_mut().expect("a second line");
        let has_work = !side.jobs.is_empty() || conn.client.wants(Lane::Command);
        match side.line.link {
            Some(_) if has_work => self.write_commands(index),
            // Another client waits for it. The loop serves those who wait before it sleeps.
            Some(_) if is_awaited => self.close_second(index),
            Some(_) => {
                side.idle_since_ns = self.time.now_ns;
                let entry = (self.time.now_ns, index, side.line.generation);
                self.crowd.seconds.idle.push_back(entry);
            }
            None if has_work && side.queued_ns.is_none() => self.open_second(index),
            None => {}
        }
    }

    /// Writes one request with the waiting publications. Each is stamped here, just before it is written.
    pub(super) fn write_commands(&mut self, index: u32) {
        let arm = &self.plan.arm;
        let most = arm.publisher.as_ref().map_or(1, |p| p.size.max().max(1));
        let timeout_ns = arm.publisher.as_ref().map_or(arm.handshake_timeout_ns, |p| p.timeout_ns);
        let batch = (PENDING_MAX / 2 / most).clamp(1, BATCH_MAX);
        let side = self.crowd[index].side.as_mut().expect("a second line");
        let jobs: Vec<Job> = side.jobs.drain(..batch.min(side.jobs.len())).collect();
        if side.jobs.is_empty() {
            side.jobs = Vec::new();
        }
        let (free_ns, bound_ns) = (side.free_ns, std::mem::take(&mut side.bound_ns));
        let mut taken = 0;
        for job in jobs {
            self.lets_go(job, free_ns, bound_ns);
            taken += u32::from(self.publish_now(index, job));
        }
        let conn = &mut self.crowd[index];
        conn.side.as_mut().expect("a second line").unanswered += taken;
        self.io.scratch.clear();
        let of = (conn.number, &[][..], conn.steps.as_ref().map(|steps| &steps.captures));
        self.asking.requests.subscribe(
            &self.plan.arm,
            &self.asking.config,
            &mut conn.client,
            Lane::Command,
            of,
            &mut self.io.scratch,
        );
        if self.io.scratch.is_empty() {
            return;
        }
        let line = conn.line_mut(Lane::Command);
        line.phase = Phase::Asked;
        line.give_up_ns = self.time.now_ns + timeout_ns;
        let counts = &mut self.accounting.record.counts;
        counts.requests += 1;
        counts.measure_requests += u64::from(self.time.in_measure);
        self.write_scratch(index, Lane::Command);
    }

    /// Splits the wait of a publication that is sent now: until `free_ns` it was the target's, but for `bound_ns`,
    /// in which the line waited for our own bound of second connections.
    fn lets_go(&mut self, job: Job, free_ns: Nanos, bound_ns: Nanos) {
        if !job.measured {
            return;
        }
        let now_ns = Clock::now();
        let able_ns = free_ns.saturating_sub(bound_ns).max(job.due_ns);
        let after_measure = !self.accounting.in_measure(able_ns);
        let record = &mut self.accounting.record;
        record.times.publish_own_lag.record_ns(able_ns, now_ns);
        record.counts.backpressured += u64::from(after_measure);
    }

    /// Opens the second connection, or waits until one becomes free.
    fn open_second(&mut self, index: u32) {
        if self.crowd.seconds.open >= self.crowd.seconds.max
            && (!self.crowd.seconds.waiting.is_empty() || !self.close_longest_idle())
        {
            let side = self.crowd[index].side.as_mut().expect("a second line");
            side.queued_ns = Some(self.time.now_ns);
            self.accounting.record.counts.pool_exhausted += u64::from(self.time.in_measure);
            self.crowd.seconds.waiting.push_back(index);
            return;
        }
        self.crowd.seconds.open += 1;
        let record = &mut self.accounting.record;
        record.counts.bayeux.second_connections += 1;
        record.second_open_max = record.second_open_max.max(self.crowd.seconds.open);
        self.connect(index, Lane::Command);
    }

    /// Serves the clients that wait for a second connection, in their order, while there is room.
    pub(crate) fn serve_waiting_seconds(&mut self) {
        while self.crowd.seconds.open < self.crowd.seconds.max
            && let Some(index) = self.crowd.seconds.waiting.pop_front()
        {
            if let Some(side) = &mut self.crowd[index].side {
                let since_ns = side.queued_ns.take().unwrap_or(self.time.now_ns);
                side.bound_ns += self.time.now_ns.saturating_sub(since_ns);
                self.second_line_goes_on(index);
                self.crowd.drop_useless_side(index);
            }
        }
    }

    /// Closes the second connection.
    fn close_second(&mut self, index: u32) {
        let line = self.crowd[index].line_mut(Lane::Command);
        // A connection attempt that failed at once counts as open too.
        let open = line.link.is_some() || line.phase == Phase::Connecting;
        line.phase = Phase::Waiting;
        self.close(index, Lane::Command);
        self.crowd.seconds.open -= u64::from(open);
    }

    /// Closes the longest idle connection, to make room for another client.
    fn close_longest_idle(&mut self) -> bool {
        while let Some(entry) = self.crowd.seconds.idle.pop_front() {
            if self.crowd.is_idle(entry) {
                let index = entry.1;
                self.close_second(index);
                self.crowd.drop_useless_side(index);
                return true;
            }
        }
        false
    }

    /// Closes the connections that have been idle for a second.
    pub(crate) fn close_idle_seconds(&mut self) {
        while let Some(&entry) = self.crowd.seconds.idle.front() {
            if entry.0 + IDLE_NS > self.time.now_ns {
                return;
            }
            self.crowd.seconds.idle.pop_front();
            if self.crowd.is_idle(entry) {
                self.close_second(entry.1);
                self.crowd.drop_useless_side(entry.1);
            }
        }
    }

    /// The second connection has timed out.
    pub(crate) fn side_timed_out(&mut self, index: u32) {
        let kind = match self.crowd[index].line(Lane::Command).phase {
            Phase::Connecting if self.is_handshaking(index, Lane::Command) => "timeout_tls",
            Phase::Connecting => "timeout_connect",
            _ => "timeout_answer",
        };
        self.side_lost(index, kind, "no answer to a publication in time");
        self.crowd.drop_useless_side(index);
    }

    /// The second connection failed or was lost. The publications that it carried have failed. If it
    /// could not be established, the publications that waited for it were never sent.
    pub(super) fn side_lost(&mut self, index: u32, kind: &str, what: &str) {
        if self.asking.safety.is_some() {
            return self.safety_lost(index, kind, what);
        }
        let conn = &mut self.crowd[index];
        let side = conn.side.as_mut().expect("a second line");
        let phase = side.line.phase;
        let unanswered = std::mem::take(&mut side.unanswered);
        let never_sent = match phase {
            Phase::Connecting => std::mem::take(&mut side.jobs),
            _ => Vec::new(),
        };
        let record = &mut self.accounting.record;
        never_sent.iter().for_each(|job| job.never_written(record, trouble::is_theirs(kind)));
        if phase != Phase::Resting {
            self.trouble(kind, what);
        }
        self.publications_failed(kind, unanswered);
        self.close_second(index);
        if self.crowd[index].side.as_ref().is_some_and(|side| !side.jobs.is_empty()) {
            self.second_line_goes_on(index);
        }
    }

    /// The client ends, so its second connection is closed.
    pub(super) fn close_side(&mut self, index: u32) {
        let Some(side) = &mut self.crowd[index].side else { return };
        if self.asking.safety.is_some() {
            self.close(index, Lane::Command);
            self.crowd[index].side = None;
            return;
        }
        let jobs = std::mem::take(&mut side.jobs);
        let waits_for_target = side.waits_for_target();
        side.queued_ns = None;
        let record = &mut self.accounting.record;
        for job in jobs {
            record.counts.backpressured += u64::from(job.measured && waits_for_target);
            job.never_written(record, false);
        }
        self.close_second(index);
        self.crowd.drop_useless_side(index);
    }
}
