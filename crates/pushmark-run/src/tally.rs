//! Counts the usable starts of a scenario and decides whether to make another. At most twice the
//! requested number of starts are made.

use std::collections::BTreeMap;

use pushmark_model::run::{Arm, Outcome, Run, VerdictState};
use pushmark_model::transport::Transport;

use crate::compare::{LOSS, PRIMARY, is_believed};
use crate::session::exit_of;
use pushmark_console::exit::Exit;

/// Attempts per requested start.
pub(crate) const ATTEMPTS: u32 = 2;

/// Returns each arm of a start, and whether its latency and losses can be trusted.
pub(crate) fn believed(run: &Run) -> impl Iterator<Item = (Transport, bool)> {
    run.arms.iter().map(|arm| {
        let is_good = [PRIMARY[0], LOSS].iter().all(|metric| is_believed(&run.verdict, arm, metric));
        (arm.transport, is_good)
    })
}

/// The starts of one scenario.
#[derive(Clone, Debug)]
pub struct Tally {
    wanted: u32,
    made: u32,
    believed: BTreeMap<Transport, u32>,
}

impl Tally {
    /// A tally for this number of usable starts.
    pub fn new(wanted: u32) -> Tally {
        Tally { wanted, made: 0, believed: BTreeMap::new() }
    }

    /// Adds a start. It counts for each arm whose latency and losses can be trusted.
    pub fn take(&mut self, run: &Run) {
        self.made += 1;
        for (transport, is_good) in believed(run) {
            *self.believed.entry(transport).or_default() += u32::from(is_good);
        }
    }

    /// Returns the number of starts made.
    pub fn made(&self) -> u32 {
        self.made
    }

    /// Returns the number of missing usable starts of the arm with the fewest.
    pub fn lacking(&self) -> u32 {
        let fewest = self.believed.values().min().copied().unwrap_or(0);
        self.wanted.saturating_sub(fewest)
    }

    /// Returns how many starts may still be made. A single requested start is made once.
    pub fn room(&self) -> u32 {
        let bound = if self.wanted == 1 { 1 } else { self.wanted.saturating_mul(ATTEMPTS) };
        bound.saturating_sub(self.made)
    }

    /// Returns whether to make another start.
    pub fn wants_more(&self) -> bool {
        self.lacking() > 0 && self.room() > 0
    }

    /// Returns a message if more starts were made than requested.
    pub fn words(&self) -> Option<String> {
        let Tally { wanted, made, .. } = self;
        let believed = wanted - self.lacking();
        match (self.made > self.wanted, self.lacking()) {
            (false, _) => None,
            (true, 0) => Some(format!("{made} starts were made; {wanted} of them are usable")),
            (true, _) => Some(format!(
                "{made} starts were made; {believed} of {wanted} requested starts are usable (at most \
                 {ATTEMPTS} × {wanted} are made)"
            )),
        }
    }

    /// Returns the exit code of a start. A start that was replaced by another does not count.
    pub fn exit_of(&self, run: &Run) -> Exit {
        let made_up = self.wanted > 1 && self.lacking() == 0;
        match run.verdict.state {
            VerdictState::Invalid if made_up => {
                let good: Vec<&Arm> =
                    run.arms.iter().filter(|arm| arm.verdict < VerdictState::Incomplete).collect();
                let crossed = run
                    .thresholds
                    .iter()
                    .any(|threshold| !threshold.ok && good.iter().any(|arm| arm.transport == threshold.arm));
                // A server that died never passes.
                let died = good.iter().any(|arm| arm.outcome == Outcome::Died && arm.flood.is_none());
                if crossed || died { Exit::Threshold } else { Exit::Pass }
            }
            _ => exit_of(run),
        }
    }
}

#[cfg(test)]
mod tests {
    use pushmark_model::run::Reason;

    use super::*;
    use pushmark_store::testing;

    fn run(states: [VerdictState; 2]) -> Run {
        let mut run = testing::run("20261121T200412Z-fan-out-k3f9");
        run.thresholds.clear();
        for (arm, state) in run.arms.iter_mut().zip(states) {
            arm.verdict = state;
            run.verdict.reasons.push(Reason {
                code: "invented".to_owned(),
                state,
                arm: Some(arm.transport),
                concerns: Vec::new(),
                seen: String::new(),
                why: String::new(),
                try_: String::new(),
            });
        }
        run.verdict.state = states[0].max(states[1]);
        run
    }

    #[test]
    fn starts_are_made_up_for_until_every_arm_has_enough() {
        use VerdictState::{Invalid, Suspect, Valid};
        let mut tally = Tally::new(3);
        for states in [[Valid, Valid], [Invalid, Valid], [Suspect, Invalid], [Valid, Valid]] {
            assert!(tally.wants_more());
            tally.take(&run(states));
        }
        assert!(!tally.wants_more(), "{tally:?}");
        assert_eq!(tally.words().unwrap(), "4 starts were made; 3 of them are usable");
        assert_eq!(tally.exit_of(&run([Invalid, Valid])), Exit::Pass);
        let mut crossed = run([Invalid, Valid]);
        for (transport, exit) in
            [(crossed.arms[0].transport, Exit::Pass), (crossed.arms[1].transport, Exit::Threshold)]
        {
            crossed.thresholds = testing::run("20261121T200412Z-fan-out-k3f9").thresholds;
            crossed.thresholds[0].arm = transport;
            assert_eq!(tally.exit_of(&crossed), exit, "a threshold counts where the figures do");
        }
    }

    #[test]
    fn never_more_than_twice_as_many_are_made() {
        let mut tally = Tally::new(3);
        let invalid = run([VerdictState::Invalid; 2]);
        while tally.wants_more() {
            tally.take(&invalid);
        }
        assert_eq!((tally.made(), tally.lacking()), (6, 3));
        let said = tally.words().unwrap();
        assert_eq!(said, "6 starts were made; 0 of 3 requested starts are usable (at most 2 × 3 are made)");
        assert_eq!(tally.exit_of(&invalid), Exit::Invalid);
    }

    #[test]
    fn a_single_start_is_made_once() {
        let mut tally = Tally::new(1);
        tally.take(&run([VerdictState::Invalid; 2]));
        assert!(!tally.wants_more());
        assert_eq!((tally.words(), tally.exit_of(&run([VerdictState::Invalid; 2]))), (None, Exit::Invalid));
    }
}
