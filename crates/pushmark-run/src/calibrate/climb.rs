//! Chooses the next rate: doubles it until one is not held, then takes the middle, until both sides are near.
//! No clock, no I/O.

/// Both sides of the ceiling are near enough at this ratio.
const NEAR: f64 = 1.15;
/// The most rates to try.
const STEPS_MAX: usize = 12;
/// The lowest rate to try, deliveries a second.
const LEAST: f64 = 500.0;

/// The result of a rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Step {
    /// Everything arrived and the generator had CPU to spare.
    pub(super) held: bool,
    /// Delivered of intended.
    pub(super) delivered: f64,
    /// The generator's busiest core.
    pub(super) busiest_core: f64,
    /// Its core was as busy as the verdict doubts.
    pub(super) ours: bool,
    pub(super) cpu_us_per_delivery: f64,
}

/// A search from below.
#[derive(Clone, Debug)]
pub(super) struct Climb {
    first: f64,
    steps: usize,
    held: Option<(f64, Step)>,
    broke: Option<(f64, Step)>,
}

impl Climb {
    pub(super) fn from(first: f64) -> Climb {
        Climb { first, steps: 0, held: None, broke: None }
    }

    /// The next rate to try; `None` once the ceiling is known well enough.
    pub(super) fn next(&self) -> Option<f64> {
        let at = match (&self.held, &self.broke) {
            (None, None) => self.first,
            (Some((held, _)), None) => held * 2.0,
            (None, Some((broke, _))) => broke / 2.0,
            (Some((held, _)), Some((broke, _))) if broke / held <= NEAR => return None,
            (Some((held, _)), Some((broke, _))) => (held * broke).sqrt(),
        };
        (self.steps < STEPS_MAX && at >= LEAST).then_some(at)
    }

    pub(super) fn seen(&mut self, rate: f64, step: Step) {
        self.steps += 1;
        let side = if step.held { &mut self.held } else { &mut self.broke };
        *side = Some((rate, step));
    }

    /// The highest rate that was held.
    pub(super) fn highest(&self) -> Option<(f64, Step)> {
        self.held.clone()
    }

    /// Whether the lowest rate that was not held filled the generator's core.
    pub(super) fn was_stopped_by_us(&self) -> bool {
        self.broke.as_ref().is_some_and(|(_, step)| step.ours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Climbs with every rate up to `ceiling` held. Returns the ceiling found and whether the generator
    /// stopped the climb.
    fn climb(ceiling: f64, ours: bool) -> (Option<f64>, bool, usize) {
        let mut climb = Climb::from(25_000.0);
        while let Some(rate) = climb.next() {
            climb.seen(rate, Step { held: rate <= ceiling, ours: ours && rate > ceiling, ..Step::default() });
        }
        (climb.highest().map(|(rate, _)| rate), climb.was_stopped_by_us(), climb.steps)
    }

    #[test]
    fn the_ceiling_is_found_from_above_and_from_below() {
        for ceiling in [1_100.0, 9_000.0, 25_000.0, 87_000.0, 1_300_000.0] {
            let (found, ours, steps) = climb(ceiling, true);
            let found = found.unwrap();
            assert!(found <= ceiling && ceiling <= found * NEAR, "{ceiling}: {found}");
            assert!(ours && steps <= STEPS_MAX, "{steps}");
        }
        assert!(!climb(90_000.0, false).1);
    }

    #[test]
    fn a_machine_that_holds_nothing_has_no_ceiling() {
        assert_eq!(climb(0.0, true).0, None);
    }

    #[test]
    fn a_machine_without_a_ceiling_ends_the_climb() {
        let (found, ours, steps) = climb(f64::INFINITY, true);
        assert_eq!((found.is_some(), ours, steps), (true, false, STEPS_MAX));
    }
}
