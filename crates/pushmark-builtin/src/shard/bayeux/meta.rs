//! The messages that begin, keep and end a session: handshake, connect, disconnect.

use pushmark_net::{Clock, Nanos};
use pushmark_proto::bayeux::ext::{self, Ack, TimeSyncReply, TimeSyncRequest};
use pushmark_proto::bayeux::{Advice, ConnectionType, Fields, Message, channel};

use super::{Carrier, Exchange, Shard};
use crate::bayeux::{ClientId, Connect, SESSIONS_MAX, Session, client_id};
use crate::connection::Conversation;
use crate::request::{BROWSER_COOKIE, HOLD_MAX_MS};
use crate::stats::Counter;

/// The advised interval between connects of sessions that share a browser, ms. They fall back to polling,
/// because a browser has few connections (section "Multi frame operation").
const MULTIPLE_INTERVAL_MS: i64 = 2_000;

impl Shard {
    pub(super) fn handshake(
        &mut self,
        message: &Message<'_>,
        alone: bool,
        carrier: &Carrier,
        exchange: &mut Exchange,
    ) {
        if !alone {
            return exchange.refuse(message, 400, "", "A handshake comes alone");
        }
        let types = [ConnectionType::LongPolling, ConnectionType::WebSocket];
        let version = message.version.as_deref().unwrap_or("");
        let refusal = match version.split('.').next() {
            Some("1") if types.iter().any(|&kind| message.supports(kind)) => None,
            Some("1") => Some("400::No connection type in common".to_owned()),
            _ => Some(format!("400:{version}:Version 1.0 is spoken")),
        };
        if let Some(error) = refusal {
            let reply = exchange.reply(message, false).versions(types.map(ConnectionType::name));
            return reply.text("error", &error).advice(&Advice::none()).end();
        }
        if self.sessions.len() >= SESSIONS_MAX {
            let reply = exchange.reply(message, false).text("error", "503::Too many sessions");
            return reply.advice(&Advice::none()).end();
        }
        if !carrier.socket && !self.is_served(carrier.token, "bayeux") {
            exchange.mute = true;
            return;
        }
        let asked = message.ext.and_then(ext::ack) == Some(Ack::Enabled(true));
        let session = self.make_session(carrier, asked, exchange);
        let Some(secret) = self.sessions.get(session).map(|session| session.secret) else { return };
        let client_id = ClientId { thread: self.index as u16, token: session, secret }.text();
        let synced = timesync(message).map(|(request, ts)| TimeSyncReply::to(request, ts, 0));
        let advice = self.usual_advice();
        let reply = exchange.reply(message, true).versions(types.map(ConnectionType::name));
        let reply = reply.text("clientId", &client_id).advice(&advice);
        write_ext(reply, asked.then_some("true"), synced).end();
    }

    fn make_session(&mut self, carrier: &Carrier, with_acks: bool, exchange: &mut Exchange) -> u64 {
        let browser = match &carrier.cookie {
            Some(cookie) => client_id::browser(&self.shared.browser_key, cookie),
            None if carrier.socket => 0,
            None => {
                let cookie = format!("{:032x}", self.secrets.next());
                exchange.set_cookie = format!("Set-Cookie: {BROWSER_COOKIE}={cookie}; Path=/; HttpOnly\r\n");
                client_id::browser(&self.shared.browser_key, &cookie)
            }
        };
        let ordinal = self.connections.get(carrier.token).map_or(0, |connection| connection.ordinal);
        let secret = self.secrets.next();
        let session = self.sessions.insert(Session::new(secret, browser, ordinal, with_acks));
        self.ledger.count(Counter::BayeuxSessions);
        self.ledger.count(Counter::BayeuxHandshakes);
        self.let_expire(session, Clock::now());
        session
    }

    pub(super) fn connect(
        &mut self,
        session: u64,
        message: &Message<'_>,
        alone: bool,
        carrier: &Carrier,
        exchange: &mut Exchange,
    ) {
        let since_ns = Clock::now();
        self.ledger.count(Counter::BayeuxConnects);
        self.end_connect(session, Some("408::Another connect came"), &Advice::default());
        self.carry(session, carrier);
        let timeout_ms = self.shared.options.bayeux.timeout_ms;
        let multiple = self.shares_its_browser(session, carrier);
        let Some(state) = self.sessions.get_mut(session) else { return };
        if let Some(Ack::Batch(batch)) = message.ext.and_then(ext::ack) {
            state.confirm(batch);
        }
        let first = !std::mem::replace(&mut state.met, true);
        let kind = if carrier.socket { ConnectionType::WebSocket } else { ConnectionType::LongPolling };
        let advised = message.advice(kind).and_then(|advice| advice.timeout_ms);
        let hold_ms = match advised {
            _ if first || multiple => 0,
            Some(ms) => u64::try_from(ms).unwrap_or(0).min(HOLD_MAX_MS),
            None => timeout_ms,
        };
        let connect = Connect {
            token: carrier.token,
            keep_alive: carrier.keep_alive,
            id: message.id.map_or("", |id| id.text()).into(),
            since_ns,
            until_ns: since_ns + hold_ms * 1_000_000,
            timesync: timesync(message),
        };
        // A request with several messages is answered for all of them at once. On a WebSocket, replies are
        // sent separately.
        if hold_ms > 0 && !state.is_owed() && (alone || carrier.socket) {
            exchange.held = true;
            return self.hold_connect(session, connect, carrier.socket);
        }
        if !exchange.replies.is_empty() {
            exchange.replies.push(b',');
        }
        exchange.with_connect = true;
        self.write_connect_reply(&mut exchange.replies, session, &connect, multiple);
        self.let_expire(session, since_ns);
    }

    fn hold_connect(&mut self, session: u64, connect: Connect, socket: bool) {
        let (token, until_ns) = (connect.token, connect.until_ns);
        let Some(state) = self.sessions.get_mut(session) else { return };
        let browser = state.browser;
        state.connect = Some(Box::new(connect));
        if !socket {
            self.shared.browsers().enter(browser);
            if let Some(connection) = self.live(token) {
                connection.talk = Conversation::Connect(session);
            }
        }
        self.schedule_session(session, until_ns);
    }

    /// Records the carrier of the session's connects.
    fn carry(&mut self, session: u64, carrier: &Carrier) {
        if let Some(connection) = self.connections.get_mut(carrier.token)
            && let Conversation::WebSocket(frames) = &mut connection.talk
            && let Some(socket) = &mut frames.bayeux
        {
            socket.session = Some(session);
        }
        if let Some(state) = self.sessions.get_mut(session) {
            state.by_socket = carrier.socket;
            state.socket = carrier.socket.then_some(carrier.token);
        }
        self.recount(session);
    }

    /// Returns whether another session of the same browser is held, because a browser has few connections.
    fn shares_its_browser(&self, session: u64, carrier: &Carrier) -> bool {
        let browser = self.sessions.get(session).map_or(0, |state| state.browser);
        !carrier.socket && self.shared.browsers().is_held(browser)
    }

    /// Appends the reply to a connect: `{channel, id, successful, advice, ext}`. It begins a new batch.
    pub(super) fn write_connect_reply(
        &mut self,
        out: &mut Vec<u8>,
        session: u64,
        connect: &Connect,
        multiple: bool,
    ) {
        let usual = self.usual_advice();
        let Some(state) = self.sessions.get_mut(session) else { return };
        let told = std::mem::replace(&mut state.told_multiple, multiple);
        let advice = match (multiple, told) {
            (true, _) => Advice { interval_ms: Some(MULTIPLE_INTERVAL_MS), multiple_clients: true, ..usual },
            (false, true) => usual,
            (false, false) => Advice::default(),
        };
        let mut fields = Fields::new(out, channel::CONNECT);
        if !connect.id.is_empty() {
            fields = fields.raw("id", connect.id.as_bytes());
        }
        let fields = fields.flag("successful", true).advice(&advice);
        let synced = connect.timesync.map(|(request, ts)| {
            let held_ms = (Clock::now() - connect.since_ns) / 1_000_000;
            TimeSyncReply::to(request, ts, held_ms as i64)
        });
        let batch = state.next_batch().map(|batch| batch.to_string());
        write_ext(fields, batch.as_deref(), synced).end();
    }

    pub(super) fn disconnect(&mut self, session: u64, message: &Message<'_>, exchange: &mut Exchange) {
        exchange.session = None;
        self.end_connect(session, None, &Advice::none());
        self.end_session(session);
        exchange.reply(message, true).end();
    }

    fn usual_advice(&self) -> Advice {
        let options = &self.shared.options.bayeux;
        Advice::retry(options.interval_ms as i64, options.timeout_ms as i64)
    }

    /// Starts the time in which the session must connect again.
    pub(super) fn let_expire(&mut self, session: u64, now_ns: Nanos) {
        let options = &self.shared.options.bayeux;
        let mut patience_ms = options.interval_ms + options.max_interval_ms;
        let Some(state) = self.sessions.get_mut(session) else { return };
        if state.told_multiple {
            patience_ms += MULTIPLE_INTERVAL_MS as u64;
        }
        state.expires_ns = now_ns + patience_ms * 1_000_000;
        let expires_ns = state.expires_ns;
        self.schedule_session(session, expires_ns);
    }
}

/// Returns the timesync fields of a message, and our clock, ms.
fn timesync(message: &Message<'_>) -> Option<(TimeSyncRequest, i64)> {
    let request = TimeSyncRequest::read(message.ext?)?;
    Some((request, (Clock::realtime() / 1_000_000) as i64))
}

/// Adds `ext`, unless it is empty.
fn write_ext<'b>(fields: Fields<'b>, ack: Option<&str>, synced: Option<TimeSyncReply>) -> Fields<'b> {
    if ack.is_none() && synced.is_none() {
        return fields;
    }
    fields.with("ext", |out| {
        out.push(b'{');
        if let Some(ack) = ack {
            out.extend_from_slice(b"\"ack\":");
            out.extend_from_slice(ack.as_bytes());
        }
        if let Some(synced) = synced {
            out.extend_from_slice(if ack.is_some() { b",\"timesync\":" } else { b"\"timesync\":" });
            synced.write(out);
        }
        out.push(b'}');
    })
}
