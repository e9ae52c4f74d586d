//! Publications by request, over a pool of connections.
//!
//! A due publication takes its channel's connection if that is idle, else any idle one, else a
//! new one up to the bound: an unanswered publication never delays the next while the pool has
//! room. Beyond it publications queue, and the queue is the publisher's lag, counted.

use std::collections::VecDeque;

use pushmark_model::plan::{ArmPlan, PublisherPlan};
use pushmark_model::record::Record;
use pushmark_net::{Clock, Connect, Interest, Link, Nanos, Read, Ready};
use pushmark_proto::client::{Exchange, ExchangeEvent};

use super::{BACKLOG_MAX, Desk, Job, Press, fail, note};
use crate::conn::NEVER;
use crate::secure::{self, Way};
use crate::token::{self, Owner};

#[derive(Debug)]
struct Outlet {
    link: Option<Link>,
    exchange: Exchange,
    carry: Vec<u8>,
    out: Vec<u8>,
    generation: u32,
    job: Option<Job>,
    /// 0: not yet written.
    sent_ns: Nanos,
    give_up_ns: Nanos,
    connected: bool,
    status: u16,
    /// The last answer came on this connection: an immediate close may be the keep-alive's end.
    reused: bool,
}

/// The pool.
#[derive(Debug)]
pub(crate) struct Pool {
    outlets: Vec<Outlet>,
    outlets_max: usize,
    /// The connection each channel used last.
    home: Vec<u32>,
    backlog: VecDeque<Job>,
    way: Way,
    timeout_ns: Nanos,
    pub(super) press: Press,
}

impl Pool {
    pub(super) fn new(arm: &ArmPlan, plan: &PublisherPlan, way: Way, shards: u32, press: Press) -> Pool {
        Pool {
            outlets: Vec::new(),
            // The pool is the arm's: each shard has its part, and at least one.
            outlets_max: (plan.connections / shards).max(1) as usize,
            home: vec![u32::MAX; arm.subscriptions.channels as usize],
            backlog: VecDeque::new(),
            way,
            timeout_ns: plan.timeout_ns,
            press,
        }
    }

    /// A publication is due.
    pub(super) fn publish(&mut self, job: Job, desk: &mut Desk<'_>) {
        // Those that wait go first: order on a channel is kept.
        if !self.backlog.is_empty() {
            self.queue(job, desk.record);
            return;
        }
        let home = self.home[job.channel as usize] as usize;
        let idle = |o: &Outlet| o.job.is_none();
        let chosen = match self.outlets.get(home) {
            Some(outlet) if idle(outlet) => Some(home),
            _ => self.outlets.iter().position(idle),
        };
        match chosen {
            Some(at) => self.start(at, job, desk),
            None if self.outlets.len() < self.outlets_max => {
                self.outlets.push(Outlet::new());
                self.start(self.outlets.len() - 1, job, desk);
            }
            None => self.queue(job, desk.record),
        }
    }

    fn queue(&mut self, job: Job, record: &mut Record) {
        if job.measured {
            record.counts.pool_exhausted += 1;
        }
        if self.backlog.len() >= BACKLOG_MAX {
            record.counts.unpublished += u64::from(job.measured);
        } else {
            self.backlog.push_back(job);
        }
    }

    fn start(&mut self, at: usize, job: Job, desk: &mut Desk<'_>) {
        self.home[job.channel as usize] = at as u32;
        let outlet = &mut self.outlets[at];
        outlet.job = Some(job);
        outlet.sent_ns = 0;
        if outlet.link.is_some() && outlet.connected {
            self.write(at, desk);
        } else if outlet.link.is_none() {
            self.connect(at, desk);
        }
    }

    fn connect(&mut self, at: usize, desk: &mut Desk<'_>) {
        let outlet = &mut self.outlets[at];
        outlet.generation = (outlet.generation + 1) & token::GENERATIONS;
        outlet.give_up_ns = Clock::now() + self.timeout_ns;
        let token = token::pack(Owner::Outlet, outlet.generation, at as u32);
        // The pool is one client, which was here before.
        let made = self
            .way
            .connect(None, true)
            .and_then(|link| desk.poller.add(link.fd(), token, Interest::Write).map(|()| link));
        match made {
            Ok(link) => outlet.link = Some(link),
            Err(error) => self.failed(at, crate::trouble::kind(&error), &error.to_string(), desk),
        }
    }

    /// Writes the publication of an idle, connected outlet. `sent` is taken just before.
    fn write(&mut self, at: usize, desk: &mut Desk<'_>) {
        let outlet = &mut self.outlets[at];
        let Some(job) = outlet.job else { return };
        let (sent_ns, payload) = self.press.stamp(job);
        outlet.status = 0;
        outlet.out.clear();
        desk.requests.publish(desk.arm, &mut outlet.exchange, job.channel, payload, &mut outlet.out);
        if outlet.sent_ns == 0 {
            self.press.count(job, sent_ns, desk.record);
        }
        outlet.sent_ns = sent_ns;
        outlet.give_up_ns = sent_ns + self.timeout_ns;
        self.flush(at, desk);
    }

    fn flush(&mut self, at: usize, desk: &mut Desk<'_>) {
        let outlet = &mut self.outlets[at];
        let Some(link) = &mut outlet.link else { return };
        match link.write(&outlet.out) {
            Ok(written) => {
                let blocked = written < outlet.out.len();
                outlet.out.drain(..written);
                let token = token::pack(Owner::Outlet, outlet.generation, at as u32);
                if blocked {
                    // A failure here shows at the next write.
                    let _ = desk.poller.modify(link.fd(), token, Interest::Both);
                }
            }
            Err(error) => self.lost(at, crate::trouble::kind(&error), &error.to_string(), desk),
        }
    }

    /// The poller says that an outlet's socket can do something.
    pub(super) fn handle_ready(&mut self, at: u32, generation: u32, ready: Ready, desk: &mut Desk<'_>) {
        let at = at as usize;
        let Some(outlet) = self.outlets.get_mut(at).filter(|o| o.generation == generation) else { return };
        let Some(link) = &mut outlet.link else { return };
        let token = token::pack(Owner::Outlet, generation, at as u32);
        if !outlet.connected {
            match link.finish_connect() {
                Ok(Connect::Done) => {}
                Ok(Connect::Handshake(interest)) => {
                    let _ = desk.poller.modify(link.fd(), token, interest);
                    return;
                }
                Err(error) => {
                    outlet.link = None;
                    self.failed(at, crate::trouble::kind(&error), &error.to_string(), desk);
                    return;
                }
            }
            outlet.connected = true;
            secure::count(link, &mut desk.record.counts);
            let early = link.has_early();
            let _ = desk.poller.modify(link.fd(), token, Interest::Read);
            self.write(at, desk);
            if early && self.outlets[at].generation == generation {
                self.readable(at, desk);
            }
            return;
        }
        if ready.writable && !outlet.out.is_empty() {
            self.flush(at, desk);
            let outlet = &mut self.outlets[at];
            if let (true, Some(link)) = (outlet.out.is_empty(), &outlet.link) {
                let _ = desk.poller.modify(link.fd(), token, Interest::Read);
            }
        }
        if ready.readable {
            self.readable(at, desk);
        }
    }

    fn readable(&mut self, at: usize, desk: &mut Desk<'_>) {
        let outlet = &mut self.outlets[at];
        let Some(link) = &mut outlet.link else { return };
        let carried = outlet.carry.len();
        desk.buffer[..carried].copy_from_slice(&outlet.carry);
        outlet.carry = Vec::new();
        let read = link.read(&mut desk.buffer[carried..]);
        let now_ns = Clock::now();
        let mut ended = false;
        let length = match read {
            Ok(Read::Bytes(n)) => carried + n,
            Ok(Read::WouldBlock) => carried,
            Ok(Read::End) => {
                ended = true;
                carried
            }
            Err(error) => return self.lost(at, crate::trouble::kind(&error), &error.to_string(), desk),
        };
        let mut input = &mut desk.buffer[..length];
        loop {
            let event = match outlet.exchange.handle_input(&mut input) {
                Ok(None) if ended => outlet.exchange.handle_eof(),
                event => event,
            };
            match event {
                Ok(Some(ExchangeEvent::Head(head))) => outlet.status = head.status,
                Ok(Some(ExchangeEvent::Data(_))) => {}
                Ok(Some(ExchangeEvent::End { status })) => {
                    let Some(job) = outlet.job.take() else { continue };
                    outlet.give_up_ns = NEVER;
                    outlet.reused = true;
                    if (200..300).contains(&status) {
                        if job.measured {
                            desk.record.times.publish_accept.record_ns(outlet.sent_ns, now_ns);
                        }
                    } else {
                        fail(
                            desk.record,
                            job.measured,
                            status_kind(status),
                            &format!("publication answered with status {status}"),
                        );
                    }
                }
                Ok(None) => break,
                Err(failure) => return self.lost(at, failure.kind(), &failure.to_string(), desk),
            }
        }
        outlet.carry = input.to_vec();
        if ended || (outlet.job.is_none() && !outlet.exchange.reusable()) {
            self.lost(at, "closed_early", "the connection was closed", desk);
        } else if self.outlets[at].job.is_none() {
            self.next(at, desk);
        }
    }

    /// An outlet is idle: the publication that waits longest takes it.
    fn next(&mut self, at: usize, desk: &mut Desk<'_>) {
        if let Some(job) = self.backlog.pop_front() {
            self.start(at, job, desk);
        }
    }

    /// An outlet's connection is gone.
    fn lost(&mut self, at: usize, kind: &str, what: &str, desk: &mut Desk<'_>) {
        let outlet = &mut self.outlets[at];
        let (was_idle_before, untouched) = (outlet.reused, outlet.status == 0);
        outlet.forget_link();
        if outlet.job.is_none() {
            return self.next(at, desk);
        }
        if was_idle_before && untouched {
            // The keep-alive ended as we wrote: once more, on a new connection.
            outlet.reused = false;
            return self.connect(at, desk);
        }
        self.failed(at, kind, what, desk);
    }

    fn failed(&mut self, at: usize, kind: &str, what: &str, desk: &mut Desk<'_>) {
        let outlet = &mut self.outlets[at];
        outlet.forget_link();
        if let Some(job) = outlet.job.take() {
            if outlet.sent_ns == 0 {
                desk.record.counts.never_written(u64::from(job.measured), crate::trouble::is_theirs(kind));
                note(desk.record, &format!("publication not sent: {what}"));
                *desk.record.publish_failed.entry(kind.to_owned()).or_default() += 1;
            } else {
                fail(desk.record, job.measured, kind, what);
            }
        }
        self.next(at, desk);
    }

    /// Ends what takes too long. To be called now and then.
    pub(super) fn give_up(&mut self, now_ns: Nanos, desk: &mut Desk<'_>) {
        for at in 0..self.outlets.len() {
            if self.outlets[at].give_up_ns <= now_ns && self.outlets[at].job.is_some() {
                self.failed(at, "timeout", "no answer to a publication in time", desk);
            }
        }
    }

    /// Nothing more is sent: what waits was never published.
    pub(super) fn stop(&mut self, record: &mut Record) {
        for job in self.backlog.drain(..) {
            record.counts.unpublished += u64::from(job.measured);
        }
    }
}

impl Outlet {
    fn new() -> Outlet {
        Outlet {
            link: None,
            exchange: Exchange::default(),
            carry: Vec::new(),
            out: Vec::new(),
            generation: 0,
            job: None,
            sent_ns: 0,
            give_up_ns: NEVER,
            connected: false,
            status: 0,
            reused: false,
        }
    }

    fn forget_link(&mut self) {
        self.link = None;
        self.exchange = Exchange::default();
        self.carry = Vec::new();
        self.out = Vec::new();
        self.connected = false;
        self.give_up_ns = NEVER;
        self.status = 0;
        self.generation = (self.generation + 1) & token::GENERATIONS;
    }
}

fn status_kind(status: u16) -> &'static str {
    match status {
        300..=399 => "redirect",
        401 | 407 => "auth",
        500.. => "status_5xx",
        _ => "status_4xx",
    }
}
