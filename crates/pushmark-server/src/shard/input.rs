//! Bytes come: heads, bodies and frames, pulled out of one buffer the thread owns.

use pushmark_net::Read;
use pushmark_proto::Failure;
use pushmark_proto::http1::{BodyDecoder, BodyEvent, BodyLength, HEAD_MAX, RequestHead, write};
use pushmark_proto::websocket::{Event, Opcode, encode};

use super::bayeux::Carrier;
use super::{Ending, Shard};
use crate::connection::{Pending, Talk};
use crate::options::Page;
use crate::reply::Reply;
use crate::request::{Intent, Refusal};
use crate::stats::Counter;

/// Reads from one connection in a turn; the rest waits for its socket to come up again.
const READS_MAX: usize = 4;

/// Longest body of a request, bytes: an emitter with 65,536 channels fits.
pub(super) const BODY_MAX: usize = 4 << 20;

impl Shard {
    pub(super) fn socket_readable(&mut self, token: u64) {
        let mut input = std::mem::take(&mut self.input);
        for _ in 0..READS_MAX {
            let Some(connection) = self.live(token) else { break };
            let kept = connection.inbound.len();
            match connection.link.read(&mut input[kept..]) {
                Ok(Read::Bytes(n)) => {
                    input[..kept].copy_from_slice(&connection.inbound);
                    connection.inbound = Vec::new();
                    let filled = kept + n == input.len();
                    self.handle_input(token, &mut input[..kept + n]);
                    if !filled {
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

    /// Looks again at connections whose next request came while their poll was held.
    pub(super) fn revisit_connections(&mut self) {
        for token in std::mem::take(&mut self.revisit) {
            let Some(connection) = self.live(token) else { continue };
            let mut kept = std::mem::take(&mut connection.inbound);
            self.handle_input(token, &mut kept);
        }
    }

    /// Pulls events out of the input until none is whole; what is left is kept.
    fn handle_input(&mut self, token: u64, mut input: &mut [u8]) {
        while !input.is_empty() {
            let Some(connection) = self.live(token) else { return };
            if connection.closing {
                return; // its last answer is on the way
            }
            let going_on = match connection.talk {
                Talk::Request => self.head_arrived(token, &mut input),
                Talk::Body(_) => self.body_arrived(token, &mut input),
                Talk::WebSocket(_) => self.frames_arrived(token, &mut input),
                Talk::Held(_) | Talk::Connect(_) | Talk::Moving(_) => false,
                Talk::Registered(ref registered) if !registered.comet => false,
                // These transports carry nothing towards us.
                Talk::Registered(_) | Talk::Stream | Talk::Sse | Talk::Mute => return,
            };
            if !going_on {
                break;
            }
        }
        let Some(connection) = self.live(token).filter(|_| !input.is_empty()) else { return };
        if input.len() > HEAD_MAX {
            // Only requests sent ahead of a held answer add up to this.
            self.ledger.count(Counter::BadRequests);
            return self.doom(token, Ending::Close);
        }
        connection.inbound = input.to_vec();
    }

    /// Takes a head off the input, if it is whole.
    fn head_arrived(&mut self, token: u64, input: &mut &mut [u8]) -> bool {
        let len = match RequestHead::parse(input) {
            Ok(None) => return false,
            Ok(Some((head, len))) => {
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
        let intent = match Intent::of(head) {
            Ok(intent) => intent,
            // A body that nobody asked for would be taken for the next request.
            Err(refusal) => {
                let keep_alive = keep_alive && head.body == BodyLength::None;
                return match self.page(head) {
                    Some(page) => self.answer(token, &Reply::page(&page, keep_alive)),
                    None => self.refuse(token, &refusal, keep_alive),
                };
            }
        };
        if head.body == BodyLength::None {
            return self.perform(token, intent, keep_alive, Some(head), Vec::new());
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
        let pending = Pending { intent, keep_alive, decoder, body: Vec::new() };
        if let Some(connection) = self.live(token) {
            connection.talk = Talk::Body(Box::new(pending));
        }
        // An empty body is whole already, and no byte will come to say so.
        if head.body == BodyLength::Sized(0) {
            self.body_arrived(token, &mut &mut [][..]);
        }
    }

    /// The page that a request asks for, if there is one.
    fn page(&self, head: &RequestHead<'_>) -> Option<Page> {
        let pages = &self.shared.options.pages;
        pages.iter().find(|page| head.method == "GET" && page.path == head.path()).cloned()
    }

    /// Takes what there is of a body off the input; whole, it completes its request.
    fn body_arrived(&mut self, token: u64, input: &mut &mut [u8]) -> bool {
        let Some(connection) = self.live(token) else { return false };
        let Talk::Body(pending) = &mut connection.talk else { return true };
        loop {
            match pending.decoder.next(input) {
                Ok(Some(BodyEvent::Data(bytes))) => {
                    if pending.body.len() + bytes.len() > BODY_MAX {
                        self.refuse(token, &Refusal::new(413, "at most 4 MiB"), false);
                        return false;
                    }
                    pending.body.extend_from_slice(bytes);
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
        let talk = std::mem::replace(&mut connection.talk, Talk::Request);
        let Talk::Body(pending) = talk else { unreachable!("it was a body above") };
        self.perform(token, pending.intent, pending.keep_alive, None, pending.body);
        true
    }

    /// Answers a request that is not granted.
    pub(super) fn refuse(&mut self, token: u64, refusal: &Refusal, keep_alive: bool) {
        self.ledger.count(Counter::BadRequests);
        let body = serde_json::json!({ "error": refusal.why }).to_string();
        self.answer(token, &Reply::json(refusal.status, body.as_bytes(), keep_alive));
    }

    /// Takes frames of a WebSocket off the input.
    fn frames_arrived(&mut self, token: u64, input: &mut &mut [u8]) -> bool {
        loop {
            let Some(connection) = self.live(token) else { return false };
            let Talk::WebSocket(frames) = &mut connection.talk else { return true };
            let mut out = Vec::new();
            match frames.decoder.next(input) {
                Ok(Some(Event::Data(bytes))) => frames.message.extend_from_slice(bytes),
                Ok(Some(Event::MessageEnd { .. })) => {
                    let message = std::mem::take(&mut frames.message);
                    match frames.bayeux {
                        None => self.peer_message(&message),
                        Some(_) => self.bayeux_arrived(&Carrier::socket(token), message),
                    }
                }
                Ok(Some(Event::Ping(payload))) => {
                    encode::frame(&mut out, Opcode::Pong, payload, None);
                }
                Ok(Some(Event::Pong(_))) => {}
                Ok(Some(Event::Close { code, .. })) => {
                    // RFC 6455 5.5.1: answer with the code that came, then close.
                    connection.closing = true;
                    match code {
                        Some(code) => encode::close(&mut out, code, "", None),
                        None => encode::frame(&mut out, Opcode::Close, &[], None),
                    }
                }
                Ok(None) => return false,
                Err(failure) => {
                    connection.closing = true;
                    self.ledger.count(Counter::BadRequests);
                    let code = failure.close_code().unwrap_or(1002);
                    encode::close(&mut out, code, &failure.to_string(), None);
                }
            }
            if !out.is_empty() {
                self.say(token, &out);
            }
        }
    }

    fn log_request(&self, head: &RequestHead<'_>) {
        if self.shared.logging.load(std::sync::atomic::Ordering::Relaxed) {
            eprintln!("{} {}", head.method, head.target);
        }
    }
}
