//! Server-sent events: one endless response with events, resumed by `Last-Event-ID`.

use super::ready::Ready;
use super::{Context, Event, Request, Step, judge};
use crate::Failure;
use crate::http1::{ResponseHead, write};
use crate::sse::Decoder;
use crate::sse::decode::Step as Line;

/// The conversation over one connection, and the last event id of the session.
#[derive(Debug, Default)]
pub(super) struct Sse {
    decoder: Decoder,
    ready: Ready,
    /// Bytes of the message so far.
    message_len: u64,
}

impl Sse {
    pub(super) fn begin(&mut self, request: &Request<'_>, out: &mut Vec<u8>) {
        self.connection_lost();
        request.write_default(out, "Accept", "text/event-stream");
        request.write_default(out, "Cache-Control", "no-cache");
        let id = self.decoder.last_event_id();
        if !id.is_empty() {
            write::header(out, "Last-Event-ID", id);
        }
    }

    pub(super) fn last_event_id(&self) -> &str {
        self.decoder.last_event_id()
    }

    pub(super) fn connection_lost(&mut self) {
        self.decoder.stream_lost();
        self.ready = Ready::default();
        self.message_len = 0;
    }

    pub(super) fn handle_input<'a>(
        &mut self,
        context: Context<'_>,
        input: &mut &'a mut [u8],
    ) -> Result<Option<Event<'a>>, Failure> {
        let Context { config, exchange, .. } = context;
        let ready = config.ready.as_deref();
        loop {
            if self.ready.tell() {
                return Ok(Some(Event::Ready));
            }
            let available = match exchange.step(config.head_max, input)? {
                Step::Head(head) => {
                    let opened = judge::accept(config, &head)?;
                    check_content_type(&head)?;
                    return Ok(Some(opened));
                }
                Step::Data(available) => available,
                Step::End => return Ok(Some(Event::Closed { code: None, reason: "" })),
                Step::More => return Ok(None),
            };
            let (taken, line) = self.decoder.step(&input[..available])?;
            let bytes = exchange.take(taken, input);
            match line {
                Line::Framing => {}
                Line::Data => return self.data(config.message_max, ready, bytes).map(Some),
                Line::Joint => return self.data(config.message_max, ready, b"\n").map(Some),
                // The ready text may be an event's name or a comment such as `: connected`.
                Line::Name | Line::Remark => self.ready.look(ready, bytes),
                Line::MessageEnd => {
                    self.message_len = 0;
                    self.ready.message_ends();
                    return Ok(Some(Event::MessageEnd));
                }
                Line::Comment => {
                    self.ready.message_ends();
                    return Ok(Some(Event::Comment));
                }
                Line::Retry(ms) => return Ok(Some(Event::Retry(ms))),
            }
        }
    }

    pub(super) fn handle_eof(&mut self, context: Context<'_>) -> Result<Option<Event<'static>>, Failure> {
        Ok(context.exchange.eof()?.then_some(Event::Closed { code: None, reason: "" }))
    }

    fn data<'a>(
        &mut self,
        message_max: u64,
        ready: Option<&[u8]>,
        bytes: &'a [u8],
    ) -> Result<Event<'a>, Failure> {
        self.message_len += bytes.len() as u64;
        if self.message_len > message_max {
            return Err(Failure::MessageTooLarge);
        }
        self.ready.look(ready, bytes);
        Ok(Event::Data(bytes))
    }
}

/// WHATWG HTML 9.2.2: 200 must be `text/event-stream`; 204 tells the client not to reconnect.
fn check_content_type(head: &ResponseHead<'_>) -> Result<(), Failure> {
    let essence = head.headers.text("content-type").and_then(|value| value.split(';').next());
    match head.status {
        200 if essence.is_some_and(|e| e.trim().eq_ignore_ascii_case("text/event-stream")) => Ok(()),
        200 => Err(Failure::Handshake("Content-Type is not text/event-stream")),
        204 => Ok(()),
        _ => Err(Failure::Handshake("a 2xx that is neither 200 nor 204")),
    }
}
