//! The order of a sitting: blocks of A B B A or B A A B, so that a steady drift within a block affects both
//! sides equally. The side that begins is drawn from the seed, so that a periodic disturbance does not
//! coincide with one side.

use std::collections::VecDeque;

use pushmark_model::compare::SideName;
use pushmark_model::draw::{Draw, Purpose};

/// The order of turns.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    seed: u64,
    block: u32,
    left: VecDeque<SideName>,
}

impl Turns {
    /// Continues after this number of blocks of earlier sittings.
    pub(super) fn after(block: u32, seed: u64) -> Turns {
        Turns { seed, block, left: VecDeque::new() }
    }

    /// Returns the next start: its side, and its block from 1; `None` if nothing is `lacking`. A block always
    /// has the starts of both sides. An unusable start is replaced by a block, never by a start of only one
    /// side.
    pub(super) fn next(&mut self, lacking: u32) -> Option<(SideName, u32)> {
        if self.left.is_empty() {
            if lacking == 0 {
                return None;
            }
            self.block += 1;
            let begins_with_b = Draw::new(self.seed, Purpose::Side, u64::from(self.block)).below(2) == 1;
            let [first, second] =
                if begins_with_b { [SideName::B, SideName::A] } else { [SideName::A, SideName::B] };
            self.left.extend([first, second]);
            if lacking > 1 {
                self.left.extend([second, first]);
            }
        }
        Some((self.left.pop_front()?, self.block))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn text(wanted: u32, seed: u64) -> String {
        let mut turns = Turns::after(0, seed);
        let mut text = String::new();
        while let Some((side, _)) = turns.next(wanted.saturating_sub(text.len() as u32 / 2)) {
            text += side.name();
        }
        text
    }

    #[test]
    fn blocks_are_abba_or_baab_by_the_seed() {
        let drawn: BTreeSet<String> = (0..40).map(|seed| text(4, seed)).collect();
        let all = ["ABBA", "BAAB"].iter().flat_map(|x| ["ABBA", "BAAB"].map(|y| format!("{x}{y}")));
        assert_eq!(drawn, all.collect());
        assert_eq!(text(8, 3), text(8, 3));
    }

    #[test]
    fn an_odd_number_ends_with_a_block_of_two() {
        let drawn: BTreeSet<String> = (0..40).map(|seed| text(3, seed)[4..].to_owned()).collect();
        assert_eq!(drawn, ["AB".to_owned(), "BA".to_owned()].into());
        let mut turns = Turns::after(7, 1);
        assert_eq!(turns.next(1).unwrap().1, 8, "after the blocks of an earlier sitting");
    }
}
