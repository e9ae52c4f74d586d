//! The loop: wait, take what is ready, publish what is due, hand a record over each second.
//!
//! The sum, at 50,000 deliveries a second on one core: 20 µs each, of which the kernel's
//! receive path takes 4–5; ours is one read, one clock, one parse of some 130 bytes and the
//! accounts, below 1 µs. One turn handles at most 1,024 sockets and looks at the schedule
//! with each read, so a burst of arrivals delays no publication by more than what sixteen
//! of them bring.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::plan::{Mode, ShardPlan};
use pushmark_model::poller::Poller as Asked;
use pushmark_model::record::Record;
use pushmark_model::schedule::Schedule;
use pushmark_model::steer::Steer;
use pushmark_net::{Clock, Nanos, Poller, Ready, Wheel, set_timer_slack_1ns, sleep_until};
use pushmark_proto::client::Config;

use crate::accounting::Accounting;
use crate::conn::{Conn, Phase};
use crate::crowd::{self, Heard, Safety, Seconds, TOGETHER_MAX};
use crate::look::{Brought, Look};
use crate::publisher::{Desk, Job, Publisher};
use crate::requests::{self, Requests};
use crate::secure::Way;
use crate::token::{self, Owner};

/// Where records go. A returned record is used again.
pub trait Sink {
    /// Takes the record of an interval; gives an empty one to fill, or the same to go on with where
    /// it cannot take it now. It must not wait.
    fn take(&mut self, record: Box<Record>) -> Box<Record>;
}

impl<F: FnMut(Box<Record>) -> Box<Record>> Sink for F {
    fn take(&mut self, record: Box<Record>) -> Box<Record> {
        self(record)
    }
}

/// Where orders come from: the next one, if there is one. Asked in every turn, so it must not wait.
pub trait Orders {
    /// The next order.
    fn next(&mut self) -> Option<Steer>;
}

impl<F: FnMut() -> Option<Steer>> Orders for F {
    fn next(&mut self) -> Option<Steer> {
        self()
    }
}

/// Bytes read at once. Larger reads share the cost of a wake-up; 64 KiB fit a core's cache.
pub(crate) const READ_MAX: usize = 64 << 10;
/// Room in front for the bytes a connection kept: an incomplete head at most.
const CARRY_MAX: usize = 64 << 10;
/// Connections begun in one turn of the loop.
const CONNECTS_MAX: usize = 64;
/// The crowd is looked through for overdue answers in so many parts, one each 50 ms.
const SWEEP_PARTS: usize = 20;
const SWEEP_NS: Nanos = 50_000_000;
const SECOND_NS: Nanos = 1_000_000_000;
/// What was due at the very end may still be sent so long.
const LAST_SENDS_NS: Nanos = 100_000_000;

/// The bounds at which ages are cut and counting turns, in order.
#[derive(Clone, Copy, Debug)]
enum Bound {
    MeasureStarts,
    MeasureEnds,
    LastSends,
}

impl Bound {
    const ALL: [Bound; 3] = [Bound::MeasureStarts, Bound::MeasureEnds, Bound::LastSends];
}

/// One thread's part of an arm.
pub(crate) struct Shard {
    pub(crate) plan: ShardPlan,
    pub(crate) config: Config,
    pub(crate) crowd: Vec<Conn>,
    pub(crate) accounting: Accounting,
    pub(crate) requests: Requests,
    /// Where clients connect.
    pub(crate) way: Way,
    pub(crate) poller: Poller,
    pub(crate) wheel: Wheel,
    /// Read buffer of all connections.
    pub(crate) buffer: Box<[u8]>,
    /// Reads that are not looked into yet: empty but while a batch is heard.
    pub(crate) heard: Vec<(Heard, Ready)>,
    /// Bytes being put together to be written.
    pub(crate) scratch: Vec<u8>,
    /// The time of this turn, renewed at each read.
    pub(crate) now_ns: Nanos,
    /// Since when a delivery of this turn may have lain unread.
    pub(crate) unread_since_ns: Nanos,
    /// REALTIME − MONOTONIC.
    pub(crate) realtime_offset_ns: i64,
    /// The target sent a head to someone who waited: those without one are not subscribed.
    pub(crate) heads_seen: bool,
    pub(crate) connected: u64,
    pub(crate) in_measure: bool,
    pub(crate) seconds: Seconds,
    /// Those that poll at length, have their answer and have not asked again.
    pub(crate) to_ask: VecDeque<u32>,
    /// Polls beside push connections.
    pub(crate) safety: Option<Safety>,
    publisher: Option<Publisher>,
    schedules: Vec<Schedule>,
    due: BinaryHeap<Reverse<(Nanos, u32)>>,
    /// Peers: who publishes on a channel, as (plan number, own index or none).
    pub(crate) members: Vec<Vec<Option<u32>>>,
    started: usize,
    swept: usize,
    /// How many of the bounds are behind us.
    crossed: usize,
}

/// Drives one shard until the arm ends, by its plan or by an order. Records go to `sink` each
/// second.
///
/// # Errors
/// Only where the loop itself cannot run (no epoll, certificates that are none), or an order came
/// too late to be obeyed: everything else is counted.
pub fn run_shard(plan: ShardPlan, orders: &mut impl Orders, sink: &mut impl Sink) -> io::Result<()> {
    // Without it the kernel may delay our timers by 50 µs.
    let _ = set_timer_slack_1ns();
    let mut shard = Shard::new(plan)?;
    shard.run(orders, sink)
}

impl Shard {
    fn new(plan: ShardPlan) -> io::Result<Shard> {
        let arm = &plan.arm;
        let numbers = plan.connections();
        let config = requests::config(arm);
        let stamped = |n: u64| {
            arm.stamp_sample > 0
                && Draw::new(arm.seed, Purpose::StampSample, n).below(u64::from(arm.stamp_sample)) == 0
        };
        let crowd = numbers.iter().map(|&n| {
            Conn::new(&config, Draw::new(arm.seed, Purpose::Mask, n).next_u64(), n as u32, stamped(n))
        });
        let crowd: Vec<Conn> = crowd.collect();
        let accounting = Accounting::new(arm, plan.start_ns, &numbers);
        let measure_ns =
            (plan.start_ns + arm.phases.measure_start_ns(), plan.start_ns + arm.phases.measure_end_ns());
        let tls = |used: bool| arm.tls.as_ref().filter(|_| used);
        let subscribe = &arm.subscribe;
        let way = Way::new(plan.subscribe_to, &subscribe.host, tls(subscribe.tls), numbers.len())?;
        let publisher = match (&arm.publisher, plan.publish_to, &arm.publish) {
            (Some(p), Some(to), Some(publish)) if p.mode == Mode::External => {
                let way = Way::new(to, &publish.host, tls(publish.tls), p.connections as usize)?;
                Some(Publisher::new(arm, p, way, plan.shards, measure_ns))
            }
            _ => None,
        };
        let mut schedules = Vec::new();
        let mut due = BinaryHeap::new();
        if arm.publisher.is_some() {
            for channel in 0..arm.subscriptions.channels {
                let schedule = arm.schedule(channel);
                if let Some((_, at_ns)) = schedule.peek() {
                    due.push(Reverse((plan.start_ns + at_ns, channel)));
                }
                schedules.push(schedule);
            }
        }
        Ok(Shard {
            members: crowd::members(&plan, &numbers),
            config,
            crowd,
            accounting,
            requests: Requests::new(&plan),
            way,
            poller: match plan.arm.poller {
                Asked::Epoll => Poller::new()?,
                Asked::IoUring => Poller::with_ring()?,
            },
            wheel: Wheel::new(plan.start_ns),
            buffer: vec![0; CARRY_MAX + READ_MAX].into_boxed_slice(),
            heard: Vec::with_capacity(TOGETHER_MAX),
            scratch: Vec::new(),
            now_ns: plan.start_ns,
            unread_since_ns: plan.start_ns,
            realtime_offset_ns: Clock::realtime_minus_monotonic_ns(),
            heads_seen: false,
            connected: 0,
            in_measure: false,
            to_ask: VecDeque::new(),
            safety: Safety::of(&plan),
            seconds: Seconds::new(arm.second_connections_max().div_ceil(u64::from(plan.shards))),
            publisher,
            schedules,
            due,
            started: 0,
            swept: 0,
            crossed: 0,
            plan,
        })
    }

    fn run(&mut self, orders: &mut impl Orders, sink: &mut impl Sink) -> io::Result<()> {
        let start_ns = self.plan.start_ns;
        let mut second = 0;
        let mut next_sweep_ns = start_ns + SWEEP_NS;
        let mut expired = Vec::new();
        let mut look = Look::new(Clock::now());
        let mut busy = false;

        loop {
            let end_ns = start_ns + self.plan.arm.phases.end_ns();
            let interval_end_ns = start_ns + (second + 1) * SECOND_NS;
            let next_ns = [
                Some(interval_end_ns.min(end_ns).min(next_sweep_ns)),
                self.wheel.next_ns(),
                self.due.peek().map(|Reverse((at_ns, _))| *at_ns),
                self.next_start_ns(),
                self.next_bound().map(|(_, at_ns)| at_ns),
            ];
            let next_ns = next_ns.into_iter().flatten().min().expect("an interval always ends");
            let began_ns = Clock::now();
            if self.in_measure {
                self.accounting.record.times.turn.record_ns(look.at_ns, began_ns);
            }
            // Where batches are asked for, arrivals after others gather before they are looked for; the
            // look then does not wait, so that read lag says how long they may have lain.
            let rests = busy && self.to_ask.is_empty();
            let rest_until_ns = if rests { (look.at_ns + self.plan.arm.batch_ns).min(next_ns) } else { 0 };
            let timeout_ns = match rest_until_ns > began_ns {
                true => {
                    sleep_until(rest_until_ns);
                    0
                }
                false if !self.to_ask.is_empty() => 0,
                false => look.timeout_ns(began_ns, next_ns),
            };
            let mut batch = self.poller.wait(Some(timeout_ns))?;
            self.expect(batch.peek());
            self.now_ns = Clock::now();
            let waited_ns = (began_ns, self.now_ns);
            let brought = match batch.len() {
                _ if batch.is_broken_off() => Brought::BrokenOff,
                0 => Brought::Nothing,
                _ if batch.is_full() => Brought::Full,
                _ => Brought::All,
            };
            self.unread_since_ns = look.took(waited_ns, timeout_ns, brought);
            self.accounting.record.counts.wakeups += 1;
            busy = batch.len() > 0;
            self.accounting.record.counts.turns_bounded += u64::from(batch.is_full());

            let stopped = self.obey(orders)?;
            while let Some((bound, at_ns)) = self.next_bound().filter(|(_, at_ns)| *at_ns <= self.now_ns) {
                self.cross(bound, at_ns);
            }
            self.publish_due(self.now_ns);
            loop {
                if self.hear(&mut batch) {
                    continue;
                }
                let Some(ready) = batch.next() else { break };
                self.expect(batch.peek());
                match token::unpack(ready.token) {
                    (Owner::Outlet, generation, at) => {
                        if let Some((publisher, mut desk)) = self.desk() {
                            publisher.handle_ready(at, generation, ready, &mut desk);
                        }
                    }
                    (Owner::Side, generation, index) => self.side_ready(index, generation, ready),
                    (_, generation, index) => self.client_ready(index, generation, ready),
                }
            }
            self.ask_waiting();
            self.wheel.expire(self.now_ns, |token| expired.push(token));
            for token in expired.drain(..) {
                self.timer_fired(token);
            }
            self.serve_waiting_seconds();
            self.start_due();
            if self.now_ns >= next_sweep_ns {
                next_sweep_ns = self.now_ns + SWEEP_NS;
                self.sweep();
            }
            let ends = stopped || self.now_ns >= start_ns + self.plan.arm.phases.end_ns();
            if ends {
                self.finish();
            }
            if ends || self.now_ns >= interval_end_ns {
                self.hand_over(second as u32, ends, sink);
                second = (self.now_ns.saturating_sub(start_ns)) / SECOND_NS;
            }
            if ends {
                return Ok(());
            }
        }
    }

    /// Does what it is told; whether the arm ends now.
    fn obey(&mut self, orders: &mut impl Orders) -> io::Result<bool> {
        while let Some(order) = orders.next() {
            let Steer::Measure { from_ns, until_ns } = order else { return Ok(true) };
            let start_ns = self.plan.start_ns;
            let (from_ns, until_ns) = (start_ns + from_ns, start_ns + until_ns);
            let before = self.measure_ns();
            let moved = [(before.0, from_ns), (before.1, until_ns)].into_iter().filter(|(a, b)| a != b);
            // What has been due meanwhile was counted for another phase.
            if moved.into_iter().any(|(before, to)| before <= self.now_ns || to <= self.now_ns) {
                return Err(io::Error::other("the bounds of measure were announced too late"));
            }
            self.plan.arm.phases.measure(from_ns - start_ns, until_ns - start_ns);
            self.accounting.measures((from_ns, until_ns));
            if let Some(publisher) = &mut self.publisher {
                publisher.measures((from_ns, until_ns));
            }
            self.schedules.iter_mut().for_each(|schedule| schedule.end_at(until_ns - start_ns));
        }
        Ok(false)
    }

    /// Absolute bounds of the measure phase.
    fn measure_ns(&self) -> (Nanos, Nanos) {
        let (start_ns, phases) = (self.plan.start_ns, &self.plan.arm.phases);
        (start_ns + phases.measure_start_ns(), start_ns + phases.measure_end_ns())
    }

    /// The bound that is crossed next, and when.
    fn next_bound(&self) -> Option<(Bound, Nanos)> {
        let bound = *Bound::ALL.get(self.crossed)?;
        let (start_ns, end_ns) = self.measure_ns();
        Some(match bound {
            Bound::MeasureStarts => (bound, start_ns),
            Bound::MeasureEnds => (bound, end_ns),
            Bound::LastSends => (bound, end_ns + LAST_SENDS_NS),
        })
    }

    /// A bound of the phases is crossed.
    fn cross(&mut self, bound: Bound, at_ns: Nanos) {
        self.crossed += 1;
        match bound {
            Bound::MeasureStarts => {
                self.in_measure = true;
                self.accounting.cut_ages(at_ns, true);
            }
            Bound::MeasureEnds => {
                // Publications due before the end come first.
                self.publish_due(at_ns);
                self.in_measure = false;
                self.accounting.cut_ages(at_ns, false);
            }
            Bound::LastSends => {
                if let Some(publisher) = &mut self.publisher {
                    publisher.stop(&mut self.accounting.record);
                }
            }
        }
    }

    fn hand_over(&mut self, second: u32, last: bool, sink: &mut impl Sink) {
        self.realtime_offset_ns = Clock::realtime_minus_monotonic_ns();
        self.accounting.close_due(self.now_ns);
        let mut record = self.accounting.take_record(Box::default());
        record.shard = self.plan.shard;
        record.second = second;
        record.last = last;
        record.connected = self.connected;
        // What the sink gives back was emptied elsewhere, not on this thread, and has its memory.
        self.accounting.record = sink.take(record);
        self.accounting.record.second_open_max = self.seconds.open;
    }

    /// Publications due by `now_ns` get their provisional fates, and go out if they are ours.
    pub(crate) fn publish_due(&mut self, now_ns: Nanos) {
        let mut published = false;
        while let Some(&Reverse((due_ns, channel))) = self.due.peek() {
            if due_ns > now_ns {
                break;
            }
            published = true;
            self.due.pop();
            let elapsed_ns = now_ns - self.plan.start_ns;
            let schedule = &mut self.schedules[channel as usize];
            let Some((sequence, _)) = schedule.take_due(elapsed_ns) else { continue };
            if let Some((_, next_ns)) = schedule.peek() {
                self.due.push(Reverse((self.plan.start_ns + next_ns, channel)));
            }
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
                    if let Some((publisher, mut desk)) = self.desk() {
                        publisher.publish(job, &mut desk);
                    }
                }
                Some(Mode::Peer) => self.publish_as_peer(job),
                _ => {}
            }
        }
        if published && let Some((publisher, mut desk)) = self.desk() {
            publisher.flush(&mut desk);
        }
    }

    fn desk(&mut self) -> Option<(&mut Publisher, Desk<'_>)> {
        let publisher = self.publisher.as_mut()?;
        let desk = Desk {
            arm: &self.plan.arm,
            poller: &self.poller,
            requests: &mut self.requests,
            record: &mut self.accounting.record,
            buffer: &mut self.buffer,
        };
        Some((publisher, desk))
    }

    /// When the next connection of the ramp is due. Nobody comes once measure is over: a crowd
    /// that arrives during it may be told to end before it is whole.
    fn next_start_ns(&self) -> Option<Nanos> {
        let conn = self.crowd.get(self.started)?;
        let due_ns = self.plan.start_ns + self.plan.arm.ramp.due_ns(u64::from(conn.number));
        (due_ns < self.measure_ns().1).then_some(due_ns)
    }

    /// Connections whose turn in the ramp has come.
    fn start_due(&mut self) {
        for _ in 0..CONNECTS_MAX {
            let Some(due_ns) = self.next_start_ns().filter(|&at_ns| at_ns <= self.now_ns) else { return };
            let index = self.started as u32;
            self.started += 1;
            self.client_starts(index, due_ns);
        }
    }

    /// Looks through a part of the crowd for those whose patience has ended.
    fn sweep(&mut self) {
        let part = self.crowd.len().div_ceil(SWEEP_PARTS);
        for _ in 0..part {
            let index = self.swept % self.crowd.len();
            self.swept = index + 1;
            if self.crowd[index].line.give_up_ns <= self.now_ns {
                self.client_timed_out(index as u32);
            }
            if self.crowd[index].side.as_ref().is_some_and(|s| s.line.give_up_ns <= self.now_ns) {
                self.side_timed_out(index as u32);
            }
        }
        self.close_idle_seconds();
        let now_ns = self.now_ns;
        if let Some((publisher, mut desk)) = self.desk() {
            publisher.give_up(now_ns, &mut desk);
        }
    }

    /// The arm is over: sockets are counted and closed, observations ended.
    fn finish(&mut self) {
        if self.in_measure {
            self.accounting.cut_ages(self.now_ns.min(self.measure_ns().1), false);
        }
        if let Some(publisher) = &mut self.publisher {
            publisher.stop(&mut self.accounting.record);
        }
        self.no_more_seconds();
        for index in 0..self.crowd.len() {
            if self.crowd[index].line.phase != Phase::Waiting {
                self.client_leaves(index as u32);
            }
        }
        self.accounting.finish();
    }
}
