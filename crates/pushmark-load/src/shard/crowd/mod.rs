//! The life of the clients of a shard: they start, connect, subscribe, receive, are lost and return. Each
//! file holds one part: as methods of the shard if it also needs the time, the sockets or the accounts.

mod bayeux;
mod before;
mod content;
mod documents;
mod ending;
mod hearing;
mod pacing;
mod payloads;
mod peers;
mod reading;
mod responding;
mod safety;
mod seen;
mod side;
mod spoken;
mod steps;
mod subscribing;
mod writing;

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::plan::ShardPlan;
use pushmark_model::refresh::Refresh;
use pushmark_model::transport::Transport;
use pushmark_net::{Clock, Connect, Interest, Nanos, Ready, stamps};
use pushmark_proto::client::{Config, Lane};

use crate::conn::{Conn, Phase};
use crate::secure;
use crate::shard::Shard;
use crate::token::{self, Owner};
use crate::trouble;
use side::Seconds;

pub(crate) use peers::members;
pub(crate) use reading::{ReadResult, TOGETHER_MAX};
pub(crate) use safety::Safety;
pub(crate) use seen::Seen;

/// The clients of a shard, and how far the ramp and the sweep have come among them.
#[derive(Debug)]
pub(crate) struct Crowd {
    pub(super) clients: Vec<Conn>,
    /// How many clients the ramp has started.
    started: usize,
    /// Where the sweep goes on.
    swept: usize,
    /// How many clients are subscribed.
    pub(super) connected: u64,
    /// Long-poll clients that have their answer and have not asked again.
    pub(super) to_ask: VecDeque<u32>,
    pub(super) seconds: Seconds,
}

impl Crowd {
    /// The clients with these numbers in the plan.
    pub(super) fn new(plan: &ShardPlan, numbers: &[u64], config: &Config) -> Crowd {
        let arm = &plan.arm;
        let client = |&n: &u64| {
            Conn::new(config, Draw::new(arm.seed, Purpose::Mask, n).next_u64(), n as u32, arm.stamps(n))
        };
        Crowd {
            clients: numbers.iter().map(client).collect(),
            started: 0,
            swept: 0,
            connected: 0,
            to_ask: VecDeque::new(),
            seconds: Seconds::new(arm.second_connections_max().div_ceil(u64::from(plan.shards))),
        }
    }

    pub(super) fn len(&self) -> u32 {
        self.clients.len() as u32
    }

    #[inline]
    pub(super) fn get(&self, index: u32) -> Option<&Conn> {
        self.clients.get(index as usize)
    }

    /// The client that the ramp starts next.
    pub(super) fn next_to_start(&self) -> Option<&Conn> {
        self.clients.get(self.started)
    }

    /// Returns the client that the ramp starts now.
    pub(super) fn starts_next(&mut self) -> u32 {
        self.started += 1;
        self.started as u32 - 1
    }

    /// Returns the client that is swept now, each in turn.
    pub(super) fn next_to_sweep(&mut self) -> u32 {
        let index = self.swept % self.clients.len();
        self.swept = index + 1;
        index as u32
    }
}

impl Index<u32> for Crowd {
    type Output = Conn;

    #[inline]
    fn index(&self, index: u32) -> &Conn {
        &self.clients[index as usize]
    }
}

impl IndexMut<u32> for Crowd {
    #[inline]
    fn index_mut(&mut self, index: u32) -> &mut Conn {
        &mut self.clients[index as usize]
    }
}

impl Shard {
    pub(super) fn transport(&self) -> Transport {
        self.plan.arm.transport
    }

    /// Starts a client when its turn in the ramp has come.
    pub(crate) fn client_starts(&mut self, index: u32, due_ns: Nanos) {
        let arm = &self.plan.arm;
        let conn = &mut self.crowd[index];
        conn.due_ns = due_ns;
        conn.refresh = Refresh::new(arm.poll.interval_ns);
        if arm.transport == Transport::Poll && !arm.poll.after_answer {
            // The grid of its polls begins at its own phase, so that the polls of the clients do not
            // coincide.
            let phase = match arm.poll.random_phase {
                true => Draw::new(arm.seed, Purpose::PollPhase, u64::from(conn.number)).unit(),
                false => 1.0,
            };
            conn.next_ns = due_ns + (phase * arm.poll.interval_ns as f64) as u64;
            self.io.wheel.insert(conn.next_ns, token::pack(Owner::Next, 0, index));
        }
        self.safety_begins(index);
        self.connect(index, Lane::Connect);
    }

    /// Begins to connect one of the client's lines, which must be there.
    pub(super) fn connect(&mut self, index: u32, lane: Lane) {
        if lane == Lane::Connect && self.is_unprepared(index) {
            return self.prepare(index);
        }
        let arm = &self.plan.arm;
        let conn = &mut self.crowd[index];
        let counts = &mut self.accounting.record.counts;
        counts.connects += 1;
        if lane == Lane::Connect && arm.transport.is_held() && conn.ever_subscribed {
            counts.new_connections += 1;
        }
        let source = match arm.sources.len() {
            0 => None,
            n => Some(arm.sources[conn.number as usize % n]),
        };
        let token = conn.token(index, lane);
        let returning = conn.ever_subscribed || lane == Lane::Command;
        let line = conn.line_mut(lane);
        line.phase = Phase::Connecting;
        line.give_up_ns = self.time.now_ns + arm.connect_timeout_ns;
        let made = self
            .asking
            .route
            .connect(source, returning)
            .and_then(|link| self.io.poller.add(link.fd(), token, Interest::Write).map(|()| link));
        match made {
            Ok(link) => line.link = Some(link),
            Err(error) => self.lost(index, lane, trouble::kind(&error), &error.to_string()),
        }
    }

    /// The poller reports that a client's socket is ready.
    pub(crate) fn client_ready(&mut self, index: u32, lane: Lane, generation: u32, ready: Ready) {
        let conn = &self.crowd[index];
        if !conn.is_current(lane, generation) || conn.line(lane).link.is_none() {
            return;
        }
        if conn.line(lane).phase == Phase::Connecting {
            if self.is_handshaking(index, lane) {
                // A handshake takes longer than a read, so publications are checked between two of them.
                self.reach(Clock::now());
            }
            return self.connecting(index, lane);
        }
        let more = ready.readable && self.readable(index, lane, ready.arrival);
        self.heard_out(index, lane, generation, more, ready);
    }

    /// Handles the rest of a readiness report after the socket was read.
    pub(super) fn heard_out(&mut self, index: u32, lane: Lane, generation: u32, more: bool, ready: Ready) {
        if !self.crowd[index].is_current(lane, generation) {
            return;
        }
        if more || ready.hangup {
            // The poller does not report again what is still unread (for example an end behind the last
            // bytes). The next turn reads it, so one busy connection does not delay the others.
            self.watch_anew(index, lane);
        }
        if ready.writable && !self.crowd[index].line(lane).out.is_empty() {
            self.flush(index, lane);
        }
    }

    /// TCP is connected, or the TLS handshake has progressed.
    fn connecting(&mut self, index: u32, lane: Lane) {
        let conn = &mut self.crowd[index];
        let (token, stamped, arrivals) =
            (conn.token(index, lane), conn.is_stamped(lane), conn.arrivals(lane));
        let (first, due_ns) = (lane == Lane::Connect && !conn.ever_subscribed, conn.due_ns);
        let line = conn.line_mut(lane);
        let link = line.link.as_mut().expect("connecting");
        let tcp_is_new = !link.is_handshaking();
        let readied = link.finish_connect().and_then(|connect| {
            if let Connect::Handshake(interest) = connect {
                self.io.poller.modify(link.fd(), token, interest)?;
                return Ok(false);
            }
            if stamped {
                stamps::enable_receive_stamps(link.fd())?;
            }
            self.io.poller.modify(link.fd(), token, arrivals)?;
            Ok(true)
        });
        let (times, counts) = (&mut self.accounting.record.times, &mut self.accounting.record.counts);
        if first && tcp_is_new && (readied.is_ok() || link.is_handshaking()) {
            times.connect_tcp.record_ns(due_ns, self.time.now_ns);
        }
        match readied {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => return self.lost(index, lane, trouble::kind(&error), &error.to_string()),
        }
        secure::count(link, counts);
        if first && link.is_resumed().is_some() {
            times.connect_tls.record_ns(due_ns, Clock::now());
        }
        let (early, generation) = (link.has_early(), line.generation);
        match lane {
            Lane::Command => self.side_connected(index),
            Lane::Connect => self.ask(index),
        }
        if early && self.crowd[index].is_current(lane, generation) {
            self.readable(index, lane, None);
        }
    }
}
