//! The loop: wait, read what is ready, publish what is due, hand over a record each second.
//!
//! The cost, at 50,000 deliveries a second on one core: 20 µs each, of which the kernel's receive path takes
//! 4–5. pushmark adds one read, one clock read, one parse of some 130 bytes and the accounts, below 1 µs. One
//! turn handles at most 1,024 sockets and checks the schedule after each group of reads. So a burst of
//! arrivals delays a publication by no more than the handling of sixteen of them.

mod bounds;
mod crowd;
mod publishing;

use std::io;

use pushmark_model::plan::ShardPlan;
use pushmark_model::poller::Poller as Asked;
use pushmark_model::record::Record;
use pushmark_model::steer::Steer;
use pushmark_net::{Clock, Nanos, Poller, Ready, Wheel, set_timer_slack_1ns, sleep_until};
use pushmark_proto::client::{Config, Lane};

use crate::accounting::Accounting;
use crate::conn::Phase;
use crate::last_poll::{LastPoll, PollResult};
use crate::requests::{self, Requests};
use crate::secure::Route;
use crate::token::{self, Owner};
use crowd::{Crowd, ReadResult, Safety, Seen, TOGETHER_MAX};
use publishing::Publishing;

/// Where records go. A returned record is reused.
pub trait Sink {
    /// Takes the record of an interval. Returns an empty record to fill, or the same record to continue with
    /// if it cannot be taken now. It must not wait.
    fn take(&mut self, record: Box<Record>) -> Box<Record>;
}

impl<F: FnMut(Box<Record>) -> Box<Record>> Sink for F {
    fn take(&mut self, record: Box<Record>) -> Box<Record> {
        self(record)
    }
}

/// The source of orders. It is polled in every turn, so it must not wait.
pub trait Orders {
    /// Returns the next order, if there is one.
    fn next(&mut self) -> Option<Steer>;
}

impl<F: FnMut() -> Option<Steer>> Orders for F {
    fn next(&mut self) -> Option<Steer> {
        self()
    }
}

/// Bytes read at once. Larger reads share the cost of a wake-up; 64 KiB fit a core's cache.
pub(crate) const READ_MAX: usize = 64 << 10;
/// Room in front for the bytes a connection kept: at most an incomplete head.
const CARRY_MAX: usize = 64 << 10;
/// Connections begun in one turn of the loop.
const CONNECTS_MAX: usize = 64;
/// The crowd is checked for overdue answers in this many parts, one each 50 ms.
const SWEEP_PARTS: u32 = 20;
const SWEEP_NS: Nanos = 50_000_000;
const SECOND_NS: Nanos = 1_000_000_000;

/// One thread's part of an arm.
pub(crate) struct Shard {
    pub(crate) plan: ShardPlan,
    /// The time of this turn, and where in the arm it lies.
    pub(crate) time: Time,
    /// What is shared by all that wait, read and write.
    pub(crate) io: Io,
    /// How clients connect, and what they ask for.
    pub(crate) asking: Asking,
    pub(crate) crowd: Crowd,
    /// What the target has shown of itself.
    pub(crate) seen: Seen,
    pub(crate) accounting: Accounting,
    pub(crate) publishing: Publishing,
}

/// The time of a turn, and where in the arm it lies.
#[derive(Debug)]
pub(crate) struct Time {
    /// The time of this turn, renewed at each read.
    pub(crate) now_ns: Nanos,
    /// The earliest instant since when a delivery of this turn may have been unread.
    pub(crate) unread_since_ns: Nanos,
    /// REALTIME − MONOTONIC.
    pub(crate) realtime_offset_ns: i64,
    pub(crate) in_measure: bool,
    /// How many of the bounds have been crossed.
    crossed: usize,
    /// When the arm was stopped early, if it was.
    stop_ns: Option<Nanos>,
}

/// What is shared by all that wait, read and write.
pub(crate) struct Io {
    pub(crate) poller: Poller,
    pub(crate) wheel: Wheel,
    /// Read buffer of all connections. Empty while a client is being read.
    pub(crate) buffer: Box<[u8]>,
    /// Reads that are not parsed yet. Empty except while a batch is read.
    pub(crate) heard: Vec<(ReadResult, Ready)>,
    /// Bytes that are assembled for a write.
    pub(crate) scratch: Vec<u8>,
}

/// How clients connect, and what they ask for.
pub(crate) struct Asking {
    /// Where clients connect.
    pub(crate) route: Route,
    /// Where they connect for each of their requests before the subscription and beside it.
    pub(crate) before: Vec<Route>,
    pub(crate) config: Config,
    pub(crate) requests: Requests,
    /// Polls beside push connections.
    pub(crate) safety: Option<Safety>,
}

/// Drives one shard until the arm ends, by its plan or by an order. Records go to `sink` each
/// second.
///
/// # Errors
/// Fails only if the loop cannot run (no epoll, invalid certificates), or if an order arrives too late to be
/// obeyed. All other failures are counted.
pub fn run_shard(plan: ShardPlan, orders: &mut impl Orders, sink: &mut impl Sink) -> io::Result<()> {
    // Without this the kernel may delay timers by 50 µs.
    let _ = set_timer_slack_1ns();
    let mut shard = Shard::new(plan)?;
    shard.run(orders, sink)
}

impl Shard {
    fn new(plan: ShardPlan) -> io::Result<Shard> {
        let arm = &plan.arm;
        let numbers = plan.connections();
        let asking = Asking::new(&plan, numbers.len())?;
        let mut accounting = Accounting::new(arm, plan.start_ns, &numbers);
        accounting.published_here(|channel| plan.machine_publishes(channel));
        Ok(Shard {
            time: Time::new(plan.start_ns),
            io: Io::new(&plan)?,
            crowd: Crowd::new(&plan, &numbers, &asking.config),
            asking,
            seen: Seen::new(arm),
            accounting,
            publishing: Publishing::new(&plan, &numbers)?,
            plan,
        })
    }

    fn run(&mut self, orders: &mut impl Orders, sink: &mut impl Sink) -> io::Result<()> {
        let start_ns = self.plan.start_ns;
        let mut second = 0;
        let mut next_sweep_ns = start_ns + SWEEP_NS;
        let mut expired = Vec::new();
        let mut last_poll = LastPoll::new(Clock::now());
        let mut busy = false;

        loop {
            let end_ns = self.end_ns();
            let interval_end_ns = start_ns + (second + 1) * SECOND_NS;
            let next_ns = [
                Some(interval_end_ns.min(end_ns).min(next_sweep_ns)),
                self.io.wheel.next_ns(),
                self.publishing.next_ns(),
                self.next_start_ns(),
                self.next_bound().map(|(_, at_ns)| at_ns),
            ];
            let next_ns = next_ns.into_iter().flatten().min().expect("an interval always ends");
            let began_ns = Clock::now();
            if self.time.in_measure {
                self.accounting.record.times.turn.record_ns(last_poll.at_ns, began_ns);
            }
            // With batching, further arrivals gather before the next poll. That poll then does not wait, so
            // that read lag includes how long they may have been waiting.
            let rests = busy && self.crowd.to_ask.is_empty();
            let rest_until_ns =
                if rests { (last_poll.at_ns + self.plan.arm.batch_ns).min(next_ns) } else { 0 };
            let timeout_ns = match rest_until_ns > began_ns {
                true => {
                    sleep_until(rest_until_ns);
                    0
                }
                false if !self.crowd.to_ask.is_empty() => 0,
                false => last_poll.timeout_ns(began_ns, next_ns),
            };
            let mut batch = self.io.poller.wait(Some(timeout_ns))?;
            self.expect(batch.peek());
            self.time.now_ns = Clock::now();
            let waited_ns = (began_ns, self.time.now_ns);
            let found = match batch.len() {
                _ if batch.is_broken_off() => PollResult::BrokenOff,
                0 => PollResult::Nothing,
                _ if batch.is_full() => PollResult::Full,
                _ => PollResult::All,
            };
            self.time.unread_since_ns = last_poll.took(waited_ns, timeout_ns, found);
            self.accounting.record.counts.wakeups += 1;
            busy = batch.len() > 0;
            self.accounting.record.counts.turns_bounded += u64::from(batch.is_full());

            let stopped = self.obey(orders)?;
            while let Some((bound, at_ns)) = self.next_bound().filter(|(_, at_ns)| *at_ns <= self.time.now_ns)
            {
                self.cross(bound, at_ns);
            }
            self.publish_due(self.time.now_ns);
            loop {
                if self.hear(&mut batch) {
                    continue;
                }
                let Some(ready) = batch.next() else { break };
                self.expect(batch.peek());
                match token::unpack(ready.token) {
                    (Owner::PoolConnection, generation, at) => {
                        if let Some((publisher, mut context)) = self.publisher() {
                            publisher.handle_ready(at, generation, ready, &mut context);
                        }
                    }
                    (Owner::Errand, generation, index) => self.errand_ready(index, generation, ready),
                    (Owner::Side, generation, index) => self.side_ready(index, generation, ready),
                    (_, generation, index) => self.client_ready(index, Lane::Connect, generation, ready),
                }
            }
            self.ask_waiting();
            self.io.wheel.expire(self.time.now_ns, |token| expired.push(token));
            for token in expired.drain(..) {
                self.timer_fired(token);
            }
            self.serve_waiting_seconds();
            self.start_due();
            if self.time.now_ns >= next_sweep_ns {
                next_sweep_ns = self.time.now_ns + SWEEP_NS;
                self.sweep();
            }
            let stopped = stopped || self.time.stop_ns.is_some_and(|at_ns| at_ns <= self.time.now_ns);
            let ends = stopped || self.time.now_ns >= self.end_ns();
            if ends {
                self.finish(stopped);
            }
            if ends || self.time.now_ns >= interval_end_ns {
                self.hand_over(second as u32, ends, sink);
                second = (self.time.now_ns.saturating_sub(start_ns)) / SECOND_NS;
            }
            if ends {
                return Ok(());
            }
        }
    }

    fn hand_over(&mut self, second: u32, last: bool, sink: &mut impl Sink) {
        self.time.realtime_offset_ns = Clock::realtime_minus_monotonic_ns();
        self.accounting.close_due(self.time.now_ns);
        let mut record = self.accounting.take_record(Box::default());
        record.shard = self.plan.shard;
        record.second = second;
        record.last = last;
        record.connected = self.crowd.connected;
        // The returned record was emptied on another thread and keeps its memory.
        self.accounting.record = sink.take(record);
        self.accounting.record.second_open_max = self.crowd.seconds.open;
    }

    /// When the next connection of the ramp is due. No client connects after measure: a crowd that connects
    /// during measure may be ordered to end before it is complete.
    fn next_start_ns(&self) -> Option<Nanos> {
        let conn = self.crowd.next_to_start()?;
        let due_ns = self.plan.start_ns + self.plan.arm.ramp.due_ns(u64::from(conn.number));
        (due_ns < self.measure_ns().1).then_some(due_ns)
    }

    /// Starts the connections whose turn in the ramp has come.
    fn start_due(&mut self) {
        for _ in 0..CONNECTS_MAX {
            let Some(due_ns) = self.next_start_ns().filter(|&at_ns| at_ns <= self.time.now_ns) else {
                return;
            };
            let index = self.crowd.starts_next();
            self.client_starts(index, due_ns);
        }
    }

    /// Checks a part of the crowd for clients whose wait has timed out.
    fn sweep(&mut self) {
        let part = self.crowd.len().div_ceil(SWEEP_PARTS);
        for _ in 0..part {
            let index = self.crowd.next_to_sweep();
            if self.crowd[index].first.give_up_ns <= self.time.now_ns {
                self.client_timed_out(index);
            }
            if self.crowd[index].side.as_ref().is_some_and(|s| s.line.give_up_ns <= self.time.now_ns) {
                self.side_timed_out(index);
            }
        }
        self.close_idle_seconds();
        let now_ns = self.time.now_ns;
        if let Some((publisher, mut context)) = self.publisher() {
            publisher.give_up(now_ns, &mut context);
        }
    }

    /// Ends the arm: counts and closes sockets, and ends observations. If the arm was stopped early, some
    /// publications were still in flight.
    fn finish(&mut self, stopped: bool) {
        if self.time.in_measure {
            self.accounting.cut_ages(self.time.now_ns.min(self.measure_ns().1), false);
        }
        self.publishing.stop(&mut self.accounting.record);
        self.crowd.seconds.end();
        if self.accounting.record.counts.opened == 0 {
            self.note_waiting();
        }
        for index in 0..self.crowd.len() {
            if self.crowd[index].first.phase != Phase::Waiting {
                self.client_leaves(index);
            }
        }
        if stopped {
            self.accounting.excuse_in_flight(self.time.now_ns);
        }
        self.accounting.finish(self.crowd.clients.iter().map(|conn| conn.number));
    }
}

impl Time {
    fn new(start_ns: Nanos) -> Time {
        Time {
            now_ns: start_ns,
            unread_since_ns: start_ns,
            realtime_offset_ns: Clock::realtime_minus_monotonic_ns(),
            in_measure: false,
            crossed: 0,
            stop_ns: None,
        }
    }
}

impl Io {
    fn new(plan: &ShardPlan) -> io::Result<Io> {
        Ok(Io {
            poller: match plan.arm.poller {
                Asked::Epoll => Poller::new()?,
                Asked::IoUring => Poller::with_ring()?,
            },
            wheel: Wheel::new(plan.start_ns),
            buffer: vec![0; CARRY_MAX + READ_MAX].into_boxed_slice(),
            heard: Vec::with_capacity(TOGETHER_MAX),
            scratch: Vec::new(),
        })
    }
}

impl Asking {
    fn new(plan: &ShardPlan, clients: usize) -> io::Result<Asking> {
        let subscribe = &plan.arm.subscribe;
        let tls = plan.arm.tls.as_ref().filter(|_| subscribe.tls);
        let before = plan.arm.requests().zip(&plan.before_to).map(|(request, to)| {
            Route::new(*to, &request.host, plan.arm.tls.as_ref().filter(|_| request.tls), clients)
        });
        Ok(Asking {
            before: before.collect::<io::Result<_>>()?,
            route: Route::new(plan.subscribe_to, &subscribe.host, tls, clients)?,
            config: requests::config(&plan.arm),
            requests: Requests::new(plan),
            safety: Safety::of(plan),
        })
    }

    /// The protocol settings of a client's connection.
    #[inline]
    pub(crate) fn config_on(&self, lane: Lane) -> &Config {
        match (lane, &self.safety) {
            (Lane::Command, Some(safety)) => &safety.config,
            _ => &self.config,
        }
    }
}
