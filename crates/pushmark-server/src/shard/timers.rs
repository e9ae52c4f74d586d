//! Timers of connections: holds that end, and pieces of slow writes that may leave.
//!
//! A connection has at most one timer that counts, the earliest it needs; a later need is
//! looked at when that one rings. So a long poll that is answered a hundred times before its
//! hold would have ended does not leave a hundred timers behind.

use pushmark_net::{Clock, Nanos};

use super::Shard;
use crate::bayeux::SESSION;
use crate::connection::Talk;

impl Shard {
    /// Has the connection looked at again at `at_ns`, unless it will be earlier anyway.
    pub(super) fn schedule(&mut self, token: u64, at_ns: Nanos) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        if at_ns < connection.timer_ns {
            connection.timer_ns = at_ns;
            self.timers.insert(at_ns, token);
        }
    }

    pub(super) fn timers_due(&mut self) {
        if self.timers.is_empty() {
            return;
        }
        let now_ns = Clock::now();
        let mut due = Vec::new();
        self.timers.expire(now_ns, |token| due.push(token));
        for token in due {
            self.timer_rang(token, now_ns);
        }
    }

    fn timer_rang(&mut self, token: u64, now_ns: Nanos) {
        if token & SESSION != 0 {
            return self.session_timer_rang(token, now_ns);
        }
        let Some(connection) = self.live(token) else { return };
        if connection.timer_ns > now_ns {
            return; // an older timer: the one that counts is still to come
        }
        connection.timer_ns = Nanos::MAX;
        if connection.has_collected() {
            return self.batch_timer_rang(token, now_ns);
        }
        let pace_ns = connection.pace_ns;
        let until_ns = match &connection.talk {
            Talk::Held(hold) => hold.until_ns,
            Talk::Registered(registered) => registered.until_ns,
            _ => Nanos::MAX,
        };
        if until_ns > now_ns {
            self.schedule(token, until_ns);
        } else if matches!(connection.talk, Talk::Held(_)) {
            self.answer_timeout(token, now_ns, true);
        } else {
            self.registered_timeout(token, true);
        }
        if pace_ns != 0 && pace_ns <= now_ns {
            self.wait_is_over(token);
        } else if pace_ns != 0 {
            self.schedule(token, pace_ns);
        }
    }
}
