//! The median latency of one subscription, in four bytes.
//!
//! It is a bin of the broadcasts' sketch (32 per doubling). It moves only when one side has outweighed
//! the other by [`TIP`] deliveries since the last move. The steps are long until it has passed the median
//! once, and then short, down to one bin. With narrow latencies it ends within two bins (7 %). With wide
//! ones its rank is off by some hundredths, like any median of this number of deliveries. It costs a
//! comparison and an addition per delivery; 100,000 exact medians would cost 180 MB.

use pushmark_model::record::sketch_value;

/// The median moves when the difference of deliveries above and below reaches this number.
const TIP: i8 = 4;
/// The first step, a quarter of a doubling. Further steps double until the median is passed.
const LONG: i8 = 8;
const LONGEST: i8 = 64;
/// The first step back. From then on steps are halved at each turn.
const SHORT: i8 = 4;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Median {
    bin: u16,
    /// Deliveries above − below since the last move.
    tilt: i8,
    /// The last step; its sign is the direction.
    step: i8,
}

impl Median {
    /// Deliveries that are needed before the value means anything.
    pub(super) const ENOUGH: u32 = 32;

    /// Begins with the first delivery.
    #[cold]
    pub(super) fn begin(&mut self, bin: u16) {
        *self = Median { bin, tilt: 0, step: 0 };
    }

    /// Counts one more delivery.
    #[inline]
    pub(super) fn count(&mut self, bin: u16) {
        self.tilt += (bin > self.bin) as i8 - (bin < self.bin) as i8;
        if self.tilt.unsigned_abs() == TIP.unsigned_abs() {
            self.tip();
        }
    }

    #[cold]
    fn tip(&mut self) {
        let (direction, length) = (self.tilt.signum(), self.step.unsigned_abs() as i8);
        let length = match self.step.signum() {
            0 => LONG,
            before if before == direction => {
                if length < LONG {
                    length
                } else {
                    (length.min(LONGEST / 2)) * 2
                }
            }
            _ if length >= LONG => SHORT,
            _ => (length / 2).max(1),
        };
        self.step = direction * length;
        self.bin = self.bin.saturating_add_signed(self.step.into());
        self.tilt = 0;
    }

    /// Returns the median in µs.
    pub(super) fn value_us(&self) -> i64 {
        sketch_value(self.bin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::draw::{Draw, Purpose};
    use pushmark_model::record::sketch_bin;

    fn estimate(values_us: &[f64]) -> f64 {
        let mut median = Median::default();
        median.begin(sketch_bin(values_us[0] as i64));
        values_us[1..].iter().for_each(|&us| median.count(sketch_bin(us as i64)));
        median.value_us() as f64
    }

    #[test]
    fn a_client_that_is_always_late_is_told_within_a_tenth() {
        for seed in 0..500 {
            let mut draw = Draw::new(seed, Purpose::Jitter, 0);
            let values: Vec<f64> = (0..200).map(|_| 400_000.0 * (0.97 + 0.06 * draw.unit())).collect();
            let told = estimate(&values);
            assert!((told / 400_000.0 - 1.0).abs() < 0.1, "seed {seed}: {told}");
        }
    }

    #[test]
    fn a_first_delivery_that_is_an_outlier_is_left_behind() {
        for (first, rest) in [(2_000_000.0, 1_000.0), (100.0, 50_000.0)] {
            let mut values = vec![rest; 100];
            values[0] = first;
            let told = estimate(&values);
            assert!((told / rest - 1.0).abs() < 0.25, "{first} then {rest}: {told}");
        }
    }

    #[test]
    fn of_wide_latencies_its_rank_is_near_the_middle() {
        for seed in 0..200 {
            let mut draw = Draw::new(seed, Purpose::Jitter, 1);
            // Four decades, uniform in the logarithm.
            let values: Vec<f64> = (0..400).map(|_| 10f64.powf(2.0 + 4.0 * draw.unit())).collect();
            let told = estimate(&values);
            let below = values.iter().filter(|v| **v < told).count() as f64 / 400.0;
            assert!((0.3..0.7).contains(&below), "seed {seed}: {below}");
        }
    }
}
