//! The permutation test of two means, for counts and for what may be 0: it supposes nothing but
//! that the starts could have been dealt out otherwise (Fisher, The Design of Experiments, 1935).

use crate::draw::{Draw, Purpose};

/// Ways to deal that are all tried; beyond, so many are drawn.
const EXACT_MAX: u64 = 20_000;
/// Ways drawn where there are more.
const DRAWN: u64 = 9_999;

/// How often the two means lie as far apart when the values are dealt out at random. Exact where
/// there are few ways to deal, else from ways drawn by the seed. 1 where a side is empty.
pub fn permutation_p(a: &[f64], b: &[f64], seed: u64) -> f64 {
    if a.is_empty() || b.is_empty() {
        return 1.0;
    }
    let all: Vec<f64> = a.iter().chain(b).copied().collect();
    let total: f64 = all.iter().sum();
    // With the total fixed, the sum of one side tells the difference of the means.
    let expected = total * a.len() as f64 / all.len() as f64;
    let seen = (a.iter().sum::<f64>() - expected).abs();
    // Sums of the same values in another order differ in the last bits.
    let enough = seen - 1e-9 * (all.iter().map(|v| v.abs()).sum::<f64>()).max(f64::MIN_POSITIVE);
    match ways(all.len() as u64, a.len() as u64) {
        Some(ways) => {
            let mut as_far = 0;
            deal(&all, a.len(), 0.0, &mut |sum| as_far += u64::from((sum - expected).abs() >= enough));
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
            // The dealing that was seen is one of them (Phipson and Smyth, 2010): never 0.
            (as_far + 1) as f64 / (DRAWN + 1) as f64
        }
    }
}

/// n over k, if it is not beyond [`EXACT_MAX`].
fn ways(n: u64, k: u64) -> Option<u64> {
    let mut ways: u64 = 1;
    for i in 0..k.min(n - k) {
        ways = ways * (n - i) / (i + 1);
        if ways > EXACT_MAX {
            return None;
        }
    }
    Some(ways)
}

/// The sum of each choice of `k` values.
fn deal(values: &[f64], k: usize, sum: f64, each: &mut impl FnMut(f64)) {
    if k == 0 {
        return each(sum);
    }
    for i in 0..=values.len() - k {
        deal(&values[i + 1..], k - 1, sum + values[i], each);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted by hand.
    #[test]
    fn few_starts_are_dealt_out_in_every_way() {
        // All of A below all of B: of 252 ways only this and its mirror lie so far apart.
        let p = permutation_p(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0], 1);
        assert!((p - 2.0 / 252.0).abs() < 1e-12, "{p}");
        // 1 2 4 | 3 5 6: sums of three of 1…6 have mean 10.5; 7 or less, or 14 or more: 4 ways of 20.
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
        // The same values twice over have too many ways for all of them to be tried.
        let twice = |v: &[f64]| -> Vec<f64> { v.iter().chain(v).copied().collect() };
        let drawn = permutation_p(&twice(&a), &twice(&b), 7);
        assert_eq!(drawn, permutation_p(&twice(&a), &twice(&b), 7), "drawn from the seed");
        assert!(drawn < exact, "twice the starts are surer: {drawn} {exact}");
        let far = permutation_p(&[0.0; 12], &[1.0; 12], 3);
        assert_eq!(far, 1.0 / 10_000.0);
    }
}
