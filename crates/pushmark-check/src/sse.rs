//! The event stream of a check: the body of one answer as events.

use pushmark_proto::sse::{Decoder, Event};

use super::outcome::{Outcome, Step, failed};
use super::wire::{Piece, Wire};

/// One event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SseEvent {
    pub(super) id: String,
    pub(super) data: Vec<u8>,
}

/// An event stream whose head was read.
#[derive(Debug)]
pub(super) struct Events {
    pub(super) wire: Wire,
    decoder: Decoder,
    data: Vec<u8>,
    /// Chunk bytes that have not been decoded.
    rest: Vec<u8>,
}

impl Events {
    pub(super) fn new(wire: Wire) -> Events {
        Events { wire, decoder: Decoder::default(), data: Vec::new(), rest: Vec::new() }
    }

    /// The next event; `None` at the last chunk.
    pub(super) fn event_or_end(&mut self) -> Step<Option<SseEvent>> {
        loop {
            let mut input = &self.rest[..];
            let mut heard = None;
            while heard.is_none() {
                let event = self.decoder.next(&mut input);
                match event.map_err(|failure| failed(format!("no event stream: {failure}")))? {
                    Some(Event::Data(data)) => self.data.extend_from_slice(data),
                    Some(Event::MessageEnd) => {
                        let id = self.decoder.last_event_id().to_owned();
                        heard = Some(SseEvent { id, data: std::mem::take(&mut self.data) });
                    }
                    Some(_) => {}
                    None => break,
                }
            }
            self.rest = input.to_vec();
            if heard.is_some() {
                return Ok(heard);
            }
            match self.wire.piece()? {
                Piece::Chunk(data) => self.rest.extend_from_slice(&data),
                Piece::End => return Ok(None),
            }
        }
    }

    /// Reads until a text has come, in an event or in a comment. Nothing of it is lost for the events.
    pub(super) fn until_ready(&mut self, ready: &[u8]) -> Outcome {
        while memchr::memmem::find(&self.rest, ready).is_none() {
            match self.wire.piece()? {
                Piece::Chunk(data) => self.rest.extend_from_slice(&data),
                Piece::End => return Err(failed("the event stream ended before the text that confirms it")),
            }
        }
        Ok(())
    }

    /// The id to reconnect with.
    pub(super) fn last_id(&self) -> String {
        self.decoder.last_event_id().to_owned()
    }

    /// The next event.
    pub(super) fn event(&mut self) -> Step<SseEvent> {
        self.event_or_end()?.ok_or_else(|| failed("the event stream ended"))
    }
}
