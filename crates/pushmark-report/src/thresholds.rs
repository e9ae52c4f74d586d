//! Thresholds over arms and starts: `pass`, `fail`, or `inconclusive` if the interval of
//! repeated starts straddles the bound.

use pushmark_chart::estimate::Estimate;
use pushmark_chart::numbers::Notation;

use super::case::{ArmView, Case};

/// The result of a threshold on one arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Pass,
    Inconclusive,
    Fail,
}

/// One threshold on one arm over all starts.
pub(crate) struct OnArm {
    pub(crate) arm: &'static str,
    pub(crate) outcome: Outcome,
    /// In the metric's unit; counts are totals. Absent if any start lacks the metric.
    pub(crate) value: Option<f64>,
}

/// One expression over all arms.
pub(crate) struct Row {
    pub(crate) expression: String,
    pub(crate) arms: Vec<OnArm>,
}

impl Row {
    pub(crate) fn outcome(&self) -> Outcome {
        match () {
            () if self.arms.iter().any(|a| a.outcome == Outcome::Fail) => Outcome::Fail,
            () if self.arms.iter().any(|a| a.outcome == Outcome::Inconclusive) => Outcome::Inconclusive,
            () => Outcome::Pass,
        }
    }

    /// Returns `pass 5 of 5`, or the arms that did not pass, with their values.
    pub(crate) fn words(&self, n: &Notation, fail: &str) -> String {
        let named = |outcome: Outcome| -> Vec<String> {
            let of = self.arms.iter().filter(|a| a.outcome == outcome);
            of.map(|a| format!("{} {}", a.arm, self.value(a.value, n))).collect()
        };
        match self.outcome() {
            Outcome::Pass => format!("pass {0} of {0}", self.arms.len()),
            Outcome::Fail => format!("{fail} {}", named(Outcome::Fail).join(", ")),
            Outcome::Inconclusive => format!("inconclusive {}", named(Outcome::Inconclusive).join(", ")),
        }
    }

    fn value(&self, value: Option<f64>, n: &Notation) -> String {
        match value {
            None => "– absent".into(),
            Some(v) if is_time(&self.expression) => n.time(v),
            Some(v) if v.fract() == 0.0 && v >= 0.0 => n.count(v as u64),
            Some(v) => n.three(v),
        }
    }
}

/// Returns all thresholds of a case, failed first.
pub(crate) fn rows(case: &Case<'_>) -> Vec<Row> {
    let mut expressions: Vec<&str> = Vec::new();
    for threshold in case.starts.iter().flat_map(|s| &s.run.thresholds) {
        if !expressions.contains(&threshold.expression.as_str()) {
            expressions.push(&threshold.expression);
        }
    }
    let mut rows: Vec<Row> = expressions
        .into_iter()
        .map(|e| Row {
            expression: e.into(),
            arms: case.arms.iter().filter_map(|a| on_arm(case, a, e)).collect(),
        })
        .collect();
    rows.sort_by_key(|r| std::cmp::Reverse(r.outcome() as u8));
    rows
}

fn on_arm(case: &Case<'_>, arm: &ArmView<'_>, expression: &str) -> Option<OnArm> {
    let all: Vec<_> = case
        .starts
        .iter()
        .flat_map(|s| &s.run.thresholds)
        .filter(|t| t.arm == arm.transport && t.expression == expression)
        .collect();
    let held = all.iter().filter(|t| t.ok).count();
    if all.is_empty() {
        return None;
    }
    let values: Option<Vec<f64>> = all.iter().map(|t| t.value).collect();
    let time = is_time(expression);
    let estimate = values.as_deref().and_then(|v| Estimate::of(v, time));
    let value = if time { estimate.map(|e| e.value) } else { values.map(|v| v.iter().sum()) };
    let exact = expression.contains("==");
    let outcome = if held == 0 || (exact && held < all.len()) {
        Outcome::Fail
    } else if held < all.len() || estimate.is_some_and(|e| straddles(&e, expression)) {
        Outcome::Inconclusive
    } else {
        Outcome::Pass
    };
    Some(OnArm { arm: arm.name(), outcome, value })
}

/// Whether the bad end of an interval crosses the bound. A range says nothing beyond its starts.
fn straddles(estimate: &Estimate, expression: &str) -> bool {
    let pushmark_chart::estimate::Spread::Interval(low, high) = estimate.spread else { return false };
    let Some(bound) = bound_of(expression) else { return false };
    match expression {
        e if e.contains("<=") => high > bound,
        e if e.contains('<') => high >= bound,
        e if e.contains(">=") => low < bound,
        e if e.contains('>') => low <= bound,
        _ => false,
    }
}

/// Returns the number after the operator, times in µs.
fn bound_of(expression: &str) -> Option<f64> {
    let at = expression.rfind(['<', '>', '='])?;
    let text = expression[at + 1..].trim().replace('_', "");
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let value: f64 = text[..digits].parse().ok()?;
    let factor = match text[digits..].trim() {
        "" | "us" | "µs" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        _ => return None,
    };
    Some(value * factor)
}

fn is_time(expression: &str) -> bool {
    let metric = expression.split(['<', '>', '=', '!']).next().unwrap_or("").trim();
    let last = metric.rsplit('.').next().unwrap_or("");
    let percentile =
        last.strip_prefix('p').is_some_and(|d| !d.is_empty() && d.bytes().all(|b| b.is_ascii_digit()));
    percentile || last.ends_with("_us") || ["mean", "min", "max"].contains(&last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_chart::estimate::Spread;

    #[test]
    fn bounds_are_read_with_their_unit() {
        assert_eq!(bound_of("delivery.p99 < 50ms"), Some(50_000.0));
        assert_eq!(bound_of("delivery.missing == 0"), Some(0.0));
        assert_eq!(bound_of("delivery.p50 <= 1.5s"), Some(1_500_000.0));
        assert!(
            is_time("delivery.p99 < 50ms")
                && is_time("connect.max_us < 1s")
                && !is_time("delivery.missing == 0")
        );
    }

    #[test]
    fn an_interval_over_the_bound_is_inconclusive() {
        let e = Estimate { value: 45_000.0, spread: Spread::Interval(40_000.0, 51_000.0), n: 5 };
        assert!(straddles(&e, "delivery.p99 < 50ms"));
        assert!(!straddles(&e, "delivery.p99 < 52ms"));
        assert!(straddles(&e, "delivery.p99 > 41ms"));
    }
}
