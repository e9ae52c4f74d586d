//! The session: what may be asked now, and what replies make of it.
//!
//! Handshake, a connect that is answered at once, the subscription, then one connect after the
//! other. The subscription goes in a request of its own: it needs no held connect, and a server
//! may hold a whole batch for the sake of a connect in it.

use super::counts::Counts;
use super::incoming::{About, Incoming, Look};
use super::time_sync::TimeSync;
use crate::Failure;
use crate::bayeux::{Advice, ConnectionType, Reconnect, Value, ext};
use crate::client::{Config, Event};

/// Most bytes of publications that wait to be written, unless one alone is longer.
pub const PENDING_MAX: usize = 256 << 10;

/// Handshakes, or connects, without success in a row after which a session gives up.
pub const FAILURES_MAX: u8 = 8;

/// A failure without advice is tried again after a second, then two, and so on up to this.
const PAUSE_MAX_MS: u32 = 30_000;

/// Why a publication was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpublished {
    /// The handshake is not answered yet, or the session has ended.
    NoSession,
    /// [`PENDING_MAX`] bytes wait already.
    Full,
    /// Neither a channel that can be published on, nor JSON.
    Malformed,
}

/// One client's session with a server. Outlives its connections.
#[derive(Debug, Default)]
pub struct Session {
    pub(super) stage: Stage,
    pub(super) connect: Connect,
    pub(super) subscription: Subscription,
    pub(super) leaving: Leaving,
    /// The next connect is to be answered at once: the first, and those after a failure.
    pub(super) prompt: bool,
    /// Tell [`Event::Ready`] once a connect succeeds: the connection is new, the session is not.
    pub(super) resumed: bool,
    /// The server grants the acknowledge extension.
    pub(super) acknowledges: bool,
    failures: u8,
    /// Replies to subscriptions still to come.
    pub(super) subscribing: u16,
    pause_ms: Option<u32>,
    timeout_ms: Option<u32>,
    /// As advised last.
    interval_ms: i64,
    pub(super) next_id: u32,
    /// The handshake's; replies to what was asked before it are of a session that is gone.
    pub(super) since_id: u32,
    /// The number of the last batch that came.
    pub(super) batch: i64,
    pub(super) client_id: Box<str>,
    acknowledged: Option<Box<str>>,
    /// Publications ready to be sent, with commas between them.
    pub(super) pending: Vec<u8>,
    pub(super) pending_count: u32,
    pub(super) now_ms: i64,
    time: Option<Box<TimeSync>>,
    pub(super) counts: Counts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// A handshake is due.
    #[default]
    Unconnected,
    /// A handshake is asked for.
    Handshaking,
    /// There is a client id; no connect has succeeded yet.
    Connecting,
    Connected,
    /// For good.
    Ended,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Connect {
    #[default]
    Due,
    /// Until [`Session::pause_over`].
    Paused,
    Held,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Subscription {
    #[default]
    Wanted,
    Asked,
    Stands,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Leaving {
    #[default]
    No,
    Wanted,
    Asked,
}

impl Session {
    pub(super) fn new() -> Session {
        Session { next_id: 1, batch: -1, prompt: true, ..Session::default() }
    }

    /// The id that the server gave; empty before the handshake and after its session is gone.
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The server said not to come back, or the session was ended by [`Session::disconnect`].
    pub fn has_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// A connect is with the server.
    pub fn is_held(&self) -> bool {
        self.connect == Connect::Held
    }

    /// How long the server holds a connect, where it said so.
    pub fn timeout_ms(&self) -> Option<u32> {
        self.timeout_ms
    }

    /// The pause before the next connect (or handshake), once: the caller lets it pass and calls
    /// [`Session::pause_over`].
    pub fn take_pause_ms(&mut self) -> Option<u32> {
        self.pause_ms.take()
    }

    /// The pause is over.
    pub fn pause_over(&mut self) {
        if self.connect == Connect::Paused {
            self.connect = Connect::Due;
        }
    }

    /// `ext.pushmark.subscribed` of the reply that [`Event::Ready`] told of, once.
    pub fn take_acknowledged(&mut self) -> Option<Box<str>> {
        self.acknowledged.take()
    }

    /// What was counted since the last call.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// For the timesync extension: the time on a clock of the caller's, before anything is
    /// written or read. Without the extension it need not be told.
    pub fn set_time_ms(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// What the timesync extension tells; absent before its first answer.
    pub fn time_sync(&self) -> Option<&TimeSync> {
        self.time.as_deref()
    }

    /// Takes a publication, to be written with the next request on its lane. `data` is JSON.
    /// Gives its id, by which [`Event::Published`] names it.
    pub fn publish(&mut self, channel: &str, data: &[u8]) -> Result<u32, Unpublished> {
        use crate::bayeux::{Fields, channel as names};
        if !self.has_client_id() || self.leaving != Leaving::No {
            return Err(Unpublished::NoSession);
        }
        let possible = names::valid(channel) && !names::is_meta(channel) && !names::is_pattern(channel);
        if !possible || Value::parse(data).is_err() {
            return Err(Unpublished::Malformed);
        }
        if !self.pending.is_empty() && self.pending.len() + data.len() > PENDING_MAX {
            return Err(Unpublished::Full);
        }
        if !self.pending.is_empty() {
            self.pending.push(b',');
        }
        let id = self.take_id();
        self.pending_count += 1;
        Fields::new(&mut self.pending, channel)
            .with("id", |out| super::requests::write_id(out, id))
            .text("clientId", &self.client_id)
            .raw("data", data)
            .end();
        Ok(id)
    }

    /// Ends the session: a `/meta/disconnect` is written next, and [`Event::Closed`] tells of its
    /// reply. A session that has not begun just ends.
    pub fn disconnect(&mut self) {
        match self.stage {
            Stage::Unconnected | Stage::Handshaking => self.stage = Stage::Ended,
            Stage::Connecting | Stage::Connected if self.leaving == Leaving::No => {
                self.leaving = Leaving::Wanted;
            }
            _ => {}
        }
    }

    pub(super) fn take_id(&mut self) -> u32 {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        id
    }

    /// What is looked for in replies.
    pub(super) fn look(&self, config: &Config, connection_type: ConnectionType) -> Look {
        let client_id = self.stage == Stage::Handshaking;
        Look { connection_type, data_max: config.message_max, client_id }
    }

    pub(super) fn time_request(&self) -> ext::TimeSyncRequest {
        self.time.as_deref().copied().unwrap_or_default().request(self.now_ms)
    }

    /// The connection that carried handshake, subscription and connect is gone.
    pub(super) fn connect_lost(&mut self) {
        if self.stage == Stage::Handshaking {
            self.stage = Stage::Unconnected;
        }
        if self.subscription == Subscription::Asked {
            self.subscription = Subscription::Wanted;
        }
        if self.connect == Connect::Held {
            self.connect = Connect::Due;
        }
        self.prompt = true;
        self.resumed = true;
    }

    /// The connection that carried publications and the disconnect is gone.
    pub(super) fn command_lost(&mut self) {
        if self.leaving == Leaving::Asked {
            self.leaving = Leaving::Wanted;
        }
    }

    /// A request on the connect lane was answered without the reply that it is for.
    pub(super) fn unanswered(&self) -> Option<&'static str> {
        if self.stage == Stage::Handshaking {
            Some("no reply to the handshake")
        } else if self.subscription == Subscription::Asked {
            Some("no reply to the subscription")
        } else if self.connect == Connect::Held {
            Some("no reply to the connect")
        } else {
            None
        }
    }

    /// A message has ended.
    pub(super) fn message(&mut self, incoming: &mut Incoming) -> Result<Option<Event<'static>>, Failure> {
        let stale = incoming.id.is_some_and(|id| id < self.since_id);
        if incoming.about == About::Channel {
            return self.event_or_published(incoming, stale);
        }
        if stale || self.stage == Stage::Ended {
            return Ok(None);
        }
        if let Some(time) = &incoming.time {
            self.time.get_or_insert_default().answered(time, self.now_ms);
        }
        if let Some(advice) = incoming.advice {
            self.advised(&advice);
        }
        let unknown = self.unknown_client(incoming);
        let reconnect = incoming.advice.and_then(|advice| advice.reconnect);
        let success = incoming.successful == Some(true);
        match incoming.about {
            About::Handshake if self.stage == Stage::Handshaking => {
                self.greeted(incoming, success, reconnect)
            }
            About::Connect if self.connect == Connect::Held => {
                Ok(self.connected(incoming, success, unknown, reconnect)?)
            }
            About::Subscribe if self.subscription == Subscription::Asked => {
                self.subscribed(incoming, success, unknown, reconnect)
            }
            About::Disconnect if self.leaving == Leaving::Asked => Ok(self.end()),
            _ => Ok(None),
        }
    }

    fn event_or_published(
        &mut self,
        incoming: &Incoming,
        stale: bool,
    ) -> Result<Option<Event<'static>>, Failure> {
        // A reply has `successful`, an event has not: nothing else tells them apart.
        let Some(accepted) = incoming.successful else {
            return Ok((incoming.data_len > 0).then_some(Event::MessageEnd));
        };
        self.counts.published += u32::from(accepted);
        self.counts.published_failed += u32::from(!accepted);
        if self.unknown_client(incoming) && !stale && self.has_client_id() {
            let forgotten = self.start_over("publish", incoming.code)?;
            return Ok(forgotten.or(Some(Event::Published { id: incoming.id, accepted })));
        }
        Ok(Some(Event::Published { id: incoming.id, accepted }))
    }

    fn has_client_id(&self) -> bool {
        matches!(self.stage, Stage::Connecting | Stage::Connected)
    }

    fn greeted(
        &mut self,
        incoming: &mut Incoming,
        success: bool,
        reconnect: Option<Reconnect>,
    ) -> Result<Option<Event<'static>>, Failure> {
        if !success {
            self.stage = Stage::Unconnected;
            // Without advice to try again a refusal is final.
            return match reconnect {
                Some(Reconnect::Retry | Reconnect::Handshake) => {
                    self.failed("handshake", incoming.code, 0).map(|()| None)
                }
                _ => Err(Failure::Refused { what: "handshake", code: incoming.code }),
            };
        }
        if incoming.offered == Some(false) {
            return Err(Failure::Handshake("the server does not offer this Bayeux connection type"));
        }
        self.client_id = incoming.client_id.take().unwrap_or_default();
        if self.client_id.is_empty() {
            return Err(Failure::Bayeux("a handshake without a client id"));
        }
        self.acknowledges = incoming.ack == Some(ext::Ack::Enabled(true));
        self.stage = Stage::Connecting;
        self.prompt = true;
        self.batch = -1;
        self.resumed = false;
        match self.connect_as_advised() {
            Some(()) => Ok(None),
            None => Ok(self.end()),
        }
    }

    fn connected(
        &mut self,
        incoming: &Incoming,
        success: bool,
        unknown: bool,
        reconnect: Option<Reconnect>,
    ) -> Result<Option<Event<'static>>, Failure> {
        self.connect = Connect::Due;
        if let (true, Some(ext::Ack::Batch(batch))) = (self.acknowledges, incoming.ack) {
            self.batch = batch;
            self.counts.batches += 1;
        }
        if !success {
            self.counts.connects_failed += 1;
        }
        if reconnect == Some(Reconnect::None) {
            return Ok(self.end());
        }
        if unknown || reconnect == Some(Reconnect::Handshake) {
            return self.start_over("connect", incoming.code);
        }
        if !success {
            self.prompt = true;
            return self.failed("connect", incoming.code, 0).map(|()| None);
        }
        if self.connect_as_advised().is_none() {
            return Ok(self.end());
        }
        self.stage = Stage::Connected;
        // A first connect proves little: it is answered at once.
        if !std::mem::take(&mut self.prompt) {
            self.failures = 0;
        }
        let ready = std::mem::take(&mut self.resumed) && self.subscription == Subscription::Stands;
        Ok(ready.then_some(Event::Ready))
    }

    fn subscribed(
        &mut self,
        incoming: &mut Incoming,
        success: bool,
        unknown: bool,
        reconnect: Option<Reconnect>,
    ) -> Result<Option<Event<'static>>, Failure> {
        if unknown || reconnect == Some(Reconnect::Handshake) {
            return self.start_over("subscribe", incoming.code);
        }
        if !success {
            return Err(Failure::Refused { what: "subscribe", code: incoming.code });
        }
        if let Some(text) = incoming.subscribed.take() {
            self.acknowledged = Some(match self.acknowledged.take() {
                Some(before) => format!("{before},{text}").into(),
                None => text,
            });
        }
        self.subscribing = self.subscribing.saturating_sub(1);
        if self.subscribing > 0 {
            return Ok(None);
        }
        self.subscription = Subscription::Stands;
        self.resumed = false;
        Ok(Some(Event::Ready))
    }

    fn unknown_client(&mut self, incoming: &Incoming) -> bool {
        let unknown = incoming.successful != Some(true) && incoming.code == Some(402);
        self.counts.unknown_client += u32::from(unknown);
        unknown
    }

    /// Counts advice, and keeps what outlives the message.
    fn advised(&mut self, advice: &Advice) {
        match advice.reconnect {
            Some(Reconnect::Retry) => self.counts.advice_retry += 1,
            Some(Reconnect::Handshake) => self.counts.advice_handshake += 1,
            Some(Reconnect::None) => self.counts.advice_none += 1,
            None => {}
        }
        self.counts.multiple_clients += u32::from(advice.multiple_clients);
        if let Some(timeout_ms) = advice.timeout_ms {
            self.timeout_ms = u32::try_from(timeout_ms).ok();
        }
        // New advice replaces the old, what it does not say too.
        self.interval_ms = advice.interval_ms.unwrap_or(0);
    }

    /// A connect is due after the pause that was advised; `None`: never.
    fn connect_as_advised(&mut self) -> Option<()> {
        let interval_ms = u32::try_from(self.interval_ms.min(i64::from(u32::MAX))).ok()?;
        self.counts.advice_interval += u32::from(interval_ms > 0);
        self.pause(interval_ms);
        Some(())
    }

    fn pause(&mut self, pause_ms: u32) {
        self.connect = if pause_ms > 0 { Connect::Paused } else { Connect::Due };
        self.pause_ms = Some(pause_ms).filter(|&pause_ms| pause_ms > 0);
    }

    /// To be tried again after a pause that grows; `free` failures in a row cost none.
    fn failed(&mut self, what: &'static str, code: Option<u16>, free: u8) -> Result<(), Failure> {
        self.failures += 1;
        if self.failures > FAILURES_MAX {
            return Err(Failure::Refused { what, code });
        }
        let backoff_ms = (1_000 * u32::from(self.failures.saturating_sub(free))).min(PAUSE_MAX_MS);
        self.pause(backoff_ms.max(u32::try_from(self.interval_ms).unwrap_or(0)));
        Ok(())
    }

    /// The server does not know the session any more: a handshake is due, and the subscription
    /// has to be made anew.
    fn start_over(
        &mut self,
        what: &'static str,
        code: Option<u16>,
    ) -> Result<Option<Event<'static>>, Failure> {
        if self.leaving != Leaving::No {
            return Ok(self.end());
        }
        let stood = self.subscription == Subscription::Stands;
        self.stage = Stage::Unconnected;
        self.subscription = Subscription::Wanted;
        self.subscribing = 0;
        self.client_id = Box::default();
        self.drop_pending();
        // The first time at once; a server that forgets again and again is given time.
        self.failed(what, code, 1)?;
        Ok(stood.then_some(Event::Forgotten))
    }

    fn end(&mut self) -> Option<Event<'static>> {
        self.stage = Stage::Ended;
        self.drop_pending();
        Some(Event::Closed { code: None })
    }

    /// They name a client id that is worth nothing now.
    fn drop_pending(&mut self) {
        self.pending = Vec::new();
        self.counts.published_failed += std::mem::take(&mut self.pending_count);
    }
}
