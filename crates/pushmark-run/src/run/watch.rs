//! Observations while the shards work: the marked instants, the growing crowd, the server's process.

use std::time::Duration;

use pushmark_model::plan::Phases;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;

use super::emitters;
use super::setup::Place;
use super::target::Up;
use crate::gather::Gathered;
use pushmark_console::progress::Live;
use pushmark_host::monitor::figures::CrowdPoint;
use pushmark_host::monitor::listener::{Drops, Listener};
use pushmark_host::monitor::{Monitor, Snapshot};
use pushmark_host::server::http::Control;

/// The longest time between two passes of the loop; it also wakes for each marked instant.
const TICK_NS: u64 = 200_000_000;

/// The snapshots between which figures are differences.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) start: Option<Snapshot>,
    /// The reading at the end of the ramp.
    pub(super) ramped: Option<Snapshot>,
    /// Drops of the target's listener before and after the crowd connected.
    pub(super) dropped: (Option<Drops>, Option<Drops>),
    pub(super) measure: Option<Snapshot>,
    pub(super) measured: Option<Snapshot>,
    pub(super) end: Option<Snapshot>,
    pub(super) crowd: Vec<CrowdPoint>,
}

/// Observations while the shards work.
pub(super) struct Watch {
    pub(super) transport: Transport,
    /// The phases in their current state.
    pub(super) phases: Phases,
    pub(super) place: Place,
    pub(super) start_ns: u64,
    pub(super) cleared: bool,
    /// The listener of a target on this host.
    pub(super) listener: Option<Listener>,
    /// Its crowd connects until the end of measure.
    pub(super) floods: bool,
    pub(super) server_ended: Option<String>,
    /// When that was seen, from the arm's start, µs.
    pub(super) server_ended_us: Option<u64>,
}

impl Watch {
    /// The time to wait: until the next marked instant, at most a tick.
    pub(super) fn until_next(&self, now_ns: u64) -> Duration {
        let phases = self.phases;
        let marks = [self.ramped_at_ns(), phases.measure_start_ns(), phases.measure_end_ns()];
        let marks = marks.map(|at| self.start_ns + at);
        let next_ns = marks.into_iter().filter(|&at| at > now_ns).min().unwrap_or(u64::MAX);
        Duration::from_nanos((next_ns - now_ns).min(TICK_NS))
    }

    /// Takes the snapshots at their instants.
    pub(super) fn mark(&self, now_ns: u64, monitor: &Monitor, marks: &mut Marks) {
        let phases = self.phases;
        if marks.ramped.is_none() && now_ns >= self.start_ns + self.ramped_at_ns() {
            self.crowd_came(monitor, marks);
        }
        if marks.measure.is_none() && now_ns >= self.start_ns + phases.measure_start_ns() {
            marks.measure = Some(monitor.mark_with_others());
        }
        if marks.measured.is_none() && now_ns >= self.start_ns + phases.measure_end_ns() {
            marks.measured = Some(monitor.mark_with_others());
        }
    }

    /// The time at which all of the crowd should be connected.
    fn ramped_at_ns(&self) -> u64 {
        if self.floods { self.phases.measure_end_ns() } else { self.phases.warmup_start_ns() }
    }

    /// Reads the cost of connecting, once: at the end of the ramp, or when the arm ends earlier.
    pub(super) fn crowd_came(&self, monitor: &Monitor, marks: &mut Marks) {
        if marks.ramped.is_none() {
            marks.ramped = Some(monitor.mark());
            marks.dropped.1 = self.listener.as_ref().and_then(Listener::drops);
        }
    }

    /// Memory while the crowd grows, before anything is published.
    pub(super) fn crowd_point(
        &self,
        record: &pushmark_model::record::Record,
        gathered: &Gathered,
        monitor: &Monitor,
        marks: &mut Marks,
    ) {
        let at_ns = (u64::from(record.second) + 1) * 1_000_000_000;
        if at_ns > self.phases.warmup_start_ns() + 1_000_000_000 || marks.crowd.len() > 64 {
            return;
        }
        let sample = monitor.latest();
        let (Some(server), Some(second)) = (sample.server, gathered.seconds().get(&record.second)) else {
            return;
        };
        marks.crowd.push(CrowdPoint {
            connections: second.connected,
            server_rss_bytes: server.rss_bytes,
            kernel_memory_bytes: sample.kernel_memory_bytes,
        });
    }

    pub(super) fn clear_emitters(&mut self, now_ns: u64, base: Option<&Control>) {
        if !self.cleared && now_ns >= self.start_ns + self.phases.measure_end_ns() {
            self.cleared = true;
            // A dead server cannot answer; its deliveries show that it died.
            let _ = base.map(emitters::clear);
        }
    }

    pub(super) fn look_after(&mut self, up: &mut Up) {
        if self.server_ended.is_none() {
            self.server_ended = up.process.as_mut().and_then(|p| p.ended());
            let elapsed_us = Clock::now().saturating_sub(self.start_ns) / 1_000;
            self.server_ended_us = self.server_ended.as_ref().map(|_| elapsed_us);
        }
    }

    pub(super) fn live(&self, now_ns: u64, gathered: &Gathered) -> Live<'static> {
        let elapsed_ns = now_ns.saturating_sub(self.start_ns);
        let spans = self.phases.spans();
        let (phase, from_ns, to_ns) =
            spans.into_iter().find(|(_, from, to)| (*from..*to).contains(&elapsed_ns)).unwrap_or(spans[4]);
        let last = gathered.seconds().values().next_back();
        let counts = &gathered.total().counts;
        Live {
            arm: self.transport.name(),
            index: self.place.number as u32,
            of: self.place.of as u32,
            start: self.place.start.number,
            starts: self.place.start.of,
            phase,
            phase_elapsed_s: elapsed_ns.saturating_sub(from_ns).min(to_ns - from_ns) as f64 / 1e9,
            phase_length_s: (to_ns - from_ns) as f64 / 1e9,
            up: last.map_or(0, |s| s.connected),
            delivered_per_s: last.map_or(0.0, |s| s.received as f64),
            delivered: counts.received,
            lost: counts.lost,
            p99_us: last.and_then(|s| s.latency_us).map(|l| l.1.max(0) as u64),
        }
    }
}
