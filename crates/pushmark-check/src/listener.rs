//! A client of a target that its scenario describes: it subscribes over any transport, and listens.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use pushmark_model::plan::{ArmPlan, Cursor};
use pushmark_model::template::{Captures, Values};
use pushmark_proto::json_pointer::Scan;

use super::before::prepare;
use super::endpoint::Endpoint;
use super::journal::Journal;
use super::outcome::{Outcome, Step, holds, shown};
use super::patience::PATIENCE;
use super::publisher::{arm_of, connect, foreign};
use super::sse::Events;
use super::talk::{Of, Talk};
use super::trial::Trial;
use super::websocket::Socket;
use super::wire::{Answer, Wire, wants_media};

/// Time in which a target without an acknowledgement has taken a subscription.
const SETTLE: Duration = Duration::from_millis(150);
/// Time in which a first poll is answered with a cursor, or is held.
const FIRST: Duration = Duration::from_millis(500);
/// Time in which no more data may arrive.
const QUIET: Duration = Duration::from_millis(150);
/// Longest requested hold, ms.
const HOLD_MS: u64 = 4_000;

/// One listener of a target.
pub(super) struct Listener {
    pub(super) arm: ArmPlan,
    pub(super) port: u16,
    channel: String,
    pub(super) cursor: String,
    /// What the requests and the steps took.
    pub(super) captures: Captures,
    pub(super) conversation: Conversation,
    /// Everything received so far.
    pub(super) heard: Vec<Vec<u8>>,
    /// What came while a request waited for its answer, and is not taken yet.
    pub(super) early: VecDeque<Vec<u8>>,
}

/// How it listens.
pub(super) enum Conversation {
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
    pub(super) fn open(t: &mut Trial<'_>, transport: &str, channel: &str) -> Step<Listener> {
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
        if !self.early.is_empty() {
            return false;
        }
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

    /// Publishes a message, as a peer does. Only a WebSocket's client can.
    pub(super) fn publish(&mut self, what: &pushmark_model::message::Message, message: &[u8]) -> Outcome {
        let of = Of { arm: &self.arm, port: self.port, channel: &self.channel, captures: &self.captures };
        match &mut self.conversation {
            Conversation::WebSocket(talk) => talk.publish(of, what, message),
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
    pub(super) fn resume(
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
        let (heard, early) = (Vec::new(), VecDeque::new());
        let mut listener = Listener { arm, port, channel, cursor, captures, conversation, heard, early };
        listener.follow(t)?;
        let mut heard = Vec::new();
        if let Some(ready) = listener.arm.subscribe.ready.clone() {
            listener.becomes_ready(ready.as_bytes(), &mut heard)?;
        } else if listener.arm.subscribe.steps.last().is_none_or(|step| step.wait.is_none()) {
            // Nothing shows that the subscription stands.
            std::thread::sleep(SETTLE);
        }
        let name = listener.arm.transport.name();
        // A client that asks from a cursor needs one before the first publication.
        let asks = name == "long-poll" || name == "poll" && listener.arm.subscribe.cursor != Cursor::None;
        if !resumes && asks {
            listener.first_poll(&mut heard)?;
        }
        listener.heard = heard;
        Ok(listener)
    }

    /// Listens until the text that confirms the subscription has come. What came of a stream is kept.
    fn becomes_ready(&mut self, ready: &[u8], heard: &mut Vec<Vec<u8>>) -> Outcome {
        match &mut self.conversation {
            Conversation::Poll { .. } => Ok(()),
            Conversation::Sse(events) => events.until_ready(ready),
            Conversation::Stream(_) => {
                while memchr::memmem::find(&heard.concat(), ready).is_none() {
                    heard.push(self.next()?);
                }
                Ok(())
            }
            Conversation::WebSocket(_) => {
                while memchr::memmem::find(&self.next()?, ready).is_none() {}
                Ok(())
            }
        }
    }

    /// Waits for nothing beyond this instant.
    pub(super) fn waits_until(&mut self, until: Instant) {
        let wire = match &mut self.conversation {
            Conversation::Poll { wire, .. } | Conversation::Stream(wire) => wire,
            Conversation::Sse(events) => &mut events.wire,
            Conversation::WebSocket(talk) => &mut talk.socket.wire,
        };
        wire.until = Some(until);
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
        if let Some(piece) = self.early.pop_front() {
            return Ok(piece);
        }
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
    pub(super) fn until(&mut self, message: &[u8]) -> Outcome {
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

    pub(super) fn whole(&self) -> Vec<u8> {
        match self.conversation {
            Conversation::Stream(_) => self.heard.concat(),
            _ => self.heard.join(&b'\n'),
        }
    }

    fn last(&self) -> String {
        self.heard.last().map_or_else(|| "nothing".to_owned(), |piece| shown(piece))
    }

    /// Listens a moment longer, for messages that must not arrive.
    pub(super) fn more(&mut self) {
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

/// Returns how often a message is in what was heard.
pub(super) fn count(heard: &[u8], message: &[u8]) -> usize {
    heard.windows(message.len()).filter(|window| *window == message).count()
}
