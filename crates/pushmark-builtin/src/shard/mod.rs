//! One thread's event loop. It handles ready descriptors and due work, and then waits. Each kind of event has
//! a file.
//!
//! | file | what happens |
//! |---|---|
//! | `accept.rs` | new connections |
//! | `input.rs` | input: requests, bodies, frames |
//! | `perform.rs` | a request is complete |
//! | `subscribe.rs` | a client subscribes |
//! | `polling.rs`, `timers.rs` | polls are answered, held, timed out |
//! | `instrumented.rs` | requests with a report of what the server did for them |
//! | `bayeux/` | Bayeux messages, and deliveries to sessions |
//! | `publish.rs` | publications and emitters are due |
//! | `deliver.rs` | publications to subscribers |
//! | `batching.rs` | messages are collected and written together |
//! | `output.rs` | output |
//! | `ending.rs` | connections end, timed faults, the server stops |

mod accept;
mod batching;
mod bayeux;
mod deliver;
mod ending;
mod input;
mod instrumented;
mod output;
mod perform;
mod polling;
mod publish;
mod subscribe;
mod timers;

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use pushmark_net::{
    Clock, Interest, Listener, Nanos, Poller, Ready, Slab, Waker, Wheel, set_timer_slack_1ns,
};
use pushmark_proto::http1::HEAD_MAX;

use crate::bayeux::{Patterns, Secrets, Session};
use crate::channel::Channels;
use crate::connection::Connection;
use crate::ledger::Ledger;
use crate::rules::Rules;
use crate::shared::Shared;
use crate::truth::Truth;
use bayeux::Envelope;
use deliver::Pass;
use ending::Ending;
use publish::{Delayed, EMITS_MAX};

const LISTENER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;
const STOP: u64 = u64::MAX - 2;

/// Ready descriptors handled before the publications that arrived with them are delivered together.
const EVENTS_PER_TURN: usize = 16;

/// Bytes of one read. There is room for an incomplete head in front of them.
const READ_MAX: usize = 64 * 1024;

/// One thread's share of the server.
pub(crate) struct Shard {
    index: usize,
    shared: Arc<Shared>,
    poller: Poller,
    /// `None` once the server stops.
    listener: Option<Listener>,
    bell: Waker,
    connections: Slab<Connection>,
    channels: Channels,
    rules: Rules,
    ledger: Ledger,
    /// Holds and paces, by connection and session.
    timers: Wheel,
    delayed: Delayed,
    sessions: Slab<Session>,
    patterns: Patterns,
    secrets: Secrets,
    envelope: Envelope,
    /// Connections that move to another thread.
    moving: Vec<u64>,
    /// When to retry moves for which another thread's channel had no room.
    move_again_ns: Nanos,
    /// The newest publication this thread has delivered.
    cursor: u64,
    /// Whether publications wait that did not fit into the last turn.
    more_waiting: bool,
    /// When the next emitter is due; only used by the first thread.
    next_emit_ns: Nanos,
    /// The most publications of emitters in the next turn.
    emits_max: usize,
    /// When to accept again after there was no room for a connection.
    accept_again_ns: Nanos,
    frozen: bool,
    reset_done: bool,
    /// Once stopping: when to end, even with waiting output.
    leave_at_ns: Option<Nanos>,
    doomed: VecDeque<(u64, Ending)>,
    /// Connections with unhandled input: it arrived while a poll was held, or exceeded the share of a turn.
    revisit: VecDeque<u64>,
    /// Connections and sessions that are subscribed to more than one channel now.
    several_channels: usize,
    pass: Pass,
    /// The read buffer.
    input: Box<[u8]>,
    /// The buffer for answers.
    output: Vec<u8>,
}

impl Shard {
    /// Runs the loop until the server is stopped. Returns the truth log, if one is kept.
    pub(crate) fn run(
        shared: Arc<Shared>,
        index: usize,
        listener: Listener,
        bell: Waker,
    ) -> io::Result<Option<Truth>> {
        let stop = shared.stop.clone();
        let outcome = Shard::new(shared, index, listener, bell).and_then(Shard::serve);
        if outcome.is_err() {
            stop.request(); // a failure of one thread stops all
        }
        outcome
    }

    fn new(shared: Arc<Shared>, index: usize, listener: Listener, bell: Waker) -> io::Result<Shard> {
        set_timer_slack_1ns()?;
        let poller = Poller::new()?;
        poller.add(listener.fd(), LISTENER, Interest::Read)?;
        poller.add(bell.as_fd(), BELL, Interest::Read)?;
        poller.add(shared.stop.fd(), STOP, Interest::Read)?;
        let options = &shared.options;
        let truth = options.truth.is_some().then(|| Truth::new(options.threads));
        Ok(Shard {
            index,
            poller,
            listener: Some(listener),
            bell,
            connections: Slab::new(),
            channels: Channels::new(options.history_max),
            rules: Rules {
                queue_max: options.queue_max,
                queue_policy: options.queue_policy,
                pace: options.faults.slow_write,
                batch_ns: options.batch_ns,
            },
            ledger: Ledger { counters: shared.counters[index].clone(), truth },
            timers: Wheel::new(Clock::now()),
            delayed: Delayed::default(),
            sessions: Slab::new(),
            patterns: Patterns::default(),
            secrets: Secrets::default(),
            envelope: Envelope::default(),
            moving: Vec::new(),
            move_again_ns: Nanos::MAX,
            cursor: 0,
            more_waiting: false,
            next_emit_ns: Nanos::MAX,
            emits_max: EMITS_MAX,
            accept_again_ns: Nanos::MAX,
            frozen: false,
            reset_done: false,
            leave_at_ns: None,
            doomed: VecDeque::new(),
            revisit: VecDeque::new(),
            several_channels: 0,
            pass: Pass::default(),
            input: vec![0; HEAD_MAX + READ_MAX].into_boxed_slice(),
            output: Vec::new(),
            shared,
        })
    }

    fn serve(mut self) -> io::Result<Option<Truth>> {
        loop {
            let mut due_ns = self.next_due_ns();
            let timeout_ns = due_ns.map(|due_ns| due_ns.saturating_sub(Clock::now()));
            let batch = self.poller.wait(timeout_ns)?;
            let mut since_turn = 0;
            for ready in batch {
                self.handle_ready(ready);
                since_turn += 1;
                // Due work is done on time, however much input arrives.
                let is_due = due_ns.is_some_and(|due_ns| Clock::now() >= due_ns);
                if since_turn >= EVENTS_PER_TURN || is_due {
                    self.turn();
                    since_turn = 0;
                    due_ns = self.next_due_ns();
                }
            }
            self.turn();
            if self.is_over() {
                return Ok(self.ledger.truth);
            }
        }
    }

    fn handle_ready(&mut self, ready: Ready) {
        match ready.token {
            LISTENER => self.connections_waiting(),
            BELL => self.bell_rang(),
            STOP => self.begin_stop(),
            token => {
                if ready.writable {
                    self.socket_writable(token);
                }
                if ready.readable {
                    self.socket_readable(token, ready.hangup || ready.error);
                }
            }
        }
    }

    /// Does everything that is due now, in a fixed order.
    fn turn(&mut self) {
        // A signal handler may have requested it without a ready descriptor.
        if self.leave_at_ns.is_none() && self.shared.stop.is_requested() {
            self.begin_stop();
        }
        self.deliver_waiting();
        self.freeze_if_due();
        self.emit_due();
        self.delayed_due();
        self.timers_due();
        self.revisit_connections();
        self.deliver_waiting();
        self.reset_if_due();
        self.move_connections();
        self.accept_again_if_due();
        self.bury_doomed();
    }

    fn bell_rang(&mut self) {
        self.bell.silence();
        self.take_moved();
        // Emitters were changed, or publications arrived. Every turn checks both.
        self.next_emit_ns = 0;
    }

    /// Returns the earliest instant at which there is something to do.
    fn next_due_ns(&self) -> Option<Nanos> {
        if self.more_waiting || !self.revisit.is_empty() || !self.doomed.is_empty() {
            return Some(0);
        }
        [
            Some(self.next_emit_ns).filter(|_| self.index == 0),
            Some(self.accept_again_ns),
            Some(self.move_again_ns),
            self.delayed.next_look_ns(),
            self.timers.next_ns(),
            self.freeze_at_ns(),
            self.reset_at_ns(),
            self.leave_at_ns,
        ]
        .into_iter()
        .flatten()
        .filter(|&due_ns| due_ns != Nanos::MAX)
        .min()
    }

    /// Returns the connection, unless it is gone or about to be closed.
    fn live(&mut self, token: u64) -> Option<&mut Connection> {
        self.connections.get_mut(token).filter(|connection| !connection.doomed)
    }
}
