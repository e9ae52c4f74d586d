//! The permutation test of two means, for counts and for values that may be 0. It assumes only that the
//! starts could have been assigned to the sides differently (Fisher, The Design of Experiments, 1935).

use crate::draw::{Draw, Purpose};

/// Up to this number of reassignments all are tried; beyond it, [`DRAWN`] are drawn.
pub(super) const EXACT_MAX: u64 = 20_000;
/// Reassignments drawn if there are more than [`EXACT_MAX`].
pub(super) const DRAWN: u64 = 9_999;

/// Returns the share of random reassignments in which the two means are at least this far apart. Exact if
/// there are few reassignments, else estimated from a sample drawn by the seed. 1 if a side is empty.
pub fn permutation_p(a: &[f64], b: &[f64], seed: u64) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let total: f64 = all.iter().sum();
    // With the total fixed, the sum of one side determines the difference of the means.
    let expected = total * a.len() as f64 / all.len() as f64;
    let seen = (a.iter().sum::<f64>() - expected).abs();
    // Sums of the same values in another order differ in the last bits.
    let enough = seen - 1e-9 * (all.iter().map(|v| v.abs()).sum::<f64>()).max(f64::MIN_POSITIVE);
    match ways(all.len() as u64, a.len() as u64) {
        Some(ways) => {
            let mut as_far = 0;
            choose(all.len(), a.len(), &mut |chosen| {
                let sum: f64 = chosen.iter().map(|at| all[*at]).sum();
                as_far += u64::from((sum - expected).abs() >= enough);
            });
            as_far as f64 / ways as f64
        }
        None => {
            let mut dealt = all;
            let mut draw = Draw::new(seed, Purpose::Permutation, 0);
            let as_far = (0..DRAWN)
                .filter(|_| {
                    draw.shuffle(&mut dealt);
                    (dealt[..a.len()].iter().sum::<f64>() - expected).abs() >= enough
                })
                .count();
            // The observed assignment is one of them (Phipson and Smyth, 2010): p is never 0.
            (as_far + 1) as f64 / (DRAWN + 1) as f64
        }
    }
}

/// Returns n over k, or `None` if it exceeds [`EXACT_MAX`].
pub(super) fn ways(n: u64, k: u64) -> Option<u64> {
    let mut ways: u64 = 1;
    for i in 0..k.min(n - k) {
        ways = ways * (n - i) / (i + 1);
        if ways > EXACT_MAX {
            return None;
        }
    }
    Some(ways)
}

/// Returns the smallest p that sets of these sizes can give: that of the most extreme reassignment, and of
/// its mirror if both sides have the same size.
pub fn attainable(a: usize, b: usize) -> f64 {
    let mirrored = if a == b { 2.0 } else { 1.0 };
    let all = ways((a + b) as u64, a as u64);
    all.map_or(1.0 / (DRAWN + 1) as f64, |all| (mirrored / all as f64).min(1.0))
}

/// Calls `each` with every choice of `k` of the places `0..n`, in lexical order.
pub(super) fn choose(n: usize, k: usize, each: &mut impl FnMut(&[usize])) {
    let mut chosen: Vec<usize> = (0..k).collect();
    loop {
        each(&chosen);
        // The last place that can still move. The places behind it follow directly after it.
        let Some(at) = (0..k).rev().find(|at| chosen[*at] < n - k + at) else { return };
        chosen[at] += 1;
        for next in at + 1..k {
            chosen[next] = chosen[next - 1] + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted by hand.
    #[test]
    fn few_starts_are_dealt_out_in_every_way() {
        // All of A below all of B: of 252 assignments only this one and its mirror are so far apart.
        let p = permutation_p(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0], 1);
        assert!((p - 2.0 / 252.0).abs() < 1e-12, "{p}");
        // 1 2 4 | 3 5 6: sums of three of 1…6 have mean 10.5; 7 or less, or 14 or more: 4 assignments of 20.
        let p = permutation_p(&[1.0, 2.0, 4.0], &[3.0, 5.0, 6.0], 1);
        assert!((p - 4.0 / 20.0).abs() < 1e-12, "{p}");
    }

    #[test]
    fn nothing_but_zeros_is_no_difference() {
        assert_eq!(permutation_p(&[0.0; 5], &[0.0; 5], 1), 1.0);
        assert_eq!(permutation_p(&[0.0; 30], &[0.0; 30], 1), 1.0);
        // One loss in ten starts: five ways of ten have it in either half.
        assert_eq!(permutation_p(&[0.0; 5], &[0.0, 0.0, 7.0, 0.0, 0.0], 1), 1.0);
    }

    #[test]
    fn many_starts_are_drawn_and_agree_with_the_exact_answer() {
        let a: Vec<f64> = (0..8).map(|i| f64::from(i * i % 7)).collect();
        let b: Vec<f64> = (0..8).map(|i| f64::from(i * 3 % 5 + 2)).collect();
        let exact = permutation_p(&a, &b, 1);
        // The same values twice have too many assignments to try all of them.
        let twice = |v: &[f64]| -> Vec<f64> { v.iter().chain(v).copied().collect() };
        let drawn = permutation_p(&twice(&a), &twice(&b), 7);
        assert_eq!(drawn, permutation_p(&twice(&a), &twice(&b), 7), "drawn from the seed");
        assert!(drawn < exact, "twice the starts are surer: {drawn} {exact}");
        let far = permutation_p(&[0.0; 12], &[1.0; 12], 3);
        assert_eq!(far, 1.0 / 10_000.0);
    }
}
