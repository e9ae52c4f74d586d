//! Sessions end: after a time without a connect, by a disconnect, or with the server. When a connection ends,
//! its sessions wait for the next one.

use pushmark_net::{Clock, Nanos};
use pushmark_proto::bayeux::Advice;

use super::Shard;
use crate::bayeux::SESSION;
use crate::connection::{Connection, Conversation};
use crate::stats::Counter;

impl Shard {
    /// Schedules a check of the session at `at_ns`, unless an earlier one is pending.
    pub(super) fn schedule_session(&mut self, session: u64, at_ns: Nanos) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if at_ns < state.timer_ns {
            state.timer_ns = at_ns;
            self.timers.insert(at_ns, session | SESSION);
        }
    }

    /// Handles a session's timer: its connect is answered, or the session expires.
    pub(in crate::shard) fn session_timer_rang(&mut self, token: u64, now_ns: Nanos) {
        let session = token & !SESSION;
        let Some(state) = self.sessions.get_mut(session) else { return };
        if state.timer_ns > now_ns {
            return; // an older timer; the current one is later
        }
        state.timer_ns = Nanos::MAX;
        let expires_ns = state.expires_ns;
        match state.connect.as_ref().map(|connect| connect.until_ns) {
            Some(until_ns) if until_ns <= now_ns => self.answer_connect(session, &[], true),
            Some(until_ns) => self.schedule_session(session, until_ns),
            None if expires_ns <= now_ns => {
                self.ledger.count(Counter::BayeuxExpired);
                self.end_session(session);
            }
            None => self.schedule_session(session, expires_ns),
        }
    }

    /// Ends the session. A held connect is answered.
    pub(super) fn end_session(&mut self, session: u64) {
        self.end_connect(session, Some("402::The session has ended"), &Advice::handshake());
        while let Some(last) =
            self.sessions.get(session).and_then(|state| state.subscriptions.len().checked_sub(1))
        {
            self.leave(session, last);
        }
        self.recount(session);
        if self.sessions.remove(session).is_some() {
            self.ledger.counters.fall(Counter::BayeuxSessions);
        }
    }

    /// Handles the end of a connection: its sessions wait for another.
    pub(in crate::shard) fn carrier_lost(&mut self, token: u64, connection: &Connection) {
        let session = match &connection.talk {
            Conversation::Connect(session) => Some(*session),
            Conversation::WebSocket(frames) => frames.bayeux.and_then(|socket| socket.session),
            _ => None,
        };
        let Some(session) = session else { return };
        let Some(state) = self.sessions.get_mut(session) else { return };
        // The session may use another connection by now.
        let held_here = state.connect.as_ref().is_some_and(|connect| connect.token == token);
        if state.socket == Some(token) {
            state.socket = None;
        } else if !held_here {
            return;
        }
        if held_here {
            self.release_connect(session);
            self.let_expire(session, Clock::now());
        }
    }
}
