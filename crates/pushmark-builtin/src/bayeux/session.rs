//! One Bayeux session: its subscriptions, its waiting events, and its held connect.

use std::collections::VecDeque;

use pushmark_net::Nanos;
use pushmark_proto::bayeux::ext::TimeSyncRequest;

use super::patterns::is_pattern_id;
use crate::connection::{Debts, Subscription};
use crate::frame::{Frame, Place, queues_are_full};
use crate::ledger::Ledger;
use crate::options::QueuePolicy;
use crate::outbox::Overflow;
use crate::stats::Counter;

/// One session. While idle, it owns its subscriptions and the held connect.
#[derive(Debug)]
pub(crate) struct Session {
    /// The secret that a client id must contain in addition to the session's token.
    pub(crate) secret: u128,
    /// Its cookie, hashed; 0 if it has none.
    pub(crate) browser: u64,
    /// Its number in the truth log: that of the connection that sent the handshake.
    pub(crate) ordinal: u32,
    /// A connect was received. Later ones are held.
    pub(crate) met: bool,
    /// The client was informed of another session in the same browser.
    pub(crate) told_multiple: bool,
    /// Whether its last connect used a WebSocket.
    pub(crate) by_socket: bool,
    /// The `/stats` counter that counts it as a subscriber.
    pub(crate) counted: Option<Counter>,
    /// The open WebSocket for its messages.
    pub(crate) socket: Option<u64>,
    /// The connect that waits for its reply.
    pub(crate) connect: Option<Box<Connect>>,
    /// Channels and patterns.
    pub(crate) subscriptions: Vec<Subscription>,
    /// Events for its next response.
    waiting: VecDeque<Event>,
    /// The acknowledge extension, if requested.
    acks: Option<Box<Acks>>,
    /// Messages held back by faults.
    pub(crate) debts: Option<Box<Debts>>,
    /// When the session expires without a connect. Meaningless while one is held.
    pub(crate) expires_ns: Nanos,
    /// Its earliest pending timer; `Nanos::MAX` if none.
    pub(crate) timer_ns: Nanos,
}

/// A connect that waits for its reply.
#[derive(Clone, Debug)]
pub(crate) struct Connect {
    /// The connection that carried it.
    pub(crate) token: u64,
    pub(crate) keep_alive: bool,
    /// Its `id`, as written; empty if it has none.
    pub(crate) id: Box<str>,
    pub(crate) since_ns: Nanos,
    /// The deadline for its answer.
    pub(crate) until_ns: Nanos,
    /// Its timesync fields, and the clock at its arrival, ms.
    pub(crate) timesync: Option<(TimeSyncRequest, i64)>,
}

/// A message for Bayeux subscribers, encoded once for all of them.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) bytes: Frame,
    pub(crate) cursor: u64,
    pub(crate) channel: u32,
    /// It was sent before and is already counted.
    pub(crate) sent: bool,
    /// Its place in the queue of its session.
    pub(crate) place: Option<Place>,
}

/// The acknowledge extension: events sent with a connect's reply are kept until the next connect confirms
/// them.
#[derive(Debug, Default)]
struct Acks {
    /// The number of the last batch sent.
    batch: i64,
    /// Sent and unconfirmed events, each with its batch.
    unconfirmed: VecDeque<(i64, Event)>,
}

impl Session {
    /// Makes a session after its handshake.
    pub(crate) fn new(secret: u128, browser: u64, ordinal: u32, with_acks: bool) -> Session {
        Session {
            secret,
            browser,
            ordinal,
            met: false,
            told_multiple: false,
            by_socket: false,
            counted: None,
            socket: None,
            connect: None,
            subscriptions: Vec::new(),
            waiting: VecDeque::new(),
            acks: with_acks.then(Box::default),
            debts: None,
            expires_ns: Nanos::MAX,
            timer_ns: Nanos::MAX,
        }
    }

    /// Returns whether it may receive several messages at once.
    pub(crate) fn hears_several(&self) -> bool {
        let wide = |subscription: &Subscription| is_pattern_id(subscription.channel);
        self.subscriptions.len() > 1 || self.subscriptions.iter().any(wide)
    }

    /// Returns whether events are sent with connect replies only.
    pub(crate) fn has_acks(&self) -> bool {
        self.acks.is_some()
    }

    /// Returns whether events wait for its next response.
    pub(crate) fn is_owed(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Keeps an event for the next response. At most `max` wait, including unconfirmed ones.
    pub(crate) fn wait(
        &mut self,
        mut event: Event,
        max: usize,
        policy: QueuePolicy,
        ledger: &mut Ledger,
    ) -> Result<(), Overflow> {
        let unconfirmed = self.acks.as_ref().map_or(0, |acks| acks.unconfirmed.len());
        let all_full = queues_are_full();
        if all_full {
            ledger.count(Counter::QueuesFull);
        }
        if all_full || self.waiting.len() + unconfirmed >= max.max(1) {
            if policy == QueuePolicy::Disconnect {
                return Err(Overflow);
            }
            // An event that was sent once is counted, and most likely arrived.
            let confirmed = self.acks.as_mut().and_then(|acks| acks.unconfirmed.pop_front());
            let oldest = confirmed.map(|(_, event)| event).or_else(|| self.waiting.pop_front());
            if oldest.is_none() {
                return Err(Overflow); // nothing can be dropped to make room
            }
            if let Some(oldest) = oldest.filter(|event| !event.sent) {
                ledger.overflowed(oldest.cursor);
            }
        }
        event.place = Some(Place::of(&event.bytes));
        self.waiting.push_back(event);
        ledger.queue_reached(self.waiting.len() + unconfirmed);
        Ok(())
    }

    /// Removes the events up to this batch, which a connect confirms. The others are sent again, before newer
    /// ones.
    pub(crate) fn confirm(&mut self, batch: i64) {
        let Some(acks) = &mut self.acks else { return };
        while let Some((sent, event)) = acks.unconfirmed.pop_back() {
            if sent <= batch {
                break; // all earlier ones are older
            }
            self.waiting.push_front(event);
        }
        acks.unconfirmed = VecDeque::new();
    }

    /// Begins the next batch. Returns its number for the connect reply, or `None` without the extension.
    pub(crate) fn next_batch(&mut self) -> Option<i64> {
        let acks = self.acks.as_mut()?;
        acks.batch += 1;
        Some(acks.batch)
    }

    /// Takes the waiting events, to be sent now.
    pub(crate) fn take_waiting(&mut self) -> Vec<Event> {
        let events: Vec<Event> = std::mem::take(&mut self.waiting).into();
        self.sent(&events);
        events
    }

    /// Records that these events are sent with the present batch.
    pub(crate) fn sent(&mut self, events: &[Event]) {
        if let Some(acks) = &mut self.acks {
            let batch = acks.batch;
            let sent = events.iter().map(|event| {
                (batch, Event { sent: true, place: Some(Place::of(&event.bytes)), ..event.clone() })
            });
            acks.unconfirmed.extend(sent);
        }
    }

    /// Drops waiting events that are not wanted any more.
    pub(crate) fn retain_waiting(&mut self, mut wanted: impl FnMut(u32) -> bool) {
        self.waiting.retain(|event| wanted(event.channel));
        if let Some(acks) = &mut self.acks {
            acks.unconfirmed.retain(|(_, event)| wanted(event.channel));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::stats::Counters;

    fn ledger() -> Ledger {
        Ledger { counters: Arc::new(Counters::new()), truth: None }
    }

    fn event(cursor: u64) -> Event {
        Event { bytes: Frame::from(&b"{}"[..]), cursor, channel: 0, sent: false, place: None }
    }

    fn wait(session: &mut Session, cursors: impl IntoIterator<Item = u64>, ledger: &mut Ledger) {
        for cursor in cursors {
            session.wait(event(cursor), 4, QueuePolicy::DropOldest, ledger).unwrap();
        }
    }

    fn cursors(events: &[Event]) -> Vec<u64> {
        events.iter().map(|event| event.cursor).collect()
    }

    #[test]
    fn an_idle_session_is_small() {
        // With its subscription, its connect and two list entries: about half a kilobyte.
        assert!(size_of::<Session>() + size_of::<Connect>() <= 352, "{}", size_of::<Session>());
    }

    #[test]
    fn the_oldest_gives_way_and_is_counted() {
        let (mut session, mut ledger) = (Session::new(1, 0, 1, false), ledger());
        wait(&mut session, 1..=6, &mut ledger);
        assert_eq!(cursors(&session.take_waiting()), [3, 4, 5, 6]);
        assert_eq!(ledger.counters.value(Counter::Dropped), 2);
        wait(&mut session, 7..=10, &mut ledger);
        let refused = session.wait(event(11), 4, QueuePolicy::Disconnect, &mut ledger);
        assert_eq!(refused, Err(Overflow));
    }

    #[test]
    fn what_is_not_confirmed_is_sent_again_in_front() {
        let (mut session, mut ledger) = (Session::new(1, 0, 1, true), ledger());
        wait(&mut session, [1], &mut ledger);
        assert_eq!(session.next_batch(), Some(1));
        assert_eq!(cursors(&session.take_waiting()), [1]);
        session.confirm(1);
        wait(&mut session, [2, 3], &mut ledger);
        assert_eq!(session.next_batch(), Some(2));
        assert_eq!(cursors(&session.take_waiting()), [2, 3]);
        wait(&mut session, [4], &mut ledger);
        session.confirm(1); // the second batch was lost
        assert_eq!(cursors(&session.take_waiting()), [2, 3, 4]);
    }

    #[test]
    fn unconfirmed_events_are_bounded_too() {
        let (mut session, mut ledger) = (Session::new(1, 0, 1, true), ledger());
        for cursor in 1..=20 {
            wait(&mut session, [cursor], &mut ledger);
            session.next_batch();
            session.take_waiting();
        }
        session.confirm(0);
        assert_eq!(cursors(&session.take_waiting()), [17, 18, 19, 20]);
        assert_eq!(ledger.counters.value(Counter::Dropped), 0, "all of them were sent once");
    }
}
