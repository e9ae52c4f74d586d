//! Observations while the shards work: the growing crowd, the server's process, the live line.

use pushmark_model::transport::Transport;
use pushmark_net::Clock;

use super::emitters;
use super::setup::Place;
use crate::gather::Gathered;
use crate::marks::{Marking, Marks};
use crate::target::Up;
use pushmark_console::progress::Live;
use pushmark_host::monitor::Monitor;
use pushmark_host::monitor::figures::CrowdPoint;
use pushmark_host::server::http::Control;

/// Observations while the shards work.
pub(super) struct Watch {
    pub(super) transport: Transport,
    pub(super) place: Place,
    pub(super) cleared: bool,
    /// The instants of its readings.
    pub(super) marking: Marking,
    pub(super) server_ended: Option<String>,
    /// When that was seen, from the arm's start, µs.
    pub(super) server_ended_us: Option<u64>,
}

impl Watch {
    /// Memory while the crowd grows, before anything is published.
    pub(super) fn crowd_point(
        &self,
        record: &pushmark_model::record::Record,
        gathered: &Gathered,
        monitor: &Monitor,
        marks: &mut Marks,
    ) {
        let at_ns = (u64::from(record.second) + 1) * 1_000_000_000;
        if at_ns > self.marking.phases.warmup_start_ns() + 1_000_000_000 || marks.crowd.len() > 64 {
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
        if !self.cleared && now_ns >= self.marking.start_ns + self.marking.phases.measure_end_ns() {
            self.cleared = true;
            // A dead server cannot answer; its deliveries show that it died.
            let _ = base.map(emitters::clear);
        }
    }

    pub(super) fn look_after(&mut self, up: &mut Up) {
        if self.server_ended.is_none() {
            self.server_ended = up.process.as_mut().and_then(|p| p.ended());
            let elapsed_us = Clock::now().saturating_sub(self.marking.start_ns) / 1_000;
            self.server_ended_us = self.server_ended.as_ref().map(|_| elapsed_us);
        }
    }

    /// What the monitor beside the server knows of its end.
    pub(super) fn ended_there(&mut self, ended: Option<(String, Option<u64>)>) {
        if let (None, Some((how, at_us))) = (&self.server_ended, ended) {
            (self.server_ended, self.server_ended_us) = (Some(how), at_us);
        }
    }

    pub(super) fn live(&self, now_ns: u64, gathered: &Gathered) -> Live<'static> {
        let elapsed_ns = now_ns.saturating_sub(self.marking.start_ns);
        let spans = self.marking.phases.spans();
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
            agents: None,
            p99_us: last.and_then(|s| s.latency_us).map(|l| l.1.max(0) as u64),
        }
    }
}
