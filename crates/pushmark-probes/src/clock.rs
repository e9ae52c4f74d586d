//! The offset between pushmark's clock (ours) and a page's: each exchange bounds it from both sides.
//!
//! pushmark asks at `s0`, the page answers with its time `p`, and the answer arrives at `s1`. The page read
//! its clock between the two, so ours − its lies in `[s0 − p, s1 − p]`. The narrowest exchange (the least
//! round trip) alone would do; the intersection of all is never wider.

/// The known bounds of `ours − the page's`, µs.
#[derive(Clone, Debug)]
pub(super) struct PageClock {
    /// The resolution of its readings: the page's clock advances in steps.
    grain_us: f64,
    /// The interval of the exchanges before its first use.
    first: Interval,
    /// The interval of all later exchanges.
    later: Interval,
    /// The offset that is used: the middle of the first.
    offset_us: Option<f64>,
    exchanges: u64,
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    low: f64,
    high: f64,
}

impl Interval {
    const ALL: Interval = Interval { low: f64::NEG_INFINITY, high: f64::INFINITY };

    fn narrow(&mut self, other: Interval) {
        self.low = self.low.max(other.low);
        self.high = self.high.min(other.high);
    }
}

impl PageClock {
    pub(super) fn new(grain_us: f64) -> PageClock {
        PageClock { grain_us, first: Interval::ALL, later: Interval::ALL, offset_us: None, exchanges: 0 }
    }

    /// An exchange: asked and answered in ns of our clock, read in µs of the page's.
    pub(super) fn exchanged(&mut self, asked_ns: u64, page_us: f64, answered_ns: u64) {
        self.exchanges += 1;
        let (asked_us, answered_us) = (asked_ns as f64 / 1e3, answered_ns as f64 / 1e3);
        let seen =
            Interval { low: asked_us - page_us - self.grain_us, high: answered_us - page_us + self.grain_us };
        match self.offset_us {
            None => self.first.narrow(seen),
            Some(_) => self.later.narrow(seen),
        }
    }

    /// Fixes the offset that is added to instants from now on. `None` without an exchange.
    pub(super) fn fix(&mut self) -> Option<f64> {
        if self.offset_us.is_none() && self.exchanges > 0 {
            self.offset_us = Some((self.first.low + self.first.high) / 2.0);
        }
        self.offset_us
    }

    /// An instant of the page on our clock, µs.
    pub(super) fn ours_us(&self, page_us: f64) -> Option<f64> {
        Some(page_us + self.offset_us?)
    }

    pub(super) fn exchanges(&self) -> u64 {
        self.exchanges
    }

    pub(super) fn grain_us(&self) -> f64 {
        self.grain_us
    }

    /// The largest error of [`PageClock::ours_us`]. Clocks that run at the same rate have an offset that all
    /// exchanges allow. Without such an offset, every offset that any exchange allowed is possible.
    pub(super) fn bound_us(&self) -> Option<f64> {
        let offset_us = self.offset_us?;
        let mut all = self.first;
        all.narrow(self.later);
        if all.low > all.high {
            let ends = [self.first.low, self.first.high, self.later.low, self.later.high];
            let known = || ends.into_iter().filter(|end| end.is_finite());
            all = Interval {
                low: known().fold(f64::INFINITY, f64::min),
                high: known().fold(f64::NEG_INFINITY, f64::max),
            };
        }
        Some((offset_us - all.low).abs().max((all.high - offset_us).abs()) + self.grain_us)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn the_offset_is_found_within_its_bound() {
        // Truly ours = the page's + 5,000 µs; ways of 0.3 and 0.9 ms, then 1.5 and 0.2 ms.
        let mut clock = PageClock::new(0.0);
        clock.exchanged(10 * MS, 5_300.0, 11 * MS + MS / 5);
        clock.exchanged(20 * MS, 16_500.0, 21 * MS + 7 * MS / 10);
        let offset_us = clock.fix().unwrap();
        let bound_us = clock.bound_us().unwrap();
        // [4,700, 5,900] and [3,500, 5,200]: together [4,700, 5,200].
        assert!(
            (offset_us - 4_950.0).abs() < 1e-6 && (bound_us - 250.0).abs() < 1e-6,
            "{offset_us} {bound_us}"
        );
        assert!((offset_us - 5_000.0).abs() <= bound_us);
        assert_eq!(clock.ours_us(1_000.0), Some(1_000.0 + offset_us));
    }

    #[test]
    fn later_exchanges_narrow_the_bound_and_a_step_widens_it() {
        let mut clock = PageClock::new(0.0);
        clock.exchanged(10 * MS, 5_500.0, 11 * MS);
        clock.fix();
        assert_eq!(clock.bound_us(), Some(500.0));
        clock.exchanged(20 * MS, 15_050.0, 20 * MS + MS / 10);
        assert_eq!(clock.bound_us(), Some(50.0));
        // The page's clock has lost 50 ms: no single offset fits.
        clock.exchanged(80 * MS, 25_050.0, 80 * MS + MS / 10);
        assert!(clock.bound_us().unwrap() > 49_000.0, "{:?}", clock.bound_us());
    }

    #[test]
    fn a_coarse_clock_is_less_well_known() {
        let mut clock = PageClock::new(100.0);
        assert_eq!((clock.fix(), clock.bound_us()), (None, None));
        clock.exchanged(10 * MS, 9_500.0, 10 * MS + MS / 10);
        clock.fix();
        assert!((clock.bound_us().unwrap() - 250.0).abs() < 1e-6);
    }
}
