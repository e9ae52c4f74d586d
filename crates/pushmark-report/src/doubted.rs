//! Describes which figures remain usable: which not to use, which to use with care, and that all others
//! are reliable.

use pushmark_chart::words;
use pushmark_model::metrics::family;
use pushmark_model::run::{Reason, VerdictState};

use super::case::{ArmView, Case};

/// A statement about some arms in one state.
struct Clause {
    state: VerdictState,
    /// Empty: all numbers.
    what: String,
    arms: Vec<&'static str>,
}

/// Returns clauses of doubt, worst first, then a clause about the rest; one clause if all is valid.
pub(crate) fn clauses(case: &Case<'_>) -> Vec<String> {
    let mut doubts: Vec<Clause> = Vec::new();
    for arm in &case.arms {
        for (state, what) in of_arm(arm) {
            match doubts.iter_mut().find(|d| (d.state, &d.what) == (state, &what)) {
                Some(clause) => clause.arms.push(arm.name()),
                None => doubts.push(Clause { state, what, arms: vec![arm.name()] }),
            }
        }
    }
    doubts.sort_by_key(|d| std::cmp::Reverse(d.state));
    let all = case.arms.len();
    if doubts.is_empty() {
        return vec![match (case.state(), all) {
            (VerdictState::Valid, 1) => "the numbers are reliable".into(),
            (VerdictState::Valid, n) => format!("the numbers of all {} arms are reliable", words::number(n)),
            (state, _) => told(state, "", ""),
        }];
    }
    let mut out: Vec<String> = doubts.iter().map(|d| d.words(all)).collect();
    let doubted = |arm: &&ArmView<'_>| doubts.iter().any(|d| d.arms.contains(&arm.name()));
    let (touched, whole): (Vec<_>, Vec<_>) = case.arms.iter().partition(doubted);
    let parts = doubts.iter().any(|d| !d.what.is_empty());
    match (whole.as_slice(), touched.len()) {
        _ if parts => out.push("all else is reliable".into()),
        ([], _) => {}
        ([one], _) => out.push(format!("{} is reliable", one.name())),
        (many, _) => out.push(format!("the other {} are reliable", words::number(many.len()))),
    }
    out
}

impl Clause {
    fn words(&self, all: usize) -> String {
        let of = if self.arms.len() == all && all > 1 {
            " of all arms".to_owned()
        } else if all > 1 {
            format!(" of {}", words::list(&self.arms))
        } else {
            String::new()
        };
        told(self.state, &self.what, &of)
    }
}

fn told(state: VerdictState, what: &str, of: &str) -> String {
    let what = if what.is_empty() { "numbers" } else { what };
    match state {
        VerdictState::Valid => format!("the {what}{of} are reliable"),
        VerdictState::Suspect => format!("use the {what}{of} with care"),
        VerdictState::Incomplete => {
            format!("stopped before the end: the {what}{of} are those of a shorter run")
        }
        VerdictState::Invalid => format!("do not use the {what}{of}"),
    }
}

/// Returns each state of an arm with its figures; a figure appears only in its worst state.
fn of_arm(arm: &ArmView<'_>) -> Vec<(VerdictState, String)> {
    let mut out = Vec::new();
    let mut said: Vec<String> = Vec::new();
    for state in [VerdictState::Invalid, VerdictState::Incomplete, VerdictState::Suspect] {
        let own: Vec<&Reason> = arm.reasons.iter().filter(|r| r.state == state).collect();
        if own.iter().any(|r| r.concerns.is_empty()) || (own.is_empty() && arm.state == state) {
            out.push((state, String::new()));
            // All following states are better.
            return out;
        }
        let names: Vec<String> = own.iter().flat_map(|r| &r.concerns).cloned().collect();
        let part = said.iter().any(|kind| kind.starts_with("latency "));
        let fresh: Vec<String> = kinds(&names)
            .into_iter()
            .filter(|kind| !said.contains(kind))
            .map(|kind| if part && kind == "latencies" { "other latencies".into() } else { kind })
            .collect();
        if !fresh.is_empty() {
            out.push((state, joined(&fresh)));
        }
        said.extend(fresh);
    }
    out
}

/// Joins kinds: `latency p50, p90 and connect times`.
fn joined(kinds: &[String]) -> String {
    let latency = "latency ";
    let percentiles: Vec<&str> = kinds.iter().filter_map(|kind| kind.strip_prefix(latency)).collect();
    let others = kinds.iter().filter(|kind| !kind.starts_with(latency)).map(String::as_str);
    let first = format!("{latency}{}", words::list(&percentiles));
    let all: Vec<&str> =
        (!percentiles.is_empty()).then_some(first.as_str()).into_iter().chain(others).collect();
    words::list(&all)
}

/// Names the figures that reasons concern, each once: `latency p50`, `connect times`, `CPU`.
fn kinds(names: &[String]) -> Vec<String> {
    let of = |family: &str| names.iter().any(|name| name == family);
    let mut out: Vec<String> = Vec::new();
    // The other two are latencies too, and share their doubts.
    let times = [family::LATENCY, family::FROM_SENT, family::LATENCY_STAMPED];
    if times.iter().any(|name| of(name)) {
        out.push("latencies".into());
    } else {
        for (metric, shown) in [("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p999", "p99.9")] {
            if times.iter().any(|name| of(&format!("{name}.{metric}"))) {
                out.push(format!("latency {shown}"));
            }
        }
    }
    let others = [
        (family::COUNTS, "counts"),
        (family::RATES, "rates"),
        (family::CONNECT, "connect times"),
        (family::CPU, "CPU figures"),
        (family::MEMORY, "memory figures"),
        (family::WIRE, "bytes and segments"),
        (family::FLOOD, "limit of the flood"),
    ];
    out.extend(others.iter().filter(|(name, _)| of(name)).map(|(_, words)| (*words).to_owned()));
    if out.is_empty() {
        let named = names.iter().filter(|name| !family::is_family(name)).map(|name| name.replace('_', " "));
        out.extend(named);
        out.dedup();
    }
    if out.is_empty() && !names.is_empty() {
        out.push("times of requests".into());
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_doubted_is_named_once() {
        let of =
            |names: &[&str]| kinds(&names.iter().map(ToString::to_string).collect::<Vec<_>>()).join(", ");
        assert_eq!(of(&["latency.p50", "from_sent.p50", "latency.p999"]), "latency p50, latency p99.9");
        assert_eq!(of(&["latency", "latency.p50", "requests", "connect"]), "latencies, connect times");
        assert_eq!(of(&["counts"]), "counts");
        assert_eq!(of(&["observed.latency"]), "observed.latency");
        assert_eq!(of(&[]), "");
        let names = ["latency p50", "latency p90", "counts"].map(str::to_owned);
        assert_eq!(joined(&names), "latency p50 and p90 and counts");
    }
}
