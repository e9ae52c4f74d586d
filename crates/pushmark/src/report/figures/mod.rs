//! The figures, one file an idea, in the order of the page. A figure without data is left out;
//! one whose data is partly absent says so in its place.

pub(crate) mod age_cost;
mod asking;
pub(crate) mod bayeux;
mod browsers;
pub(crate) mod connections;
mod cpu;
pub(crate) mod fates;
mod flood;
pub(crate) mod flow;
mod heat;
mod ingest;
mod machine;
mod memory;
pub(crate) mod observe;
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
            Section::Crowd => "What the crowd got, and what it cost",
            Section::Latency => "Latency",
            Section::Connections => "Connections and flow",
            Section::Transports => "Per transport",
            Section::Machine => "Machine",
        }
    }
}

type Make = fn(&Case<'_>) -> Option<Figure>;

/// Every figure there is, by section, with its id.
const FIGURES: [(Section, &str, Make); 24] = [
    (Section::Crowd, "flood", flood::totals),
    (Section::Crowd, "flood-rate", flood::rate),
    (Section::Crowd, "deliveries", fates::figure),
    (Section::Crowd, "observed", observe::figure),
    (Section::Crowd, "age-against-cost", age_cost::figure),
    (Section::Crowd, "cpu", cpu::figure),
    (Section::Crowd, "memory", memory::figure),
    (Section::Crowd, "ingest", ingest::figure),
    (Section::Crowd, "broadcasts", spread::figure),
    (Section::Latency, "percentiles", percentiles::figure),
    (Section::Latency, "latency-over-time", heat::figure),
    (Section::Latency, "browsers", browsers::figure),
    (Section::Connections, "connections", connections::over_time),
    (Section::Connections, "flow", flow::figure),
    (Section::Connections, "connect", connections::times),
    (Section::Transports, "long-poll", asking::long_poll),
    (Section::Transports, "bayeux", bayeux::long_polling),
    (Section::Transports, "bayeux-websocket", bayeux::websocket),
    (Section::Transports, "poll", asking::poll),
    (Section::Machine, "cpu-over-time", machine::cpu),
    (Section::Machine, "read-lag", machine::read_lag),
    (Section::Machine, "memory-over-time", machine::memory),
    (Section::Machine, "run-queue", machine::run_queue),
    (Section::Machine, "steal", machine::steal),
];

/// The figures a case has data for.
pub(crate) fn all(case: &Case<'_>) -> Vec<(Section, Figure)> {
    let make = |(section, id, make): &(Section, &str, Make)| {
        let figure = make(case)?;
        assert_eq!(figure.id, *id, "the table names the figure it makes");
        Some((*section, figure))
    };
    FIGURES.iter().filter_map(make).collect()
}

/// One figure by its id.
pub(crate) fn one(case: &Case<'_>, id: &str) -> Option<Figure> {
    FIGURES.iter().find(|f| f.1 == id).and_then(|f| f.2(case))
}
