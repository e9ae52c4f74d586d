//! The figures, one file an idea, in the order of the page. A figure without data is left out;
//! one whose data is partly absent says so in its place.

pub(crate) mod age_cost;
mod asking;
pub(crate) mod connections;
mod cpu;
pub(crate) mod fates;
pub(crate) mod flow;
mod heat;
mod machine;
mod memory;
pub(crate) mod observe;
mod percentiles;
mod spread;

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

/// Every figure there is, by section.
const FIGURES: [(Section, Make); 18] = [
    (Section::Crowd, fates::figure),
    (Section::Crowd, observe::figure),
    (Section::Crowd, age_cost::figure),
    (Section::Crowd, cpu::figure),
    (Section::Crowd, memory::figure),
    (Section::Crowd, spread::figure),
    (Section::Latency, percentiles::figure),
    (Section::Latency, heat::figure),
    (Section::Connections, connections::over_time),
    (Section::Connections, flow::figure),
    (Section::Connections, connections::times),
    (Section::Transports, asking::long_poll),
    (Section::Transports, asking::poll),
    (Section::Machine, machine::cpu),
    (Section::Machine, machine::read_lag),
    (Section::Machine, machine::memory),
    (Section::Machine, machine::run_queue),
    (Section::Machine, machine::steal),
];

/// The figures a case has data for.
pub(crate) fn all(case: &Case<'_>) -> Vec<(Section, Figure)> {
    FIGURES.iter().filter_map(|(section, make)| Some((*section, make(case)?))).collect()
}
