//! The session over HTTP: a held connect, and a second connection for commands.

use super::reader::{Part, Reader};
use super::requests::RequestPurpose;
use super::session::Session;
use super::{Context, Lane};
use crate::bayeux::ConnectionType;
use crate::client::exchange::{Exchange, Step};
use crate::client::memory::Memory;
use crate::client::{Config, Event, Request, judge};
use crate::{Failure, input};

/// The conversation over up to two connections.
#[derive(Debug)]
pub(in crate::client) struct Polling {
    pub(in crate::client) session: Session,
    reader: Reader,
    /// Present while its connection exists.
    command: Option<Box<Command>>,
}

/// The second connection. The exchange of the first one belongs to the client.
#[derive(Debug, Default)]
struct Command {
    exchange: Exchange,
    reader: Reader,
}

impl Polling {
    pub(in crate::client) fn new() -> Polling {
        Polling { session: Session::new(), reader: Reader::default(), command: None }
    }

    /// Returns what can be written on a lane now.
    fn ask_now(&self, connect: &Exchange, lane: Lane) -> Option<RequestPurpose> {
        match lane {
            Lane::Connect if connect.is_idle() => self.session.ask_now(),
            Lane::Command if self.command.as_ref().is_none_or(|command| command.exchange.is_idle()) => {
                self.session.has_commands().then_some(RequestPurpose::Commands)
            }
            _ => None,
        }
    }

    pub(in crate::client) fn wants(&self, connect: &Exchange, lane: Lane) -> bool {
        self.ask_now(connect, lane).is_some()
    }

    pub(in crate::client) fn will_subscribe(&self, connect: &Exchange, lane: Lane) -> bool {
        self.ask_now(connect, lane) == Some(RequestPurpose::Subscribe)
    }

    pub(in crate::client) fn reusable(&self, connect: &Exchange, lane: Lane) -> bool {
        match lane {
            Lane::Connect => connect.reusable(),
            Lane::Command => self.command.as_ref().is_some_and(|command| command.exchange.reusable()),
        }
    }

    /// Appends the pending request of a lane, if there is one.
    pub(in crate::client) fn write(
        &mut self,
        context: Context<'_>,
        lane: Lane,
        request: &Request<'_>,
        out: &mut Vec<u8>,
    ) {
        let Context { config, exchange, memory } = context;
        let Polling { session, command, .. } = self;
        let (exchange, ask) = match lane {
            Lane::Connect => (exchange, session.settle_ask(session.next_ask(), request.body)),
            Lane::Command => (
                &mut command.get_or_insert_default().exchange,
                session.has_commands().then_some(RequestPurpose::Commands),
            ),
        };
        let Some(ask) = ask.filter(|_| exchange.is_idle()) else { return };
        exchange.begin();
        let cookies = |out: &mut Vec<u8>| {
            if let Some(memory) = memory {
                memory.write_headers(config, out);
            }
        };
        request.write_json(out, cookies, |out| {
            session.write(ask, config, ConnectionType::LongPolling, request.body, out);
        });
    }

    pub(in crate::client) fn handle_input<'a>(
        &mut self,
        context: Context<'_>,
        lane: Lane,
        input: &mut &'a mut [u8],
    ) -> Result<Option<Event<'a>>, Failure> {
        let Context { config, exchange, memory } = context;
        let Polling { session, reader, command } = self;
        let (exchange, reader) = match (lane, command) {
            (Lane::Connect, _) => (exchange, reader),
            (Lane::Command, Some(command)) => (&mut command.exchange, &mut command.reader),
            (Lane::Command, None) => {
                input::take(input, input.len());
                return Ok(None);
            }
        };
        let event = Polling::read(session, config, exchange, reader, memory, lane, input);
        if event.is_err() {
            exchange.fail();
        }
        event
    }

    fn read<'a>(
        session: &mut Session,
        config: &Config,
        exchange: &mut Exchange,
        reader: &mut Reader,
        memory: &mut Option<Box<Memory>>,
        lane: Lane,
        input: &mut &'a mut [u8],
    ) -> Result<Option<Event<'a>>, Failure> {
        loop {
            match exchange.step(config.head_max, input)? {
                Step::Head(head) => {
                    let opened = judge::accept(config, &head)?;
                    Memory::learn(memory, config, head.headers)?;
                    return Ok(Some(opened));
                }
                Step::Data(n) => {
                    let look = session.look(config, ConnectionType::LongPolling);
                    let taken = reader.next(&input[..n], &look);
                    let bytes = exchange.take(taken.len, input);
                    match taken.part {
                        Some(Part::Data { from }) => return Ok(Some(Event::Data(&bytes[from..]))),
                        Some(Part::End) => {
                            if let Some(event) = session.message(&mut reader.incoming)? {
                                return Ok(Some(event));
                            }
                        }
                        Some(Part::Wrong(failure)) => return Err(failure),
                        None => {}
                    }
                }
                Step::End => return Polling::answered(session, exchange, reader, lane).map(Some),
                Step::More => return Ok(None),
            }
        }
    }

    pub(in crate::client) fn handle_eof(
        &mut self,
        context: Context<'_>,
        lane: Lane,
    ) -> Result<Option<Event<'static>>, Failure> {
        let Polling { session, reader, command } = self;
        let (exchange, reader) = match (lane, command) {
            (Lane::Connect, _) => (context.exchange, reader),
            (Lane::Command, Some(command)) => (&mut command.exchange, &mut command.reader),
            (Lane::Command, None) => return Ok(None),
        };
        match exchange.eof()? {
            true => Polling::answered(session, exchange, reader, lane).map(Some),
            false => Ok(None),
        }
    }

    fn answered(
        session: &Session,
        exchange: &Exchange,
        reader: &mut Reader,
        lane: Lane,
    ) -> Result<Event<'static>, Failure> {
        reader.body_ends()?;
        match session.unanswered().filter(|_| lane == Lane::Connect) {
            Some(what) => Err(Failure::Bayeux(what)),
            None => Ok(Event::Answered { status: exchange.status(), cursor_advanced: false }),
        }
    }

    /// A connection is gone. The client resets its own exchange.
    pub(in crate::client) fn lane_lost(&mut self, lane: Lane) {
        match lane {
            Lane::Connect => {
                self.reader = Reader::default();
                self.session.connect_lost(false);
            }
            Lane::Command => {
                self.command = None;
                self.session.command_lost();
            }
        }
    }

    /// All connections are gone.
    pub(in crate::client) fn lost(&mut self) {
        self.lane_lost(Lane::Command);
        self.reader = Reader::default();
        self.session.connect_lost(true);
    }
}
