//! A distribution of durations that may be negative, and percentiles over the expected values.

use std::sync::{LazyLock, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer as _, V2DeflateSerializer};

use crate::latency::Latency;
pub use crate::sparse::HIGHEST_US;
use crate::sparse::{Halves, Sparse, Values, empty};

/// Values ≥ 0 and magnitudes of values < 0, in µs, three significant digits up to one hour.
///
/// Each half is allocated (184 KiB) when its first value is recorded: most distributions of a record stay
/// empty.
#[derive(Clone, Debug, Default)]
pub struct Distribution {
    positive: Option<Histogram<u64>>,
    negative: Option<Box<Histogram<u64>>>,
    over_1h: u64,
    /// What was read and nothing was added to: then neither half is allocated.
    read: Option<Box<Sparse>>,
}

/// The value of a half that was never allocated.
static EMPTY: LazyLock<Histogram<u64>> = LazyLock::new(empty);

impl Distribution {
    /// Records a difference of two instants in ns (kept as µs, rounded toward zero).
    #[inline]
    pub fn record_ns(&mut self, from_ns: u64, to_ns: u64) {
        if to_ns >= from_ns {
            self.record_us((to_ns - from_ns) / 1_000);
        } else {
            self.record_negative_us((from_ns - to_ns).div_ceil(1_000));
        }
    }

    /// Records a value ≥ 0.
    #[inline]
    pub fn record_us(&mut self, value_us: u64) {
        self.record_many_us(value_us, 1);
    }

    /// Records a value ≥ 0 several times.
    #[inline]
    pub fn record_many_us(&mut self, value_us: u64, times: u64) {
        if value_us > HIGHEST_US {
            self.over_1h += times;
        }
        let positive = match &mut self.positive {
            Some(positive) => positive,
            None => self.begun(),
        };
        positive.saturating_record_n(value_us.min(HIGHEST_US), times);
    }

    /// Records a value < 0 by its magnitude.
    #[cold]
    pub fn record_negative_us(&mut self, magnitude_us: u64) {
        self.settle();
        self.negative
            .get_or_insert_with(|| Box::new(empty()))
            .saturating_record(magnitude_us.min(HIGHEST_US));
    }

    /// Returns the number of values recorded.
    pub fn count(&self) -> u64 {
        self.positive().len() + self.negative_count()
    }

    /// Returns the histogram of values ≥ 0, allocated.
    #[cold]
    fn begun(&mut self) -> &mut Histogram<u64> {
        self.settle();
        self.positive.get_or_insert_with(empty)
    }

    /// Allocates what was read.
    fn settle(&mut self) {
        if let Some(read) = self.read.take() {
            let Halves { positive, negative } =
                read.dense.into_inner().unwrap_or_else(|| read.values.dense());
            (self.positive, self.negative) = (positive, negative);
        }
    }

    /// Magnitudes of values < 0.
    fn negative(&self) -> Option<&Histogram<u64>> {
        match &self.read {
            Some(read) => read.dense().negative.as_deref(),
            None => self.negative.as_deref(),
        }
    }

    /// Returns the number of values below 0.
    pub fn negative_count(&self) -> u64 {
        self.negative().map_or(0, Histogram::len)
    }

    /// Returns the number of values above one hour.
    pub fn over_1h(&self) -> u64 {
        self.over_1h
    }

    /// Adds another distribution. The order of additions does not matter.
    pub fn merge(&mut self, other: &Distribution) {
        self.settle();
        if let Some(read) = &other.read {
            for (value, times) in read.values.positive() {
                self.positive.get_or_insert_with(empty).saturating_record_n(value, times);
            }
            for (value, times) in read.values.negative() {
                let negative = self.negative.get_or_insert_with(|| Box::new(empty()));
                negative.saturating_record_n(value, times);
            }
        }
        if let Some(theirs) = other.positive.as_ref().filter(|theirs| !theirs.is_empty()) {
            self.positive.get_or_insert_with(empty).add(theirs).expect("equal bounds");
        }
        if let Some(theirs) = &other.negative {
            self.negative.get_or_insert_with(|| Box::new(empty())).add(&**theirs).expect("equal bounds");
        }
        self.over_1h += other.over_1h;
    }

    /// Removes all values. Keeps the memory of halves in use and releases that of unused halves.
    pub fn clear(&mut self) {
        self.positive = self.positive.take().filter(|positive| !positive.is_empty());
        if let Some(positive) = &mut self.positive {
            positive.reset();
        }
        (self.negative, self.read) = (None, None);
        self.over_1h = 0;
    }

    /// Returns the recorded value at `rank` (from 1), µs.
    pub fn value_at_rank(&self, rank: u64) -> Option<i64> {
        if rank == 0 || rank > self.count() {
            return None;
        }
        let negative = self.negative_count();
        if rank <= negative {
            // Ranks run from the largest magnitude down.
            let from_low = negative - rank + 1;
            let histogram = self.negative().expect("negative_count > 0");
            return Some(-(at_rank(histogram, from_low) as i64));
        }
        Some(at_rank(self.positive(), rank - negative) as i64)
    }

    /// Returns the `quantile` of the recorded values, µs.
    pub fn quantile(&self, quantile: f64) -> Option<i64> {
        self.value_at_rank(rank_of(quantile, self.count()))
    }

    /// Returns the smallest and the largest recorded value, µs.
    pub fn extremes(&self) -> Option<(i64, i64)> {
        (self.count() > 0).then(|| {
            let low = match self.negative() {
                Some(n) if !n.is_empty() => -(n.max() as i64),
                _ => self.positive().min() as i64,
            };
            let high = if self.positive().is_empty() {
                -(self.negative().map_or(0, Histogram::min) as i64)
            } else {
                self.positive().max() as i64
            };
            (low, high)
        })
    }

    /// Returns the mean from the buckets, µs, so that merged parts agree with the whole.
    pub fn mean(&self) -> Option<f64> {
        let count = self.count();
        (count > 0).then(|| {
            let positive = self.positive().mean() * self.positive().len() as f64;
            let negative = self.negative().map_or(0.0, |n| n.mean() * n.len() as f64);
            (positive - negative) / count as f64
        })
    }

    /// Returns the number of values at or below a limit, to three significant digits.
    pub fn count_at_most(&self, limit_us: u64) -> u64 {
        self.negative_count() + self.positive().count_between(0, limit_us.min(HIGHEST_US))
    }

    /// Returns the histogram of values ≥ 0 (for interval logs).
    pub fn positive(&self) -> &Histogram<u64> {
        let positive = match &self.read {
            Some(read) => &read.dense().positive,
            None => &self.positive,
        };
        positive.as_ref().unwrap_or(&EMPTY)
    }

    /// Returns values ≥ 0 as a compressed HdrHistogram V2; empty if there are none.
    pub fn compressed(&self) -> Vec<u8> {
        compress(self.positive())
    }

    /// Returns `(positive, negative)` as base64 of compressed HdrHistogram V2; empty texts if empty.
    pub fn encoded(&self) -> (String, String) {
        let encode = |h: &Histogram<u64>| STANDARD.encode(compress(h));
        (encode(self.positive()), self.negative().map_or(String::new(), encode))
    }

    /// Reads the output of [`Distribution::encoded`]. `None` if the text is not valid.
    pub fn decode(positive: &str, negative: &str, over_1h: u64) -> Option<Distribution> {
        let decode = |text: &str| read_v2(&STANDARD.decode(text).ok()?);
        let (positive, negative) = (decode(positive)?, decode(negative)?.map(Box::new));
        Some(Distribution { positive, negative, over_1h, read: None })
    }

    /// Summarises over `expected` values. Values that were not recorded count as infinite.
    ///
    /// p99 needs 100 `publications`, p99.9 needs 1,000 (deliveries of one broadcast are not independent).
    /// `at_least_us` is a lower bound of the values among the missing.
    pub fn summary(&self, expected: u64, publications: u64, at_least_us: u64) -> Latency {
        let count = self.count();
        let expected = expected.max(count);
        let mut latency = self.percentiles(expected, publications, at_least_us as i64);
        if expected > count && count > 0 {
            let mut arrived = self.percentiles(count, publications, 0);
            (arrived.histogram, arrived.histogram_negative) = Default::default();
            latency.delivered_only = Some(Box::new(arrived));
        }
        latency
    }

    /// Summarises values of which none can be missing.
    pub fn summary_of_all(&self) -> Latency {
        self.percentiles(self.count(), u64::MAX, 0)
    }

    fn percentiles(&self, expected: u64, publications: u64, at_least_us: i64) -> Latency {
        let at = |quantile: f64, needs: u64| -> (Option<i64>, Option<i64>) {
            if expected == 0 || publications < needs {
                return (None, None);
            }
            match self.value_at_rank(rank_of(quantile, expected)) {
                Some(value) => (Some(value), None),
                None => (None, Some(at_least_us)),
            }
        };
        let (p50_us, p50_at_least_us) = at(0.50, 0);
        let (p90_us, p90_at_least_us) = at(0.90, 0);
        let (p99_us, p99_at_least_us) = at(0.99, 100);
        let (p999_us, p999_at_least_us) = at(0.999, 1_000);
        let (histogram, histogram_negative) = self.encoded();
        Latency {
            count: self.count(),
            negative: self.negative_count(),
            over_1h: self.over_1h,
            min_us: self.extremes().map(|e| e.0),
            p50_us,
            p90_us,
            p99_us,
            p999_us,
            p50_at_least_us,
            p90_at_least_us,
            p99_at_least_us,
            p999_at_least_us,
            max_us: self.extremes().map(|e| e.1),
            mean_us: self.mean(),
            delivered_only: None,
            histogram,
            histogram_negative,
        }
    }
}

/// The serialised form: the values of both halves with their counts, and the count above an hour.
impl serde::Serialize for Distribution {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.read {
            Some(read) => (&read.values, self.over_1h).serialize(serializer),
            None => {
                let values = Values::of(self.positive(), self.negative.as_deref());
                (values, self.over_1h).serialize(serializer)
            }
        }
    }
}

impl<'de> serde::Deserialize<'de> for Distribution {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (values, over_1h) = <(Values, u64)>::deserialize(deserializer)?;
        if !values.are_in_bounds() {
            return Err(serde::de::Error::custom("a value beyond an hour"));
        }
        let read = (!values.are_none()).then(|| Box::new(Sparse { values, dense: OnceLock::new() }));
        Ok(Distribution { positive: None, negative: None, over_1h, read })
    }
}

fn compress(histogram: &Histogram<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if !histogram.is_empty() {
        V2DeflateSerializer::new().serialize(histogram, &mut bytes).expect("writing to memory");
    }
    bytes
}

/// Reads a histogram; `Some(None)` of an empty slice, or of one without values.
fn read_v2(mut bytes: &[u8]) -> Option<Option<Histogram<u64>>> {
    if bytes.is_empty() {
        return Some(None);
    }
    let read: Histogram<u64> = Deserializer::new().deserialize(&mut bytes).ok()?;
    if read.is_empty() {
        return Some(None);
    }
    if (read.low(), read.high(), read.sigfig()) == (EMPTY.low(), EMPTY.high(), EMPTY.sigfig()) {
        return Some(Some(read));
    }
    let mut histogram = empty();
    histogram.add(&read).ok()?;
    Some(Some(histogram))
}

/// Returns the rank (from 1) of a quantile among `count` values.
pub(crate) fn rank_of(quantile: f64, count: u64) -> u64 {
    // Slightly below, so that 0.9 of 10 is the ninth value, not the tenth.
    ((quantile * count as f64 - 1e-9).ceil() as u64).clamp(1, count.max(1))
}

fn at_rank(histogram: &Histogram<u64>, rank: u64) -> u64 {
    let mut seen = 0;
    for step in histogram.iter_recorded() {
        seen += step.count_since_last_iteration();
        if seen >= rank {
            return step.value_iterated_to().min(histogram.max());
        }
    }
    histogram.max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(values: &[i64]) -> Distribution {
        let mut d = Distribution::default();
        for &v in values {
            if v < 0 { d.record_negative_us(v.unsigned_abs()) } else { d.record_us(v as u64) }
        }
        d
    }

    #[test]
    fn zero_is_a_value() {
        let d = of(&[0, 0, 0, 10]);
        assert_eq!((d.count(), d.quantile(0.5), d.extremes()), (4, Some(0), Some((0, 10))));
    }

    #[test]
    fn negative_values_are_shown_and_ordered() {
        let d = of(&[-5, -3, 2, 7]);
        let ranks: Vec<_> = (1..=4).map(|r| d.value_at_rank(r).unwrap()).collect();
        assert_eq!(ranks, [-5, -3, 2, 7]);
        assert_eq!((d.negative_count(), d.mean(), d.extremes()), (2, Some(0.25), Some((-5, 7))));
    }

    #[test]
    fn a_nanosecond_before_is_negative_not_zero() {
        let mut d = Distribution::default();
        d.record_ns(1_000, 999);
        assert_eq!((d.negative_count(), d.quantile(0.5)), (1, Some(-1)));
    }

    #[test]
    fn a_percentile_among_the_missing_is_absent() {
        let d = of(&[1; 98]);
        let latency = d.summary(100, 1_000, 2_000_000);
        assert_eq!((latency.p50_us, latency.p90_us), (Some(1), Some(1)));
        assert_eq!((latency.p99_us, latency.p99_at_least_us), (None, Some(2_000_000)));
        assert_eq!(latency.delivered_only.unwrap().p99_us, Some(1));
    }

    #[test]
    fn too_few_publications_support_no_tail() {
        let latency = of(&[1; 10_000]).summary(10_000, 99, 1);
        assert_eq!((latency.p99_us, latency.p99_at_least_us, latency.p90_us), (None, None, Some(1)));
    }

    #[test]
    fn what_was_cleared_is_as_good_as_new() {
        let mut d = of(&[5, -3, HIGHEST_US as i64 + 1]);
        d.clear();
        assert_eq!((d.count(), d.over_1h(), d.extremes(), d.mean()), (0, 0, None, None));
        assert_eq!(d.encoded(), Distribution::default().encoded());
        d.record_us(7);
        assert_eq!(d.encoded(), of(&[7]).encoded());
    }

    #[test]
    fn over_an_hour_is_counted() {
        let d = of(&[HIGHEST_US as i64 + 1]);
        assert_eq!((d.over_1h(), d.count()), (1, 1));
    }

    proptest! {
        #[test]
        fn shards_merge_bit_for_bit(values in prop::collection::vec(-1_000i64..4_000_000_000, 1..300)) {
            let whole = of(&values);
            for shards in [1usize, 2, 7] {
                let mut merged = Distribution::default();
                for shard in 0..shards {
                    let part: Vec<_> = values.iter().copied().skip(shard).step_by(shards).collect();
                    merged.merge(&of(&part));
                }
                prop_assert_eq!(whole.encoded(), merged.encoded());
                prop_assert_eq!(whole.over_1h(), merged.over_1h());
                prop_assert_eq!(whole.mean(), merged.mean());
            }
        }

        #[test]
        fn what_is_sent_is_read_and_added_as_it_was(
            values in prop::collection::vec(-1_000i64..4_000_000_000, 0..300),
            more in prop::collection::vec(-10i64..2_000_000, 0..4),
        ) {
            let whole = of(&values);
            let bytes = postcard::to_allocvec(&whole).unwrap();
            let read: Distribution = postcard::from_bytes(&bytes).unwrap();
            let relayed = postcard::to_allocvec(&read).unwrap();
            prop_assert_eq!(&relayed, &bytes);
            let seen = |d: &Distribution| {
                (d.encoded(), d.count(), d.negative_count(), d.over_1h(), d.extremes(), d.mean(), d.quantile(0.9))
            };
            let sum = |a: &Distribution, b: &Distribution| {
                let mut sum = a.clone();
                sum.merge(b);
                seen(&sum)
            };
            let added = of(&more);
            prop_assert_eq!(sum(&added, &read), sum(&added, &whole), "added to another");
            prop_assert_eq!(sum(&read, &added), sum(&whole, &added), "another is added to it");
            prop_assert_eq!(sum(&read, &read), sum(&whole, &whole), "two that were read");
            prop_assert_eq!(seen(&read), seen(&whole));
            let (mut grown, mut again) = (read.clone(), whole.clone());
            for d in [&mut grown, &mut again] {
                d.record_us(7);
                d.record_negative_us(3);
            }
            prop_assert_eq!(seen(&grown), seen(&again), "after it was looked at");
        }

        #[test]
        fn encoding_reads_back(values in prop::collection::vec(-1_000i64..4_000_000, 0..100)) {
            let whole = of(&values);
            let (positive, negative) = whole.encoded();
            prop_assert_eq!(Distribution::decode(&positive, &negative, 0).unwrap().encoded(), (positive, negative));
        }
    }
}
