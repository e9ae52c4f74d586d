//! Statistics of a few fresh starts: how precise a number is, whether two sets of starts differ, and which
//! difference sets of that size could have shown. There is one value per start, never per message; this
//! module does not know how values were measured.

mod blocks;
mod detect;
mod holm;
mod needed;
mod permutation;
mod spread;
mod student;
mod welch;

pub use blocks::{Block, Blocked, attainable_in_blocks};
pub use detect::{POWER, detectable, detectable_by};
pub use holm::holm;
pub use needed::{Dealing, starts_needed};
pub use permutation::{attainable, permutation_p};
pub use spread::{INTERVAL_FROM, Scale, Spread, Summary};
pub use welch::Welch;

/// The share of tests that may find a difference that does not exist.
pub const ALPHA: f64 = 0.05;

/// Arithmetic mean; NaN without values.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Unbiased variance; NaN with fewer than two values.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
pub(crate) mod coverage;
