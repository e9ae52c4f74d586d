//! When a client acts again: the grid of polls, the next long poll, heartbeats, attempts.

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::plan::Cursor;
use pushmark_model::record::SubscribedBy;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;

use crate::conn::{NEVER, Phase};
use crate::shard::Shard;
use crate::token::{self, Owner};

/// Requests of long polls in a turn: some 0.3 ms.
const ASKS_MAX: usize = 16;

impl Shard {
    /// A timer of a client has fired.
    pub(crate) fn timer_fired(&mut self, token: u64) {
        let (owner, generation, index) = token::unpack(token);
        let conn = &mut self.crowd[index as usize];
        match owner {
            Owner::Next if conn.next_ns <= self.now_ns && conn.line.phase != Phase::Gone => {
                self.next_due(index)
            }
            Owner::Safety => self.safety_due(index),
            Owner::Settle if conn.line.generation == generation && !conn.subscribed => {
                // A target that sends heads at once has not answered this one: it is not subscribed.
                // A first long poll is held like any other only where it asks for no cursor.
                let holds = self.plan.arm.transport == Transport::LongPoll
                    && self.plan.arm.subscribe.cursor == Cursor::None;
                if conn.line.phase == Phase::Asked && (holds || !self.heads_seen) {
                    if self.plan.arm.transport != Transport::LongPoll {
                        conn.line.give_up_ns = NEVER;
                    }
                    self.stands(index, SubscribedBy::Settle, None);
                }
            }
            Owner::Every(n) if conn.line.generation == generation && conn.line.phase == Phase::Open => {
                let Some(every) = self.plan.arm.subscribe.every.get(usize::from(n)) else { return };
                self.scratch.clear();
                conn.client.write_text(every.send.as_bytes(), &mut self.scratch);
                self.wheel.insert(self.now_ns + every.after_ns, token);
                self.write_scratch(index);
            }
            _ => {}
        }
    }

    /// A poll on the grid is due, or an attempt to come back.
    pub(super) fn next_due(&mut self, index: u32) {
        let poll = self.plan.arm.poll;
        let conn = &mut self.crowd[index as usize];
        if self.plan.arm.transport != Transport::Poll || conn.line.phase == Phase::Waiting {
            conn.due_ns = conn.next_ns;
            conn.next_ns = NEVER;
            if let Some(session) = conn.client.bayeux_mut() {
                session.pause_over();
                return self.session_goes_on(index);
            }
            if conn.line.link.is_none() {
                self.connect(index);
            }
            return;
        }
        let due_ns = conn.next_ns;
        if !poll.after_answer {
            let number = u64::from(conn.number) << 32 | u64::from(conn.line.generation);
            let mut jitter = Draw::new(self.plan.arm.seed ^ due_ns, Purpose::Jitter, number);
            let gap = match poll.jitter {
                0.0 => conn.refresh.interval_ns,
                share => {
                    (conn.refresh.interval_ns as f64 * (1.0 + share * (2.0 * jitter.unit() - 1.0))) as u64
                }
            };
            conn.next_ns = due_ns + gap.max(1);
            self.wheel.insert(conn.next_ns, token::pack(Owner::Next, 0, index));
        } else {
            conn.next_ns = NEVER;
        }
        conn.due_ns = due_ns;
        match conn.line.phase {
            Phase::Resting if conn.line.link.is_some() => self.ask_again(index),
            Phase::Resting => self.connect(index),
            _ => {
                self.accounting.record.counts.overruns += u64::from(self.in_measure);
            }
        }
    }

    /// Long polls that have their answer ask again, a few in a turn; Bayeux sessions too.
    ///
    /// To write a request takes four times as long as to read an answer, for the kernel delivers
    /// it on the spot. When all hear at once, an answer would lie unread behind the requests of
    /// those who read theirs before: up to 20 ms with a thousand clients. So what has come is read
    /// first, and between any few requests it is looked whether more has.
    pub(crate) fn ask_waiting(&mut self) {
        for _ in 0..ASKS_MAX {
            let Some(index) = self.to_ask.pop_front() else { return };
            if self.crowd[index as usize].line.phase == Phase::Resting {
                self.now_ns = Clock::now();
                self.publish_due(self.now_ns);
                match self.transport().is_bayeux() {
                    true => self.session_goes_on(index),
                    false => self.ask_again(index),
                }
            }
        }
    }

    pub(super) fn ask_again(&mut self, index: u32) {
        if self.crowd[index as usize].line.link.is_some() {
            // Bytes of pongs and the like cannot be pending on an HTTP connection.
            self.ask(index);
            self.scratch.clear();
        } else {
            self.crowd[index as usize].due_ns = self.now_ns;
            self.connect(index);
        }
    }

    /// Polls on a grid have their timer already; the closed and adaptive kinds set it now.
    pub(super) fn rest_until_next_poll(&mut self, index: u32) {
        let poll = self.plan.arm.poll;
        let conn = &mut self.crowd[index as usize];
        if let Some(adaptive) = &poll.adaptive {
            conn.refresh.answered(adaptive, self.accounting.known(index));
        }
        if poll.after_answer {
            conn.next_ns = self.now_ns + conn.refresh.interval_ns;
            self.wheel.insert(conn.next_ns, token::pack(Owner::Next, 0, index));
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
        // Long after the test: none of the answers is a time-out.
        arm.hold_ns *= 100;
        let (mut target, plan) = Target::of(arm);
        // Looks since all were answered, and the requests that each found.
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
        // One turn read all the answers, and each one since wrote a few requests.
        assert_eq!(found.expect("all were held"), [0, ASKS_MAX, 2 * ASKS_MAX, CLIENTS]);
        assert_eq!(answers, CLIENTS as u64);
    }
}
