//! Poll and long poll: request, response, request. The body of a response is one message.
//!
//! The two differ in when the driver sends a request, and in that a held request may end in 408.

use super::config::{Config, CursorSource, Transport};
use super::memory::Memory;
use super::{Context, Event, Request, Step, judge};
use crate::Failure;
use crate::json_pointer::Scan;

/// The conversation over one connection.
#[derive(Debug, Default)]
pub(super) struct Polling {
    /// Bytes of the body so far, whether it is a message or not.
    message_len: u64,
    ending: Ending,
    /// Whether the body is a message: for 2xx. The body of a 408 is not.
    told: bool,
    cursor_advanced: bool,
    /// Finds the cursor in the body as it passes; reused for later responses.
    scan: Option<Box<Scan>>,
}

/// The end of a response consists of up to two events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ending {
    #[default]
    No,
    Message,
    Answer,
}

impl Polling {
    pub(super) fn begin(&mut self, config: &Config, request: &Request<'_>, out: &mut Vec<u8>) {
        request.write_default(out, "Accept", "*/*");
        // A cache that revalidates may answer a poll. A held poll must reach the server.
        if config.transport == Transport::LongPoll {
            request.write_default(out, "Cache-Control", "no-cache");
        }
        self.connection_lost();
    }

    pub(super) fn connection_lost(&mut self) {
        let mut scan = self.scan.take();
        if let Some(scan) = &mut scan {
            scan.restart();
        }
        *self = Polling { scan, ..Polling::default() };
    }

    pub(super) fn handle_input<'a>(
        &mut self,
        context: Context<'_>,
        input: &mut &'a mut [u8],
    ) -> Result<Option<Event<'a>>, Failure> {
        let Context { config, exchange, memory } = context;
        loop {
            if let Some(event) = self.tell_ending(exchange.status()) {
                return Ok(Some(event));
            }
            match exchange.step(config.head_max, input)? {
                Step::Head(head) => {
                    let opened = judge::accept(config, &head)?;
                    self.told = (200..300).contains(&head.status);
                    self.cursor_advanced = Memory::learn(memory, config, head.headers)?;
                    return Ok(Some(opened));
                }
                Step::Data(n) => {
                    let data = exchange.take(n, input);
                    self.data(config, data)?;
                    if self.told {
                        return Ok(Some(Event::Data(data)));
                    }
                }
                Step::End => self.answer_ends(memory)?,
                Step::More => return Ok(None),
            }
        }
    }

    pub(super) fn handle_eof(&mut self, context: Context<'_>) -> Result<Option<Event<'static>>, Failure> {
        let Context { exchange, memory, .. } = context;
        if self.ending == Ending::No && exchange.eof()? {
            self.answer_ends(memory)?;
        }
        Ok(self.tell_ending(exchange.status()))
    }

    fn data(&mut self, config: &Config, data: &[u8]) -> Result<(), Failure> {
        self.message_len += data.len() as u64;
        if self.message_len > config.message_max {
            return Err(Failure::MessageTooLarge);
        }
        if let (true, CursorSource::Json(pointer)) = (self.told, &config.cursor) {
            self.scan.get_or_insert_default().look(pointer, data);
        }
        Ok(())
    }

    fn answer_ends(&mut self, memory: &mut Option<Box<Memory>>) -> Result<(), Failure> {
        if let Some(scan) = &mut self.scan {
            if let Some(cursor) = scan.finish() {
                self.cursor_advanced = Memory::advance(memory, cursor)?;
            }
            scan.restart();
        }
        self.ending = if self.told && self.message_len > 0 { Ending::Message } else { Ending::Answer };
        Ok(())
    }

    fn tell_ending(&mut self, status: u16) -> Option<Event<'static>> {
        match self.ending {
            Ending::No => None,
            Ending::Message => {
                self.ending = Ending::Answer;
                Some(Event::MessageEnd)
            }
            Ending::Answer => {
                self.ending = Ending::No;
                self.message_len = 0;
                let cursor_advanced = std::mem::take(&mut self.cursor_advanced);
                Some(Event::Answered { status, cursor_advanced })
            }
        }
    }
}
