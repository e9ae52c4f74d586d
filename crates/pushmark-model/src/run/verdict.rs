//! Whether figures can be trusted. A doubt names the figures it concerns and does not affect others.

use serde::{Deserialize, Serialize};

use crate::family;
use crate::transport::Transport;

/// Whether the figures can be trusted, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VerdictState {
    /// The figures are the server's.
    Valid,
    /// Some of the figures may show the generator, not the server.
    Suspect,
    /// Stopped before the end; the figures up to then were measured.
    Incomplete,
    /// The figures are not the server's.
    Invalid,
}

impl VerdictState {
    /// Returns the word used in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            VerdictState::Valid => "valid",
            VerdictState::Suspect => "suspect",
            VerdictState::Incomplete => "incomplete",
            VerdictState::Invalid => "invalid",
        }
    }
}

/// A verdict and every reason for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Verdict {
    /// The state of the worst reason.
    pub state: VerdictState,
    /// All reasons, worst first.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// Returns whether one figure of an arm can be trusted: the worst of the reasons that concern it.
    /// `metric` is a metric name as in thresholds (`delivery.p99`), or a family of metrics (`counts`).
    pub fn of_metric(&self, arm: Transport, metric: &str) -> VerdictState {
        let mut reasons: Vec<&Reason> = self.about(arm, metric).collect();
        reasons.sort_by_key(|reason| reason.state);
        reasons.last().map_or(VerdictState::Valid, |reason| reason.state)
    }

    /// Returns the reasons that concern one figure of an arm, in the order they are kept.
    pub fn about<'a>(&'a self, arm: Transport, metric: &'a str) -> impl Iterator<Item = &'a Reason> {
        let of_arm = move |reason: &&Reason| reason.arm.is_none_or(|of| of == arm);
        self.reasons.iter().filter(of_arm).filter(move |reason| reason.concerns_metric(metric))
    }
}

/// One doubt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reason {
    /// Stable name: `generator_busy`, `read_lag`, …
    pub code: String,
    /// Its severity.
    pub state: VerdictState,
    /// The arm it concerns; absent if it concerns the whole run.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub arm: Option<Transport>,
    /// The figures it concerns: families (`latency`), one percentile of a family (`latency.p99`), or single
    /// metrics. Empty: all figures, as in older files.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub concerns: Vec<String>,
    /// What was observed, and its bound.
    pub seen: String,
    /// Why it matters.
    pub why: String,
    /// What to try.
    #[serde(rename = "try")]
    pub try_: String,
}

impl Reason {
    /// Whether it concerns this metric, or any metric of this family.
    pub fn concerns_metric(&self, metric: &str) -> bool {
        self.concerns.is_empty() || self.concerns.iter().any(|entry| covers(entry, metric))
    }
}

/// Whether an entry of `concerns` covers a metric, or any metric of a family. A doubt of one percentile
/// covers that percentile, and those between it and the next that is judged; metrics that are not percentiles (mean, largest, a share within a time) are
/// covered by a doubt of any percentile.
fn covers(entry: &str, metric: &str) -> bool {
    let (base, doubted) = match entry.rsplit_once('.') {
        Some((base, last)) if family::is_percentile(last) => (base, Some(last)),
        _ => (entry, None),
    };
    if family::is_family(metric) {
        return base == metric || family::of(base) == metric;
    }
    // A family may share its name with metrics of another one: `connect.failed` is a count, not a connect time.
    let named = match family::is_family(base) {
        true => base == family::of(metric),
        false => metric.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')),
    };
    let asked = family::percentile(metric);
    let doubts = |asked: &str, doubted: &str| family::judged_around(asked).any(|judged| judged == doubted);
    named && doubted.is_none_or(|doubted| asked.is_none_or(|asked| doubts(asked, doubted)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(reasons: &[(VerdictState, &[&str])]) -> Verdict {
        let reasons: Vec<Reason> = reasons
            .iter()
            .map(|(state, concerns)| Reason {
                code: "invented".into(),
                state: *state,
                arm: Some(Transport::Sse),
                concerns: concerns.iter().map(ToString::to_string).collect(),
                seen: String::new(),
                why: String::new(),
                try_: String::new(),
            })
            .collect();
        Verdict { state: VerdictState::Valid, reasons }
    }

    fn of(reasons: &[(VerdictState, &[&str])], metric: &str) -> VerdictState {
        verdict(reasons).of_metric(Transport::Sse, metric)
    }

    #[test]
    fn counts_stay_usable_beside_a_doubtful_latency() {
        use VerdictState::{Invalid, Suspect, Valid};
        let reasons: &[(VerdictState, &[&str])] =
            &[(Invalid, &["latency.p99", "from_sent.p99"]), (Suspect, &["latency.p50"]), (Suspect, &["cpu"])];
        for (metric, state) in [
            ("delivery.missing", Valid),
            ("delivery.of_intended", Valid),
            ("connections.lost", Valid),
            ("connect.p99", Valid),
            ("delivery.p90", Valid),
            ("delivery.p50", Suspect),
            ("delivery.p99", Invalid),
            // Between two that are judged.
            ("delivery.p95", Invalid),
            ("delivery.p75", Suspect),
            ("delivery.delivered_only.p99", Invalid),
            ("delivery.spread.last.p99", Invalid),
            ("delivery.from_sent.p50", Valid),
            ("delivery.from_sent.p99", Invalid),
            ("delivery.latency_stamped.p99", Valid),
            ("delivery.max", Invalid),
            ("delivery.within_100ms", Invalid),
            ("delivery.age_of_information.p50", Suspect),
            ("delivery.age_of_information.mean", Suspect),
            ("delivery.age_of_information.p99", Invalid),
            ("server.cpu_us_per_delivery", Suspect),
            ("server.rss_bytes_peak", Valid),
            ("latency", Invalid),
            ("counts", Valid),
        ] {
            assert_eq!(of(reasons, metric), state, "{metric}");
        }
        let other = verdict(reasons).of_metric(Transport::Poll, "delivery.p99");
        assert_eq!(other, Valid, "it is said of another arm");
    }

    #[test]
    fn a_reason_that_names_nothing_is_about_all() {
        for metric in ["delivery.missing", "server.cpu_us", "counts", "latency"] {
            assert_eq!(of(&[(VerdictState::Incomplete, &[])], metric), VerdictState::Incomplete);
        }
    }

    #[test]
    fn a_doubt_of_a_family_covers_its_metrics_and_no_others() {
        for family in family::ALL {
            for metric in crate::metrics::all() {
                let doubted =
                    of(&[(VerdictState::Invalid, &[family])], &metric.name) == VerdictState::Invalid;
                assert_eq!(doubted, family::of(&metric.name) == family, "{family}: {}", metric.name);
            }
        }
    }

    #[test]
    fn a_metric_can_be_named_by_itself() {
        let reasons: &[(VerdictState, &[&str])] = &[(VerdictState::Suspect, &["observed.latency"])];
        assert_eq!(of(reasons, "observed.latency.p50"), VerdictState::Suspect);
        assert_eq!(of(reasons, "delivery.p50"), VerdictState::Valid);
    }

    #[test]
    fn a_file_of_before_doubts_everything() {
        let text = r#"{"code":"read_lag","state":"invalid","seen":"","why":"","try":""}"#;
        let reason: Reason = serde_json::from_str(text).unwrap();
        assert!(reason.concerns_metric("delivery.missing"));
        assert!(!serde_json::to_string(&reason).unwrap().contains("concerns"));
    }
}
