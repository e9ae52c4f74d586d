//! Things end: connections, the patience of faults, the server.

use pushmark_net::{Clock, Nanos};
use pushmark_proto::http1::write;
use pushmark_proto::websocket::encode;

use super::Shard;
use crate::connection::Talk;
use crate::stats::Counter;

/// How long a stopping server goes on writing what is unwritten.
const LAST_WORDS_NS: Nanos = 1_000_000_000;

/// How a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// In order.
    Close,
    /// With a reset.
    Reset,
}

impl Shard {
    /// Marks a connection to be closed at the end of the turn.
    pub(super) fn doom(&mut self, token: u64, ending: Ending) {
        if let Some(connection) = self.live(token) {
            connection.doomed = true;
            self.doomed.push((token, ending));
        }
    }

    pub(super) fn bury_doomed(&mut self) {
        while let Some((token, ending)) = self.doomed.pop() {
            self.forget_poll(token);
            self.deregister(token);
            self.unlist(token);
            let Some(connection) = self.connections.remove(token) else { continue };
            self.ledger.counters.fall(Counter::Open);
            self.carrier_lost(token, &connection);
            match connection.talk {
                Talk::WebSocket(frames) if frames.bayeux.is_some() => {}
                Talk::Stream => self.ledger.counters.fall(Counter::Stream),
                Talk::Sse => self.ledger.counters.fall(Counter::Sse),
                Talk::WebSocket(_) => self.ledger.counters.fall(Counter::WebSocket),
                // What these are counted as has ended already.
                Talk::Held(_) | Talk::Registered(_) | Talk::Connect(_) | Talk::Moving(_) => {}
                Talk::Request | Talk::Body(_) | Talk::Mute => {}
            }
            match ending {
                Ending::Close => drop(connection.link),
                Ending::Reset => connection.link.reset(),
            }
        }
    }

    /// When to freeze; known once something was published, and only once.
    pub(super) fn freeze_at_ns(&self) -> Option<Nanos> {
        let freeze = self.shared.options.faults.freeze.filter(|_| !self.frozen)?;
        Some(self.shared.hub.first_publication_ns()? + freeze.after_ns)
    }

    /// Stands still, between two passes, until the freeze is over.
    pub(super) fn freeze_if_due(&mut self) {
        let Some(at_ns) = self.freeze_at_ns() else { return };
        let Some(freeze) = self.shared.options.faults.freeze else { return };
        if Clock::now() < at_ns {
            return;
        }
        self.frozen = true;
        let end_ns = at_ns + freeze.for_ns;
        while let Some(left_ns) = end_ns.checked_sub(Clock::now()).filter(|&left_ns| left_ns > 0) {
            std::thread::sleep(std::time::Duration::from_nanos(left_ns));
        }
    }

    /// When to reset connections; known once something was published, and only once.
    pub(super) fn reset_at_ns(&self) -> Option<Nanos> {
        let reset = self.shared.options.faults.reset.filter(|_| !self.reset_done)?;
        Some(self.shared.hub.first_publication_ns()? + reset.after_ns)
    }

    /// Resets every Nth connection that has subscribed; no pass is under way.
    pub(super) fn reset_if_due(&mut self) {
        let Some(at_ns) = self.reset_at_ns() else { return };
        let Some(reset) = self.shared.options.faults.reset else { return };
        if Clock::now() < at_ns {
            return;
        }
        self.reset_done = true;
        let every = reset.one_in.0.get();
        let struck = self.connections.iter().filter(|(_, connection)| {
            connection.ordinal != 0 && u64::from(connection.ordinal).is_multiple_of(every)
        });
        for token in struck.map(|(token, _)| token).collect::<Vec<_>>() {
            self.ledger.count(Counter::Reset);
            self.doom(token, Ending::Reset);
        }
    }

    /// Begins to stop: no new connections and no emitters; held polls are answered, streams and
    /// WebSockets are ended as their protocols want it, and what is unwritten gets a second.
    pub(super) fn begin_stop(&mut self) {
        if self.leave_at_ns.is_some() {
            return;
        }
        self.leave_at_ns = Some(Clock::now() + LAST_WORDS_NS);
        self.listener = None;
        // It stays readable from now on; it fails only where it is not watched.
        let _ = self.poller.remove(self.shared.stop.fd());
        self.deliver_waiting();
        let tokens: Vec<u64> = self.connections.iter().map(|(token, _)| token).collect();
        for token in tokens {
            self.take_leave(token);
        }
    }

    fn take_leave(&mut self, token: u64) {
        let now_ns = Clock::now();
        let Some(connection) = self.live(token) else { return };
        let mut last_words = Vec::new();
        if connection.has_collected() {
            connection.closing = true;
            return self.answer_collected(token, self.cursor);
        }
        connection.pace_ns = 0;
        match &connection.talk {
            Talk::Held(_) => return self.answer_timeout(token, now_ns, false),
            Talk::Registered(registered) if !registered.comet => {
                return self.registered_timeout(token, false);
            }
            Talk::Connect(session) => {
                let session = *session;
                return self.answer_connect(session, &[], false);
            }
            Talk::Registered(_) => write::last_chunk(&mut last_words),
            Talk::Stream | Talk::Sse => write::last_chunk(&mut last_words),
            // RFC 6455 7.4.1: 1001, going away.
            Talk::WebSocket(_) => encode::close(&mut last_words, 1001, "", None),
            Talk::Request | Talk::Body(_) | Talk::Moving(_) | Talk::Mute => {}
        }
        connection.closing = true;
        self.say(token, &last_words);
    }

    /// Whether the server has stopped and nothing is left to be written, or no time.
    pub(super) fn is_over(&self) -> bool {
        self.leave_at_ns.is_some_and(|at_ns| self.connections.is_empty() || Clock::now() >= at_ns)
    }
}
