//! The exact 95 % interval of a share (Clopper and Pearson, Biometrika 26, 1934).

/// Returns the interval of `seen` out of `of`; 0 to 1 if `of` is 0.
pub(super) fn of(seen: usize, of: usize) -> (f64, f64) {
    // The bounds are the shares at which a result this extreme has a probability of 2.5 %.
    let at_most = |seen: usize, share: f64| (0..=seen).map(|k| probability(k, of, share)).sum::<f64>();
    let low = if seen == 0 { 0.0 } else { root(|share| 1.0 - at_most(seen - 1, share) < 0.025) };
    let high = if seen == of { 1.0 } else { root(|share| at_most(seen, share) > 0.025) };
    (low, high)
}

/// Returns the probability of exactly `k` out of `n` if each has the chance `share`.
fn probability(k: usize, n: usize, share: f64) -> f64 {
    let ways = (0..k).fold(1.0, |ways, i| ways * (n - i) as f64 / (i + 1) as f64);
    ways * share.powi(k as i32) * (1.0 - share).powi((n - k) as i32)
}

/// Where something that holds at 0 ceases to hold.
fn root(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_the_published_table() {
        for ((seen, all), (low, high)) in
            [((0, 10), (0.0, 0.3085)), ((1, 20), (0.0013, 0.2487)), ((8, 17), (0.2298, 0.7219))]
        {
            let found = of(seen, all);
            assert!((found.0 - low).abs() < 1e-4 && (found.1 - high).abs() < 1e-4, "{seen}/{all}: {found:?}");
        }
        assert_eq!((of(0, 0), of(3, 3).1), ((0.0, 1.0), 1.0));
    }
}
