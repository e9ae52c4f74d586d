//! One client conversation over the driver's pollers.

use std::io::ErrorKind;
use std::net::SocketAddr;

use pushmark_proto::Failure;
use pushmark_proto::client::{Client, Config, Event, Request, Transport};

use crate::wire::{MakePoller, POLLERS, Wire};

/// An owned copy of a received event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A response head was accepted.
    Opened(u16),
    /// The ready text arrived.
    Ready,
    /// A whole message. A stream has no messages; each piece that was read is one.
    Message(Vec<u8>),
    /// A polled response is complete.
    Answered(u16),
    /// A comment of an event stream.
    Comment,
    /// The reconnection pause that an event stream asks for, in ms.
    Retry(u64),
    /// A pong.
    Pong,
    /// An orderly close.
    Closed(Option<u16>),
}

/// A session with its connection.
#[derive(Debug)]
pub struct Session {
    /// The conversation.
    pub client: Client,
    config: Config,
    address: SocketAddr,
    wire: Wire,
    input: Vec<u8>,
    message: Vec<u8>,
}

impl Session {
    /// Connects without sending a request.
    ///
    /// # Panics
    /// If the port is closed, or the system does not support the poller.
    pub fn connect(poller: MakePoller, address: SocketAddr, config: Config) -> Session {
        Session {
            client: Client::new(&config, 7),
            config,
            address,
            wire: Wire::connect(address, poller),
            input: Vec::new(),
            message: Vec::new(),
        }
    }

    /// Connects and requests `target`, with epoll.
    pub fn open(address: SocketAddr, config: Config, target: &str) -> Session {
        Session::open_by(POLLERS[0], address, config, target)
    }

    /// Connects and requests `target`.
    pub fn open_by(poller: MakePoller, address: SocketAddr, config: Config, target: &str) -> Session {
        let mut session = Session::connect(poller, address, config);
        session.ask(target, "");
        session
    }

    /// Writes a request. Opens a new connection if the old one cannot carry it.
    pub fn ask(&mut self, target: &str, headers: &str) {
        let mut out = Vec::new();
        let authority = self.address.to_string();
        let request = Request { headers, ..Request::get(target, &authority) };
        self.client.write_request(&self.config, &request, &mut out);
        self.write(&out);
    }

    /// Reconnects and keeps the state that the session resumes with.
    pub fn reconnect(&mut self) {
        self.client.connection_lost();
        self.wire.reconnect(self.address);
        self.input.clear();
    }

    /// Sends a WebSocket text.
    pub fn write_text(&mut self, payload: &[u8]) -> bool {
        let mut out = Vec::new();
        let written = self.client.write_text(payload, &mut out);
        self.write(&out);
        written
    }

    /// Sends a WebSocket ping.
    pub fn write_ping(&mut self, payload: &[u8]) {
        let mut out = Vec::new();
        self.client.write_ping(payload, &mut out);
        self.write(&out);
    }

    /// Sends a WebSocket Close.
    pub fn write_close(&mut self, code: u16) {
        let mut out = Vec::new();
        self.client.write_close(code, &mut out);
        self.write(&out);
    }

    /// Returns the next event. Events are read one at a time, so that a caller's reply to one event is
    /// written before anything that the next event makes the conversation write.
    ///
    /// # Panics
    /// If nothing arrives.
    pub fn hear(&mut self) -> Result<Heard, Failure> {
        loop {
            if let Some(heard) = self.pull()? {
                return Ok(heard);
            }
            match self.wire.read(&mut self.input) {
                Ok(0) => {
                    let Some(event) = self.client.handle_eof(&self.config)? else {
                        return Err(Failure::ClosedEarly);
                    };
                    if let Some(heard) = note(&self.config, &mut self.message, event) {
                        return Ok(heard);
                    }
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Err(Failure::ClosedEarly),
                Err(error) => panic!("nothing from {}: {error}", self.address),
            }
        }
    }

    /// Returns the next message and skips other events.
    ///
    /// # Panics
    /// If the conversation fails or ends first.
    pub fn message(&mut self) -> String {
        loop {
            match self.hear() {
                Ok(Heard::Message(message)) => return String::from_utf8_lossy(&message).into_owned(),
                Ok(Heard::Closed(code)) => panic!("closed with {code:?} before the message"),
                Ok(_) => {}
                Err(failure) => panic!("failed before the message: {failure}"),
            }
        }
    }

    /// Reads and discards input until the peer has closed.
    pub fn drain(&mut self) {
        while self.wire.read(&mut self.input).is_ok_and(|n| n > 0) {
            self.input.clear();
        }
    }

    /// Returns the next event in the input read so far.
    fn pull(&mut self) -> Result<Option<Heard>, Failure> {
        let mut input = std::mem::take(&mut self.input);
        let mut rest = &mut input[..];
        let mut out = Vec::new();
        let mut outcome = Ok(None);
        while let Ok(None) = outcome {
            match self.client.handle_input(&self.config, &mut rest, &mut out) {
                Ok(Some(event)) => outcome = Ok(note(&self.config, &mut self.message, event)),
                Ok(None) => break,
                Err(failure) => outcome = Err(failure),
            }
        }
        let left = rest.len();
        input.drain(..input.len() - left);
        self.input = input;
        self.write(&out);
        outcome
    }

    fn write(&mut self, out: &[u8]) {
        // A closed connection is reported by the next read.
        let _ = self.wire.write_all(out);
    }
}

/// Copies an event; joins the pieces of a message.
fn note(config: &Config, message: &mut Vec<u8>, event: Event<'_>) -> Option<Heard> {
    Some(match event {
        Event::Opened { status, .. } => Heard::Opened(status),
        Event::Ready => Heard::Ready,
        Event::Data(data) if config.transport == Transport::Stream => Heard::Message(data.to_vec()),
        Event::Data(data) => {
            message.extend_from_slice(data);
            return None;
        }
        Event::MessageEnd | Event::Heartbeat => Heard::Message(std::mem::take(message)),
        Event::Answered { status, .. } => Heard::Answered(status),
        Event::Retry(ms) => Heard::Retry(ms),
        Event::Comment => Heard::Comment,
        Event::Pong => Heard::Pong,
        Event::Closed { code, .. } => Heard::Closed(code),
        Event::Asked { .. } | Event::Published { .. } | Event::Forgotten | Event::Inflated => return None,
    })
}
