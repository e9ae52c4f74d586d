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

    /// Reads until a text has come: in an event's data or its name, or in a comment, as a run compares it. Nothing of
    /// it is lost for the events.
    pub(super) fn until_ready(&mut self, ready: &[u8]) -> Outcome {
        while !self.rest.split(|byte| matches!(byte, b'\r' | b'\n')).any(|line| says(line, ready)) {
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

/// Whether a line of a stream has a text in its value.
fn says(line: &[u8], text: &[u8]) -> bool {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else { return false };
    let (field, value) = (&line[..colon], &line[colon + 1..]);
    matches!(field, b"" | b"data" | b"event") && memchr::memmem::find(value, text).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_looked_for_in_values_and_not_in_the_names_of_fields() {
        for (line, found) in [
            ("data: welcome", true),
            ("event: welcome", true),
            (": you are welcome", true),
            ("id: welcome", false),
            ("welcome", false),
            ("data: bye", false),
        ] {
            assert_eq!(says(line.as_bytes(), b"welcome"), found, "{line}");
        }
        assert!(!says(b"data: welcome", b"data: welcome"), "a raw line is no value");
    }
}
