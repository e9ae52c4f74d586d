//! What a comparison that saw nothing could have seen.

use super::{ALPHA, Welch, student};

/// How often a shift of the stated size would have been found.
pub const POWER: f64 = 0.8;

/// The smallest difference, on the scale of the test, that these sets would have shown in
/// [`POWER`] of all tries: (t of the level + t of the power) × the standard error seen.
pub fn detectable(welch: &Welch) -> f64 {
    let level = student::quantile(1.0 - ALPHA / 2.0, welch.degrees);
    let power = student::quantile(POWER, welch.degrees);
    (level + power) * welch.error
}
