//! The difference that a comparison without a finding could have detected.

use super::{ALPHA, Welch, student};

/// Share of tries in which a shift of the stated size would be found.
pub const POWER: f64 = 0.8;

/// Returns the smallest difference, on the scale of the test, that these sets would have shown in [`POWER`]
/// of all tries: (t of the level + t of the power) × the observed standard error.
pub fn detectable(welch: &Welch) -> f64 {
    detectable_by(welch.error, welch.degrees)
}

/// [`detectable`] for any standard error and its degrees of freedom.
pub fn detectable_by(error: f64, degrees: f64) -> f64 {
    let level = student::quantile(1.0 - ALPHA / 2.0, degrees);
    let power = student::quantile(POWER, degrees);
    (level + power) * error
}
