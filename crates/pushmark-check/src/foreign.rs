//! Checks of targets without the contract. Each transport must deliver each message once, whole and in order,
//! in valid frames. It must answer a ping, and a client that reconnects must resume.
//!
//! The templates of a scenario describe how to reach a target. A target may wrap a message, so the checks
//! search for the message within the received bytes.

use std::time::{Duration, Instant};

use pushmark_model::plan::{ArmPlan, Cursor, Plan};
use pushmark_model::template::{Captures, Values};
use pushmark_proto::json_pointer::Scan;
use pushmark_proto::websocket::Opcode;

use super::before::prepare;
use super::endpoint::Endpoint;
use super::journal::Journal;
use super::outcome::{Miss, Outcome, Step, brief, holds, shown};
use super::patience::PATIENCE;
use super::publisher::{Publisher, arm_of, connect, foreign};
use super::sse::Events;
use super::talk::{Of, Talk, data};
use super::target::Foreign;
use super::trial::{Trial, stamped, stamps};
use super::websocket::{Message, Socket};
use super::wire::{Answer, Wire, wants_media};
use super::{Case, Row, Subject, With};

/// Time in which a target without an acknowledgement has taken a subscription.
const SETTLE: Duration = Duration::from_millis(150);
/// Time in which a first poll is answered with a cursor, or is held.
const FIRST: Duration = Duration::from_millis(500);
/// Time in which no more data may arrive.
const QUIET: Duration = Duration::from_millis(150);
/// Longest requested hold, ms.
const HOLD_MS: u64 = 4_000;

impl Subject {
    /// A running target that is reached by the templates of a plan. Of the clauses that its row says it
    /// lacks, only 3.8 matters here: requests are then not cut into packets.
    ///
    /// # Errors
    /// Fails if a name has no address, or cannot be the name in a certificate.
    pub fn foreign(name: &str, plan: &Plan, port: u16, lacks: &[String]) -> anyhow::Result<Subject> {
        let arms = plan.arms.clone();
        let first = arms.first().ok_or_else(|| anyhow::anyhow!("no transport is asked for"))?;
        let endpoint = Endpoint::to_subscribe(first, port)?;
        Ok(Subject {
            name: name.to_owned(),
            endpoint,
            transports: arms.iter().map(|arm| arm.transport.name().to_owned()).collect(),
            lacks: lacks.to_vec(),
            row: None::<Row>,
            launch: None,
            foreign: Some(Foreign { arms, port }),
        })
    }
}

/// One listener of a target.
pub(super) struct Listener {
    arm: ArmPlan,
    port: u16,
    channel: String,
    cursor: String,
    /// What the requests and the steps took.
    pub(super) captures: Captures,
    conversation: Conversation,
    /// Everything received so far.
    heard: Vec<Vec<u8>>,
}

enum Conversation {
    /// Whether a request is pending.
    Poll {
        wire: Wire,
        asked: bool,
    },
    Stream(Wire),
    Sse(Events),
    WebSocket(Talk),
}

impl Listener {
    fn open(t: &mut Trial<'_>, transport: &str, channel: &str) -> Step<Listener> {
        foreign(t, transport)?;
        Listener::any(t, transport, channel)
    }

    /// Subscribes, whether or not anything says how to publish.
    pub(super) fn any(t: &mut Trial<'_>, transport: &str, channel: &str) -> Step<Listener> {
        let (arm, port) = arm_of(t, transport)?;
        Listener::resume(t, arm.clone(), port, channel, "", "")
    }

    /// The arm that it listens to.
    pub(super) fn arm(&self) -> &ArmPlan {
        &self.arm
    }

    /// Returns whether nothing arrives in this time. A poll that is not asked for is asked for first.
    pub(super) fn is_quiet(&mut self, time: Duration) -> bool {
        match &mut self.conversation {
            Conversation::Poll { asked: false, .. } => false,
            Conversation::Poll { wire, .. } | Conversation::Stream(wire) => wire.is_quiet(time).is_ok(),
            Conversation::Sse(events) => events.wire.is_quiet(time).is_ok(),
            Conversation::WebSocket(talk) => talk.socket.wire.is_quiet(time).is_ok(),
        }
    }

    /// How it is reached, and what it took.
    pub(super) fn of(&self) -> Of<'_> {
        Of { arm: &self.arm, port: self.port, channel: &self.channel, captures: &self.captures }
    }

    /// Sends a message of a step. Only a WebSocket has any.
    pub(super) fn say(&mut self, what: &pushmark_model::message::Message) -> Outcome {
        let of = Of { arm: &self.arm, port: self.port, channel: &self.channel, captures: &self.captures };
        match &mut self.conversation {
            Conversation::WebSocket(talk) => talk.say(of, true, what),
            _ => Ok(()),
        }
    }

    pub(super) fn journal(&self) -> &Journal {
        match &self.conversation {
            Conversation::Poll { wire, .. } | Conversation::Stream(wire) => &wire.journal,
            Conversation::Sse(events) => &events.wire.journal,
            Conversation::WebSocket(talk) => &talk.socket.wire.journal,
        }
    }

    /// Subscribes from the position of an earlier listener.
    fn resume(
        t: &mut Trial<'_>,
        arm: ArmPlan,
        port: u16,
        channel: &str,
        cursor: &str,
        last_event_id: &str,
    ) -> Step<Listener> {
        let subscribe = &arm.subscribe;
        let of = Of { arm: &arm, port, channel, captures: &Captures::default() };
        let captures = prepare(t, of)?;
        let mut wire = connect(t, Endpoint::to_subscribe(&arm, port))?;
        let of = Of { captures: &captures, ..of };
        let (target, mut headers, body) = request(of, cursor);
        let conversation = match arm.transport.name() {
            "websocket" => {
                if !subscribe.subprotocol.is_empty() {
                    headers.push(format!("Sec-WebSocket-Protocol: {}", subscribe.subprotocol));
                }
                let lines: Vec<&str> = headers.iter().map(String::as_str).collect();
                let (socket, _) = Socket::open(wire, &target, &lines)?;
                let mut talk = Talk { socket };
                for template in &subscribe.after_open {
                    talk.say(of, true, template)?;
                }
                Conversation::WebSocket(talk)
            }
            "stream" | "sse" => {
                if arm.transport.name() == "sse" {
                    headers.push("Accept: text/event-stream".into());
                }
                if !last_event_id.is_empty() {
                    headers.push(format!("Last-Event-ID: {last_event_id}"));
                }
                let lines: Vec<&str> = headers.iter().map(String::as_str).collect();
                wire.send(&subscribe.method, &target, &lines, &body)?;
                let head = wire.head()?;
                wire.journal
                    .came(|| format!("{} {}", head.status, head.header("content-type").unwrap_or_default()));
                let head = head.is(200)?;
                match arm.transport.name() {
                    "sse" => {
                        wants_media(&head, "text/event-stream")?;
                        Conversation::Sse(Events::new(wire))
                    }
                    _ => Conversation::Stream(wire),
                }
            }
            _ => Conversation::Poll { wire, asked: false },
        };
        let (channel, cursor) = (channel.to_owned(), cursor.to_owned());
        let resumes = !cursor.is_empty();
        let mut listener = Listener { arm, port, channel, cursor, captures, conversation, heard: Vec::new() };
        listener.follow(t)?;
        if let (Conversation::WebSocket(_), Some(ready)) =
            (&listener.conversation, listener.arm.subscribe.ready.clone())
        {
            while !String::from_utf8_lossy(&listener.next()?).contains(&ready) {}
        }
        // A last step that waits shows that the subscription stands.
        if listener.arm.subscribe.steps.last().is_none_or(|step| step.wait.is_none()) {
            std::thread::sleep(SETTLE);
        }
        let mut heard = Vec::new();
        let name = listener.arm.transport.name();
        // A client that asks from a cursor needs one before the first publication.
        let asks = name == "long-poll" || name == "poll" && listener.arm.subscribe.cursor != Cursor::None;
        if !resumes && asks {
            listener.first_poll(&mut heard)?;
        }
        listener.heard = heard;
        Ok(listener)
    }

    /// A first poll is answered with a cursor, or held until something is published.
    fn first_poll(&mut self, heard: &mut Vec<Vec<u8>>) -> Outcome {
        self.ask()?;
        let Conversation::Poll { wire, .. } = &mut self.conversation else { return Ok(()) };
        if wire.is_quiet(FIRST).is_err() {
            let body = self.answer()?;
            heard.push(body);
            // Without a cursor the next poll must be registered before the next publication.
            self.ask()?;
            std::thread::sleep(SETTLE);
        }
        Ok(())
    }

    /// Sends a poll, unless one is pending.
    fn ask(&mut self) -> Outcome {
        let (target, headers, body) = request(self.of(), &self.cursor);
        let Conversation::Poll { wire, asked } = &mut self.conversation else { return Ok(()) };
        if !std::mem::replace(asked, true) {
            let lines: Vec<&str> = headers.iter().map(String::as_str).collect();
            wire.send(&self.arm.subscribe.method, &target, &lines, &body)?;
        }
        Ok(())
    }

    fn answer(&mut self) -> Step<Vec<u8>> {
        let Conversation::Poll { wire, asked } = &mut self.conversation else { return Ok(Vec::new()) };
        let answer = wire.answer()?;
        *asked = false;
        holds((200..300).contains(&answer.status) || matches!(answer.status, 304 | 408), || answer.words())?;
        if let Some(cursor) = cursor(&self.arm.subscribe.cursor, &answer) {
            self.cursor = cursor;
        }
        Ok(answer.body)
    }

    /// Returns the next piece, whatever it is.
    pub(super) fn next(&mut self) -> Step<Vec<u8>> {
        let piece = self.next_piece()?;
        // Those of a WebSocket are told as they are read.
        if !matches!(self.conversation, Conversation::WebSocket(_)) {
            self.journal().came(|| format!("{} bytes {}", piece.len(), shown(&piece)));
        }
        Ok(piece)
    }

    fn next_piece(&mut self) -> Step<Vec<u8>> {
        match &mut self.conversation {
            Conversation::Poll { .. } => {
                self.ask()?;
                self.answer()
            }
            Conversation::Stream(wire) => wire.chunk(),
            Conversation::Sse(events) => Ok(events.event()?.data),
            Conversation::WebSocket(talk) => {
                let captures = &self.captures;
                talk.hear(Of { arm: &self.arm, port: self.port, channel: &self.channel, captures })
            }
        }
    }

    /// Listens until a message has arrived.
    fn until(&mut self, message: &[u8]) -> Outcome {
        let started = Instant::now();
        // A chunk may end within a message: a stream is checked as a whole.
        while count(&self.whole(), message) == 0 {
            holds(started.elapsed() < PATIENCE, || {
                format!(
                    "{} did not come within {PATIENCE:?}; what came last: {}",
                    shown(message),
                    self.last()
                )
            })?;
            let piece = self.next()?;
            self.heard.push(piece);
        }
        Ok(())
    }

    fn whole(&self) -> Vec<u8> {
        match self.conversation {
            Conversation::Stream(_) => self.heard.concat(),
            _ => self.heard.join(&b'\n'),
        }
    }

    fn last(&self) -> String {
        self.heard.last().map_or_else(|| "nothing".to_owned(), |piece| shown(piece))
    }

    /// Listens a moment longer, for messages that must not arrive.
    fn more(&mut self) {
        if matches!(self.conversation, Conversation::Poll { .. }) && self.ask().is_err() {
            return;
        }
        while match &mut self.conversation {
            Conversation::Poll { wire, .. } | Conversation::Stream(wire) => wire.is_quiet(QUIET).is_err(),
            Conversation::Sse(events) => events.wire.is_quiet(QUIET).is_err(),
            Conversation::WebSocket(talk) => talk.socket.wire.is_quiet(QUIET).is_err(),
        } {
            match self.next() {
                Ok(piece) => self.heard.push(piece),
                Err(_) => return,
            }
        }
    }
}

/// Returns the target, the header lines and the body of a request.
fn request(of: Of<'_>, cursor: &str) -> (String, Vec<String>, Vec<u8>) {
    let (arm, channels) = (of.arm, [of.channel]);
    let values = Values { cursor, hold_ms: HOLD_MS, ..of.values(&channels) };
    let headers = arm.subscribe.headers.iter();
    let headers = headers.map(|(name, value)| format!("{name}: {}", value.render_text(&values)));
    let mut body = Vec::new();
    if let Some(template) = &arm.subscribe.body {
        template.render(&values, &mut body);
    }
    (arm.subscribe.path.render_text(&values), headers.collect(), body)
}

fn cursor(source: &Cursor, answer: &Answer) -> Option<String> {
    match source {
        Cursor::None => None,
        Cursor::Header(name) => answer.header(&name.to_ascii_lowercase()).map(str::to_owned),
        Cursor::Json(pointer) => {
            let mut scan = Scan::default();
            scan.look(pointer, &answer.body);
            scan.finish().map(|text| String::from_utf8_lossy(text).into_owned())
        }
    }
}

fn count(heard: &[u8], message: &[u8]) -> usize {
    heard.windows(message.len()).filter(|window| *window == message).count()
}

/// The sequences of one publisher: a target with a single channel sends every message to every client.
fn sequences(listener: &Listener, nonce: u32) -> Vec<u64> {
    let heard = stamps(&listener.whole());
    heard.iter().filter(|stamp| stamp.nonce == nonce).map(|stamp| stamp.sequence).collect()
}

fn name(t: &mut Trial<'_>) -> String {
    t.chance.channel().replace(['.', '-'], "")
}

fn delivers(t: &mut Trial<'_>, transport: &str) -> Outcome {
    let channel = name(t);
    let mut publisher = Publisher::open(t, transport)?;
    let mut listener = Listener::open(t, transport, &channel)?;
    let nonce = t.chance.nonce();
    let mut messages = Vec::new();
    for sequence in 0..8 {
        let size = t.chance.between(48, 1_500) as usize;
        let message = stamped(nonce, 0, sequence, size);
        publisher.publish(&channel, &message)?;
        listener.until(&message)?;
        messages.push(message);
    }
    listener.more();
    let whole = listener.whole();
    let polls = transport == "poll";
    for message in &messages {
        // A client that polls again for the latest message receives it again.
        let times = count(&whole, message);
        holds(times == 1 || polls && times > 1, || format!("{} came {times} times", shown(message)))?;
    }
    Ok(())
}

fn orders(t: &mut Trial<'_>, transport: &str) -> Outcome {
    const COUNT: u64 = 60;
    let channel = name(t);
    let mut publisher = Publisher::open(t, transport)?;
    let mut listener = Listener::open(t, transport, &channel)?;
    if transport == "long-poll" && listener.arm.subscribe.cursor == Cursor::None {
        return Err(Miss::NotOffered("it has no cursor: a message between two polls is lost".into()));
    }
    let nonce = t.chance.nonce();
    let messages: Vec<Vec<u8>> = (0..COUNT).map(|sequence| stamped(nonce, 0, sequence, 64)).collect();
    for message in &messages {
        publisher.publish(&channel, message)?;
    }
    messages.iter().try_for_each(|message| listener.until(message))?;
    let heard = sequences(&listener, nonce);
    holds(heard.iter().copied().eq(0..COUNT), || brief(&format!("the order {heard:?}")))
}

/// Publishes messages of lengths near those at which a frame's header or a buffer changes.
fn frames(t: &mut Trial<'_>, transport: &str) -> Outcome {
    let channel = name(t);
    let mut publisher = Publisher::open(t, transport)?;
    let mut listener = Listener::open(t, transport, &channel)?;
    let nonce = t.chance.nonce();
    for (sequence, size) in (0..).zip([125, 126, 127, 4_096, 16_385, 65_535, 65_536]) {
        let message = stamped(nonce, 0, sequence, size);
        publisher.publish(&channel, &message)?;
        // A violation of the transport's format fails when it is read.
        listener.until(&message)?;
        if matches!(transport, "sse" | "websocket") {
            let one = listener.heard.iter().any(|piece| count(piece, &message) == 1);
            holds(one, || format!("a message of {size} bytes is not within one event or message"))?;
        }
    }
    Ok(())
}

fn resumes(t: &mut Trial<'_>, transport: &str) -> Outcome {
    let channel = name(t);
    let mut publisher = Publisher::open(t, transport)?;
    let mut listener = Listener::open(t, transport, &channel)?;
    let nonce = t.chance.nonce();
    let first = stamped(nonce, 0, 0, 64);
    publisher.publish(&channel, &first)?;
    listener.until(&first)?;
    let id = |listener: &Listener| match &listener.conversation {
        Conversation::Sse(events) => events.last_id(),
        _ => String::new(),
    };
    let first_id = id(&listener);
    let second = stamped(nonce, 1, 0, 64);
    publisher.publish(&channel, &second)?;
    listener.until(&second)?;
    let last_event_id = id(&listener);
    if !last_event_id.is_empty() && last_event_id == first_id {
        return Err(Miss::NotOffered("its events all have the same id".into()));
    }
    let Listener { arm, port, cursor, conversation, .. } = listener;
    drop(conversation);
    if cursor.is_empty() && last_event_id.is_empty() {
        return Err(Miss::NotOffered("it gives no cursor and no event id".into()));
    }
    let missed: Vec<Vec<u8>> = (1..6).map(|sequence| stamped(nonce, 0, sequence, 64)).collect();
    for message in &missed {
        publisher.publish(&channel, message)?;
    }
    let mut again = Listener::resume(t, arm, port, &channel, &cursor, &last_event_id)?;
    missed.iter().try_for_each(|message| again.until(message))?;
    let heard = sequences(&again, nonce);
    holds(heard == [1, 2, 3, 4, 5], || format!("{heard:?} where 1 to 5 were missed"))
}

fn pings(t: &mut Trial<'_>) -> Outcome {
    let channel = name(t);
    let mut listener = Listener::open(t, "websocket", &channel)?;
    let Conversation::WebSocket(Talk { socket, .. }) = &mut listener.conversation else { return Ok(()) };
    for _ in 0..3 {
        let len = t.chance.between(1, 125);
        let payload = t.chance.bytes(len);
        socket.send(Opcode::Ping, &payload)?;
        loop {
            match socket.message()? {
                Message::Pong(came) => break super::outcome::same_bytes("a Pong", &came, &payload)?,
                other => drop(data(other)?),
            }
        }
    }
    Ok(())
}

const DELIVERS: &str = "each message arrives once, byte for byte";
const ORDERS: &str = "messages of one publisher arrive in order";
const FRAMES: &str = "messages of any length are sent in valid frames of the transport";
const RESUMES: &str = "a client that reconnects gets each missed message once, then new messages";

const fn case(id: &'static str, wants: &'static str, run: fn(&mut Trial<'_>) -> Outcome) -> Case {
    Case { id, wants, with: With::Others, run }
}

pub(super) const CASES: &[Case] = &[
    case("poll/delivers", "the latest message arrives, byte for byte", |t| delivers(t, "poll")),
    case("long-poll/delivers", DELIVERS, |t| delivers(t, "long-poll")),
    case("long-poll/orders", ORDERS, |t| orders(t, "long-poll")),
    case("long-poll/frames", FRAMES, |t| frames(t, "long-poll")),
    case("long-poll/resumes", RESUMES, |t| resumes(t, "long-poll")),
    case("stream/delivers", DELIVERS, |t| delivers(t, "stream")),
    case("stream/orders", ORDERS, |t| orders(t, "stream")),
    case("stream/frames", FRAMES, |t| frames(t, "stream")),
    case("sse/delivers", DELIVERS, |t| delivers(t, "sse")),
    case("sse/orders", ORDERS, |t| orders(t, "sse")),
    case("sse/frames", FRAMES, |t| frames(t, "sse")),
    case("sse/resumes", RESUMES, |t| resumes(t, "sse")),
    case("websocket/delivers", DELIVERS, |t| delivers(t, "websocket")),
    case("websocket/orders", ORDERS, |t| orders(t, "websocket")),
    case("websocket/frames", FRAMES, |t| frames(t, "websocket")),
    case("websocket/pings", "a ping is answered with its payload", pings),
];
