//! When a client acts again: the grid of polls, the next long poll, heartbeats, reconnects.

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::plan::Cursor;
use pushmark_model::record::SubscribedBy;
use pushmark_model::transport::Transport;
use pushmark_net::{Clock, Nanos};
use pushmark_proto::client::Lane;

use crate::conn::Phase;
use crate::never::NEVER;
use crate::shard::Shard;
use crate::token::{self, Owner};

/// Most requests of long polls in one turn: about 0.3 ms.
const ASKS_MAX: usize = 16;

impl Shard {
    /// A timer of a client has fired.
    pub(crate) fn timer_fired(&mut self, token: u64) {
        let (owner, generation, index) = token::unpack(token);
        let conn = &mut self.crowd[index];
        match owner {
            Owner::Next if conn.next_ns <= self.time.now_ns && conn.first.phase != Phase::Gone => {
                self.next_due(index)
            }
            Owner::Safety => self.safety_due(index),
            Owner::Settle if conn.first.generation == generation && !conn.subscribed => {
                // If the target sends heads at once and has not answered this request, the client is not
                // subscribed. A first long poll is held like any other only if it asks for no cursor.
                let holds = self.plan.arm.transport == Transport::LongPoll
                    && self.plan.arm.subscribe.cursor == Cursor::None;
                if conn.first.phase == Phase::Asked && (holds || !self.seen.heads) {
                    if self.plan.arm.transport != Transport::LongPoll {
                        let until_ns = self.silent_until_ns(index);
                        self.crowd[index].first.give_up_ns = until_ns;
                    }
                    self.stands(index, SubscribedBy::Settle, None);
                }
            }
            Owner::Every(n) if conn.first.generation == generation && conn.first.phase == Phase::Open => {
                let Some(every) = self.plan.arm.subscribe.every.get(usize::from(n)) else { return };
                self.io.wheel.insert(self.time.now_ns + every.after_ns, token);
                self.io.scratch.clear();
                self.say(index, true, |subscribe| Some(&subscribe.every.get(usize::from(n))?.send));
                // A target that reads nothing does not miss it.
                if !self.is_full(index, Lane::Connect) {
                    self.write_scratch(index, Lane::Connect);
                }
            }
            _ => {}
        }
    }

    /// How long a target may be silent to a client whose subscription is assumed. Some targets send their
    /// head with the first message, so nothing is expected before something is published.
    fn silent_until_ns(&self, index: u32) -> Nanos {
        let arm = &self.plan.arm;
        let published_ns = self.plan.start_ns + arm.phases.warmup_start_ns();
        let asked_ns = self.crowd[index].asked_ns;
        let from_ns = if arm.publisher.is_some() { asked_ns.max(published_ns) } else { asked_ns };
        let until_ns = from_ns + arm.handshake_timeout_ns;
        arm.idle_timeout_ns.map_or(until_ns, |idle_ns| until_ns.min(self.time.now_ns + idle_ns))
    }

    /// A poll on the grid is due, or a reconnect.
    pub(super) fn next_due(&mut self, index: u32) {
        let poll = self.plan.arm.poll;
        let conn = &mut self.crowd[index];
        if self.plan.arm.transport != Transport::Poll || conn.first.phase == Phase::Waiting {
            conn.due_ns = conn.next_ns;
            conn.next_ns = NEVER;
            if let Some(session) = conn.client.bayeux_mut() {
                session.pause_over();
                return self.session_goes_on(index);
            }
            if conn.first.link.is_none() {
                self.connect(index, Lane::Connect);
            }
            return;
        }
        let due_ns = conn.next_ns;
        if !poll.after_answer {
            let number = u64::from(conn.number) << 32 | u64::from(conn.first.generation);
            let mut jitter = Draw::new(self.plan.arm.seed ^ due_ns, Purpose::Jitter, number);
            let gap = match poll.jitter {
                0.0 => conn.refresh.interval_ns,
                share => {
                    (conn.refresh.interval_ns as f64 * (1.0 + share * (2.0 * jitter.unit() - 1.0))) as u64
                }
            };
            conn.next_ns = due_ns + gap.max(1);
            self.io.wheel.insert(conn.next_ns, token::pack(Owner::Next, 0, index));
        } else {
            conn.next_ns = NEVER;
        }
        conn.due_ns = due_ns;
        match conn.first.phase {
            Phase::Resting if conn.first.link.is_some() => self.ask_again(index),
            Phase::Resting => self.connect(index, Lane::Connect),
            _ => {
                self.accounting.record.counts.overruns += u64::from(self.time.in_measure);
            }
        }
    }

    /// Asks again for long polls that have their answer, a few in a turn; also for Bayeux sessions.
    ///
    /// Writing a request takes four times as long as reading an answer, because the kernel delivers it
    /// immediately. When all clients receive at once, an answer would lie unread behind the requests of
    /// the clients read before it: up to 20 ms with a thousand clients. So answers that have arrived are
    /// read first, and the sockets are polled again after every few requests.
    pub(crate) fn ask_waiting(&mut self) {
        for _ in 0..ASKS_MAX {
            let Some(index) = self.crowd.to_ask.pop_front() else { return };
            if self.crowd[index].first.phase == Phase::Resting {
                self.reach(Clock::now());
                match self.transport().is_bayeux() {
                    true => self.session_goes_on(index),
                    false => self.ask_again(index),
                }
            }
        }
    }

    pub(super) fn ask_again(&mut self, index: u32) {
        if self.crowd[index].first.link.is_some() {
            // An HTTP connection has no pending bytes of pongs or the like.
            self.ask(index);
            self.io.scratch.clear();
        } else {
            self.crowd[index].due_ns = self.time.now_ns;
            self.connect(index, Lane::Connect);
        }
    }

    /// Polls on a grid have their timer already. The closed and adaptive kinds set it now.
    pub(super) fn rest_until_next_poll(&mut self, index: u32) {
        let poll = self.plan.arm.poll;
        let conn = &mut self.crowd[index];
        if let Some(adaptive) = &poll.adaptive {
            conn.refresh.answered(adaptive, self.accounting.known(index));
        }
        if poll.after_answer {
            conn.next_ns = self.time.now_ns + conn.refresh.interval_ns;
            self.io.wheel.insert(conn.next_ns, token::pack(Owner::Next, 0, index));
        }
    }
}

#[cfg(test)]
mod tests {
    use pushmark_model::record::Record;
    use pushmark_model::steer::Steer;

    use super::*;
    use crate::shard::run_shard;
    use crate::testing::{Target, arm};

    const CLIENTS: usize = 40;

    #[test]
    fn who_has_an_answer_asks_again_after_those_that_lie_there_were_read() {
        let mut arm = arm(Transport::LongPoll, CLIENTS as u64);
        arm.publisher = None;
        // Long after the test, so that no answer is a time-out.
        arm.hold_ns *= 100;
        let (mut target, plan) = Target::of(arm);
        // Reads of the target since all were answered, and the number of requests that each found.
        let mut found: Option<Vec<usize>> = None;
        let mut orders = || {
            target.look();
            match &mut found {
                None if target.requests == CLIENTS => {
                    target.writes_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                    found = Some(Vec::new());
                }
                None => {}
                Some(found) => found.push(target.requests - CLIENTS),
            }
            (target.requests == 2 * CLIENTS).then_some(Steer::Stop)
        };
        let mut answers = 0;
        run_shard(plan, &mut orders, &mut |mut record: Box<Record>| {
            answers += record.counts.answers_all;
            record.clear();
            record
        })
        .unwrap();
        // One turn read all the answers, and each later turn wrote a few requests.
        assert_eq!(found.expect("all were held"), [0, ASKS_MAX, 2 * ASKS_MAX, CLIENTS]);
        assert_eq!(answers, CLIENTS as u64);
    }
}
