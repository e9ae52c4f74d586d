//! What is looked at while the shards work: the instants that are marked, the crowd as it grows,
//! the server's process.

use std::time::Duration;

use pushmark_model::plan::Phases;
use pushmark_model::transport::Transport;

use super::arm::Place;
use super::emitters;
use super::target::Up;
use crate::gather::Gathered;
use crate::monitor::figures::CrowdPoint;
use crate::monitor::{Monitor, Snapshot};
use crate::progress::Live;
use crate::server::http::Control;

/// The loop looks around at least so often; it wakes for each instant that is marked.
const TICK_NS: u64 = 200_000_000;

/// The snapshots between which figures are differences.
#[derive(Debug, Default)]
pub(super) struct Marks {
    pub(super) start: Option<Snapshot>,
    pub(super) measure: Option<Snapshot>,
    pub(super) measured: Option<Snapshot>,
    pub(super) end: Option<Snapshot>,
    pub(super) crowd: Vec<CrowdPoint>,
}

/// What is looked at while the shards work.
pub(super) struct Watch {
    pub(super) transport: Transport,
    /// As they are by now.
    pub(super) phases: Phases,
    pub(super) place: Place,
    pub(super) start_ns: u64,
    pub(super) cleared: bool,
    pub(super) server_ended: Option<String>,
}

impl Watch {
    /// How long to wait: until the next instant that is marked, and never long.
    pub(super) fn until_next(&self, now_ns: u64) -> Duration {
        let phases = self.phases;
        let marks = [phases.measure_start_ns(), phases.measure_end_ns()].map(|at| self.start_ns + at);
        let next_ns = marks.into_iter().filter(|&at| at > now_ns).min().unwrap_or(u64::MAX);
        Duration::from_nanos((next_ns - now_ns).min(TICK_NS))
    }

    /// Takes the snapshots when their instants have come.
    pub(super) fn mark(&self, now_ns: u64, monitor: &Monitor, marks: &mut Marks) {
        let phases = self.phases;
        if marks.measure.is_none() && now_ns >= self.start_ns + phases.measure_start_ns() {
            marks.measure = Some(monitor.mark());
        }
        if marks.measured.is_none() && now_ns >= self.start_ns + phases.measure_end_ns() {
            marks.measured = Some(monitor.mark());
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
            // A server that died cannot be asked; that is told by its deliveries.
            let _ = base.map(emitters::clear);
        }
    }

    pub(super) fn look_after(&mut self, up: &mut Up) {
        if self.server_ended.is_none() {
            self.server_ended = up.process.as_mut().and_then(|p| p.ended());
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
