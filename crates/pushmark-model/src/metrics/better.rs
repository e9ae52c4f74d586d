//! Whether lower or higher values of a metric are better. A comparison needs this to call a difference
//! worse. Lower is better for times, memory and traffic; counts, shares and rates are listed by name.

use super::Unit;

/// Whether lower or higher is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// Lower is better.
    Lower,
    /// Higher is better.
    Higher,
    /// The metric describes the request or the procedure: neither is better.
    Neither,
}

impl Better {
    /// Returns the word in tables.
    pub fn name(self) -> &'static str {
        match self {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::Neither => "–",
        }
    }

    /// Returns the direction for a metric's name and unit.
    pub(super) fn of(name: &str, unit: Unit) -> Better {
        let low_by_unit = matches!(unit, Unit::Micros | Unit::Bytes);
        match () {
            () if HIGHER.contains(&name) || name.starts_with(super::WITHIN) => Better::Higher,
            () if LOWER.contains(&name) => Better::Lower,
            () if low_by_unit && !DESCRIBES.iter().any(|prefix| name.starts_with(prefix)) => Better::Lower,
            () => Better::Neither,
        }
    }
}

const HIGHER: &[&str] = &[
    "delivery.delivered",
    "delivery.delivered_per_s",
    "delivery.of_intended",
    "delivery.of_expected",
    "received.unique_per_client",
    "delivery.clients.heard_all",
    "connections.opened",
    "flood.connected_max",
    "flood.counted_max",
    "flood.declined_from",
    "flood.established",
    "flood.served_max",
    "published.achieved_per_s",
];

const LOWER: &[&str] = &[
    "received.redundant_share",
    "wire.segments",
    "delivery.corrupt",
    "hybrid.push.missing",
    "delivery.missing",
    "delivery.late",
    "delivery.superseded",
    "delivery.excused",
    "delivery.unserved",
    "delivery.unpublished",
    "delivery.duplicate",
    "delivery.out_of_order",
    "delivery.beyond_window",
    "delivery.foreign",
    "delivery.unstamped",
    "delivery.forgotten",
    "delivery.clients.heard_some",
    "delivery.clients.heard_none",
    "delivery.clients.missing_max",
    "long_poll.early",
    "hybrid.pull.superseded",
    "ingest.server_cpu_cores",
    "delivery.backlog_per_s",
    "connect.failed",
    "connections.assumed_silent",
    "connections.lost",
    "connections.reconnected",
    "published.failed",
    "published.unreachable",
    "published.backpressured",
    "published.reconnected",
    "published.refusals",
    "published.pool_exhausted",
    "poll.redundant",
    "poll.redundant_share",
    "poll.skipped_states",
    "poll.overruns",
    "long_poll.missed_deaf",
    "bayeux.unknown_client",
    "server.cpu_cores",
    "server.threads_max",
    "generator.busiest_core",
    "generator.steal",
    "foreign.cpu",
    "wire.segments_in",
    "wire.segments_out",
    "wire.retransmits",
    "wire.listener_drops",
    "wire.listen_overflows",
];

/// Times and bytes that describe the target's choices.
const DESCRIBES: &[&str] =
    &["observed.gap", "observed.payload_bytes", "bayeux.hold_advised", "poll.interval_mean"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{Metric, all};

    #[test]
    fn what_is_listed_exists_once() {
        let names: Vec<String> = all().into_iter().map(|metric| metric.name).collect();
        for name in HIGHER.iter().chain(LOWER) {
            assert!(names.iter().any(|known| known == name), "{name}");
            assert_eq!(HIGHER.iter().chain(LOWER).filter(|other| other == &name).count(), 1, "{name}");
        }
        assert!(DESCRIBES.iter().all(|prefix| names.iter().any(|name| name.starts_with(prefix))));
    }

    #[test]
    fn latency_is_better_low_and_what_arrived_high() {
        let of = |name: &str| Metric::find(name).unwrap().better();
        for (name, better) in [
            ("delivery.p99", Better::Lower),
            ("delivery.within_100ms", Better::Higher),
            ("delivery.of_intended", Better::Higher),
            ("delivery.intended", Better::Neither),
            ("server.cpu_us_per_delivery", Better::Lower),
            ("server.rss_bytes_peak", Better::Lower),
            ("observed.gap.p50", Better::Neither),
            ("long_poll.answers_per_s", Better::Neither),
        ] {
            assert_eq!(of(name), better, "{name}");
        }
    }
}
