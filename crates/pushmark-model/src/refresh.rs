//! When a poller polls again if the interval adapts to what it finds: its time to refresh (TTR).
//!
//! Pure arithmetic on what two polls showed; no clock. The change between two polls is the number of
//! publications: in a stream of numbered states that replaces the difference of two values.

use serde::{Deserialize, Serialize};

/// How the time to refresh adapts to new states, and its bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Adaptive {
    /// The rule.
    pub rule: Rule,
    /// TTRmin.
    pub min_ns: u64,
    /// TTRmax.
    pub max_ns: u64,
}

/// How the time to refresh adapts to new states.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The adaptive TTR of Srinivasan, Liang and Ramamritham (RTSS 1998) as described by Deolasee, Bhide and
    /// others (*Adaptive Push-Pull*, WWW 2001, section 2; IEEE Transactions on Computers 51(6), 2002):
    ///
    /// ```text
    /// estimate = TTRlatest ÷ |Dlatest − Dpenultimate| × c
    /// TTRdyn   = w × estimate + (1 − w) × TTRlatest
    /// TTR      = max(TTRmin, min(TTRmax, a × TTRmr + (1 − a) × TTRdyn))
    /// ```
    ///
    /// TTRlatest is the gap before this poll and TTRmr the smallest used so far. |ΔD| is the number of
    /// publications since the previous poll, and c is one: no state is to be skipped. Without a publication
    /// the quotient is unbounded, and the estimate is TTRmax.
    Ttr {
        /// w: weight of the latest change against what was learned before.
        weight: f64,
        /// a: weight of the smallest TTR so far against what was learned.
        caution: f64,
    },
    /// Halved after an answer with something new, doubled after one without.
    Halving,
}

/// State of a poller between two answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Refresh {
    /// Gap until its next poll.
    pub interval_ns: u64,
    /// The smallest gap so far.
    least_ns: u64,
    /// Publications it knows of; 0: none yet.
    known: u64,
}

impl Refresh {
    /// Starts with this gap.
    pub fn new(interval_ns: u64) -> Refresh {
        Refresh { interval_ns, least_ns: interval_ns, known: 0 }
    }

    /// Takes an answer that shows `known` publications in all. States before the first one that is shown were
    /// published before this poller began: together they count as one change.
    pub fn answered(&mut self, adaptive: &Adaptive, known: u64) {
        let changes = match self.known {
            0 => known.min(1),
            before => known.saturating_sub(before),
        };
        self.known = known;
        let latest = self.interval_ns as f64;
        let next = match adaptive.rule {
            Rule::Halving if changes > 0 => latest / 2.0,
            Rule::Halving => latest * 2.0,
            Rule::Ttr { weight, caution } => {
                let estimate = if changes > 0 { latest / changes as f64 } else { adaptive.max_ns as f64 };
                let learned = weight * estimate + (1.0 - weight) * latest;
                caution * self.least_ns as f64 + (1.0 - caution) * learned
            }
        };
        self.interval_ns = (next.round() as u64).clamp(adaptive.min_ns, adaptive.max_ns);
        self.least_ns = self.least_ns.min(self.interval_ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Returns the gaps, in ms, after answers that showed these numbers of publications.
    fn gaps(rule: Rule, first_ms: u64, known: &[u64]) -> Vec<f64> {
        let adaptive = Adaptive { rule, min_ns: 1_000 * MS, max_ns: 60_000 * MS };
        let mut refresh = Refresh::new(first_ms * MS);
        let gap = |known: &u64| {
            refresh.answered(&adaptive, *known);
            refresh.interval_ns as f64 / MS as f64
        };
        known.iter().map(gap).collect()
    }

    #[test]
    fn ttr_follows_a_sequence_computed_by_hand() {
        // w = a = 0.5, from 8 s, least = 8.
        // +1: estimate 8 ÷ 1 = 8, learned 8, 0.5 × 8 + 0.5 × 8 = 8.
        // +4: estimate 8 ÷ 4 = 2, learned 0.5 × 2 + 0.5 × 8 = 5, 0.5 × 8 + 0.5 × 5 = 6.5; least 6.5.
        // +0: estimate 60, learned 33.25, 0.5 × 6.5 + 0.5 × 33.25 = 19.875.
        // +3: estimate 6.625, learned 13.25, 0.5 × 6.5 + 0.5 × 13.25 = 9.875.
        let rule = Rule::Ttr { weight: 0.5, caution: 0.5 };
        assert_eq!(gaps(rule, 8_000, &[1, 5, 5, 8]), [8_000.0, 6_500.0, 19_875.0, 9_875.0]);
    }

    #[test]
    fn weight_and_caution_count_as_in_the_formula() {
        // w = 0.8, a = 0, from 10 s: +2 estimate 5, learned 0.8 × 5 + 0.2 × 10 = 6;
        // then +0: estimate 60, learned 0.8 × 60 + 0.2 × 6 = 49.2.
        let quick = Rule::Ttr { weight: 0.8, caution: 0.0 };
        assert_eq!(gaps(quick, 10_000, &[1, 3, 3]), [10_000.0, 6_000.0, 49_200.0]);
        // a = 1 stays at the smallest so far.
        let careful = Rule::Ttr { weight: 0.8, caution: 1.0 };
        assert_eq!(gaps(careful, 10_000, &[1, 9, 9, 9]), [10_000.0, 10_000.0, 10_000.0, 10_000.0]);
    }

    #[test]
    fn ttr_keeps_to_its_bounds() {
        let rule = Rule::Ttr { weight: 1.0, caution: 0.0 };
        // 60 s ÷ 1,000 changes is 60 ms, below the least gap; with nothing new the gap is 60 s, the largest.
        assert_eq!(gaps(rule, 60_000, &[1, 1_001, 1_001, 1_001]), [60_000.0, 1_000.0, 60_000.0, 60_000.0]);
    }

    #[test]
    fn ttr_comes_to_rest_at_the_publish_interval() {
        // A poller whose gap is the publish interval finds one change each time, and stays.
        let rule = Rule::Ttr { weight: 0.5, caution: 0.0 };
        assert!(gaps(rule, 5_000, &[1, 2, 3, 4, 5]).iter().all(|gap| *gap == 5_000.0));
    }

    #[test]
    fn a_late_comer_counts_one_change() {
        let rule = Rule::Ttr { weight: 0.5, caution: 0.0 };
        assert_eq!(gaps(rule, 5_000, &[4_711, 4_712]), [5_000.0, 5_000.0]);
    }

    #[test]
    fn halving_halves_and_doubles_within_its_bounds() {
        let halving = gaps(Rule::Halving, 3_000, &[1, 2, 2, 2, 2, 2, 2, 2]);
        assert_eq!(halving, [1_500.0, 1_000.0, 2_000.0, 4_000.0, 8_000.0, 16_000.0, 32_000.0, 60_000.0]);
    }
}
