//! The work of a monitor on one arm: it starts the server if it is told to, watches it and the machine under it, and
//! stops it.
//!
//! Once it knows when the arm begins it needs neither its run nor the bus until the arm is over.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::bail;
use pushmark_host::addresses;
use pushmark_host::monitor::listener::Listener;
use pushmark_host::monitor::{Monitor, Watched as Roots, figures};
use pushmark_host::server::cpus::allowed_cpus;
use pushmark_host::server::heap::{self, Collection};
use pushmark_host::server::listeners::holder;
use pushmark_host::server::process::Process;
use pushmark_model::monitor::{ServerSeen, Watch, WatchOrder, Watched};
use pushmark_model::run::Window;
use pushmark_model::steer::Steer;
use pushmark_net::Clock;

use super::offers::Offers;
use super::voice::Voice;
use crate::marks::{Marking, Marks};
use crate::seen::seen;
use crate::target::Started;

/// Time between two looks at the server.
const LOOK: Duration = Duration::from_millis(200);
/// Time without an order, before the arm begins or after its plan is over, after which its run is gone.
const UNTOLD: Duration = Duration::from_secs(120);
/// Time between two signs of life.
const SAY_EVERY: Duration = Duration::from_secs(1);
/// Readings of memory while the crowd grows.
const GROWTH_MAX: usize = 64;

/// The thread of an arm.
pub(super) struct Watcher {
    pub(super) offers: Arc<Offers>,
    pub(super) told: Receiver<WatchOrder>,
    pub(super) voice: Voice,
}

impl Watcher {
    pub(super) fn work(self) {
        if let Err(why) = self.try_to_work() {
            self.voice.say(&Watched::Failed(format!("{why:#}")));
        }
        self.voice.sync();
    }

    fn try_to_work(&self) -> anyhow::Result<()> {
        let mut server: Option<Process> = None;
        let mut ready_us = None;
        let mut live_heap = false;
        let mut watching: Option<Watching> = None;
        let mut heard = Instant::now();
        let mut said = Instant::now();
        loop {
            if said.elapsed() > SAY_EVERY {
                said = Instant::now();
                self.voice.say(&Watched::Going);
            }
            let wait = watching.as_ref().map_or(LOOK, |watching| watching.marking.until_next(Clock::now()));
            match self.told.recv_timeout(wait.min(LOOK)) {
                Ok(order) => {
                    heard = Instant::now();
                    match order {
                        WatchOrder::Serve(serve) => {
                            let started = self.offers.start(&serve, &[])?;
                            let Started { process, port, ready_us: ready } = started;
                            self.voice.say(&Watched::Up { port, ready_us: ready.unwrap_or(0) });
                            (server, ready_us, live_heap) = (process, ready, serve.live_heap);
                        }
                        WatchOrder::Watch(watch) => {
                            let pid = server.as_ref().map(Process::pid);
                            watching = Some(Watching::begin(&watch, pid, live_heap)?);
                        }
                        WatchOrder::Steer(Steer::Measure { from_ns, until_ns }) => {
                            if let Some(watching) = &mut watching {
                                watching.marking.phases.measure(from_ns, until_ns);
                            }
                        }
                        // It watches until its run says that the arm is over.
                        WatchOrder::Steer(_) => {}
                        WatchOrder::Finish => break,
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let now_ns = Clock::now();
            if let Some(watching) = &mut watching {
                watching.turn(now_ns, server.as_mut(), &self.voice);
            }
            let busy = watching.as_ref().is_some_and(|watching| now_ns < watching.ends_ns());
            if heard.elapsed() > UNTOLD && !busy {
                bail!("nothing is heard of its run");
            }
        }
        self.finish(server, ready_us, watching);
        Ok(())
    }

    /// Stops the server, and tells everything.
    fn finish(&self, server: Option<Process>, ready_us: Option<u64>, watching: Option<Watching>) {
        let mut watching = watching;
        if let Some(watching) = &mut watching {
            watching.last_reading();
        }
        let (mut words, mut logs) = (None, Vec::new());
        if let Some(mut server) = server {
            server.stop();
            (words, logs) = (Some(server.last_words()), server.logs());
        }
        let mut seen = watching.map(Watching::seen).unwrap_or_default();
        if let Some(server) = &mut seen.server {
            server.ready_us = ready_us;
            server.heap = heap::read(&logs);
        }
        seen.last_words = words;
        for file in logs {
            self.voice.say(&Watched::File { name: file.name, bytes: file.bytes });
        }
        match serde_json::to_string(&seen) {
            Ok(text) => self.voice.say(&Watched::Seen(text)),
            Err(error) => self.voice.say(&Watched::Failed(error.to_string())),
        };
    }
}

/// An arm that is watched.
struct Watching {
    monitor: Monitor,
    marking: Marking,
    marks: Marks,
    cpus: usize,
    /// Its heap is collected in drain.
    live_heap: bool,
    collection: Option<Collection>,
    ended: Option<(String, u64)>,
    growth: Vec<(u32, u64, u64)>,
}

impl Watching {
    /// Begins to watch the server at an address of this machine.
    fn begin(watch: &Watch, pid: Option<i32>, live_heap: bool) -> anyhow::Result<Watching> {
        if !is_own(watch.at) {
            bail!("{} is not an address of this machine", watch.at.ip());
        }
        let server = pid.or_else(|| holder(watch.at));
        let cpus = allowed_cpus()?;
        let count = cpus.len();
        let roots = Roots { server, agents: Vec::new(), beside: Vec::new(), cpus };
        let monitor = Monitor::start(roots, Clock::now)?;
        let listener = Listener::of(watch.at);
        let dropped = (listener.as_ref().and_then(Listener::drops), None);
        let marks = Marks { start: Some(monitor.mark_with_pss()), dropped, ..Marks::default() };
        let Watch { start_ns, phases, floods, .. } = *watch;
        Ok(Watching {
            monitor,
            marking: Marking { start_ns, phases, floods, listener },
            marks,
            cpus: count,
            live_heap: live_heap && pid.is_some(),
            collection: None,
            ended: None,
            growth: Vec::new(),
        })
    }

    fn ends_ns(&self) -> u64 {
        self.marking.start_ns + self.marking.phases.end_ns()
    }

    fn turn(&mut self, now_ns: u64, server: Option<&mut Process>, voice: &Voice) {
        self.marking.mark(now_ns, &self.monitor, &mut self.marks);
        let Marking { start_ns, phases, .. } = self.marking;
        if let Some(server) = server {
            if self.ended.is_none()
                && let Some(how) = server.ended()
            {
                let at_us = now_ns.saturating_sub(start_ns) / 1_000;
                let begun = now_ns >= start_ns;
                voice.say(&Watched::Ended { how: how.clone(), at_us: begun.then_some(at_us) });
                self.ended = Some((how, at_us));
            }
            let middle_ns = start_ns + phases.measure_end_ns() + phases.drain_ns / 2;
            if self.live_heap && self.collection.is_none() && now_ns >= middle_ns {
                // Without a collection there is no figure of it.
                self.collection = Collection::start(server.pid()).ok();
            }
        }
        self.grows(now_ns);
    }

    /// Memory at the end of each second while the crowd grows, before anything is published.
    fn grows(&mut self, now_ns: u64) {
        let elapsed_ns = now_ns.saturating_sub(self.marking.start_ns);
        let done = elapsed_ns / 1_000_000_000;
        let ramping = elapsed_ns <= self.marking.phases.warmup_start_ns() + 1_000_000_000;
        if done == 0 || !ramping || self.growth.len() >= GROWTH_MAX {
            return;
        }
        let second = (done - 1) as u32;
        if self.growth.last().is_none_or(|(last, ..)| *last < second) {
            let sample = self.monitor.latest();
            if let Some(server) = sample.server {
                self.growth.push((second, sample.kernel_memory_bytes, server.rss_bytes));
            }
        }
    }

    /// What is only there while the server lives.
    fn last_reading(&mut self) {
        if let Some(collection) = self.collection.take() {
            collection.finish();
        }
        self.marking.crowd_came(&self.monitor, &mut self.marks);
        self.marks.end = Some(self.monitor.mark_with_pss());
    }

    fn seen(self) -> ServerSeen {
        let Watching { monitor, marking, marks, cpus, ended, growth, .. } = self;
        let mut seen = ServerSeen { growth, ..seen(&marks) };
        let window = marks.measure.as_ref().zip(marks.measured.as_ref());
        if seen.server.is_some() {
            seen.foreign = window.map(|(from, to)| figures::foreign(from, to, cpus, &monitor.ours()));
        }
        let both = seen.server.as_ref().zip(seen.foreign.as_ref());
        seen.server_wait = both.and_then(|(server, foreign)| figures::server_wait(server, foreign, cpus));
        if let (Some(server), Some((how, at_us))) = (&mut seen.server, ended) {
            (server.ended, server.ended_us) = (Some(how), Some(at_us));
        }
        // Samples that were set aside and cannot be read again leave their seconds empty.
        let (samples, _) = monitor.stop();
        let seconds = marking.phases.end_ns().div_ceil(1_000_000_000) as u32;
        seen.seconds = (0..seconds).map(|second| Window { second, ..Window::default() }).collect();
        figures::fill_windows(&mut seen.seconds, &samples, marking.start_ns);
        seen
    }
}

fn is_own(at: SocketAddr) -> bool {
    at.ip().is_loopback() || addresses::own().contains(&at.ip())
}
