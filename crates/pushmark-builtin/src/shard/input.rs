//! Reads heads, bodies and frames from one buffer of the thread.

use pushmark_net::{Clock, Nanos, Read};
use pushmark_proto::Failure;
use pushmark_proto::http1::{BodyDecoder, BodyEvent, BodyLength, RequestHead, write};
use pushmark_proto::websocket::{Event, Opcode, encode};

use super::bayeux::Carrier;
use super::perform::RequestContext;
use super::{Ending, Shard};
use crate::connection::{Conversation, Pending};
use crate::kept::{Kept, NoRoom};
use crate::options::Page;
use crate::reply::Reply;
use crate::request::{BODY_MAX, Intent, Refusal};
use crate::stats::Counter;

/// Reads from one connection in a turn. The rest waits until its socket is reported again.
const READS_MAX: usize = 4;

/// How long requests and messages of one connection are handled in one go, if there are several. Then other
/// connections get their turn.
const SLICE_NS: Nanos = 500_000;

/// How long a turn handles connections that have already had their share.
const REVISITS_NS: Nanos = 10_000_000;

/// Input that may contain several requests, bytes. For less, the clock is not read.
const SEVERAL_MIN: usize = 512;

/// One connection's share of a turn.
struct Share {
    /// When it began; `None` if the input hardly contains more than one request.
    began_ns: Option<Nanos>,
    done: u32,
}

impl Share {
    fn of(input: &[u8]) -> Share {
        Share { began_ns: (input.len() >= SEVERAL_MIN).then(Clock::now), done: 0 }
    }

    /// Call it before each request or message. The first is always allowed.
    fn is_over(&mut self) -> bool {
        self.done += 1;
        let began_ns = self.began_ns.filter(|_| self.done > 1);
        began_ns.is_some_and(|began_ns| Clock::now() - began_ns > SLICE_NS)
    }
}

impl Shard {
    /// `gone`: the peer has closed, or ended its direction.
    pub(super) fn socket_readable(&mut self, token: u64, gone: bool) {
        let mut input = std::mem::take(&mut self.input);
        for _ in 0..READS_MAX {
            let Some(connection) = self.live(token) else { break };
            if connection.is_full() {
                if gone {
                    self.doom(token, Ending::Close);
                }
                break;
            }
            let kept = connection.inbound.len();
            match connection.link.read(&mut input[kept..]) {
                Ok(Read::Bytes(n)) => {
                    input[..kept].copy_from_slice(&connection.inbound);
                    connection.inbound.take();
                    let filled = kept + n == input.len();
                    let all = self.handle_input(token, &mut input[..kept + n]);
                    if !filled || !all {
                        break;
                    }
                }
                Ok(Read::WouldBlock) => break,
                Ok(Read::End) | Err(_) => {
                    self.doom(token, Ending::Close);
                    break;
                }
            }
        }
        self.input = input;
    }

    /// Continues with connections whose input had to wait.
    pub(super) fn revisit_connections(&mut self) {
        let began_ns = Clock::now();
        for _ in 0..self.revisit.len() {
            let Some(token) = self.revisit.pop_front() else { return };
            let Some(connection) = self.live(token) else { continue };
            let mut kept = connection.inbound.take();
            self.handle_input(token, &mut kept);
            if Clock::now() - began_ns > REVISITS_NS {
                return;
            }
        }
    }

    /// Takes events out of the input until none is complete or the connection has used its share of the turn.
    /// The rest is kept. Returns whether everything was handled that can be handled now.
    fn handle_input(&mut self, token: u64, mut input: &mut [u8]) -> bool {
        let mut share = Share::of(input);
        let mut all = true;
        while !input.is_empty() {
            let Some(connection) = self.live(token) else { return true };
            if connection.closing {
                return true; // its last answer is being sent
            }
            connection.stalled = connection.takes_no_answers();
            if connection.stalled {
                self.ledger.count(Counter::Stalls);
                all = false;
                break;
            }
            if share.is_over() {
                self.revisit.push_back(token);
                all = false;
                break;
            }
            let going_on = match connection.talk {
                Conversation::Request => self.head_arrived(token, &mut input),
                Conversation::Body(_) => self.body_arrived(token, &mut input),
                Conversation::WebSocket(_) => self.frames_arrived(token, &mut input),
                Conversation::Held(_) | Conversation::Connect(_) | Conversation::Moving(_) => false,
                Conversation::Registered(ref registered) if !registered.comet => false,
                // These transports carry no input.
                Conversation::Registered(_)
                | Conversation::Stream
                | Conversation::Sse
                | Conversation::Mute => return true,
            };
            if !going_on {
                break;
            }
        }
        self.keep(token, input);
        all
    }

    /// Keeps the rest of the input until more arrives, or until its turn.
    fn keep(&mut self, token: u64, input: &[u8]) {
        let Some(connection) = self.live(token) else { return };
        if !input.is_empty() {
            match Kept::of(input) {
                Ok(kept) => connection.inbound = kept,
                Err(NoRoom) => return self.no_room(token),
            }
        }
        let half_told = connection.is_half_told();
        // Whether reading pauses now, or may resume.
        let changes = connection.is_full() || !connection.is_read();
        if !half_told {
            connection.begun_ns = 0;
        } else if connection.begun_ns == 0 {
            self.patience_begins(token);
        }
        if changes {
            self.watch(token);
        }
    }

    /// Starts the time in which the peer must finish something.
    pub(super) fn patience_begins(&mut self, token: u64) {
        let now_ns = Clock::now();
        let Some(connection) = self.connections.get_mut(token) else { return };
        connection.begun_ns = now_ns;
        self.schedule(token, now_ns + self.shared.options.request_max_ns);
    }

    /// Handles the end of that time.
    pub(super) fn patience_ends(&mut self, token: u64) {
        let Some(connection) = self.live(token) else { return };
        if connection.closing {
            self.ledger.count(Counter::Untaken);
            return self.doom(token, Ending::Reset);
        }
        let is_socket = matches!(connection.talk, Conversation::WebSocket(_));
        self.ledger.count(Counter::TooSlow);
        match is_socket {
            // RFC 6455 7.4.1: 1008, a policy violation.
            true => self.close_socket(token, 1008, "a message was not whole in time"),
            false => self.refuse(token, &Refusal::new(408, "the request was not whole in time"), false),
        }
    }

    /// Handles input that there is no room to keep until it is complete.
    fn no_room(&mut self, token: u64) {
        self.ledger.count(Counter::KeptFull);
        let Some(connection) = self.live(token) else { return };
        match connection.talk {
            // RFC 6455 11.7, as registered since: 1013, try again later.
            Conversation::WebSocket(_) => self.close_socket(token, 1013, "too many messages are not whole"),
            Conversation::Request | Conversation::Body(_) => {
                self.refuse(token, &Refusal::new(503, "too many requests are not whole"), false);
            }
            _ => self.doom(token, Ending::Reset),
        }
    }

    fn close_socket(&mut self, token: u64, code: u16, why: &str) {
        if let Some(connection) = self.live(token) {
            connection.closing = true;
        }
        let mut out = Vec::new();
        encode::close(&mut out, code, why, None);
        self.say(token, &out);
    }

    /// Takes a head off the input, if it is complete.
    fn head_arrived(&mut self, token: u64, input: &mut &mut [u8]) -> bool {
        let len = match RequestHead::parse(input) {
            Ok(None) => return false,
            Ok(Some((head, len))) => {
                if let Some(connection) = self.live(token) {
                    connection.begun_ns = 0;
                }
                self.request_arrived(token, &head);
                len
            }
            Err(failure) => {
                let status = if failure == Failure::HeadTooLarge { 431 } else { 400 };
                self.refuse(token, &Refusal::new(status, failure.to_string()), false);
                return false;
            }
        };
        let taken = std::mem::take(input);
        *input = &mut taken[len..];
        true
    }

    fn request_arrived(&mut self, token: u64, head: &RequestHead<'_>) {
        self.poll_came_back(token);
        self.log_request(head);
        let keep_alive = head.keep_alive && head.minor == 1;
        let access = &self.shared.options.access;
        let trusted = access.is_trusted(head);
        if let Err((refusal, counter)) = access.admit(head) {
            self.ledger.count(counter);
            return self.refuse(token, &refusal, keep_alive && head.body == BodyLength::None);
        }
        let intent = match Intent::of(head) {
            Ok(intent) => intent,
            // An unexpected body would be read as the next request.
            Err(refusal) => {
                let keep_alive = keep_alive && head.body == BodyLength::None;
                return match self.page(head) {
                    Some(page) => self.answer(token, &Reply::page(&page, keep_alive)),
                    None => self.refuse(token, &refusal, keep_alive),
                };
            }
        };
        if let Err((refusal, counter)) = self.shared.options.access.grant(&intent, trusted) {
            self.ledger.count(counter);
            return self.refuse(token, &refusal, keep_alive && head.body == BodyLength::None);
        }
        let asked = RequestContext { token, keep_alive, trusted };
        if head.body == BodyLength::None {
            return self.perform(asked, intent, Some(head), Vec::new());
        }
        if intent.transport().is_some() {
            let refusal = Refusal::new(400, "a subscription has no body");
            return self.refuse(token, &refusal, false);
        }
        if intent == Intent::Register && head.minor == 0 {
            return self.refuse(token, &Refusal::new(400, "HTTP/1.1 is needed"), false);
        }
        if head.headers.has_token("expect", "100-continue") {
            let mut out = Vec::new();
            write::status_line(&mut out, 100);
            write::head_end(&mut out);
            self.say(token, &out);
        }
        let decoder = BodyDecoder::new(head.body);
        let pending = Pending { intent, keep_alive, trusted, decoder, body: Kept::default() };
        if let Some(connection) = self.live(token) {
            connection.talk = Conversation::Body(Box::new(pending));
        }
        // An empty body is already complete, and no further byte will arrive.
        if head.body == BodyLength::Sized(0) {
            self.body_arrived(token, &mut &mut [][..]);
        }
    }

    /// Returns the requested page, if it exists.
    fn page(&self, head: &RequestHead<'_>) -> Option<Page> {
        let pages = &self.shared.options.pages;
        pages.iter().find(|page| head.method == "GET" && page.path == head.path()).cloned()
    }

    /// Takes the available part of a body off the input. A complete body completes its request.
    fn body_arrived(&mut self, token: u64, input: &mut &mut [u8]) -> bool {
        let Some(connection) = self.live(token) else { return false };
        let Conversation::Body(pending) = &mut connection.talk else { return true };
        loop {
            match pending.decoder.next(input) {
                Ok(Some(BodyEvent::Data(bytes))) => {
                    if pending.body.len() + bytes.len() > BODY_MAX {
                        self.refuse(token, &Refusal::new(413, "at most 4 MiB"), false);
                        return false;
                    }
                    if pending.body.add(bytes).is_err() {
                        self.no_room(token);
                        return false;
                    }
                }
                Ok(Some(BodyEvent::ChunkEnd)) => {}
                Ok(Some(BodyEvent::End)) => break,
                Ok(None) => return false,
                Err(failure) => {
                    self.refuse(token, &Refusal::new(400, failure.to_string()), false);
                    return false;
                }
            }
        }
        let talk = std::mem::replace(&mut connection.talk, Conversation::Request);
        let Conversation::Body(pending) = talk else { unreachable!("it was a body above") };
        let Pending { intent, keep_alive, trusted, mut body, .. } = *pending;
        connection.begun_ns = 0;
        self.perform(RequestContext { token, keep_alive, trusted }, intent, None, body.take());
        true
    }

    /// Answers a request with a refusal.
    pub(super) fn refuse(&mut self, token: u64, refusal: &Refusal, keep_alive: bool) {
        self.ledger.count(Counter::BadRequests);
        let body = serde_json::json!({ "error": refusal.why }).to_string();
        // RFC 9110 11.6.1: names the accepted scheme.
        let extra = if refusal.status == 401 { "WWW-Authenticate: Bearer\r\n" } else { "" };
        self.answer(token, &Reply { extra, ..Reply::json(refusal.status, body.as_bytes(), keep_alive) });
    }

    /// Takes the available part of a WebSocket message, or a control frame, off the input.
    fn frames_arrived(&mut self, token: u64, input: &mut &mut [u8]) -> bool {
        loop {
            let Some(connection) = self.live(token) else { return false };
            let Conversation::WebSocket(frames) = &mut connection.talk else { return true };
            let mut out = Vec::new();
            match frames.decoder.next(input) {
                Ok(Some(Event::Data(bytes))) => {
                    if frames.message.add(bytes).is_err() {
                        self.no_room(token);
                        return false;
                    }
                    continue;
                }
                Ok(Some(Event::MessageEnd { .. })) => {
                    let message = frames.message.take();
                    let trusted = frames.trusted;
                    connection.begun_ns = 0;
                    match frames.bayeux {
                        None if trusted => self.peer_message(&message),
                        None => self.ledger.count(Counter::TokenRefused),
                        Some(_) => self.bayeux_arrived(&Carrier::socket(token, trusted), message),
                    }
                }
                Ok(Some(Event::Ping(payload))) => {
                    encode::frame(&mut out, Opcode::Pong, payload, None);
                    self.pong(token, &out);
                }
                Ok(Some(Event::Pong(_))) => {}
                Ok(Some(Event::Close { code, .. })) => {
                    // RFC 6455 5.5.1: answer with the received code, then close.
                    connection.closing = true;
                    match code {
                        Some(code) => encode::close(&mut out, code, "", None),
                        None => encode::frame(&mut out, Opcode::Close, &[], None),
                    }
                    self.say(token, &out);
                }
                Ok(None) => return false,
                Err(failure) => {
                    self.ledger.count(Counter::BadRequests);
                    let code = failure.close_code().unwrap_or(1002);
                    self.close_socket(token, code, &failure.to_string());
                }
            }
            return true;
        }
    }

    fn log_request(&self, head: &RequestHead<'_>) {
        if self.shared.logging.load(std::sync::atomic::Ordering::Relaxed) {
            eprintln!("{} {}", head.method, head.target);
        }
    }
}
