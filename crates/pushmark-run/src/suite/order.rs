//! The order of starts. It is random, so that drift of the machine favours no case, and drawn from the
//! seed, so that a resumed suite keeps its order.

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::suite::Order;

/// One start of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Turn {
    /// The index of the case.
    pub case: usize,
    /// The number of its start, from 1.
    pub repeat: u32,
}

/// Every start of every case in turn.
pub fn turns(cases: usize, repeat: u32, order: Order, seed: u64) -> Vec<Turn> {
    let of = |repeat| (0..cases).map(move |case| Turn { case, repeat });
    match order {
        Order::Interleaved => {
            let shuffled = |repeat| {
                let mut turns: Vec<Turn> = of(repeat).collect();
                Draw::new(seed, Purpose::CaseOrder, u64::from(repeat)).shuffle(&mut turns);
                turns
            };
            (1..=repeat).flat_map(shuffled).collect()
        }
        Order::Random => {
            let mut turns: Vec<Turn> = (1..=repeat).flat_map(of).collect();
            Draw::new(seed, Purpose::CaseOrder, 0).shuffle(&mut turns);
            turns
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cases(turns: &[Turn]) -> Vec<usize> {
        turns.iter().map(|turn| turn.case).collect()
    }

    #[test]
    fn every_start_is_there_once_whatever_the_order() {
        for order in [Order::Interleaved, Order::Random] {
            let mut turns = turns(40, 3, order, 7);
            turns.sort_unstable();
            let all: Vec<Turn> =
                (0..40).flat_map(|case| (1..=3).map(move |repeat| Turn { case, repeat })).collect();
            assert_eq!(turns, all);
        }
    }

    #[test]
    fn the_order_is_drawn_and_repeats_with_the_seed() {
        for order in [Order::Interleaved, Order::Random] {
            let a = turns(40, 2, order, 7);
            assert_eq!(a, turns(40, 2, order, 7));
            assert_ne!(a, turns(40, 2, order, 8));
            assert_ne!(cases(&a[..40]), (0..40).collect::<Vec<_>>());
        }
    }

    #[test]
    fn interleaved_starts_all_cases_before_any_starts_again() {
        let turns = turns(40, 3, Order::Interleaved, 7);
        let rounds: Vec<&[Turn]> = turns.chunks(40).collect();
        for (n, round) in rounds.iter().enumerate() {
            assert!(round.iter().all(|turn| turn.repeat == n as u32 + 1));
        }
        assert_ne!(cases(rounds[0]), cases(rounds[1]), "each round is drawn anew");
    }

    #[test]
    fn more_repeats_leave_the_order_of_the_first_ones() {
        let few = turns(40, 2, Order::Interleaved, 7);
        assert_eq!(few, turns(40, 5, Order::Interleaved, 7)[..80]);
    }
}
