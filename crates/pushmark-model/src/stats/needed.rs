//! How many starts a permutation test needs before it can find a difference: its p cannot fall below that of
//! the most extreme reassignment, however far apart the sides are.

use super::{ALPHA, INTERVAL_FROM, attainable, attainable_in_blocks};

/// The starts among which the sides are reassigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dealing {
    /// All starts: the sets were not made in blocks.
    All,
    /// The starts of a block A B B A; with an odd number of starts per side the last block is a block of two.
    Blocks,
}

/// Returns the fewest starts per side with which one of `tests` tests can fall below the level.
pub fn starts_needed(dealing: Dealing, tests: usize) -> usize {
    let least = |n: usize| match dealing {
        Dealing::All => attainable(n, n),
        Dealing::Blocks => {
            let mut blocks = vec![(2, 2); n / 2];
            blocks.extend((n % 2 == 1).then_some((1, 1)));
            attainable_in_blocks(&blocks)
        }
    };
    // The smallest p ever given is 1 in 10,000: for it, more than 499 tests need no more starts.
    let share = ALPHA / tests.clamp(1, 499) as f64;
    (INTERVAL_FROM..).find(|n| least(*n) < share).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_starts_show_one_of_six_tests_and_not_one_of_seven() {
        // 2 of 252 ways; then 2 of 924.
        assert_eq!((5..=8).map(|tests| starts_needed(Dealing::All, tests)).collect::<Vec<_>>(), [5, 5, 6, 6]);
        assert_eq!(starts_needed(Dealing::All, 16), 6);
        // 2 of 72, of 216, of 432, of 1,296 ways.
        let blocks = [1, 2, 5, 6, 10, 32, 33].map(|tests| starts_needed(Dealing::Blocks, tests));
        assert_eq!(blocks, [5, 6, 6, 7, 7, 8, 9]);
        assert!(starts_needed(Dealing::Blocks, 100_000) < 20);
    }
}
