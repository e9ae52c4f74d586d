//! Ends connections, applies timed faults, and stops the server.

use pushmark_net::{Clock, Nanos};
use pushmark_proto::http1::write;
use pushmark_proto::websocket::encode;

use super::Shard;
use crate::connection::Conversation;
use crate::stats::Counter;

/// How long a stopping server continues to write waiting output. It ends within a second, whatever its
/// clients do.
const LAST_WORDS_NS: Nanos = 500_000_000;

/// How long connections are removed in a turn, because one may be in thousands of lists.
const BURIALS_NS: Nanos = 20_000_000;

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
            self.doomed.push_back((token, ending));
        }
    }

    pub(super) fn bury_doomed(&mut self) {
        let began_ns = if self.doomed.is_empty() { 0 } else { Clock::now() };
        while let Some((token, ending)) = self.doomed.pop_front() {
            self.forget_poll(token);
            self.deregister(token);
            self.unlist(token);
            let Some(connection) = self.connections.remove(token) else { continue };
            self.ledger.counters.fall(Counter::Open);
            self.carrier_lost(token, &connection);
            match connection.talk {
                Conversation::WebSocket(frames) if frames.bayeux.is_some() => {}
                Conversation::Stream => self.ledger.counters.fall(Counter::Stream),
                Conversation::Sse => self.ledger.counters.fall(Counter::Sse),
                Conversation::WebSocket(_) => self.ledger.counters.fall(Counter::WebSocket),
                // The gauge of these has already been decreased.
                Conversation::Held(_)
                | Conversation::Registered(_)
                | Conversation::Connect(_)
                | Conversation::Moving(_) => {}
                Conversation::Request | Conversation::Body(_) | Conversation::Mute => {}
            }
            match ending {
                Ending::Close => drop(connection.link),
                Ending::Reset => connection.link.reset(),
            }
            if Clock::now() - began_ns > BURIALS_NS {
                return;
            }
        }
    }

    /// Returns when to freeze. Known after the first publication, and only once.
    pub(super) fn freeze_at_ns(&self) -> Option<Nanos> {
        let freeze = self.shared.options.faults.freeze.filter(|_| !self.frozen)?;
        Some(self.shared.hub.first_publication_ns()? + freeze.after_ns)
    }

    /// Stops, between two passes, until the freeze is over.
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

    /// Returns when to reset connections. Known after the first publication, and only once.
    pub(super) fn reset_at_ns(&self) -> Option<Nanos> {
        let reset = self.shared.options.faults.reset.filter(|_| !self.reset_done)?;
        Some(self.shared.hub.first_publication_ns()? + reset.after_ns)
    }

    /// Resets every Nth connection that has subscribed. No pass is under way.
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

    /// Begins to stop: no new connections and no emitters. Held polls are answered, streams and WebSockets
    /// are ended as their protocols require, and waiting output gets half a second.
    pub(super) fn begin_stop(&mut self) {
        if self.leave_at_ns.is_some() {
            return;
        }
        self.leave_at_ns = Some(Clock::now() + LAST_WORDS_NS);
        self.listener = None;
        // It stays readable from now on. This fails only if it is not watched.
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
            Conversation::Held(_) => return self.answer_timeout(token, now_ns, false),
            Conversation::Registered(registered) if !registered.comet => {
                return self.registered_timeout(token, false);
            }
            Conversation::Connect(session) => {
                let session = *session;
                return self.answer_connect(session, &[], false);
            }
            Conversation::Registered(_) => write::last_chunk(&mut last_words),
            Conversation::Stream | Conversation::Sse => write::last_chunk(&mut last_words),
            // RFC 6455 7.4.1: 1001, going away.
            Conversation::WebSocket(_) => encode::close(&mut last_words, 1001, "", None),
            Conversation::Request | Conversation::Body(_) | Conversation::Moving(_) | Conversation::Mute => {}
        }
        connection.closing = true;
        self.say(token, &last_words);
    }

    /// Returns whether the server has stopped and no output or no time is left.
    pub(super) fn is_over(&self) -> bool {
        self.leave_at_ns.is_some_and(|at_ns| self.connections.is_empty() || Clock::now() >= at_ns)
    }
}
