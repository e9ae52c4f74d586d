//! Publications over WebSockets that stay open: a text each, no answer. A scenario may say how a target refuses one.
//!
//! Each channel keeps to one connection, so that its order is kept. Publications that come due together
//! are sent in one write per connection. A publication is stamped when it is put into bytes that are
//! about to be written, never while the socket is full. So the delay that a slow target causes is
//! publisher lag.

use pushmark_model::message::Message;
use pushmark_model::plan::{Over, PublisherPlan};
use pushmark_model::record::Record;
use pushmark_model::template::Values;
use pushmark_net::{Clock, Connect, Interest, Link, Nanos, Read, Ready};
use pushmark_proto::client::{Client, Config, Event, Transport};

use super::heard::Heard;
use super::outbox::Outbox;
use super::queue::Queue;
use super::{PayloadWriter, PublisherContext, note};
use crate::job::Job;
use crate::never::NEVER;
use crate::secure::{self, Route};
use crate::token::{self, Owner};
use crate::trouble;

/// Most bytes of answers that wait for a target to read them. Beyond this the connection is not read
/// either.
const ANSWERS_MAX: usize = 64 << 10;

/// A connection that failed is tried again after this time.
const AGAIN_NS: Nanos = 200_000_000;

/// The feed of one shard.
#[derive(Debug)]
pub(crate) struct Feed {
    lines: Vec<Line>,
    config: Config,
    queue: Queue,
    route: Route,
    timeout_ns: Nanos,
    pub(super) writer: PayloadWriter,
    stopped: bool,
}

/// One connection.
#[derive(Debug)]
struct Line {
    /// Its number among all connections of the feed.
    number: u64,
    link: Option<Link>,
    client: Client,
    carry: Vec<u8>,
    outbox: Outbox,
    heard: Heard,
    /// When each periodic message is due.
    due_ns: Vec<Nanos>,
    /// It has been open before.
    stood: bool,
    generation: u32,
    state: State,
    /// It is not read, because its target does not read the answers.
    held: bool,
    give_up_ns: Nanos,
    /// Why it is down.
    failure: Option<(String, String)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Down until the next attempt at this instant.
    Down(Nanos),
    Connecting,
    /// The upgrade or the ready text is awaited.
    Asked,
    Open,
}

impl Feed {
    pub(super) fn new(
        seed: u64,
        plan: &PublisherPlan,
        over: &Over,
        route: Route,
        (shard, shards): (u32, u32),
        writer: PayloadWriter,
    ) -> Feed {
        let mut config = Config::new(Transport::WebSocket);
        if let Over::WebSocket { subprotocol, ready, answer, separator, .. } = over {
            config.subprotocol.clone_from(subprotocol);
            let plain = |message: &Message| message.rendered(&Values::default());
            config.answers = answer.iter().map(|a| (plain(&a.on), Some(plain(&a.send)))).collect();
            config.separator = *separator;
            config.ready = ready.as_ref().map(|text| text.clone().into_bytes());
        }
        let line = |n: u32| Line {
            number: u64::from(n) * u64::from(shards) + u64::from(shard),
            link: None,
            client: Client::new(&config, seed ^ u64::from(n) << 32),
            carry: Vec::new(),
            outbox: Outbox::default(),
            heard: Heard::default(),
            due_ns: Vec::new(),
            stood: false,
            generation: 0,
            state: State::Down(0),
            held: false,
            give_up_ns: NEVER,
            failure: None,
        };
        Feed {
            lines: (0..(plan.connections / shards).max(1)).map(line).collect(),
            config,
            queue: Queue::new(shards, plan.timeout_ns),
            route,
            timeout_ns: plan.timeout_ns,
            writer,
            stopped: false,
        }
    }

    pub(super) fn publish(&mut self, job: Job, context: &mut PublisherContext<'_>) {
        let at = self.queue.line_of(job.channel, self.lines.len());
        let line = &mut self.lines[at];
        if line.state == State::Open && !line.outbox.full {
            return self.write(at, job, context);
        }
        self.queue.wait(job, &mut line.outbox, context.record);
    }

    /// Puts a publication into bytes.
    fn write(&mut self, at: usize, job: Job, context: &mut PublisherContext<'_>) {
        let line = &mut self.lines[at];
        let (sent_ns, payload) = self.writer.stamp(job);
        let (text, message) = context.requests.feed_text(context.arm, job.channel, payload);
        let outbox = &mut line.outbox;
        let before = outbox.out.len();
        line.client.write_message(text, message, &mut outbox.out);
        outbox.published(before, job, sent_ns);
        self.writer.count(job, sent_ns, context.record);
        if self.queue.gathers(at, before, outbox) {
            self.flush(at, context);
        }
    }

    /// Sends what was gathered, once everything that is due has been passed on.
    pub(super) fn flush_gathered(&mut self, context: &mut PublisherContext<'_>) {
        while let Some(at) = self.queue.gathered() {
            let outbox = &self.lines[at].outbox;
            if !outbox.full && !outbox.out.is_empty() {
                self.flush(at, context);
            }
        }
    }

    fn flush(&mut self, at: usize, context: &mut PublisherContext<'_>) {
        let line = &mut self.lines[at];
        let Some(link) = &mut line.link else { return };
        match link.write(&line.outbox.out) {
            Ok(written) if line.outbox.took(written) => {
                if line.outbox.full {
                    (line.outbox.full, line.held) = (false, false);
                    self.watch(at, Interest::Read, context);
                }
            }
            Ok(_) => {
                if !std::mem::replace(&mut line.outbox.full, true) || line.held {
                    self.watch_full(at, context);
                }
            }
            Err(error) => self.lost(at, trouble::kind(&error), &error.to_string(), context),
        }
    }

    /// Watches a connection that took less than it was given. If its target does not read the answers, it
    /// is not read either.
    fn watch_full(&mut self, at: usize, context: &mut PublisherContext<'_>) {
        let line = &mut self.lines[at];
        let held = line.outbox.answers() > ANSWERS_MAX;
        context.record.counts.held_back += u64::from(held && !line.held);
        line.held = held;
        self.watch(at, if held { Interest::Write } else { Interest::Both }, context);
    }

    fn watch(&self, at: usize, interest: Interest, context: &PublisherContext<'_>) {
        let line = &self.lines[at];
        if let Some(link) = &line.link {
            // A failure shows at the next read or write.
            let token = token::pack(Owner::PoolConnection, line.generation, at as u32);
            let _ = context.poller.modify(link.fd(), token, interest);
        }
    }

    pub(super) fn handle_ready(
        &mut self,
        at: u32,
        generation: u32,
        ready: Ready,
        context: &mut PublisherContext<'_>,
    ) {
        let at = at as usize;
        let Some(line) = self.lines.get_mut(at).filter(|line| line.generation == generation) else { return };
        let Some(link) = &mut line.link else { return };
        if line.state == State::Connecting {
            match link.finish_connect() {
                Ok(Connect::Done) => {}
                Ok(Connect::Handshake(interest)) => return self.watch(at, interest, context),
                Err(error) => return self.lost(at, trouble::kind(&error), &error.to_string(), context),
            }
            secure::count(link, &mut context.record.counts);
            let early = link.has_early();
            line.state = State::Asked;
            let out = &mut line.outbox.out;
            context.requests.feed_request(context.arm, line.number, &self.config, &mut line.client, out);
            line.outbox.framed(0);
            self.watch(at, Interest::Read, context);
            self.flush(at, context);
            if !early || self.lines[at].generation != generation {
                return;
            }
            self.read(at, context);
            return self.drain_waiting(at, context);
        }
        if ready.writable && line.outbox.full {
            self.flush(at, context);
        }
        if ready.readable && self.lines[at].generation == generation {
            self.read(at, context);
        }
        self.drain_waiting(at, context);
    }

    fn read(&mut self, at: usize, context: &mut PublisherContext<'_>) {
        let line = &mut self.lines[at];
        let Some(link) = &mut line.link else { return };
        let carried = line.carry.len();
        context.buffer[..carried].copy_from_slice(&line.carry);
        line.carry.clear();
        let (length, ended) = match link.read(&mut context.buffer[carried..]) {
            Ok(Read::Bytes(n)) => (carried + n, false),
            Ok(Read::WouldBlock) => (carried, false),
            Ok(Read::End) => (carried, true),
            Err(error) => return self.lost(at, trouble::kind(&error), &error.to_string(), context),
        };
        let mut input = &mut context.buffer[..length];
        let out = &mut line.outbox.out;
        let before = out.len();
        let was_open = line.state == State::Open;
        let (every, refused) = match context.arm.publish.as_ref().map(|publish| &publish.over) {
            Some(Over::WebSocket { every, refused, .. }) => (&every[..], refused.as_deref()),
            _ => (&[][..], None),
        };
        let mut refusals: u64 = 0;
        let mut gone = ended.then(|| ("closed_early", "the connection was closed".to_owned()));
        let mut opened = false;
        loop {
            match line.client.handle_input(&self.config, &mut input, out) {
                Ok(Some(Event::Opened { .. })) => {
                    opened = true;
                    if self.config.ready.is_none() {
                        line.state = State::Open;
                    }
                }
                Ok(Some(Event::Ready)) => {
                    line.heard.confirms();
                    line.state = State::Open;
                }
                Ok(Some(Event::Data(bytes))) => line.heard.data(bytes),
                Ok(Some(Event::Heartbeat)) => line.heard.heartbeat(),
                Ok(Some(Event::MessageEnd)) => {
                    if let Some(words) = line.heard.end(refused) {
                        refusals += 1;
                        note(context.record, &format!("feed: the target answered {words}"));
                    }
                }
                Ok(Some(Event::Closed { .. })) => {
                    gone = Some(("closed", "the feed was closed by its target".to_owned()));
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(failure) => {
                    gone = Some((failure.kind(), failure.to_string()));
                    break;
                }
            }
        }
        line.carry.extend_from_slice(input);
        if opened
            && let Some(Over::WebSocket { after_open, .. }) = context.arm.publish.as_ref().map(|p| &p.over)
        {
            for what in after_open {
                let message = context.requests.feed_fill(context.arm, line.number, what);
                line.client.write_message(what.is_text(), message, out);
            }
        }
        if line.state == State::Open {
            line.give_up_ns = NEVER;
            line.failure = None;
            if !was_open {
                let now_ns = Clock::now();
                line.due_ns = every.iter().map(|every| now_ns + every.after_ns).collect();
            }
            if !was_open && std::mem::replace(&mut line.stood, true) {
                context.record.counts.feed_reconnected += u64::from(self.writer.measures(Clock::now()));
            }
        }
        if refusals > 0 && self.writer.measures(Clock::now()) {
            context.record.counts.feed_refused += refusals;
        }
        // Answers to pings are among these bytes.
        if line.outbox.out.len() > before {
            line.outbox.framed(before);
            match line.outbox.full {
                true => self.watch_full(at, context),
                false => self.flush(at, context),
            }
        }
        if let Some((kind, what)) = gone {
            self.lost(at, kind, &what, context);
        }
    }

    /// Sends the waiting publications, as many as the socket takes.
    fn drain_waiting(&mut self, at: usize, context: &mut PublisherContext<'_>) {
        loop {
            let line = &mut self.lines[at];
            if line.state != State::Open || line.outbox.full {
                return;
            }
            let Some(job) = self.queue.next(&mut line.outbox) else { break };
            self.write(at, job, context);
        }
        self.flush_gathered(context);
    }

    /// A connection is gone, or could not be made.
    fn lost(&mut self, at: usize, kind: &str, what: &str, context: &mut PublisherContext<'_>) {
        let line = &mut self.lines[at];
        let what = format!("feed: {what}{}", line.heard.last_words());
        note(context.record, &what);
        line.outbox.lost(kind, &what, context.record);
        line.link = None;
        line.carry.clear();
        line.held = false;
        line.client.connection_lost();
        line.generation = (line.generation + 1) & token::GENERATIONS;
        line.give_up_ns = NEVER;
        line.state = State::Down(Clock::now() + AGAIN_NS);
        line.failure = Some((kind.to_owned(), what));
    }

    fn connect(&mut self, at: usize, now_ns: Nanos, context: &mut PublisherContext<'_>) {
        let line = &mut self.lines[at];
        line.generation = (line.generation + 1) & token::GENERATIONS;
        let token = token::pack(Owner::PoolConnection, line.generation, at as u32);
        // A feed counts as one client that has connected before.
        let made = self
            .route
            .connect(None, true)
            .and_then(|link| context.poller.add(link.fd(), token, Interest::Write).map(|()| link));
        match made {
            Ok(link) => {
                line.link = Some(link);
                line.state = State::Connecting;
                line.give_up_ns = now_ns + self.timeout_ns;
            }
            Err(error) => self.lost(at, trouble::kind(&error), &error.to_string(), context),
        }
    }

    /// Sends the periodic messages of a connection that are due. A full one gets them when it takes more.
    fn remind(&mut self, at: usize, now_ns: Nanos, context: &mut PublisherContext<'_>) {
        let Some(Over::WebSocket { every, .. }) = context.arm.publish.as_ref().map(|p| &p.over) else {
            return;
        };
        let line = &mut self.lines[at];
        if line.state != State::Open || line.outbox.full {
            return;
        }
        let before = line.outbox.out.len();
        for (every, due_ns) in every.iter().zip(&mut line.due_ns).filter(|(_, due_ns)| **due_ns <= now_ns) {
            *due_ns = now_ns + every.after_ns;
            let message = context.requests.feed_fill(context.arm, line.number, &every.send);
            line.client.write_message(every.send.is_text(), message, &mut line.outbox.out);
        }
        if line.outbox.out.len() > before {
            line.outbox.framed(before);
            self.flush(at, context);
        }
    }

    /// Makes connections, also after a loss, sends what is due, and gives up what waits too long.
    pub(super) fn look_after(&mut self, now_ns: Nanos, context: &mut PublisherContext<'_>) {
        for at in 0..self.lines.len() {
            self.remind(at, now_ns, context);
            let line = &mut self.lines[at];
            match line.state {
                State::Down(again_ns) if again_ns <= now_ns && !self.stopped => {
                    self.connect(at, now_ns, context)
                }
                _ if line.give_up_ns <= now_ns => {
                    self.lost(at, "timeout", "no answer to the upgrade in time", context)
                }
                _ => {}
            }
            let line = &mut self.lines[at];
            let kind = line.failure.as_ref().map_or("timeout", |(kind, _)| kind);
            let down = line.failure.as_ref().is_some_and(|(kind, _)| trouble::is_theirs(kind));
            self.queue.expire(&mut line.outbox, now_ns, (kind, down), context.record);
        }
    }

    pub(super) fn stop(&mut self, record: &mut Record) {
        self.stopped = true;
        for line in &mut self.lines {
            self.queue.stop(&mut line.outbox, record);
        }
    }
}
