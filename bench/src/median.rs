//! The median of a few values and how sure it is, without assuming any distribution.

/// A median with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Median {
    pub(crate) value: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The interval holds the true median with at least 95 %; else it is the range.
    pub(crate) sure: bool,
    pub(crate) n: usize,
}

/// The median of `values`, and the narrowest pair of order statistics that holds the true
/// median with a chance of at least 95 % (the sign test turned round). Below six values no
/// pair does: the range is given.
///
/// # Panics
/// If there are no values.
pub(crate) fn median(values: &[f64]) -> Median {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    let value = (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0;
    let rank = sign_rank(n);
    let from = rank.unwrap_or(1) - 1;
    Median { value, low: sorted[from], high: sorted[n - 1 - from], sure: rank.is_some(), n }
}

/// The largest rank k with P(fewer than k of n fair coins fall heads) ≤ 2.5 %.
fn sign_rank(n: usize) -> Option<usize> {
    let mut term = 0.5f64.powi(n as i32);
    let (mut below, mut rank) = (0.0, 0);
    for k in 0..n {
        below += term;
        if below > 0.025 {
            break;
        }
        rank = k + 1;
        term *= (n - k) as f64 / (k + 1) as f64;
    }
    (rank > 0).then_some(rank)
}

impl std::fmt::Display for Median {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = f.precision().unwrap_or(2);
        write!(f, "{:.digits$}", self.value)?;
        if self.n > 1 {
            write!(f, " ({:.digits$} … {:.digits$})", self.low, self.high)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_values_give_the_second_and_the_ninth() {
        // P(X ≤ 1) of ten coins is 11 ÷ 1,024, P(X ≤ 2) is 56 ÷ 1,024.
        let m = median(&[10.0, 1.0, 9.0, 2.0, 8.0, 3.0, 7.0, 4.0, 6.0, 5.0]);
        assert_eq!(m, Median { value: 5.5, low: 2.0, high: 9.0, sure: true, n: 10 });
    }

    #[test]
    fn ranks_are_those_of_the_tables() {
        let ranks: Vec<_> = [5, 6, 8, 9, 12, 20, 30].map(sign_rank).into();
        assert_eq!(ranks, [None, Some(1), Some(1), Some(2), Some(3), Some(6), Some(10)]);
    }

    #[test]
    fn few_values_give_their_range() {
        let m = median(&[3.0, 1.0, 2.0]);
        assert_eq!((m.value, m.low, m.high, m.sure), (2.0, 1.0, 3.0, false));
        assert_eq!(median(&[4.0]).value, 4.0);
    }

    #[test]
    fn it_is_written_with_its_interval() {
        assert_eq!(format!("{:.1}", median(&[1.0, 2.0, 3.0])), "2.0 (1.0 … 3.0)");
    }
}
