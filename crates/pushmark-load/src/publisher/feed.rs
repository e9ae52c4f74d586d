//! Publications over WebSockets that stay open: a text each, no answer.
//!
//! Each channel keeps to one connection, so that its order is kept. What comes due together leaves
//! in one write a connection. A publication is stamped when it is put into bytes that are about to
//! be written: never while the socket is full, so that what a slow target costs is publisher lag.

use std::collections::VecDeque;

use pushmark_model::plan::{Over, PublisherPlan};
use pushmark_model::record::Record;
use pushmark_net::{Clock, Connect, Interest, Link, Nanos, Read, Ready};
use pushmark_proto::client::{Client, Config, Event, Transport};

use super::{BACKLOG_MAX, Desk, Job, Press, fail, note};
use crate::conn::NEVER;
use crate::secure::{self, Way};
use crate::token::{self, Owner};
use crate::trouble;

/// Bytes gathered before they are written: some 50 small publications, 20 µs of them at most
/// between a stamp and its write.
const GATHER_MAX: usize = 4 << 10;

/// A connection that failed is tried again after so long.
const AGAIN_NS: Nanos = 200_000_000;

/// The feed of one shard.
#[derive(Debug)]
pub(crate) struct Feed {
    lines: Vec<Line>,
    config: Config,
    /// Lines that gathered something.
    gathered: Vec<u32>,
    /// Jobs that wait, over all lines.
    waiting: usize,
    shards: u32,
    way: Way,
    timeout_ns: Nanos,
    pub(super) press: Press,
    stopped: bool,
}

/// One connection.
#[derive(Debug)]
struct Line {
    link: Option<Link>,
    client: Client,
    carry: Vec<u8>,
    /// Whole frames, the first perhaps partly written.
    out: Vec<u8>,
    /// Their lengths, and of publications whether they are measured.
    frames: VecDeque<(usize, Option<bool>)>,
    generation: u32,
    state: State,
    /// The socket took less than it was given.
    full: bool,
    /// Due, and not yet put into bytes.
    waiting: VecDeque<Job>,
    give_up_ns: Nanos,
    /// Why it is down.
    failure: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// To be tried at this instant.
    Down(Nanos),
    Connecting,
    /// The upgrade, or the ready text, is awaited.
    Asked,
    Open,
}

impl Feed {
    pub(super) fn new(
        seed: u64,
        plan: &PublisherPlan,
        over: &Over,
        way: Way,
        shards: u32,
        press: Press,
    ) -> Feed {
        let mut config = Config::new(Transport::WebSocket);
        if let Over::WebSocket { subprotocol, ready, .. } = over {
            config.subprotocol.clone_from(subprotocol);
            config.ready = ready.as_ref().map(|text| text.clone().into_bytes());
        }
        let line = |n: u32| Line {
            link: None,
            client: Client::new(&config, seed ^ u64::from(n) << 32),
            carry: Vec::new(),
            out: Vec::new(),
            frames: VecDeque::new(),
            generation: 0,
            state: State::Down(0),
            full: false,
            waiting: VecDeque::new(),
            give_up_ns: NEVER,
            failure: None,
        };
        Feed {
            lines: (0..(plan.connections / shards).max(1)).map(line).collect(),
            config,
            gathered: Vec::new(),
            waiting: 0,
            shards,
            way,
            timeout_ns: plan.timeout_ns,
            press,
            stopped: false,
        }
    }

    pub(super) fn publish(&mut self, job: Job, desk: &mut Desk<'_>) {
        // A shard has every n-th channel: these are dealt over its lines.
        let at = (job.channel / self.shards) as usize % self.lines.len();
        let line = &mut self.lines[at];
        if line.state == State::Open && !line.full {
            return self.write(at, job, desk);
        }
        desk.record.counts.pool_exhausted += u64::from(job.measured);
        if self.waiting >= BACKLOG_MAX {
            desk.record.counts.unpublished += u64::from(job.measured);
        } else {
            self.waiting += 1;
            line.waiting.push_back(job);
        }
    }

    /// Puts a publication into bytes.
    fn write(&mut self, at: usize, job: Job, desk: &mut Desk<'_>) {
        let line = &mut self.lines[at];
        let (sent_ns, payload) = self.press.stamp(job);
        let text = desk.requests.feed_text(desk.arm, job.channel, payload);
        let before = line.out.len();
        line.client.write_text(text, &mut line.out);
        line.frames.push_back((line.out.len() - before, Some(job.measured)));
        self.press.count(job, sent_ns, desk.record);
        if before == 0 {
            self.gathered.push(at as u32);
        }
        if self.lines[at].out.len() >= GATHER_MAX {
            self.flush(at, desk);
        }
    }

    /// Everything that came due has been told.
    pub(super) fn flush_gathered(&mut self, desk: &mut Desk<'_>) {
        while let Some(at) = self.gathered.pop() {
            let line = &self.lines[at as usize];
            if !line.full && !line.out.is_empty() {
                self.flush(at as usize, desk);
            }
        }
    }

    fn flush(&mut self, at: usize, desk: &mut Desk<'_>) {
        let line = &mut self.lines[at];
        let Some(link) = &mut line.link else { return };
        match link.write(&line.out) {
            Ok(written) if written == line.out.len() => {
                line.out.clear();
                line.frames.clear();
                if line.full {
                    line.full = false;
                    self.watch(at, Interest::Read, desk);
                }
            }
            Ok(written) => {
                line.took(written);
                if !line.full {
                    line.full = true;
                    self.watch(at, Interest::Both, desk);
                }
            }
            Err(error) => self.lost(at, trouble::kind(&error), &error.to_string(), desk),
        }
    }

    fn watch(&self, at: usize, interest: Interest, desk: &Desk<'_>) {
        let line = &self.lines[at];
        if let Some(link) = &line.link {
            // A failure shows at the next read or write.
            let token = token::pack(Owner::Outlet, line.generation, at as u32);
            let _ = desk.poller.modify(link.fd(), token, interest);
        }
    }

    pub(super) fn handle_ready(&mut self, at: u32, generation: u32, ready: Ready, desk: &mut Desk<'_>) {
        let at = at as usize;
        let Some(line) = self.lines.get_mut(at).filter(|line| line.generation == generation) else { return };
        let Some(link) = &mut line.link else { return };
        if line.state == State::Connecting {
            match link.finish_connect() {
                Ok(Connect::Done) => {}
                Ok(Connect::Handshake(interest)) => return self.watch(at, interest, desk),
                Err(error) => return self.lost(at, trouble::kind(&error), &error.to_string(), desk),
            }
            secure::count(link, &mut desk.record.counts);
            let early = link.has_early();
            line.state = State::Asked;
            desk.requests.feed_request(desk.arm, &self.config, &mut line.client, &mut line.out);
            line.frames.push_back((line.out.len(), None));
            self.watch(at, Interest::Read, desk);
            self.flush(at, desk);
            if !early || self.lines[at].generation != generation {
                return;
            }
            self.read(at, desk);
            return self.drain_waiting(at, desk);
        }
        if ready.writable && line.full {
            self.flush(at, desk);
        }
        if ready.readable && self.lines[at].generation == generation {
            self.read(at, desk);
        }
        self.drain_waiting(at, desk);
    }

    fn read(&mut self, at: usize, desk: &mut Desk<'_>) {
        let line = &mut self.lines[at];
        let Some(link) = &mut line.link else { return };
        let carried = line.carry.len();
        desk.buffer[..carried].copy_from_slice(&line.carry);
        line.carry.clear();
        let (length, ended) = match link.read(&mut desk.buffer[carried..]) {
            Ok(Read::Bytes(n)) => (carried + n, false),
            Ok(Read::WouldBlock) => (carried, false),
            Ok(Read::End) => (carried, true),
            Err(error) => return self.lost(at, trouble::kind(&error), &error.to_string(), desk),
        };
        let mut input = &mut desk.buffer[..length];
        let before = line.out.len();
        let mut gone = ended.then(|| ("closed_early", "the connection was closed".to_owned()));
        let mut opened = false;
        loop {
            match line.client.handle_input(&self.config, &mut input, &mut line.out) {
                Ok(Some(Event::Opened { .. })) => {
                    opened = true;
                    if self.config.ready.is_none() {
                        line.state = State::Open;
                    }
                }
                Ok(Some(Event::Ready)) => line.state = State::Open,
                Ok(Some(Event::Closed { .. })) => {
                    gone = Some(("closed", "the feed was closed by its target".to_owned()));
                }
                // What a target sends to a feed is its own affair.
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(failure) => {
                    gone = Some((failure.kind(), failure.to_string()));
                    break;
                }
            }
        }
        line.carry.extend_from_slice(input);
        if opened && let Some(Over::WebSocket { after_open, .. }) = desk.arm.publish.as_ref().map(|p| &p.over)
        {
            for template in after_open {
                let text = desk.requests.feed_fill(desk.arm, template);
                line.client.write_text(text, &mut line.out);
            }
        }
        if line.state == State::Open {
            line.give_up_ns = NEVER;
            line.failure = None;
        }
        // Answers to pings among them.
        if line.out.len() > before {
            line.frames.push_back((line.out.len() - before, None));
            if !line.full {
                self.flush(at, desk);
            }
        }
        if let Some((kind, what)) = gone {
            self.lost(at, kind, &what, desk);
        }
    }

    /// What waited goes out, as much as the socket takes.
    fn drain_waiting(&mut self, at: usize, desk: &mut Desk<'_>) {
        loop {
            let line = &mut self.lines[at];
            if line.state != State::Open || line.full {
                return;
            }
            let Some(job) = line.waiting.pop_front() else { break };
            self.waiting -= 1;
            self.write(at, job, desk);
        }
        self.flush_gathered(desk);
    }

    /// A connection is gone, or could not be made. What it had been given and had not written has
    /// failed; what waits goes over the next.
    fn lost(&mut self, at: usize, kind: &str, what: &str, desk: &mut Desk<'_>) {
        let line = &mut self.lines[at];
        let what = format!("feed: {what}");
        note(desk.record, &what);
        for measured in line.frames.drain(..).filter_map(|(_, publication)| publication) {
            fail(desk.record, measured, kind, &what);
        }
        line.link = None;
        line.out.clear();
        line.carry.clear();
        line.full = false;
        line.client.connection_lost();
        line.generation = (line.generation + 1) & token::GENERATIONS;
        line.give_up_ns = NEVER;
        line.state = State::Down(Clock::now() + AGAIN_NS);
        line.failure = Some((kind.to_owned(), what));
    }

    fn connect(&mut self, at: usize, now_ns: Nanos, desk: &mut Desk<'_>) {
        let line = &mut self.lines[at];
        line.generation = (line.generation + 1) & token::GENERATIONS;
        let token = token::pack(Owner::Outlet, line.generation, at as u32);
        // A feed is one client, which was here before.
        let made = self
            .way
            .connect(None, true)
            .and_then(|link| desk.poller.add(link.fd(), token, Interest::Write).map(|()| link));
        match made {
            Ok(link) => {
                line.link = Some(link);
                line.state = State::Connecting;
                line.give_up_ns = now_ns + self.timeout_ns;
            }
            Err(error) => self.lost(at, trouble::kind(&error), &error.to_string(), desk),
        }
    }

    /// Connections are made and made again; who waits too long is given up.
    pub(super) fn look_after(&mut self, now_ns: Nanos, desk: &mut Desk<'_>) {
        for at in 0..self.lines.len() {
            let line = &mut self.lines[at];
            match line.state {
                State::Down(again_ns) if again_ns <= now_ns && !self.stopped => {
                    self.connect(at, now_ns, desk)
                }
                _ if line.give_up_ns <= now_ns => {
                    self.lost(at, "timeout", "no answer to the upgrade in time", desk)
                }
                _ => {}
            }
            let line = &mut self.lines[at];
            while line.waiting.front().is_some_and(|job| job.due_ns + self.timeout_ns <= now_ns) {
                let measured = line.waiting.pop_front().is_some_and(|job| job.measured);
                self.waiting -= 1;
                let kind = line.failure.as_ref().map_or("timeout", |(kind, _)| kind);
                let down = line.failure.as_ref().is_some_and(|(kind, _)| trouble::is_theirs(kind));
                desk.record.counts.never_written(u64::from(measured), down);
                *desk.record.publish_failed.entry(kind.to_owned()).or_default() += 1;
            }
        }
    }

    pub(super) fn stop(&mut self, record: &mut Record) {
        self.stopped = true;
        self.waiting = 0;
        for line in &mut self.lines {
            record.counts.unpublished += line.waiting.drain(..).filter(|job| job.measured).count() as u64;
        }
    }
}

impl Line {
    /// So many bytes have left.
    fn took(&mut self, written: usize) {
        self.out.drain(..written);
        let mut left = written;
        while let Some((length, _)) = self.frames.front_mut() {
            if left < *length {
                *length -= left;
                return;
            }
            left -= *length;
            self.frames.pop_front();
        }
    }
}
