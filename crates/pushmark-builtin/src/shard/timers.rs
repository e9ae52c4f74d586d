//! Timers of connections: the ends of holds, and the pieces of slow writes.
//!
//! A connection has at most one active timer, the earliest it needs. A later need is scheduled when that
//! timer fires. So a long poll that is answered a hundred times before its hold ends does not leave a hundred
//! timers behind.

use pushmark_net::{Clock, Nanos};

use super::Shard;
use crate::bayeux::SESSION;
use crate::connection::Conversation;

impl Shard {
    /// Schedules a check of the connection at `at_ns`, unless an earlier one is pending.
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
        let request_max_ns = self.shared.options.request_max_ns;
        let Some(connection) = self.live(token) else { return };
        if connection.timer_ns > now_ns {
            return; // an older timer; the current one is later
        }
        connection.timer_ns = Nanos::MAX;
        if connection.has_collected() {
            return self.batch_timer_rang(token, now_ns);
        }
        let pace_ns = connection.pace_ns;
        let begun_ns = connection.begun_ns;
        let until_ns = match &connection.talk {
            _ if begun_ns != 0 => begun_ns + request_max_ns,
            Conversation::Held(hold) => hold.until_ns,
            Conversation::Registered(registered) => registered.until_ns,
            _ => Nanos::MAX,
        };
        if until_ns > now_ns {
            self.schedule(token, until_ns);
        } else if begun_ns != 0 {
            self.patience_ends(token);
        } else if matches!(connection.talk, Conversation::Held(_)) {
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
