//! Sessions end: because nobody connects, because they say so, or with the server. Connections
//! end, and their sessions wait for the next.

use pushmark_net::{Clock, Nanos};
use pushmark_proto::bayeux::Advice;

use super::Shard;
use crate::bayeux::SESSION;
use crate::connection::{Connection, Talk};
use crate::stats::Counter;

impl Shard {
    /// Has the session looked at again at `at_ns`, unless it will be earlier anyway.
    pub(super) fn schedule_session(&mut self, session: u64, at_ns: Nanos) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        if at_ns < state.timer_ns {
            state.timer_ns = at_ns;
            self.timers.insert(at_ns, session | SESSION);
        }
    }

    /// A timer of a session rang: its connect is answered, or it is forgotten.
    pub(in crate::shard) fn session_timer_rang(&mut self, token: u64, now_ns: Nanos) {
        let session = token & !SESSION;
        let Some(state) = self.sessions.get_mut(session) else { return };
        if state.timer_ns > now_ns {
            return; // an older timer: the one that counts is still to come
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

    /// The session is forgotten; a connect of it that is held is answered.
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

    /// A connection is gone: the sessions it carried wait for another.
    pub(in crate::shard) fn carrier_lost(&mut self, token: u64, connection: &Connection) {
        let session = match &connection.talk {
            Talk::Connect(session) => Some(*session),
            Talk::WebSocket(frames) => frames.bayeux.and_then(|socket| socket.session),
            _ => None,
        };
        let Some(session) = session else { return };
        let Some(state) = self.sessions.get_mut(session) else { return };
        // It may speak through another connection by now.
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
