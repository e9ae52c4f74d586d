//! Publications by request, over a pool of connections.
//!
//! A due publication takes the connection that its channel used last if that is idle, else any idle one,
//! else a new one up to the bound. So an unanswered publication does not delay the next while the pool
//! has room. Beyond the bound publications queue. They are counted, and their wait is publisher lag.
//!
//! A request is written once. A POST is not idempotent (RFC 9110 9.2.2): if the connection ends without
//! an answer, the target may have published it, so the publication has failed. A publication is sent over
//! another connection only if no byte of it was taken. A kept-alive connection that has ended, or on
//! which the target has sent something without a request, is not used again.

use std::collections::VecDeque;

use pushmark_model::plan::{ArmPlan, PublisherPlan};
use pushmark_model::record::Record;
use pushmark_net::{Clock, Connect, Interest, Link, Nanos, Read, Ready};
use pushmark_proto::client::{Exchange, ExchangeEvent};

/// Most publications that a connection takes up and loses at once before others have their turn. If no
/// target listens, each of them costs a connect.
const LOST_MAX: usize = 64;

use super::{BACKLOG_MAX, PayloadWriter, PublisherContext, fail, note};
use crate::job::Job;
use crate::never::NEVER;
use crate::secure::{self, Route};
use crate::token::{self, Owner};
use crate::trouble;

#[derive(Debug)]
struct PoolConnection {
    link: Option<Link>,
    exchange: Exchange,
    carry: Vec<u8>,
    out: Vec<u8>,
    generation: u32,
    job: Option<Job>,
    /// When its request was stamped.
    sent_ns: Nanos,
    /// A byte of the request was taken: the target may act on it.
    sent: bool,
    give_up_ns: Nanos,
    connected: bool,
    /// The first bytes of a refusal; absent if the answer accepts or has not arrived.
    said: Option<Vec<u8>>,
    /// An earlier request on this connection was answered.
    reused: bool,
}

/// The pool.
#[derive(Debug)]
pub(crate) struct Pool {
    connections: Vec<PoolConnection>,
    connections_max: usize,
    /// The connection each channel used last.
    home: Vec<u32>,
    backlog: VecDeque<Job>,
    route: Route,
    timeout_ns: Nanos,
    pub(super) writer: PayloadWriter,
}

impl Pool {
    pub(super) fn new(
        arm: &ArmPlan,
        plan: &PublisherPlan,
        route: Route,
        shards: u32,
        writer: PayloadWriter,
    ) -> Pool {
        Pool {
            connections: Vec::new(),
            // The plan gives the pool of the arm. Each shard has its part, at least one connection.
            connections_max: (plan.connections / shards).max(1) as usize,
            home: vec![u32::MAX; arm.subscriptions.channels as usize],
            backlog: VecDeque::new(),
            route,
            timeout_ns: plan.timeout_ns,
            writer,
        }
    }

    /// Sends a due publication, or queues it.
    pub(super) fn publish(&mut self, job: Job, context: &mut PublisherContext<'_>) {
        // Waiting publications go first, so that the order on a channel is kept.
        let idle = |o: &PoolConnection| o.job.is_none();
        if !self.backlog.is_empty() {
            self.queue(job, context.record);
            if let Some(at) = self.connections.iter().position(idle) {
                self.next(at, context);
            }
            return;
        }
        let home = self.home[job.channel as usize] as usize;
        let chosen = match self.connections.get(home) {
            Some(connection) if idle(connection) => Some(home),
            _ => self.connections.iter().position(idle),
        };
        match chosen {
            Some(at) => self.start(at, job, context),
            None if self.connections.len() < self.connections_max => {
                self.connections.push(PoolConnection::new());
                self.start(self.connections.len() - 1, job, context);
            }
            None => self.queue(job, context.record),
        }
    }

    fn queue(&mut self, job: Job, record: &mut Record) {
        if job.measured {
            record.counts.pool_exhausted += 1;
        }
        if self.backlog.len() >= BACKLOG_MAX {
            job.never_written(record, false);
        } else {
            self.backlog.push_back(job);
        }
    }

    fn start(&mut self, at: usize, job: Job, context: &mut PublisherContext<'_>) {
        self.home[job.channel as usize] = at as u32;
        let connection = &mut self.connections[at];
        connection.job = Some(job);
        connection.sent = false;
        if connection.reused && connection.link.as_ref().is_some_and(|link| !link.is_quiet()) {
            connection.forget_link();
        }
        match connection.link {
            Some(_) if connection.connected => self.write(at, context),
            Some(_) => {}
            None => self.connect(at, context),
        }
    }

    fn connect(&mut self, at: usize, context: &mut PublisherContext<'_>) {
        let connection = &mut self.connections[at];
        connection.generation = (connection.generation + 1) & token::GENERATIONS;
        connection.give_up_ns = Clock::now() + self.timeout_ns;
        let token = token::pack(Owner::PoolConnection, connection.generation, at as u32);
        // The pool counts as one client that has connected before.
        let made = self
            .route
            .connect(None, true)
            .and_then(|link| context.poller.add(link.fd(), token, Interest::Write).map(|()| link));
        match made {
            Ok(link) => connection.link = Some(link),
            Err(error) => self.failed(at, crate::trouble::kind(&error), &error.to_string(), context),
        }
    }

    /// Writes the publication of an idle, connected connection. It is stamped just before.
    fn write(&mut self, at: usize, context: &mut PublisherContext<'_>) {
        let connection = &mut self.connections[at];
        let Some(job) = connection.job else { return };
        let (sent_ns, payload) = self.writer.stamp(job);
        connection.out.clear();
        context.requests.publish(
            context.arm,
            &mut connection.exchange,
            job.channel,
            payload,
            &mut connection.out,
        );
        connection.sent_ns = sent_ns;
        connection.give_up_ns = sent_ns + self.timeout_ns;
        self.flush(at, context);
    }

    fn flush(&mut self, at: usize, context: &mut PublisherContext<'_>) {
        let connection = &mut self.connections[at];
        let Some(link) = &mut connection.link else { return };
        match link.write(&connection.out) {
            Ok(written) => {
                if let (Some(job), false, 1..) = (connection.job, connection.sent, written) {
                    connection.sent = true;
                    self.writer.count(job, connection.sent_ns, context.record);
                }
                let blocked = written < connection.out.len();
                connection.out.drain(..written);
                let token = token::pack(Owner::PoolConnection, connection.generation, at as u32);
                if blocked {
                    // A failure here shows at the next write.
                    let _ = context.poller.modify(link.fd(), token, Interest::Both);
                }
            }
            Err(error) => self.lost(at, crate::trouble::kind(&error), &error.to_string(), context),
        }
    }

    /// The poller reports that a connection's socket is ready.
    pub(super) fn handle_ready(
        &mut self,
        at: u32,
        generation: u32,
        ready: Ready,
        context: &mut PublisherContext<'_>,
    ) {
        self.goes_on(at, generation, ready, context);
        self.next(at as usize, context);
    }

    fn goes_on(&mut self, at: u32, generation: u32, ready: Ready, context: &mut PublisherContext<'_>) {
        let at = at as usize;
        let Some(connection) = self.connections.get_mut(at).filter(|o| o.generation == generation) else {
            return;
        };
        let Some(link) = &mut connection.link else { return };
        let token = token::pack(Owner::PoolConnection, generation, at as u32);
        if !connection.connected {
            match link.finish_connect() {
                Ok(Connect::Done) => {}
                Ok(Connect::Handshake(interest)) => {
                    let _ = context.poller.modify(link.fd(), token, interest);
                    return;
                }
                Err(error) => {
                    connection.link = None;
                    self.failed(at, crate::trouble::kind(&error), &error.to_string(), context);
                    return;
                }
            }
            connection.connected = true;
            secure::count(link, &mut context.record.counts);
            let early = link.has_early();
            let _ = context.poller.modify(link.fd(), token, Interest::Read);
            self.write(at, context);
            if early && self.connections[at].generation == generation {
                self.readable(at, context);
            }
            return;
        }
        if ready.writable && !connection.out.is_empty() {
            self.flush(at, context);
            let connection = &mut self.connections[at];
            if let (true, Some(link)) = (connection.out.is_empty(), &connection.link) {
                let _ = context.poller.modify(link.fd(), token, Interest::Read);
            }
        }
        if ready.readable {
            self.readable(at, context);
        }
    }

    fn readable(&mut self, at: usize, context: &mut PublisherContext<'_>) {
        let connection = &mut self.connections[at];
        let Some(link) = &mut connection.link else { return };
        let carried = connection.carry.len();
        context.buffer[..carried].copy_from_slice(&connection.carry);
        connection.carry = Vec::new();
        let read = link.read(&mut context.buffer[carried..]);
        let now_ns = Clock::now();
        let mut ended = false;
        let length = match read {
            Ok(Read::Bytes(n)) => carried + n,
            Ok(Read::WouldBlock) => carried,
            Ok(Read::End) => {
                ended = true;
                carried
            }
            Err(error) => return self.lost(at, crate::trouble::kind(&error), &error.to_string(), context),
        };
        let mut input = &mut context.buffer[..length];
        loop {
            let event = match connection.exchange.handle_input(&mut input) {
                Ok(None) if ended => connection.exchange.handle_eof(),
                event => event,
            };
            match event {
                Ok(Some(ExchangeEvent::Head(head))) => {
                    connection.said = (!(200..300).contains(&head.status)).then(Vec::new);
                }
                Ok(Some(ExchangeEvent::Data(data))) => {
                    if let Some(said) = &mut connection.said {
                        let room = trouble::SHOWN_MAX - said.len();
                        said.extend_from_slice(&data[..data.len().min(room)]);
                    }
                }
                Ok(Some(ExchangeEvent::End { status })) => {
                    let Some(job) = connection.job.take() else { continue };
                    connection.give_up_ns = NEVER;
                    connection.reused = true;
                    let said = connection.said.take().unwrap_or_default();
                    if (200..300).contains(&status) {
                        context.record.counts.accepted_all += 1;
                        if job.measured {
                            context.record.times.publish_accept.record_ns(connection.sent_ns, now_ns);
                        }
                    } else {
                        let shown = trouble::shown(&said);
                        let what = format!("publication answered with status {status}: {shown}");
                        fail(context.record, job, status_kind(status), &what);
                    }
                }
                Ok(None) => break,
                Err(failure) => return self.lost(at, failure.kind(), &failure.to_string(), context),
            }
        }
        connection.carry = input.to_vec();
        if ended || (connection.job.is_none() && !connection.exchange.reusable()) {
            self.lost(at, "closed_early", "the connection was closed", context);
        }
    }

    /// If a connection is idle, it takes the publication that has waited longest, and the next one if that
    /// was lost at once.
    fn next(&mut self, at: usize, context: &mut PublisherContext<'_>) {
        for _ in 0..LOST_MAX {
            if self.connections.get(at).is_none_or(|connection| connection.job.is_some()) {
                return;
            }
            let Some(job) = self.backlog.pop_front() else { return };
            self.start(at, job, context);
        }
    }

    /// a connection's connection is gone. Waiting publications are not taken up here: if no target listens,
    /// each loss would be nested in the loss before it, thousands deep.
    fn lost(&mut self, at: usize, kind: &str, what: &str, context: &mut PublisherContext<'_>) {
        let connection = &mut self.connections[at];
        let was_reused = connection.reused;
        connection.forget_link();
        if connection.job.is_none() {
            return;
        }
        if was_reused && !connection.sent {
            // The kept-alive connection ended before the request began: the request goes over a new one.
            return self.connect(at, context);
        }
        self.failed(at, kind, what, context);
    }

    fn failed(&mut self, at: usize, kind: &str, what: &str, context: &mut PublisherContext<'_>) {
        let connection = &mut self.connections[at];
        connection.forget_link();
        if let Some(job) = connection.job.take() {
            if !connection.sent {
                job.never_written(context.record, crate::trouble::is_theirs(kind));
                note(context.record, &format!("publication not sent: {what}"));
                context.record.publications_failed(kind, 1, job.measured);
            } else {
                fail(context.record, job, kind, what);
            }
        }
    }

    /// Ends what takes too long. To be called regularly.
    pub(super) fn give_up(&mut self, now_ns: Nanos, context: &mut PublisherContext<'_>) {
        for at in 0..self.connections.len() {
            if self.connections[at].give_up_ns <= now_ns && self.connections[at].job.is_some() {
                self.failed(at, "timeout", "no answer to a publication in time", context);
            }
            self.next(at, context);
        }
    }

    /// Stops sending. Publications that wait are never published.
    pub(super) fn stop(&mut self, record: &mut Record) {
        self.backlog.drain(..).for_each(|job| job.never_written(record, false));
    }
}

impl PoolConnection {
    fn new() -> PoolConnection {
        PoolConnection {
            link: None,
            exchange: Exchange::default(),
            carry: Vec::new(),
            out: Vec::new(),
            generation: 0,
            job: None,
            sent_ns: 0,
            sent: false,
            give_up_ns: NEVER,
            connected: false,
            said: None,
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
        self.reused = false;
        self.said = None;
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

#[cfg(test)]
#[path = "post_tests.rs"]
mod tests;
