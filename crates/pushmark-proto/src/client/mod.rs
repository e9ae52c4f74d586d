//! Client conversations: one for each transport, as a closed set behind [`Client`].
//!
//! A `Client` is a session. It outlives its connections and keeps the state that the transport resumes with:
//! cursor, last event id, ETag, cookies.

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

/// One client of an arm. It is small and has no buffer, because a crowd of 100,000 costs 100,000 times its
/// size. Parts that few clients need are boxed.
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

/// The parts of a client that are shared while it handles input.
struct Context<'c> {
    config: &'c Config,
    exchange: &'c mut Exchange,
    memory: &'c mut Option<Box<Memory>>,
}

impl Client {
    /// A new session. The seed determines WebSocket keys and masks.
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
    /// Adds `Host`, `Accept-Encoding: identity` and the fields of the transport and the session: `Accept`,
    /// `Cache-Control`, `Last-Event-ID`, `If-None-Match`, `Cookie`, the upgrade.
    pub fn write_request(&mut self, config: &Config, request: &Request<'_>, out: &mut Vec<u8>) {
        self.write_lane(config, Lane::Connect, request, out);
    }

    /// Like [`Client::write_request`], on one of the connections of a Bayeux client.
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
        // An upgrade has no body. A body given by a Bayeux caller is for later.
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

    /// Takes the next event out of `input`. Call it until `None`. Then pass the rest of `input` again, in
    /// front of the next bytes.
    pub fn handle_input<'a>(
        &mut self,
        config: &Config,
        input: &mut &'a mut [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, Failure> {
        self.handle_lane(config, Lane::Connect, input, out)
    }

    /// Like [`Client::handle_input`], from one of the connections of a Bayeux client.
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

    /// Handles the peer's end. Call it until `None`, once all input is handled. A body that runs until close
    /// ends here; any other unfinished response is [`Failure::ClosedEarly`].
    pub fn handle_eof(&mut self, config: &Config) -> Result<Option<Event<'static>>, Failure> {
        self.handle_lane_eof(config, Lane::Connect)
    }

    /// Like [`Client::handle_eof`], for one of the connections of a Bayeux client.
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

    /// Bayeux: returns whether there is something to write on this lane now. Over other transports the driver
    /// knows when to send a request.
    pub fn wants(&self, lane: Lane) -> bool {
        match &self.conversation {
            Conversation::Bayeux(bayeux) => bayeux.wants(&self.exchange, lane),
            Conversation::BayeuxWebSocket(bayeux) => lane == Lane::Connect && bayeux.wants(),
            _ => false,
        }
    }

    /// Bayeux: returns whether the pending request on this lane includes the subscription, so that its body
    /// must contain the channels.
    pub fn will_subscribe(&self, lane: Lane) -> bool {
        match &self.conversation {
            Conversation::Bayeux(bayeux) => bayeux.will_subscribe(&self.exchange, lane),
            Conversation::BayeuxWebSocket(bayeux) => lane == Lane::Connect && bayeux.will_subscribe(),
            _ => false,
        }
    }

    /// Returns whether this lane's connection may carry the pending request. Otherwise it needs a new one.
    pub fn lane_reusable(&self, lane: Lane) -> bool {
        match &self.conversation {
            Conversation::Bayeux(bayeux) => bayeux.reusable(&self.exchange, lane),
            Conversation::BayeuxWebSocket(bayeux) => lane == Lane::Connect && bayeux.frames.is_open(),
            _ => lane == Lane::Connect && self.reusable(),
        }
    }

    /// Handles the loss of one lane's connection. Between two requests this does not affect a Bayeux session.
    /// After [`Client::connection_lost`] the session checks whether the server still knows it.
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

    /// Returns the session of a Bayeux client, or `None` over other transports.
    pub fn bayeux(&self) -> Option<&bayeux::Session> {
        match &self.conversation {
            Conversation::Bayeux(bayeux) => Some(&bayeux.session),
            Conversation::BayeuxWebSocket(bayeux) => Some(&bayeux.session),
            _ => None,
        }
    }

    /// Like [`Client::bayeux`], to publish, to end the session and to take the counts.
    pub fn bayeux_mut(&mut self) -> Option<&mut bayeux::Session> {
        match &mut self.conversation {
            Conversation::Bayeux(bayeux) => Some(&mut bayeux.session),
            Conversation::BayeuxWebSocket(bayeux) => Some(&mut bayeux.session),
            _ => None,
        }
    }

    /// Returns whether the connection may carry another request: the response is complete and the server
    /// keeps the connection alive. If the scenario sets `Connection: close`, the caller closes it anyway.
    pub fn reusable(&self) -> bool {
        let frames =
            matches!(self.conversation, Conversation::WebSocket(_) | Conversation::BayeuxWebSocket(_));
        !frames && self.exchange.reusable()
    }

    /// Handles the loss of the connection: framing is reset, and the state for resuming is kept.
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

    /// Returns the cursor of the last long-poll response, for `{cursor}`; empty before the first.
    pub fn cursor(&self) -> &str {
        self.memory.as_ref().map_or("", |memory| &memory.cursor)
    }

    /// Returns the id of the last complete event of an event stream; empty before the first.
    pub fn last_event_id(&self) -> &str {
        match &self.conversation {
            Conversation::Sse(sse) => sse.last_event_id(),
            _ => "",
        }
    }

    /// WebSocket: returns whether the server agreed to compress its messages.
    pub fn inflates(&self) -> bool {
        matches!(&self.conversation, Conversation::WebSocket(websocket) if websocket.inflates())
    }

    /// WebSocket: takes the payload of [`Event::Inflated`]. Give its memory back with
    /// [`Client::give_inflated_back`].
    pub fn take_inflated(&mut self) -> Vec<u8> {
        match &mut self.conversation {
            Conversation::WebSocket(websocket) => {
                websocket.inflate().map(|inflate| inflate.take_out()).unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    /// WebSocket: gives back the memory of [`Client::take_inflated`].
    pub fn give_inflated_back(&mut self, out: Vec<u8>) {
        if let Conversation::WebSocket(websocket) = &mut self.conversation
            && let Some(inflate) = websocket.inflate()
        {
            inflate.give_back(out);
        }
    }

    /// WebSocket: appends one text message, masked with a fresh key. Returns `false` before
    /// [`Event::Opened`], after a Close and on other transports.
    pub fn write_text(&mut self, payload: &[u8], out: &mut Vec<u8>) -> bool {
        self.write_message(true, payload, out)
    }

    /// Like [`Client::write_text`], as a text or a binary message.
    pub fn write_message(&mut self, text: bool, payload: &[u8], out: &mut Vec<u8>) -> bool {
        match &mut self.conversation {
            Conversation::WebSocket(websocket) => websocket.write_message(text, payload, out),
            _ => false,
        }
    }

    /// WebSocket: appends a ping with its payload cut to 125 bytes. Its answer causes [`Event::Pong`].
    /// Returns whether it did, as [`Client::write_text`] does.
    pub fn write_ping(&mut self, payload: &[u8], out: &mut Vec<u8>) -> bool {
        match &mut self.conversation {
            Conversation::WebSocket(websocket) => websocket.write_ping(payload, out),
            Conversation::BayeuxWebSocket(bayeux) => bayeux.frames.write_ping(payload, out),
            _ => false,
        }
    }

    /// WebSocket: appends a Close frame, once. Its answer causes [`Event::Closed`]. Other transports end with
    /// their connection, so this does nothing.
    pub fn write_close(&mut self, code: u16, out: &mut Vec<u8>) {
        match &mut self.conversation {
            Conversation::WebSocket(websocket) => websocket.write_close(code, out),
            Conversation::BayeuxWebSocket(bayeux) => bayeux.frames.write_close(code, out),
            _ => {}
        }
    }
}
