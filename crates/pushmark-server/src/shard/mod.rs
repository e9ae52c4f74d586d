//! One thread's event loop. It takes what is ready, works through it, looks at what is due,
//! and waits. Each thing that can happen has a file.
//!
//! | file | what happens |
//! |---|---|
//! | `accept.rs` | connections come |
//! | `input.rs` | bytes come: requests, bodies, frames |
//! | `perform.rs` | a request is whole |
//! | `subscribe.rs` | a client begins to hear |
//! | `polling.rs`, `timers.rs` | polls are answered, held, timed out |
//! | `instrumented.rs` | requests that are told what the server did for them |
//! | `bayeux/` | Bayeux messages are answered, sessions are told |
//! | `publish.rs` | publications and emitters are due |
//! | `deliver.rs` | publications go to subscribers |
//! | `batching.rs` | messages are collected, and leave together |
//! | `output.rs` | bytes leave |
//! | `ending.rs` | connections end, faults fall due, the server stops |

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

use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use pushmark_net::{
    Clock, Interest, Listener, Nanos, Poller, Ready, Slab, Waker, Wheel, set_timer_slack_1ns,
};
use pushmark_proto::http1::HEAD_MAX;

use crate::bayeux::{Patterns, Secrets, Session};
use crate::channel::Channels;
use crate::connection::{Connection, Rules};
use crate::ledger::Ledger;
use crate::serve::Shared;
use crate::truth::Truth;
use bayeux::Envelope;
use deliver::Pass;
use ending::Ending;
use publish::Delayed;

pub(crate) use bayeux::Moved;

const LISTENER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;
const STOP: u64 = u64::MAX - 2;

/// Ready descriptors handled before publications that came with them go out together.
const EVENTS_PER_TURN: usize = 16;

/// Bytes of one read; in front of them there is room for an unfinished head.
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
    /// Connections that go to another thread.
    moving: Vec<u64>,
    /// When to try again those for which another thread's hatch had no room.
    move_again_ns: Nanos,
    /// The newest publication this thread has delivered.
    cursor: u64,
    /// Publications are waiting that did not fit the last turn.
    more_waiting: bool,
    /// When the next emitter is due; the first thread's affair.
    next_emit_ns: Nanos,
    /// When to look for connections again after there was no room for one.
    accept_again_ns: Nanos,
    frozen: bool,
    reset_done: bool,
    /// Once stopping: when to leave, whatever is unwritten.
    leave_at_ns: Option<Nanos>,
    doomed: Vec<(u64, Ending)>,
    /// Connections with bytes that were read while a poll was held.
    revisit: Vec<u64>,
    /// Connections that hear more than one channel now.
    several_channels: usize,
    pass: Pass,
    /// Where reads land.
    input: Box<[u8]>,
    /// Where answers are put together.
    output: Vec<u8>,
}

impl Shard {
    /// Runs the loop until the server is told to stop. Gives the truth log, where one is kept.
    pub(crate) fn run(
        shared: Arc<Shared>,
        index: usize,
        listener: Listener,
        bell: Waker,
    ) -> io::Result<Option<Truth>> {
        let stop = shared.stop.clone();
        let outcome = Shard::new(shared, index, listener, bell).and_then(Shard::serve);
        if outcome.is_err() {
            stop.request(); // one thread's failure is everybody's
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
            accept_again_ns: Nanos::MAX,
            frozen: false,
            reset_done: false,
            leave_at_ns: None,
            doomed: Vec::new(),
            revisit: Vec::new(),
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
                // Whatever comes in, what is due goes out on time.
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
                    self.socket_readable(token);
                }
            }
        }
    }

    /// Everything that is due now, in a fixed order.
    fn turn(&mut self) {
        // A signal handler may have asked without anything becoming ready.
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
        // Emitters were changed, or publications came: both are looked at in every turn.
        self.next_emit_ns = 0;
    }

    /// The earliest instant at which there is something to do.
    fn next_due_ns(&self) -> Option<Nanos> {
        if self.more_waiting || !self.revisit.is_empty() {
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

    /// The connection, unless it is gone or going.
    fn live(&mut self, token: u64) -> Option<&mut Connection> {
        self.connections.get_mut(token).filter(|connection| !connection.doomed)
    }
}
