//! `pushmark compare` as a file (schema `pushmark.compare/1`): two sets of starts, arm by arm, with
//! what differs beside the thing compared. Ratios and differences are always B against A.

use serde::{Deserialize, Serialize};

use crate::run::VerdictState;
use crate::stats::Summary;
use crate::transport::Transport;

/// The schema of this file.
pub const SCHEMA: &str = "pushmark.compare/1";

/// Two sets of starts compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// What B is compared with.
    pub a: Set,
    /// What is compared.
    pub b: Set,
    /// Machine, versions and settings that are not the same on both sides.
    pub differs: Vec<Setting>,
    /// What was asked to decide; absent: `delivery.p99` where every start has it, else `delivery.p50`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metric: Option<String>,
    /// Each arm that both sides have.
    pub pairs: Vec<Pair>,
    /// Arms that only one side has.
    pub unmatched: Vec<Unmatched>,
    /// Starts that are doubtful, on either side.
    pub doubts: Vec<Doubt>,
    /// Each `--fail-if` on each arm.
    pub gates: Vec<Gate>,
}

/// One side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Set {
    /// As it was named.
    pub given: String,
    /// The ids of its runs.
    pub runs: Vec<String>,
}

/// Which of the two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SideName {
    /// The first.
    A,
    /// The second.
    B,
}

impl SideName {
    /// `A` or `B`.
    pub fn name(self) -> &'static str {
        match self {
            SideName::A => "A",
            SideName::B => "B",
        }
    }
}

/// A setting that differs. Several values of one side are joined by commas.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// A scenario's key, or `environment.…`.
    pub key: String,
    /// Of A; `–` where it has none.
    pub a: String,
    /// Of B.
    pub b: String,
}

/// An arm of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pair {
    /// The cell of the suite; absent outside one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub case: Option<String>,
    /// Its transport.
    pub transport: Transport,
    /// Starts of A that are used.
    pub n_a: usize,
    /// Starts of B that are used.
    pub n_b: usize,
    /// The metric that decides; absent where it could not be compared.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub primary: Option<Effect>,
    /// Why it could not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_compared: Option<String>,
    /// The other metrics that every start of both sides has.
    pub others: Vec<Effect>,
}

/// One metric of one arm, on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Its name.
    pub metric: String,
    /// Its unit.
    pub unit: String,
    /// A's starts.
    pub a: Summary,
    /// B's starts.
    pub b: Summary,
    /// B ÷ A, geometric means; absent where a value is 0 or below.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ratio: Option<Bounded>,
    /// B − A, arithmetic means; where there is no ratio.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub difference: Option<Bounded>,
    /// How it was tested.
    pub test: Test,
    /// How often chance alone gives as much; absent where nothing was tested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p: Option<f64>,
    /// The same after Holm's adjustment within its family: the primary metrics of all arms, or all others.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p_adjusted: Option<f64>,
    /// What is to be said.
    pub finding: Finding,
    /// The smallest share by which B could have differed and be seen four times of five; absent
    /// where nothing was tested, or the values do not vary.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub detectable: Option<f64>,
}

/// A number and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounded {
    /// The number.
    pub value: f64,
    /// The interval's ends; absent below five starts.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub interval: Option<(f64, f64)>,
}

/// How a metric was tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Welch's t on logarithms.
    WelchLog,
    /// Permutation of the starts.
    Permutation,
    /// Not: a side has fewer than five starts.
    None,
}

/// What is to be said of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// B is better.
    Better,
    /// B is worse.
    Worse,
    /// B differs, and neither way is good.
    Differs,
    /// No significant difference.
    NoDifference,
    /// Too few starts for a test.
    NotTested,
}

impl Finding {
    /// Whether a difference was seen.
    pub fn is_difference(self) -> bool {
        matches!(self, Finding::Better | Finding::Worse | Finding::Differs)
    }
}

/// An arm that only one side has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unmatched {
    /// The side that has it.
    pub side: SideName,
    /// The cell of the suite; absent outside one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub case: Option<String>,
    /// Its transport.
    pub transport: Transport,
}

/// A start whose figures are doubtful.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubt {
    /// Its side.
    pub side: SideName,
    /// Its id.
    pub run: String,
    /// The arm.
    pub transport: Transport,
    /// Its verdict.
    pub state: VerdictState,
    /// The backlog grew: its percentiles depend on when it was stopped.
    pub unstable: bool,
    /// Whether it is compared all the same; an unstable one without its latencies.
    pub used: bool,
    /// The worst reason.
    pub reason: String,
}

/// Whether a `--fail-if` let an arm pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Passed {
    /// It is not worse by so much.
    Pass,
    /// It is.
    Fail,
    /// The interval allows both.
    Inconclusive,
}

/// A `--fail-if` on one arm.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// As written: `delivery.p99 worse 5%`.
    pub expression: String,
    /// The cell of the suite; absent outside one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub case: Option<String>,
    /// The arm.
    pub transport: Transport,
    /// What became of it.
    pub outcome: Passed,
    /// Why, in words.
    pub why: String,
}
