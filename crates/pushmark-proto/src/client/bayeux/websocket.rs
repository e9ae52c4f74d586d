//! The session over one WebSocket: every text is a body of messages, in both directions.

use super::Context;
use super::reader::{Part, Reader};
use super::requests::RequestPurpose;
use super::session::Session;
use crate::Failure;
use crate::bayeux::ConnectionType;
use crate::client::{Config, Event, websocket};

/// The conversation over one connection.
#[derive(Debug)]
pub(in crate::client) struct WebSocket {
    pub(in crate::client) session: Session,
    reader: Reader,
    pub(in crate::client) frames: websocket::WebSocket,
}

impl WebSocket {
    pub(in crate::client) fn new(seed: u64) -> WebSocket {
        WebSocket {
            session: Session::new(),
            reader: Reader::default(),
            frames: websocket::WebSocket::new(seed),
        }
    }

    pub(in crate::client) fn wants(&self) -> bool {
        match self.frames.is_open() {
            true => self.session.ask_now().is_some() || self.session.has_commands(),
            false => self.frames.is_closed() && !self.session.has_ended(),
        }
    }

    pub(in crate::client) fn will_subscribe(&self) -> bool {
        self.frames.is_open() && self.session.ask_now() == Some(RequestPurpose::Subscribe)
    }

    /// Appends one text for each request that is due, on an open WebSocket.
    pub(in crate::client) fn write(&mut self, config: &Config, subscriptions: &[u8], out: &mut Vec<u8>) {
        let WebSocket { session, frames, .. } = self;
        let mut text = |session: &mut Session, ask| {
            frames.write_text_with(out, |out| {
                session.write(ask, config, ConnectionType::WebSocket, subscriptions, out);
            });
        };
        while let Some(ask) = session.settle_ask(session.next_ask(), subscriptions) {
            // A paused connect is skipped: the caller may have called for another reason.
            if session.ask_now().is_none() {
                break;
            }
            text(session, ask);
        }
        if session.has_commands() {
            text(session, RequestPurpose::Commands);
        }
    }

    pub(in crate::client) fn handle_input<'a>(
        &mut self,
        context: Context<'_>,
        input: &mut &'a mut [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, Failure> {
        let Context { config, exchange, memory } = context;
        let WebSocket { session, reader, frames } = self;
        let look = session.look(config, ConnectionType::WebSocket);
        loop {
            let mut part = None;
            let context = Context { config, exchange, memory };
            let event = frames.handle_part(context, input, out, |bytes| {
                let taken = reader.next(bytes, &look);
                part = taken.part;
                taken.len
            })?;
            match (event, part) {
                (Some(Event::Data(bytes)), Some(Part::Data { from })) => {
                    return Ok(Some(Event::Data(&bytes[from..])));
                }
                (Some(Event::Data(_)), Some(Part::End)) => match session.message(&mut reader.incoming) {
                    Ok(Some(event)) => return Ok(Some(event)),
                    Ok(None) => {}
                    Err(failure) => return Err(frames.fail(failure, out)),
                },
                (Some(Event::Data(_)), Some(Part::Wrong(failure))) => return Err(frames.fail(failure, out)),
                (Some(Event::Data(_)), None) => {}
                (Some(Event::MessageEnd), _) => {
                    reader.body_ends().map_err(|failure| frames.fail(failure, out))?;
                }
                (event, _) => return Ok(event),
            }
        }
    }

    pub(in crate::client) fn handle_eof(
        &mut self,
        context: Context<'_>,
    ) -> Result<Option<Event<'static>>, Failure> {
        self.frames.handle_eof(context)
    }

    pub(in crate::client) fn lost(&mut self) {
        self.reader = Reader::default();
        self.frames.connection_lost();
        self.session.connect_lost(true);
        self.session.command_lost();
    }
}
