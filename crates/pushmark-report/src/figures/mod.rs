//! The figures, one file an idea, in the order of the page. A figure without data is left out;
//! a figure whose data is partly absent shows the reason in its place.

pub(crate) mod age_cost;
mod asking;
pub(crate) mod bayeux;
mod browsers;
pub(crate) mod connections;
mod cpu;
mod documents;
pub(crate) mod fates;
mod flood;
pub(crate) mod flow;
mod heat;
mod ingest;
mod machine;
mod memory;
pub(crate) mod observe;
mod percentile_curves;
mod percentile_labels;
mod percentiles;
mod spread;
mod wire;

use super::case::Case;
use super::figure::Figure;

/// The sections of the page that hold figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    Crowd,
    Latency,
    Connections,
    Transports,
    Machine,
}

impl Section {
    pub(crate) const ALL: [Section; 5] =
        [Section::Crowd, Section::Latency, Section::Connections, Section::Transports, Section::Machine];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Section::Crowd => "Deliveries, latency and cost",
            Section::Latency => "Latency",
            Section::Connections => "Connections and flow",
            Section::Transports => "Per transport",
            Section::Machine => "Machine",
        }
    }
}

type Make = fn(&Case<'_>) -> Option<Figure>;

/// Percentiles that a figure of latency needs. A percentile that needs more publications may be doubted
/// alone.
const LATENCY: [&str; 3] = ["delivery.p50", "delivery.p90", "delivery.p99"];

/// Every figure, by section, with its id and the metrics (or families) it shows. A doubt about other
/// metrics does not affect the figure.
const FIGURES: [(Section, &str, Make, &[&str]); 25] = [
    (Section::Crowd, "flood", flood::totals, &["flood"]),
    (Section::Crowd, "flood-rate", flood::rate, &["flood"]),
    (Section::Crowd, "deliveries", fates::figure, &["counts"]),
    (
        Section::Crowd,
        "observed",
        observe::figure,
        &["observed.gap.p50", "observed.gap.p99", "observed.messages"],
    ),
    (Section::Crowd, "age-against-cost", age_cost::figure, &["delivery.age_of_information.p50", "cpu"]),
    (Section::Crowd, "cpu", cpu::figure, &["cpu"]),
    (Section::Crowd, "memory", memory::figure, &["memory"]),
    (Section::Crowd, "ingest", ingest::figure, &["cpu"]),
    (
        Section::Crowd,
        "broadcasts",
        spread::figure,
        &["delivery.spread.median.p50", "delivery.spread.last.p99"],
    ),
    (Section::Latency, "percentiles", percentiles::figure, &LATENCY),
    (Section::Latency, "latency-over-time", heat::figure, &LATENCY),
    (Section::Latency, "browsers", browsers::figure, &LATENCY),
    (Section::Connections, "connections", connections::over_time, &["counts"]),
    (Section::Connections, "flow", flow::figure, &["rates"]),
    (Section::Connections, "connect", connections::times, &["connect"]),
    (Section::Transports, "long-poll", asking::long_poll, &["requests", "counts"]),
    (Section::Transports, "documents", documents::figure, &["documents.emit.p50", "documents.held.p50"]),
    (Section::Transports, "bayeux", bayeux::long_polling, &["requests", "counts"]),
    (Section::Transports, "bayeux-websocket", bayeux::websocket, &["requests", "counts"]),
    (Section::Transports, "poll", asking::poll, &["poll.age_at_receipt.p50", "counts"]),
    (Section::Machine, "cpu-over-time", machine::cpu, &["cpu"]),
    (Section::Machine, "read-lag", machine::read_lag, &["generator"]),
    (Section::Machine, "memory-over-time", machine::memory, &["memory"]),
    (Section::Machine, "run-queue", machine::run_queue, &["generator"]),
    (Section::Machine, "steal", machine::steal, &["generator"]),
];

/// Returns the figures a case has data for.
pub(crate) fn all(case: &Case<'_>) -> Vec<(Section, Figure)> {
    let make = |(section, id, make, metrics): &(Section, &str, Make, &[&str])| {
        let figure = make(&case.about(metrics))?;
        assert_eq!(figure.id, *id, "the table names the figure it makes");
        Some((*section, figure))
    };
    FIGURES.iter().filter_map(make).collect()
}

/// Returns one figure by its id.
pub(crate) fn one(case: &Case<'_>, id: &str) -> Option<Figure> {
    FIGURES.iter().find(|f| f.1 == id).and_then(|f| f.2(&case.about(f.3)))
}
