//! `--fail-if 'delivery.p99 worse 5%'`: the limit of a difference, for scripts.

use pushmark_model::compare::{Effect, Gate, Passed, SideName};
use pushmark_model::metrics::{Better, Metric};
use pushmark_model::stats::{ALPHA, INTERVAL_FROM};
use pushmark_model::units::parse_share;

use super::{Arms, Key, effect};
use pushmark_console::exit::{Ending, Exit};

const ACCEPTED: &str = "a metric, the word worse and a share, such as 'delivery.p99 worse 5%'";

/// A metric, and by how much it may be worse.
#[derive(Clone, Debug)]
pub struct FailIf {
    metric: Metric,
    share: f64,
    text: String,
}

impl FailIf {
    /// Reads `METRIC worse SHARE`.
    ///
    /// # Errors
    /// Fails with exit 2 if the text is not valid, or the metric has no better direction.
    pub fn parse(text: &str) -> anyhow::Result<FailIf> {
        let wrong = |what: String| Ending::error(Exit::Usage, format!("--fail-if {text:?}: {what}"));
        let words: Vec<&str> = text.split_whitespace().collect();
        let [name, "worse", share] = words[..] else {
            return Err(wrong(format!("accepted: {ACCEPTED}")));
        };
        let metric = find(name).map_err(wrong)?;
        if metric.better() == Better::Neither {
            return Err(wrong(format!("{} is neither better high nor low", metric.name)));
        }
        let share = share.ends_with('%').then(|| parse_share(share).ok()).flatten();
        let share = share.ok_or_else(|| wrong(format!("accepted: {ACCEPTED}")))?;
        Ok(FailIf { metric, share, text: words.join(" ") })
    }

    /// Its outcome on an arm. A metric that B lacks fails, like a threshold. A metric that A lacks, or
    /// unusable figures, decide nothing.
    pub(super) fn on(&self, key: &Key, a: &Arms, b: &Arms) -> Gate {
        let (outcome, why) = match effect::of(&self.metric, a, b) {
            Err(absent) if absent.side == SideName::B && !absent.unbelieved => (Passed::Fail, absent.why),
            Err(absent) => (Passed::Inconclusive, absent.why),
            Ok(effect) if effect.p.is_none() && effect.a.n.min(effect.b.n) < INTERVAL_FROM => {
                let (n_a, n_b) = (effect.a.n, effect.b.n);
                let why = format!(
                    "n = {n_a} and {n_b}: no interval below {INTERVAL_FROM} starts of each (--repeat {INTERVAL_FROM})"
                );
                (Passed::Inconclusive, why)
            }
            Ok(effect) if effect.a.n.min(effect.b.n) >= INTERVAL_FROM && !has_interval(&effect) => {
                (Passed::Inconclusive, "the blocks are too few for an interval".to_owned())
            }
            Ok(effect) => self.judge(&effect),
        };
        let (case, transport) = (key.case.clone(), key.transport);
        Gate { expression: self.text.clone(), case, transport, outcome, why }
    }

    /// "Worse" means that the near end of the interval is beyond the share, on the bad side.
    fn judge(&self, effect: &Effect) -> (Passed, String) {
        let by = |share: f64| format!("{:.1} %", share * 100.0);
        // How much worse, as a share of A: the least and the most that the interval allows.
        let (least, most) = match self.worse_by(effect) {
            Some(ends) => ends,
            None => {
                let appeared = effect.p.is_some_and(|p| p < ALPHA);
                let outcome = if appeared { Passed::Fail } else { Passed::Inconclusive };
                return (outcome, "it is zero in A and not zero in B".to_owned());
            }
        };
        let allows = format!("the interval allows {} to {} worse", by(least), by(most));
        match () {
            () if most <= self.share => (Passed::Pass, format!("at most {} worse", by(most.max(0.0)))),
            () if least > self.share && effect.p.is_some_and(|p| p < ALPHA) => {
                (Passed::Fail, format!("at least {} worse", by(least)))
            }
            () => (Passed::Inconclusive, allows),
        }
    }

    /// `None` if the base of the share is 0.
    fn worse_by(&self, effect: &Effect) -> Option<(f64, f64)> {
        let low_is_good = self.metric.better() == Better::Lower;
        let (low, high) = match (effect.ratio, effect.difference) {
            (Some(ratio), _) => ratio.interval.map(|(low, high)| (low - 1.0, high - 1.0))?,
            (None, difference) => {
                let (low, high) = difference?.interval?;
                let whole = effect.a.mean.abs();
                match whole > 0.0 {
                    true => (low / whole, high / whole),
                    // More of a good thing, or 0 on both sides.
                    false if !low_is_good || (low == 0.0 && high == 0.0) => (0.0, 0.0),
                    false => return None,
                }
            }
        };
        Some(if low_is_good { (low, high) } else { (-high, -low) })
    }
}

fn has_interval(effect: &Effect) -> bool {
    effect.ratio.or(effect.difference).is_some_and(|size| size.interval.is_some())
}

/// The metric of this name.
///
/// # Errors
/// Fails with a message that has the nearest name.
pub fn find(name: &str) -> Result<Metric, String> {
    Metric::find(name).ok_or_else(|| {
        let all = pushmark_model::metrics::all();
        let nearest = pushmark_model::scenario::nearest(name, all.iter().map(|metric| metric.name.as_str()));
        let hint = nearest.map_or("METRICS.md lists them".to_owned(), |n| format!("did you mean {n}?"));
        format!("unknown metric {name}; {hint}")
    })
}
