//! Applies replies to a session.

use super::incoming::{About, Incoming};
use super::session::{Connect, FAILURES_MAX, Leaving, Session, Stage, Subscription};
use crate::Failure;
use crate::bayeux::{Advice, Reconnect, ext};
use crate::client::Event;

/// The longest pause after failures without advice. The pause is one second at first and grows by a second
/// each time.
const PAUSE_MAX_MS: u32 = 30_000;

impl Session {
    /// Handles a complete message.
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
        // A reply to a disconnect advises not to reconnect. This is expected and not counted.
        if let Some(advice) = incoming.advice.filter(|_| self.leaving == Leaving::No) {
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
        // Only `successful` distinguishes a reply from an event.
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

    fn greeted(
        &mut self,
        incoming: &mut Incoming,
        success: bool,
        reconnect: Option<Reconnect>,
    ) -> Result<Option<Event<'static>>, Failure> {
        if !success {
            self.stage = Stage::Unconnected;
            // Without advice to retry, a refusal is final.
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
        // A first connect proves little, because it is answered at once.
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

    /// Counts advice and stores the parts that outlive the message.
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
        // New advice replaces the old advice completely, including fields that it does not contain.
        self.interval_ms = advice.interval_ms.unwrap_or(0);
    }

    /// Schedules the next connect after the advised pause. Returns `None` if the advice forbids it.
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

    /// Retries after a pause that grows. The first `free` failures in a row cause no pause.
    fn failed(&mut self, what: &'static str, code: Option<u16>, free: u8) -> Result<(), Failure> {
        self.failures += 1;
        if self.failures > FAILURES_MAX {
            self.failures = 0;
            return Err(Failure::Refused { what, code });
        }
        let backoff_ms = (1_000 * u32::from(self.failures.saturating_sub(free))).min(PAUSE_MAX_MS);
        self.pause(backoff_ms.max(u32::try_from(self.interval_ms).unwrap_or(0)));
        Ok(())
    }

    /// The server does not know the session any more. A handshake is due, and the subscription must be made
    /// again.
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
        // The first retry is immediate. If the server repeatedly forgets the session, the pauses grow.
        self.failed(what, code, 1)?;
        Ok(stood.then_some(Event::Forgotten))
    }

    fn end(&mut self) -> Option<Event<'static>> {
        self.stage = Stage::Ended;
        // Outstanding requests need no answer any more.
        self.connect = Connect::Due;
        self.subscription = Subscription::Wanted;
        self.drop_pending();
        Some(Event::Closed { code: None, reason: "" })
    }

    /// Drops pending publications, because their client id is invalid now.
    fn drop_pending(&mut self) {
        self.pending = Vec::new();
        self.counts.published_failed += std::mem::take(&mut self.pending_count);
    }
}
