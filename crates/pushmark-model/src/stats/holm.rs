//! Several tests at once: Holm's step-down adjustment (Scandinavian Journal of Statistics 6, 1979).
//! It keeps the probability of any false difference among all tests at the level of one test.

/// Returns the adjusted p of each test, in the given order: compare it with the level of a single test.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|x, y| p[*x].total_cmp(&p[*y]));
    let mut adjusted = vec![1.0; p.len()];
    let mut greatest: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        greatest = greatest.max(p[at] * (p.len() - rank) as f64).min(1.0);
        adjusted[at] = greatest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_pays_for_all_and_order_is_kept() {
        // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm") is 0.03 0.06 0.06 0.02.
        let found = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - expected).abs() < 1e-12, "{found} not {expected}");
        }
        assert_eq!(holm(&[0.7, 0.8]), [1.0, 1.0]);
        assert_eq!(holm(&[0.2]), [0.2]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }
}
