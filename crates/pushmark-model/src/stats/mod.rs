//! What can be said from a few fresh starts: how sure a number is, whether two sets of starts
//! differ, and what a set of that size could have shown. Values are one a start, never a message;
//! how they were measured is not known here.

mod detect;
mod holm;
mod permutation;
mod spread;
mod student;
mod welch;

pub use detect::{POWER, detectable};
pub use holm::holm;
pub use permutation::permutation_p;
pub use spread::{INTERVAL_FROM, Scale, Spread, Summary};
pub use welch::Welch;

/// How often a test may see a difference where there is none.
pub const ALPHA: f64 = 0.05;

/// Arithmetic mean; NaN of nothing.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Unbiased variance; NaN of fewer than two.
fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod coverage;
