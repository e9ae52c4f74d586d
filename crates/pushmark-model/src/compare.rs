//! The result file of `pushmark compare` (schema `pushmark.compare/1`): two sets of starts, arm by arm, and
//! the settings in which they differ. Ratios and differences are always of B relative to A.

use serde::{Deserialize, Serialize};

pub use crate::run::SideName;
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
    /// The baseline.
    pub a: Set,
    /// The set that is compared with the baseline.
    pub b: Set,
    /// The order in which the starts of both sides were made; absent in older files.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub design: Option<Design>,
    /// Machine, versions and settings that are not the same on both sides.
    pub differs: Vec<Setting>,
    /// The metric that was requested to decide; absent: `delivery.p99` if every start has it, else
    /// `delivery.p50`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub metric: Option<String>,
    /// The arms that both sides have.
    pub pairs: Vec<Pair>,
    /// Arms that only one side has.
    pub unmatched: Vec<Unmatched>,
    /// Starts that are doubtful, on either side.
    pub doubts: Vec<Doubt>,
    /// Each `--fail-if` condition on each arm.
    pub gates: Vec<Gate>,
}

/// One side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Set {
    /// The name as given on the command line.
    pub given: String,
    /// The ids of its runs.
    pub runs: Vec<String>,
}

/// The order in which the starts of both sides were made. If a host drifts, later starts differ from earlier
/// ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Design {
    /// Alternating, in blocks of one sitting (`pushmark ab`): compared within the blocks.
    Interleaved,
    /// At overlapping times, without blocks.
    Overlapping,
    /// All starts of one side before all of the other: drift in between cannot be separated from a
    /// difference.
    Apart,
}

/// A setting that differs. Several values of one side are joined by commas.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Setting {
    /// A scenario's key, or `environment.…`.
    pub key: String,
    /// A's value; `–` if A has none.
    pub a: String,
    /// B's value.
    pub b: String,
}

/// An arm that both sides have.
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
    /// The share of starts in which the deciding percentile falls among the missing, which is worse than any
    /// value. Also decides. Absent if no start lost the percentile.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lost: Option<Effect>,
    /// The metric that decides; absent if it could not be compared.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub primary: Option<Effect>,
    /// Why the deciding metric could not be compared.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub not_compared: Option<String>,
    /// The deciding metric could not be compared because no start of one side has a trustworthy value.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub unbelieved: bool,
    /// `delivery.of_intended`: loss also decides. Absent if it is the deciding metric, or is not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub loss: Option<Effect>,
    /// The other metrics that every start of both sides has.
    pub others: Vec<Effect>,
}

/// One metric of one arm, on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The metric's name.
    pub metric: String,
    /// The metric's unit.
    pub unit: String,
    /// A's starts.
    pub a: Summary,
    /// B's starts.
    pub b: Summary,
    /// B ÷ A of geometric means; absent if a value is 0 or below.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub ratio: Option<Bounded>,
    /// B − A of arithmetic means; present if there is no ratio.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub difference: Option<Bounded>,
    /// The test used.
    pub test: Test,
    /// The probability that chance alone gives a difference this large; absent if nothing was tested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p: Option<f64>,
    /// The smallest p that this number of starts can give, however large the difference is; absent if there
    /// is no such bound, or if nothing was tested.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub attainable: Option<f64>,
    /// `p` after Holm's adjustment within its family: decides over all arms, or over all other metrics.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub p_adjusted: Option<f64>,
    /// The conclusion.
    pub finding: Finding,
    /// The smallest relative difference of B that would be detected four times out of five; absent if nothing
    /// was tested, or if the values do not vary.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub detectable: Option<f64>,
    /// Starts per side with which a difference could be shown; present if there are too few.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub starts_needed: Option<usize>,
    /// Every start of one side is beyond every start of the other.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub separated: bool,
    /// Differences of the means below this value do not matter, in the metric's unit.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub worth: Option<f64>,
}

/// A number and its 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bounded {
    /// The number.
    pub value: f64,
    /// The interval's ends; absent with fewer than five starts.
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
    /// Permutation within the blocks of a sitting.
    BlockedPermutation,
    /// Not tested: a side has fewer than five starts.
    None,
}

/// The conclusion about a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Finding {
    /// B is better.
    Better,
    /// B is worse.
    Worse,
    /// B differs, and neither direction is better.
    Differs,
    /// B differs by less than matters.
    Alike,
    /// No significant difference.
    NoDifference,
    /// No difference was found, and with this many tests and this few starts none could be.
    CannotShow,
    /// Too few starts for a test.
    NotTested,
}

impl Finding {
    /// Whether a difference was found.
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
    /// The backlog grew: its percentiles depend on when the run was stopped.
    pub unstable: bool,
    /// Whether the start is still compared; an unstable one is, without its latencies.
    pub used: bool,
    /// The figures that are excluded; empty if none or all of them are.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub without: Vec<String>,
    /// The worst reason.
    pub reason: String,
}

/// The result of a `--fail-if` condition on an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Passed {
    /// Not worse by the stated amount.
    Pass,
    /// Worse by the stated amount.
    Fail,
    /// The confidence interval allows both.
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
    /// The result.
    pub outcome: Passed,
    /// Why, in words.
    pub why: String,
}
