//! A distribution as it was read: its values and their counts. A coordinator reads some thirty of each agent every
//! second, and adds them to a sum: none of them needs the 184 KiB of a histogram.

use std::sync::OnceLock;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// One hour in µs: the largest value that is distinguished.
pub const HIGHEST_US: u64 = 3_600_000_000;

/// A histogram of three significant digits up to an hour.
pub(crate) fn empty() -> Histogram<u64> {
    Histogram::new_with_bounds(1, HIGHEST_US, 3).expect("constant bounds are valid")
}

/// The values of both halves, ascending: each as its distance from the one before, and its count.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Values {
    positive: Vec<(u64, u64)>,
    /// Magnitudes.
    negative: Vec<(u64, u64)>,
}

/// Values, and the histograms of them if somebody asked for these.
#[derive(Clone, Debug)]
pub(crate) struct Sparse {
    pub(crate) values: Values,
    pub(crate) dense: OnceLock<Halves>,
}

/// Both halves of a distribution, allocated if they have a value.
#[derive(Clone, Debug, Default)]
pub(crate) struct Halves {
    pub(crate) positive: Option<Histogram<u64>>,
    pub(crate) negative: Option<Box<Histogram<u64>>>,
}

impl Sparse {
    pub(crate) fn dense(&self) -> &Halves {
        self.dense.get_or_init(|| self.values.dense())
    }
}

impl Values {
    pub(crate) fn of(positive: &Histogram<u64>, negative: Option<&Histogram<u64>>) -> Values {
        Values { positive: distances(positive), negative: negative.map_or_else(Vec::new, distances) }
    }

    pub(crate) fn positive(&self) -> impl Iterator<Item = (u64, u64)> {
        values(&self.positive)
    }

    pub(crate) fn negative(&self) -> impl Iterator<Item = (u64, u64)> {
        values(&self.negative)
    }

    pub(crate) fn are_none(&self) -> bool {
        self.positive.is_empty() && self.negative.is_empty()
    }

    /// Whether each value is one that a distribution can hold, as it came from a peer.
    pub(crate) fn are_in_bounds(&self) -> bool {
        let last = highest();
        [&self.positive, &self.negative].into_iter().all(|half| {
            half.iter()
                .try_fold(0u64, |sum, (distance, _)| sum.checked_add(*distance))
                .is_some_and(|sum| sum <= last)
        })
    }

    pub(crate) fn dense(&self) -> Halves {
        let fill = |half: &[(u64, u64)]| {
            let mut histogram = empty();
            values(half).for_each(|(value, times)| histogram.saturating_record_n(value, times));
            histogram
        };
        let some = |half: &[(u64, u64)]| (!half.is_empty()).then(|| fill(half));
        Halves { positive: some(&self.positive), negative: some(&self.negative).map(Box::new) }
    }
}

/// The highest value of the last bucket, which is above an hour.
fn highest() -> u64 {
    static HIGHEST: OnceLock<u64> = OnceLock::new();
    *HIGHEST.get_or_init(|| empty().highest_equivalent(HIGHEST_US))
}

fn distances(histogram: &Histogram<u64>) -> Vec<(u64, u64)> {
    let mut before = 0;
    let recorded = histogram.iter_recorded().map(|step| {
        let value = step.value_iterated_to();
        let distance = value - before;
        before = value;
        (distance, step.count_at_value())
    });
    recorded.collect()
}

fn values(distances: &[(u64, u64)]) -> impl Iterator<Item = (u64, u64)> {
    distances.iter().scan(0, |value, (distance, times)| {
        *value += distance;
        Some((*value, *times))
    })
}
