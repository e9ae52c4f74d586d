//! Client conversations: one a transport, a closed set behind [`Client`].
//!
//! A `Client` is a session. It outlives its connections, and keeps between them what the
//! transport lets it resume with: cursor, last event id, ETag, cookies.

mod answers;
mod config;
mod event;
pub mod exchange;
mod judge;
mod memory;
mod polling;
mod random;
mod ready;
mod request;
mod sse;
mod stream;
mod websocket;

pub use config::{ANSWERS_MAX, Config, CursorSource, Transport};
pub use event::Event;
pub use exchange::{Exchange, ExchangeEvent};
pub use memory::CURSOR_MAX;
pub use request::Request;

use crate::Failure;
use exchange::Step;
use memory::Memory;

/// One client of an arm. Small and without a buffer: a crowd of 100,000 costs as many times
/// its size, and what few clients need is boxed.
#[derive(Debug)]
pub struct Client {
    exchange: Exchange,
    memory: Option<Box<Memory>>,
    conversation: Conversation,
}

#[derive(Debug)]
enum Conversation {
    Polling(polling::Polling),
    Stream(stream::Stream),
    Sse(sse::Sse),
    WebSocket(websocket::WebSocket),
}

/// What the parts of a client share while they handle input.
struct Context<'c> {
    config: &'c Config,
    exchange: &'c mut Exchange,
    memory: &'c mut Option<Box<Memory>>,
}

impl Client {
    /// A session that has said nothing yet. The seed decides WebSocket keys and masks.
    pub fn new(config: &Config, seed: u64) -> Client {
        let conversation = match config.transport {
            Transport::Poll | Transport::LongPoll => Conversation::Polling(Default::default()),
            Transport::Stream => Conversation::Stream(Default::default()),
            Transport::Sse => Conversation::Sse(Default::default()),
            Transport::WebSocket => Conversation::WebSocket(websocket::WebSocket::new(seed)),
        };
        Client { exchange: Exchange::default(), memory: None, conversation }
    }

    /// Appends the next request, or the handshake, for a fresh or reusable connection.
    ///
    /// Adds `Host`, `Accept-Encoding: identity` and what the transport and the session need:
    /// `Accept`, `Cache-Control`, `Last-Event-ID`, `If-None-Match`, `Cookie`, the upgrade.
    pub fn write_request(&mut self, config: &Config, request: &Request<'_>, out: &mut Vec<u8>) {
        self.exchange.begin();
        request.write_start(out);
        match &mut self.conversation {
            Conversation::Polling(polling) => polling.begin(config, request, out),
            Conversation::Stream(stream) => stream.begin(request, out),
            Conversation::Sse(sse) => sse.begin(request, out),
            Conversation::WebSocket(websocket) => websocket.begin(config, out),
        }
        if let Some(memory) = &self.memory {
            memory.write_headers(config, out);
        }
        request.write_end(out);
    }

    /// Takes the next event out of `input`. To be called until `None`; what is left in `input`
    /// must then be given again, in front of the next bytes.
    pub fn handle_input<'a>(
        &mut self,
        config: &Config,
        input: &mut &'a mut [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, Failure> {
        let Client { exchange, memory, conversation } = self;
        let context = Context { config, exchange, memory };
        let event = match conversation {
            Conversation::Polling(polling) => polling.handle_input(context, input),
            Conversation::Stream(stream) => stream.handle_input(context, input),
            Conversation::Sse(sse) => sse.handle_input(context, input),
            Conversation::WebSocket(websocket) => websocket.handle_input(context, input, out),
        };
        if event.is_err() {
            self.exchange.fail();
        }
        event
    }

    /// The peer closed its side. To be called until `None`, once all input is handled: a body
    /// that runs until close ends here, anything else that was going on is [`Failure::ClosedEarly`].
    pub fn handle_eof(&mut self, config: &Config) -> Result<Option<Event<'static>>, Failure> {
        let Client { exchange, memory, conversation } = self;
        let context = Context { config, exchange, memory };
        match conversation {
            Conversation::Polling(polling) => polling.handle_eof(context),
            Conversation::Stream(stream) => stream.handle_eof(context),
            Conversation::Sse(sse) => sse.handle_eof(context),
            Conversation::WebSocket(websocket) => websocket.handle_eof(context),
        }
    }

    /// Whether the connection may carry another request: the answer is complete and the server
    /// keeps it alive. Where the scenario says `Connection: close`, the caller closes all the same.
    pub fn reusable(&self) -> bool {
        !matches!(self.conversation, Conversation::WebSocket(_)) && self.exchange.reusable()
    }

    /// The connection is gone: framing starts afresh, what the session resumes with is kept.
    pub fn connection_lost(&mut self) {
        self.exchange = Exchange::default();
        match &mut self.conversation {
            Conversation::Polling(polling) => polling.connection_lost(),
            Conversation::Stream(stream) => stream.connection_lost(),
            Conversation::Sse(sse) => sse.connection_lost(),
            Conversation::WebSocket(websocket) => websocket.connection_lost(),
        }
    }

    /// The cursor of the last long-poll answer, for `{cursor}`; empty before the first.
    pub fn cursor(&self) -> &str {
        self.memory.as_ref().map_or("", |memory| &memory.cursor)
    }

    /// The id of the last whole event of an event stream; empty before the first.
    pub fn last_event_id(&self) -> &str {
        match &self.conversation {
            Conversation::Sse(sse) => sse.last_event_id(),
            _ => "",
        }
    }

    /// WebSocket: appends one text message, masked with a fresh key. Gives whether it did: not
    /// before [`Event::Opened`], not after a Close, and not on other transports.
    pub fn write_text(&mut self, payload: &[u8], out: &mut Vec<u8>) -> bool {
        match &mut self.conversation {
            Conversation::WebSocket(websocket) => websocket.write_text(payload, out),
            _ => false,
        }
    }

    /// WebSocket: appends a ping, its payload cut to 125 bytes; [`Event::Pong`] tells of its
    /// answer. Gives whether it did, as [`Client::write_text`].
    pub fn write_ping(&mut self, payload: &[u8], out: &mut Vec<u8>) -> bool {
        match &mut self.conversation {
            Conversation::WebSocket(websocket) => websocket.write_ping(payload, out),
            _ => false,
        }
    }

    /// WebSocket: appends a Close frame, once; [`Event::Closed`] tells of its answer.
    /// Other transports: nothing, they end with their connection.
    pub fn write_close(&mut self, code: u16, out: &mut Vec<u8>) {
        if let Conversation::WebSocket(websocket) = &mut self.conversation {
            websocket.write_close(code, out);
        }
    }
}
