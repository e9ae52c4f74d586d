//! Client conversations: one a transport, a closed set behind [`Client`].
//!
//! A `Client` is a session. It outlives its connections, and keeps between them what the
//! transport lets it resume with: cursor, last event id, ETag, cookies.

mod answers;
pub mod bayeux;
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

pub use bayeux::Lane;
pub use config::{ANSWERS_MAX, Bayeux, Config, CursorSource, Transport};
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
    Bayeux(Box<bayeux::Polling>),
    BayeuxWebSocket(Box<bayeux::WebSocket>),
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
            Transport::Bayeux => Conversation::Bayeux(Box::new(bayeux::Polling::new())),
            Transport::BayeuxWebSocket => {
                Conversation::BayeuxWebSocket(Box::new(bayeux::WebSocket::new(seed)))
            }
        };
        Client { exchange: Exchange::default(), memory: None, conversation }
    }

    /// Appends the next request, or the handshake, for a fresh or reusable connection.
    ///
    /// Adds `Host`, `Accept-Encoding: identity` and what the transport and the session need:
    /// `Accept`, `Cache-Control`, `Last-Event-ID`, `If-None-Match`, `Cookie`, the upgrade.
    pub fn write_request(&mut self, config: &Config, request: &Request<'_>, out: &mut Vec<u8>) {
        self.write_lane(config, Lane::Connect, request, out);
    }

    /// As [`Client::write_request`], on one of the connections that a Bayeux client may have.
    pub fn write_lane(&mut self, config: &Config, lane: Lane, request: &Request<'_>, out: &mut Vec<u8>) {
        let Client { exchange, memory, conversation } = self;
        match conversation {
            Conversation::Bayeux(bayeux) => {
                return bayeux.write(Context { config, exchange, memory }, lane, request, out);
            }
            Conversation::BayeuxWebSocket(bayeux) if !bayeux.frames.is_closed() => {
                return bayeux.write(config, request.body, out);
            }
            _ => {}
        }
        exchange.begin();
        // An upgrade has no body: what Bayeux is given there is for later.
        let bare = Request { method: "GET", body: &[], ..*request };
        let upgrades = matches!(conversation, Conversation::BayeuxWebSocket(_));
        let request = if upgrades { &bare } else { request };
        request.write_start(out);
        match conversation {
            Conversation::Polling(polling) => polling.begin(config, request, out),
            Conversation::Stream(stream) => stream.begin(request, out),
            Conversation::Sse(sse) => sse.begin(request, out),
            Conversation::WebSocket(websocket) => websocket.begin(config, out),
            Conversation::BayeuxWebSocket(bayeux) => bayeux.frames.begin(config, out),
            Conversation::Bayeux(_) => {}
        }
        if let Some(memory) = memory {
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
        self.handle_lane(config, Lane::Connect, input, out)
    }

    /// As [`Client::handle_input`], from one of the connections that a Bayeux client may have.
    pub fn handle_lane<'a>(
        &mut self,
        config: &Config,
        lane: Lane,
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
            Conversation::Bayeux(bayeux) => bayeux.handle_input(context, lane, input),
            Conversation::BayeuxWebSocket(bayeux) => bayeux.handle_input(context, input, out),
        };
        if event.is_err() && lane == Lane::Connect {
            self.exchange.fail();
        }
        event
    }

    /// The peer closed its side. To be called until `None`, once all input is handled: a body
    /// that runs until close ends here, anything else that was going on is [`Failure::ClosedEarly`].
    pub fn handle_eof(&mut self, config: &Config) -> Result<Option<Event<'static>>, Failure> {
        self.handle_lane_eof(config, Lane::Connect)
    }

    /// As [`Client::handle_eof`], of one of the connections that a Bayeux client may have.
    pub fn handle_lane_eof(
        &mut self,
        config: &Config,
        lane: Lane,
    ) -> Result<Option<Event<'static>>, Failure> {
        let Client { exchange, memory, conversation } = self;
        let context = Context { config, exchange, memory };
        match conversation {
            Conversation::Polling(polling) => polling.handle_eof(context),
            Conversation::Stream(stream) => stream.handle_eof(context),
            Conversation::Sse(sse) => sse.handle_eof(context),
            Conversation::WebSocket(websocket) => websocket.handle_eof(context),
            Conversation::Bayeux(bayeux) => bayeux.handle_eof(context, lane),
            Conversation::BayeuxWebSocket(bayeux) => bayeux.handle_eof(context),
        }
    }

    /// Bayeux: whether there is something to write on this lane now. Over other transports the
    /// driver knows when to ask.
    pub fn wants(&self, lane: Lane) -> bool {
        match &self.conversation {
            Conversation::Bayeux(bayeux) => bayeux.wants(&self.exchange, lane),
            Conversation::BayeuxWebSocket(bayeux) => lane == Lane::Connect && bayeux.wants(),
            _ => false,
        }
    }

    /// Bayeux: whether what is wanted on this lane is (also) the subscription, so that the
    /// request's body must hold the channels.
    pub fn will_subscribe(&self, lane: Lane) -> bool {
        match &self.conversation {
            Conversation::Bayeux(bayeux) => bayeux.will_subscribe(&self.exchange, lane),
            Conversation::BayeuxWebSocket(bayeux) => lane == Lane::Connect && bayeux.will_subscribe(),
            _ => false,
        }
    }

    /// Whether this lane's connection may carry what is wanted; else it takes a new one.
    pub fn lane_reusable(&self, lane: Lane) -> bool {
        match &self.conversation {
            Conversation::Bayeux(bayeux) => bayeux.reusable(&self.exchange, lane),
            Conversation::BayeuxWebSocket(bayeux) => lane == Lane::Connect && bayeux.frames.is_open(),
            _ => lane == Lane::Connect && self.reusable(),
        }
    }

    /// The connection of one lane is gone. Between two requests of a Bayeux session that means
    /// nothing; [`Client::connection_lost`] makes it find out whether the server still knows it.
    pub fn lane_lost(&mut self, lane: Lane) {
        match (&mut self.conversation, lane) {
            (Conversation::Bayeux(bayeux), Lane::Command) => bayeux.lane_lost(Lane::Command),
            (Conversation::Bayeux(bayeux), Lane::Connect) => {
                self.exchange = Exchange::default();
                bayeux.lane_lost(Lane::Connect);
            }
            (_, Lane::Connect) => self.connection_lost(),
            (_, Lane::Command) => {}
        }
    }

    /// What a Bayeux client remembers and is told; `None` over other transports.
    pub fn bayeux(&self) -> Option<&bayeux::Session> {
        match &self.conversation {
            Conversation::Bayeux(bayeux) => Some(&bayeux.session),
            Conversation::BayeuxWebSocket(bayeux) => Some(&bayeux.session),
            _ => None,
        }
    }

    /// As [`Client::bayeux`], to publish, to end the session, to take what was counted.
    pub fn bayeux_mut(&mut self) -> Option<&mut bayeux::Session> {
        match &mut self.conversation {
            Conversation::Bayeux(bayeux) => Some(&mut bayeux.session),
            Conversation::BayeuxWebSocket(bayeux) => Some(&mut bayeux.session),
            _ => None,
        }
    }

    /// Whether the connection may carry another request: the answer is complete and the server
    /// keeps it alive. Where the scenario says `Connection: close`, the caller closes all the same.
    pub fn reusable(&self) -> bool {
        let frames =
            matches!(self.conversation, Conversation::WebSocket(_) | Conversation::BayeuxWebSocket(_));
        !frames && self.exchange.reusable()
    }

    /// The connection is gone: framing starts afresh, what the session resumes with is kept.
    pub fn connection_lost(&mut self) {
        self.exchange = Exchange::default();
        match &mut self.conversation {
            Conversation::Polling(polling) => polling.connection_lost(),
            Conversation::Stream(stream) => stream.connection_lost(),
            Conversation::Sse(sse) => sse.connection_lost(),
            Conversation::WebSocket(websocket) => websocket.connection_lost(),
            Conversation::Bayeux(bayeux) => bayeux.lost(),
            Conversation::BayeuxWebSocket(bayeux) => bayeux.lost(),
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
            Conversation::BayeuxWebSocket(bayeux) => bayeux.frames.write_ping(payload, out),
            _ => false,
        }
    }

    /// WebSocket: appends a Close frame, once; [`Event::Closed`] tells of its answer.
    /// Other transports: nothing, they end with their connection.
    pub fn write_close(&mut self, code: u16, out: &mut Vec<u8>) {
        match &mut self.conversation {
            Conversation::WebSocket(websocket) => websocket.write_close(code, out),
            Conversation::BayeuxWebSocket(bayeux) => bayeux.frames.write_close(code, out),
            _ => {}
        }
    }
}
