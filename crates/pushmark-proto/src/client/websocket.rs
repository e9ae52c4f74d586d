//! WebSocket: the upgrade, then messages both ways until both sides have sent Close.

use std::ops::Range;

use super::answers::Answers;
use super::config::Config;
use super::random::SplitMix64;
use super::ready::Ready;
use super::{Context, Event, Step, judge};
use crate::Failure;
use crate::http1::write;
use crate::websocket::deflate::{Inflate, Inflated};
use crate::websocket::frame::CONTROL_MAX;
use crate::websocket::{Decoder, Event as Frame, Opcode, Role, encode, handshake};

/// Pongs are collected up to this number of bytes. Of several pings in a row only the last is answered, which
/// RFC 6455 5.5.3 allows.
const PONGS_MAX: usize = 16 << 10;

/// The conversation over one connection.
#[derive(Debug)]
pub(super) struct WebSocket {
    random: SplitMix64,
    phase: Phase,
    decoder: Decoder,
    ready: Ready,
    answers: Answers,
    /// What inflates messages, if the server agreed to compress them.
    inflate: Option<Box<Inflate>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The upgrade was requested. The key is generated again from this generator state.
    Handshake {
        random: u64,
    },
    Open,
    /// Our Close was sent, and the peer's has not arrived.
    Closing,
    Closed,
}

impl WebSocket {
    pub(super) fn new(seed: u64) -> WebSocket {
        WebSocket {
            random: SplitMix64(seed),
            phase: Phase::Closed,
            decoder: Decoder::new(Role::Client, 0),
            ready: Ready::default(),
            answers: Answers::default(),
            inflate: None,
        }
    }

    /// Returns whether the server agreed to compress its messages.
    pub(super) fn inflates(&self) -> bool {
        self.inflate.is_some()
    }

    /// What inflates messages, if the server agreed to compress them.
    pub(super) fn inflate(&mut self) -> Option<&mut Inflate> {
        self.inflate.as_deref_mut()
    }

    pub(super) fn begin(&mut self, config: &Config, out: &mut Vec<u8>) {
        self.connection_lost();
        self.decoder = Decoder::new(Role::Client, config.message_max);
        self.phase = Phase::Handshake { random: self.random.0 };
        handshake::write_request_headers(out, &draw_key(&mut self.random), &config.subprotocol);
        if let Some(offer) = &config.deflate {
            write::header(out, "Sec-WebSocket-Extensions", &offer.value());
        }
    }

    pub(super) fn connection_lost(&mut self) {
        *self = WebSocket::new(self.random.0);
    }

    pub(super) fn handle_input<'a>(
        &mut self,
        context: Context<'_>,
        input: &mut &'a mut [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, Failure> {
        self.handle_part(context, input, out, |bytes| bytes.len())
    }

    /// Like [`WebSocket::handle_input`]. `part` decides how much of the payload the event contains.
    pub(super) fn handle_part<'a>(
        &mut self,
        context: Context<'_>,
        input: &mut &'a mut [u8],
        out: &mut Vec<u8>,
        part: impl FnMut(&[u8]) -> usize,
    ) -> Result<Option<Event<'a>>, Failure> {
        if self.ready.tell() {
            return Ok(Some(Event::Ready));
        }
        if self.answers.is_ending() {
            return Ok(Some(self.answer(context.config, out)));
        }
        match self.phase {
            Phase::Handshake { random } => self.handshake(random, context, input),
            Phase::Closed => Ok(None),
            Phase::Open | Phase::Closing => {
                let event = match self.inflate {
                    None => self.frames(context.config, input, out, part),
                    Some(_) => self.compressed_frames(context.config, input, out, part),
                };
                event.map_err(|failure| self.fail(failure, out))
            }
        }
    }

    /// RFC 6455 7.1.7: send the reason before the connection is closed.
    pub(super) fn fail(&mut self, failure: Failure, out: &mut Vec<u8>) -> Failure {
        self.write_close(failure.close_code().unwrap_or(1002), out);
        self.phase = Phase::Closed;
        failure
    }

    pub(super) fn handle_eof(&mut self, context: Context<'_>) -> Result<Option<Event<'static>>, Failure> {
        match std::mem::replace(&mut self.phase, Phase::Closed) {
            Phase::Closed => Ok(None),
            Phase::Handshake { .. } => context.exchange.eof().map(|_| None),
            // RFC 6455 7.1.5: without a Close frame the end is abnormal (1006).
            Phase::Open | Phase::Closing => Err(Failure::ClosedEarly),
        }
    }

    pub(super) fn write_message(&mut self, text: bool, payload: &[u8], out: &mut Vec<u8>) -> bool {
        self.write(if text { Opcode::Text } else { Opcode::Binary }, payload, out)
    }

    /// Appends a text message that `write` writes in place. Returns whether it did.
    pub(super) fn write_text_with(&mut self, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) -> bool {
        let open = self.is_open();
        if open {
            encode::frame_with(out, Opcode::Text, Some(self.random.mask()), write);
        }
        open
    }

    /// Returns whether the handshake is done and neither side has sent Close.
    pub(super) fn is_open(&self) -> bool {
        self.phase == Phase::Open
    }

    /// Returns whether no handshake was requested on this connection, or it has ended.
    pub(super) fn is_closed(&self) -> bool {
        self.phase == Phase::Closed
    }

    pub(super) fn write_ping(&mut self, payload: &[u8], out: &mut Vec<u8>) -> bool {
        self.write(Opcode::Ping, &payload[..payload.len().min(CONTROL_MAX)], out)
    }

    pub(super) fn write_close(&mut self, code: u16, out: &mut Vec<u8>) {
        if self.phase == Phase::Open {
            encode::close(out, code, "", Some(self.random.mask()));
            self.phase = Phase::Closing;
        }
    }

    fn handshake<'a>(
        &mut self,
        random: u64,
        context: Context<'_>,
        input: &mut &'a mut [u8],
    ) -> Result<Option<Event<'a>>, Failure> {
        let Context { config, exchange, .. } = context;
        let Step::Head(head) = exchange.step(config.head_max, input)? else { return Ok(None) };
        if head.status >= 300 {
            return Err(judge::refusal(head.status));
        }
        let key = draw_key(&mut SplitMix64(random));
        match &config.deflate {
            None => handshake::check_response(&head, &key, &config.subprotocol)?,
            Some(offer) => {
                let agreed = handshake::check_compressed(&head, &key, &config.subprotocol, offer)?;
                self.inflate = agreed.map(|agreed| Box::new(Inflate::new(agreed)));
                if self.inflate.is_some() {
                    self.decoder.accept_compressed();
                }
            }
        }
        self.phase = Phase::Open;
        Ok(Some(judge::opened(config, &head)))
    }

    /// Takes frames until one is an event.
    fn frames<'a>(
        &mut self,
        config: &Config,
        input: &mut &'a mut [u8],
        out: &mut Vec<u8>,
        mut part: impl FnMut(&[u8]) -> usize,
    ) -> Result<Option<Event<'a>>, Failure> {
        // The position of the last pong in `out`.
        let mut pong = 0..0;
        while let Some(frame) = self.decoder.next_part(input, &mut part)? {
            if let Some(event) = self.frame(config, frame, out, &mut pong) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    /// Like [`WebSocket::frames`], where messages may be compressed.
    #[cold]
    fn compressed_frames<'a>(
        &mut self,
        config: &Config,
        input: &mut &'a mut [u8],
        out: &mut Vec<u8>,
        mut part: impl FnMut(&[u8]) -> usize,
    ) -> Result<Option<Event<'a>>, Failure> {
        let mut pong = 0..0;
        loop {
            if let Some(event) = self.inflated(config, out)? {
                return Ok(Some(event));
            }
            let Some(frame) = self.decoder.next_part(input, &mut part)? else { return Ok(None) };
            let inflate = self.inflate.as_mut().filter(|_| self.decoder.is_compressed());
            match (frame, inflate) {
                (Frame::Data(data), Some(inflate)) => inflate.feed(data),
                (Frame::MessageEnd { text }, Some(inflate)) => inflate.end(text),
                (frame, _) => {
                    if let Some(event) = self.frame(config, frame, out, &mut pong) {
                        return Ok(Some(event));
                    }
                }
            }
        }
    }

    /// Returns the event of a frame, if it is one. `pong`: the position of the last pong in `out`.
    #[inline(always)]
    fn frame<'a>(
        &mut self,
        config: &Config,
        frame: Frame<'a>,
        out: &mut Vec<u8>,
        pong: &mut Range<usize>,
    ) -> Option<Event<'a>> {
        match frame {
            Frame::Data(data) => {
                self.ready.look(config.ready.as_deref(), data);
                self.answers.look(config, data);
                Some(Event::Data(data))
            }
            Frame::MessageEnd { text } => Some(self.message_ends(config, text, out)),
            Frame::Ping(payload) => {
                if out.len() >= PONGS_MAX && pong.end == out.len() {
                    out.truncate(pong.start);
                }
                pong.start = out.len();
                self.write(Opcode::Pong, payload, out);
                pong.end = out.len();
                None
            }
            Frame::Pong(_) => Some(Event::Pong),
            Frame::Close { code, reason } => {
                self.echo_close(code, out);
                Some(Event::Closed { code, reason })
            }
        }
    }

    /// Inflates what waits, and returns the event of it.
    fn inflated<'a>(&mut self, config: &Config, out: &mut Vec<u8>) -> Result<Option<Event<'a>>, Failure> {
        let Some(inflate) = self.inflate.as_mut().filter(|inflate| inflate.is_pending()) else {
            return Ok(None);
        };
        match inflate.step(self.decoder.is_text(), config.message_max)? {
            Inflated::Data => {
                self.ready.look(config.ready.as_deref(), inflate.out());
                self.answers.look(config, inflate.out());
                Ok(Some(Event::Inflated))
            }
            Inflated::More => Ok(None),
            Inflated::End { text } => Ok(Some(self.message_ends(config, text, out))),
        }
    }

    fn message_ends<'a>(&mut self, config: &Config, text: bool, out: &mut Vec<u8>) -> Event<'a> {
        self.ready.message_ends();
        if config.answers.is_empty() {
            return Event::MessageEnd;
        }
        match self.answers.message_ends(config, text) {
            true => Event::MessageEnd,
            false => self.answer(config, out),
        }
    }

    /// Answers the heartbeats of a message that has ended. Returns the event of one that the driver must answer,
    /// or of the message's end.
    fn answer<'a>(&mut self, config: &Config, out: &mut Vec<u8>) -> Event<'a> {
        let text = self.answers.is_text();
        while let Some(n) = self.answers.next() {
            match &config.answers[n].1 {
                Some(answer) => {
                    self.write_message(text, answer, out);
                }
                None => return Event::Asked { answer: n as u8, text },
            }
        }
        if self.answers.end() { Event::Heartbeat } else { Event::MessageEnd }
    }

    /// RFC 6455 5.5.1: nothing may follow our Close.
    fn write(&mut self, opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) -> bool {
        let open = self.phase == Phase::Open;
        if open {
            encode::frame(out, opcode, payload, Some(self.random.mask()));
        }
        open
    }

    /// RFC 6455 5.5.1: a Close is answered by a Close with its code.
    fn echo_close(&mut self, code: Option<u16>, out: &mut Vec<u8>) {
        match code {
            Some(code) => self.write_close(code, out),
            None => {
                self.write(Opcode::Close, &[], out);
            }
        }
        self.phase = Phase::Closed;
    }
}

fn draw_key(random: &mut SplitMix64) -> handshake::Key {
    let mut nonce = [0; 16];
    nonce[..8].copy_from_slice(&random.next().to_ne_bytes());
    nonce[8..].copy_from_slice(&random.next().to_ne_bytes());
    handshake::key(nonce)
}
