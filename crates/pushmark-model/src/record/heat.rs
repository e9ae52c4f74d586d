//! Rows of the heat map.

/// Rows of the heat map: three per decade of µs from 1 µs to an hour, and one below.
pub const HEAT_ROWS: usize = 30;

/// Returns the heat row of a latency. Row 0: below 1 µs; row r: [10^((r−1)/3), 10^(r/3)) µs.
pub fn heat_row(latency_us: i64) -> u8 {
    // Upper bounds of rows 0.., precomputed: a search in 30 numbers is cheaper than a logarithm.
    const BOUNDS: [i64; HEAT_ROWS - 1] = [
        1,
        3,
        5,
        10,
        22,
        47,
        100,
        216,
        465,
        1_000,
        2_155,
        4_642,
        10_000,
        21_545,
        46_416,
        100_000,
        215_444,
        464_159,
        1_000_000,
        2_154_435,
        4_641_589,
        10_000_000,
        21_544_347,
        46_415_889,
        100_000_000,
        215_443_470,
        464_158_884,
        1_000_000_000,
        2_154_434_691,
    ];
    BOUNDS.partition_point(|&bound| bound <= latency_us) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heat_rows_are_three_a_decade() {
        let rows: Vec<_> = [-5, 0, 1, 2, 3, 9, 10, 99, 100, 1_000, 3_599_999_999].map(heat_row).into();
        assert_eq!(rows, [0, 0, 1, 1, 2, 3, 4, 6, 7, 10, 29]);
    }
}
