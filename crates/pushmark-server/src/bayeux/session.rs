//! One Bayeux session: what it hears, what waits for it, and the connect that is held.

use std::collections::VecDeque;
use std::rc::Rc;

use pushmark_net::Nanos;
use pushmark_proto::bayeux::ext::TimeSyncRequest;

use super::patterns::is_pattern_id;
use crate::connection::{Debts, Subscription};
use crate::ledger::Ledger;
use crate::options::QueuePolicy;
use crate::outbox::Overflow;
use crate::stats::Counter;

/// One session. Idle, it owns its subscriptions and the connect that is held.
#[derive(Debug)]
pub(crate) struct Session {
    /// What a client id must say beside the session's token.
    pub(crate) secret: u128,
    /// Its cookie, hashed; 0: it has none.
    pub(crate) browser: u64,
    /// Its number in the truth log: that of the connection that shook hands.
    pub(crate) ordinal: u32,
    /// A connect came: from the second on they are held.
    pub(crate) met: bool,
    /// It was told of another session in the same browser.
    pub(crate) told_multiple: bool,
    /// Over what its last connect came.
    pub(crate) by_socket: bool,
    /// Where `/stats` counts it as a subscriber.
    pub(crate) counted: Option<Counter>,
    /// The WebSocket its messages are pushed over, while it is there.
    pub(crate) socket: Option<u64>,
    /// The connect that waits for its reply.
    pub(crate) connect: Option<Box<Connect>>,
    /// Channels and patterns.
    pub(crate) subscriptions: Vec<Subscription>,
    /// Events for its next answer.
    waiting: VecDeque<Event>,
    /// The acknowledge extension, where it asked for it.
    acks: Option<Box<Acks>>,
    /// Messages that faults owe it.
    pub(crate) debts: Option<Box<Debts>>,
    /// When it is forgotten, unless a connect comes; of no meaning while one is held.
    pub(crate) expires_ns: Nanos,
    /// The earliest timer pending for it; `Nanos::MAX`: none.
    pub(crate) timer_ns: Nanos,
}

/// A connect that waits for its reply.
#[derive(Clone, Debug)]
pub(crate) struct Connect {
    /// The connection it came over.
    pub(crate) token: u64,
    pub(crate) keep_alive: bool,
    /// Its `id`, as written; empty: it has none.
    pub(crate) id: Box<str>,
    pub(crate) since_ns: Nanos,
    /// When it is answered at the latest.
    pub(crate) until_ns: Nanos,
    /// What its timesync extension said, and the clock when it came, ms.
    pub(crate) timesync: Option<(TimeSyncRequest, i64)>,
}

/// A message as Bayeux subscribers hear it, encoded once for all of them.
#[derive(Clone, Debug)]
pub(crate) struct Event {
    pub(crate) bytes: Rc<[u8]>,
    pub(crate) cursor: u64,
    pub(crate) channel: u32,
    /// It was sent before, and is in the books.
    pub(crate) sent: bool,
}

/// The acknowledge extension: what was sent with a connect's reply is kept until the next
/// connect says that it came.
#[derive(Debug, Default)]
struct Acks {
    /// The number of the last batch sent.
    batch: i64,
    /// Sent and not confirmed, each with its batch.
    unconfirmed: VecDeque<(i64, Event)>,
}

impl Session {
    /// A session after its handshake.
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

    /// Whether it may hear several messages at once.
    pub(crate) fn hears_several(&self) -> bool {
        let wide = |subscription: &Subscription| is_pattern_id(subscription.channel);
        self.subscriptions.len() > 1 || self.subscriptions.iter().any(wide)
    }

    /// Whether events come with connect replies only.
    pub(crate) fn has_acks(&self) -> bool {
        self.acks.is_some()
    }

    /// Whether something waits for its next answer.
    pub(crate) fn is_owed(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Keeps an event for the next answer. At most `max` wait, unconfirmed ones among them.
    pub(crate) fn wait(
        &mut self,
        event: Event,
        max: usize,
        policy: QueuePolicy,
        ledger: &mut Ledger,
    ) -> Result<(), Overflow> {
        let unconfirmed = self.acks.as_ref().map_or(0, |acks| acks.unconfirmed.len());
        if self.waiting.len() + unconfirmed >= max.max(1) {
            if policy == QueuePolicy::Disconnect {
                return Err(Overflow);
            }
            // What was sent once is in the books, and most likely came.
            let confirmed = self.acks.as_mut().and_then(|acks| acks.unconfirmed.pop_front());
            let oldest = confirmed.map(|(_, event)| event).or_else(|| self.waiting.pop_front());
            if let Some(oldest) = oldest.filter(|event| !event.sent) {
                ledger.overflowed(oldest.cursor);
            }
        }
        self.waiting.push_back(event);
        ledger.queue_reached(self.waiting.len() + unconfirmed);
        Ok(())
    }

    /// A connect confirms what came up to this batch; the rest is sent again, before what is newer.
    pub(crate) fn confirm(&mut self, batch: i64) {
        let Some(acks) = &mut self.acks else { return };
        while let Some((sent, event)) = acks.unconfirmed.pop_back() {
            if sent <= batch {
                break; // what stands before it is older still
            }
            self.waiting.push_front(event);
        }
        acks.unconfirmed = VecDeque::new();
    }

    /// Begins the next batch, whose number the connect reply tells. `None` without the extension.
    pub(crate) fn next_batch(&mut self) -> Option<i64> {
        let acks = self.acks.as_mut()?;
        acks.batch += 1;
        Some(acks.batch)
    }

    /// Takes what waits, to be sent now.
    pub(crate) fn take_waiting(&mut self) -> Vec<Event> {
        let events: Vec<Event> = std::mem::take(&mut self.waiting).into();
        self.sent(&events);
        events
    }

    /// These events are on their way with the present batch.
    pub(crate) fn sent(&mut self, events: &[Event]) {
        if let Some(acks) = &mut self.acks {
            let batch = acks.batch;
            let sent = events.iter().map(|event| (batch, Event { sent: true, ..event.clone() }));
            acks.unconfirmed.extend(sent);
        }
    }

    /// Forgets what waits and is not wanted any more.
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
        Event { bytes: Rc::from(&b"{}"[..]), cursor, channel: 0, sent: false }
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
        // With its subscription, its connect and two entries in lists: about half a kilobyte.
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
