//! Decodes event streams (WHATWG HTML 9.2.5 and 9.2.6).
//!
//! The decoder consumes every byte it is given. A split field name is stored here (5 bytes), because the
//! chunk framing around the stream may separate its halves.

use super::id::EventId;
use crate::Failure;

const BOM: &[u8; 3] = b"\xEF\xBB\xBF";

/// The longest known field name: `event`, `retry`.
const NAME_MAX: usize = 5;

/// The parts of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Content of the current message, lines joined by LF. Never empty.
    Data(&'a [u8]),
    /// The message is complete: its blank line arrived. Data without it must be discarded.
    MessageEnd,
    /// A comment line has begun. Servers use comments as heartbeats. The text is skipped.
    Comment,
    /// A piece of the current event's type, as it arrives. Never empty.
    Name(&'a [u8]),
    /// The pause before a reconnection that the server asks for, in milliseconds.
    Retry(u64),
}

/// The kind of bytes taken by one [`Decoder::step`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Bytes without an event.
    Framing,
    /// Data.
    Data,
    /// The LF between two lines of data.
    Joint,
    /// Bytes of the event's type.
    Name,
    /// Bytes of a comment.
    Remark,
    MessageEnd,
    Comment,
    Retry(u64),
}

/// Reads one stream. [`Decoder::stream_lost`] prepares for the next stream of the same source.
#[derive(Clone, Debug)]
pub struct Decoder {
    state: State,
    /// The last byte was CR, so a following LF belongs to it.
    after_cr: bool,
    /// The current event has a data line.
    has_data: bool,
    name: [u8; NAME_MAX],
    name_len: u8,
    retry_ms: Option<u64>,
    id: EventId,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the start of the stream, with this many bytes of the BOM seen.
    Bom(u8),
    /// Before the colon of a line.
    Name,
    /// After the colon, where one space is dropped.
    Space(Field),
    /// In the value.
    Value(Field),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Data,
    Event,
    Id,
    Retry,
    Comment,
    /// Unknown fields, and a `retry` that is not a number.
    Ignored,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder {
            state: State::Bom(0),
            after_cr: false,
            has_data: false,
            name: [0; NAME_MAX],
            name_len: 0,
            retry_ms: None,
            id: EventId::default(),
        }
    }
}

impl Decoder {
    /// Takes the next event. `None`: `input` is empty.
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Event<'a>>, Failure> {
        while !input.is_empty() {
            let (taken, step) = self.step(input)?;
            let (bytes, rest) = input.split_at(taken);
            *input = rest;
            return Ok(Some(match step {
                Step::Framing | Step::Remark => continue,
                Step::Data => Event::Data(bytes),
                Step::Joint => Event::Data(b"\n"),
                Step::Name => Event::Name(bytes),
                Step::MessageEnd => Event::MessageEnd,
                Step::Comment => Event::Comment,
                Step::Retry(ms) => Event::Retry(ms),
            }));
        }
        Ok(None)
    }

    /// Returns the id to send as `Last-Event-ID`; empty before the first.
    pub fn last_event_id(&self) -> &str {
        self.id.last()
    }

    /// Handles the end or loss of the stream: an event without its blank line is discarded, the id is kept.
    pub fn stream_lost(&mut self) {
        let mut id = std::mem::take(&mut self.id);
        id.stream_ends();
        *self = Decoder { id, ..Decoder::default() };
    }

    /// Reads a run of bytes of one kind and returns its length. Framing before a step without bytes is part
    /// of the same run.
    pub(crate) fn step(&mut self, bytes: &[u8]) -> Result<(usize, Step), Failure> {
        let mut taken = 0;
        loop {
            let own = matches!(self.state, State::Value(Field::Data | Field::Event | Field::Comment));
            if taken == bytes.len() || (own && taken > 0) {
                return Ok((taken, Step::Framing));
            }
            let (n, step) = self.run(&bytes[taken..])?;
            taken += n;
            if step != Step::Framing {
                return Ok((taken, step));
            }
        }
    }

    /// Reads one line end, name or value, or the available part of it. Returns 0 at most twice in a row, when
    /// only the state changes.
    fn run(&mut self, bytes: &[u8]) -> Result<(usize, Step), Failure> {
        let Some(&first) = bytes.first() else { return Ok((0, Step::Framing)) };
        if std::mem::take(&mut self.after_cr) && first == b'\n' {
            return Ok((1, Step::Framing));
        }
        match self.state {
            State::Bom(seen) => Ok((self.bom(seen, first), Step::Framing)),
            State::Name => Ok(self.name(bytes)),
            State::Space(field) => {
                self.state = State::Value(field);
                Ok((usize::from(first == b' '), Step::Framing))
            }
            State::Value(field) => self.value(field, bytes),
        }
    }

    fn bom(&mut self, seen: u8, first: u8) -> usize {
        if first == BOM[usize::from(seen)] {
            self.state = if seen == 2 { State::Name } else { State::Bom(seen + 1) };
            return 1;
        }
        // Half a BOM begins an unknown field.
        self.state = if seen == 0 { State::Name } else { State::Value(Field::Ignored) };
        0
    }

    fn name(&mut self, bytes: &[u8]) -> (usize, Step) {
        // Most lines begin like this, and most begin in one piece.
        for usual in [&b"data: "[..], b"id: "] {
            if self.name_len == 0 && bytes.starts_with(usual) {
                let (field, step) = self.field(&usual[..usual.len() - 2]);
                self.state = State::Value(field);
                return (usual.len(), step);
            }
        }
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                b':' => return (at + 1, self.field_begins(true)),
                b'\r' | b'\n' if self.name_len == 0 => {
                    self.after_cr = byte == b'\r';
                    return (at + 1, self.event_ends());
                }
                // A line without a colon is a field with an empty value. Its end is read as a line end.
                b'\r' | b'\n' => return (at, self.field_begins(false)),
                _ if usize::from(self.name_len) == NAME_MAX => {
                    self.name_len = 0;
                    self.state = State::Value(Field::Ignored);
                    return (at, Step::Framing);
                }
                _ => {
                    self.name[usize::from(self.name_len)] = byte;
                    self.name_len += 1;
                }
            }
        }
        (bytes.len(), Step::Framing)
    }

    fn field_begins(&mut self, colon: bool) -> Step {
        let (name, len) = (self.name, usize::from(std::mem::take(&mut self.name_len)));
        let (field, step) = self.field(&name[..len]);
        self.state = if colon { State::Space(field) } else { State::Value(field) };
        step
    }

    /// Begins a field. Returns its kind and the step that its name causes.
    #[inline]
    fn field(&mut self, name: &[u8]) -> (Field, Step) {
        match name {
            b"data" if std::mem::replace(&mut self.has_data, true) => (Field::Data, Step::Joint),
            b"data" => (Field::Data, Step::Framing),
            b"event" => (Field::Event, Step::Framing),
            b"id" => {
                self.id.line_begins();
                (Field::Id, Step::Framing)
            }
            b"retry" => {
                self.retry_ms = None;
                (Field::Retry, Step::Framing)
            }
            b"" => (Field::Comment, Step::Comment),
            _ => (Field::Ignored, Step::Framing),
        }
    }

    fn value(&mut self, field: Field, bytes: &[u8]) -> Result<(usize, Step), Failure> {
        match memchr::memchr2(b'\r', b'\n', bytes) {
            Some(0) => {
                self.after_cr = bytes[0] == b'\r';
                self.state = State::Name;
                Ok((1, self.line_ends(field)))
            }
            end => {
                let run = &bytes[..end.unwrap_or(bytes.len())];
                Ok((run.len(), self.value_goes_on(field, run)?))
            }
        }
    }

    fn value_goes_on(&mut self, field: Field, run: &[u8]) -> Result<Step, Failure> {
        match field {
            Field::Data => return Ok(Step::Data),
            Field::Event => return Ok(Step::Name),
            Field::Comment => return Ok(Step::Remark),
            Field::Id => self.id.line_goes_on(run)?,
            Field::Retry if run.iter().all(u8::is_ascii_digit) => {
                let ms = run.iter().fold(self.retry_ms.unwrap_or(0), |ms, b| {
                    ms.saturating_mul(10).saturating_add(u64::from(b - b'0'))
                });
                self.retry_ms = Some(ms);
            }
            Field::Retry => self.state = State::Value(Field::Ignored),
            Field::Ignored => {}
        }
        Ok(Step::Framing)
    }

    fn line_ends(&mut self, field: Field) -> Step {
        match field {
            Field::Id => self.id.line_ends(),
            Field::Retry => {
                if let Some(ms) = self.retry_ms {
                    return Step::Retry(ms);
                }
            }
            Field::Data | Field::Event | Field::Comment | Field::Ignored => {}
        }
        Step::Framing
    }

    /// Handles a blank line: without data nothing is dispatched, but the id counts.
    fn event_ends(&mut self) -> Step {
        self.id.event_ends();
        if std::mem::take(&mut self.has_data) { Step::MessageEnd } else { Step::Framing }
    }
}
