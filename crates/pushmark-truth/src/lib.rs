//! Truth tests: measurements compared with known answers.
//!
//! Each check starts the real parts (a server with a known fault, the shard threads, the whole run path). It
//! compares the report with the server's own truth log, or with the actions of a small handmade target. Exact
//! counts are judged by their first run. A check of times that fails is judged by the first of at most eight
//! runs that the instrument itself calls valid. A disturbance excuses a failure; it never makes a success.
//!
//! `pushmark selftest` runs them on the user's machine; small versions are ordinary tests.

#![forbid(unsafe_code)]

mod bench;
mod command;
mod counts;
mod delay;
mod disturbed;
mod foreign;
mod freeze;
mod ks;
mod log;
mod long_poll;
mod loss;
mod overload;
mod payloads;
mod polling;
mod pull;
mod random;
mod scenario;
pub mod selftest;
mod shards;
mod starved;
mod values;

pub use bench::Bench;
pub use random::{Outcome as RandomOutcome, Tally};

/// The size of the crowds and the length of the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// As `Small`, over fewer transports: the self-test of one minute.
    Minute,
    /// Seconds each: the normal test run.
    Small,
    /// The sizes of the definitions.
    Full,
}

impl Scale {
    /// One of two values.
    pub(crate) fn pick<T>(self, small: T, full: T) -> T {
        match self {
            Scale::Minute | Scale::Small => small,
            Scale::Full => full,
        }
    }

    /// The transports a check is made over.
    pub(crate) fn over(
        self,
        minute: &'static [&'static str],
        small: &'static [&'static str],
        full: &'static [&'static str],
    ) -> &'static [&'static str] {
        match self {
            Scale::Minute => minute,
            Scale::Small => small,
            Scale::Full => full,
        }
    }
}

/// How a check ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Within its tolerance.
    Passed,
    /// Outside.
    Failed,
    /// Outside, but all runs were disturbed: no decision.
    Undecided,
}

/// One comparison of a reported value with the true one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What is compared.
    pub name: String,
    /// The true value.
    pub expected: String,
    /// The reported value.
    pub got: String,
    /// The allowed difference; `exact` for counts.
    pub tolerance: String,
    /// How it ended.
    pub state: State,
    /// Disturbed runs that were repeated.
    pub repeats: u32,
}

impl Check {
    /// A comparison with its outcome.
    pub(crate) fn new(
        name: impl Into<String>,
        expected: impl ToString,
        got: impl ToString,
        tolerance: impl Into<String>,
        passed: bool,
    ) -> Check {
        Check {
            name: name.into(),
            expected: expected.to_string(),
            got: got.to_string(),
            tolerance: tolerance.into(),
            state: if passed { State::Passed } else { State::Failed },
            repeats: 0,
        }
    }

    /// A count that must be the same.
    pub(crate) fn exact<T: PartialEq + ToString>(name: impl Into<String>, expected: T, got: T) -> Check {
        let passed = expected == got;
        Check::new(name, expected.to_string(), got.to_string(), "exact", passed)
    }

    /// A value within bounds, both included.
    pub(crate) fn between(
        name: impl Into<String>,
        low: f64,
        got: Option<f64>,
        high: f64,
        unit: &str,
    ) -> Check {
        let shown = got.map_or("absent".to_owned(), |got| format!("{} {unit}", short(got)));
        let passed = got.is_some_and(|got| (low..=high).contains(&got));
        Check::new(name, format!("{} to {} {unit}", short(low), short(high)), shown, "in range", passed)
    }

    /// A value that may differ from the truth by `within`, in the same unit.
    pub(crate) fn near(
        name: impl Into<String>,
        expected: f64,
        got: Option<f64>,
        within: f64,
        unit: &str,
    ) -> Check {
        let shown = got.map_or("absent".to_owned(), |got| format!("{} {unit}", short(got)));
        let passed = got.is_some_and(|got| (got - expected).abs() <= within);
        let tolerance = format!("± {} {unit}", short(within));
        Check::new(name, format!("{} {unit}", short(expected)), shown, tolerance, passed)
    }

    /// A check of a condition.
    pub(crate) fn holds(
        name: impl Into<String>,
        expected: impl ToString,
        got: impl ToString,
        passed: bool,
    ) -> Check {
        Check::new(name, expected, got, "exact", passed)
    }
}

/// At most four significant digits.
fn short(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 1_000.0 => 0,
        v if v >= 100.0 => 1,
        v if v >= 10.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// Checks that belong together.
pub struct Family {
    /// Its name on the command line and in tests.
    pub name: &'static str,
    /// Part of the self-test of one minute.
    pub in_minute: bool,
    /// The family checks only counts: other load on the machine does not change them.
    pub counts_only: bool,
    /// Makes the runs. The bench keeps the comparisons.
    pub run: fn(&mut Bench) -> anyhow::Result<()>,
}

/// All families, in the order of the self-test.
pub const FAMILIES: [Family; 17] = [
    Family { name: "counts", in_minute: true, counts_only: true, run: counts::run },
    Family { name: "corrupt", in_minute: false, counts_only: true, run: counts::corrupt },
    Family { name: "payloads", in_minute: false, counts_only: true, run: payloads::run },
    Family { name: "delay", in_minute: true, counts_only: false, run: delay::fixed },
    Family { name: "bimodal", in_minute: true, counts_only: false, run: delay::bimodal },
    Family { name: "freeze", in_minute: true, counts_only: false, run: freeze::run },
    Family { name: "reset", in_minute: true, counts_only: true, run: loss::reset },
    Family { name: "silence", in_minute: true, counts_only: true, run: loss::silence },
    Family { name: "refusal", in_minute: false, counts_only: false, run: loss::refusal },
    Family { name: "long-poll", in_minute: true, counts_only: false, run: long_poll::run },
    Family { name: "values", in_minute: true, counts_only: true, run: values::run },
    Family { name: "shards", in_minute: true, counts_only: false, run: shards::run },
    Family { name: "overload", in_minute: false, counts_only: false, run: overload::run },
    Family { name: "polling", in_minute: false, counts_only: false, run: polling::run },
    Family { name: "pull", in_minute: false, counts_only: true, run: pull::run },
    Family { name: "disturbed", in_minute: false, counts_only: false, run: disturbed::run },
    Family { name: "starved", in_minute: false, counts_only: false, run: starved::run },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_fails_outside_its_tolerance() {
        assert_eq!(Check::exact("n", 7, 7).state, State::Passed);
        assert_eq!(Check::exact("n", 7, 6).state, State::Failed);
        assert_eq!(Check::near("t", 10.0, Some(10.2), 0.1, "ms").state, State::Failed);
        assert_eq!(Check::near("t", 10.0, Some(9.9), 0.11, "ms").state, State::Passed);
        assert_eq!(Check::between("t", 1.0, None, 2.0, "ms").state, State::Failed);
        assert_eq!(Check::between("t", 1.0, Some(2.0), 2.0, "ms").got, "2 ms");
    }
}
