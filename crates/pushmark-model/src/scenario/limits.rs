//! Bounds of numbers, and the errors of those beyond them.

use super::error::ScenarioError;
use crate::units::Nanos;

/// Maximum number of connections of an arm: far above what one host can hold, and far below overflow.
pub(super) const CONNECTIONS_MAX: u64 = 10_000_000;

pub(super) fn at_least_one(key: &str, value: u64, errors: &mut Vec<ScenarioError>) {
    if value == 0 {
        errors.push(ScenarioError::at(key, format!("`{key}` cannot be 0")).found(0).accepted("1 or more"));
    }
}

pub(super) fn at_most(key: &str, value: u64, max: u64, errors: &mut Vec<ScenarioError>) {
    if value > max {
        let error = ScenarioError::at(key, format!("`{key}` is above the limit"));
        errors.push(error.found(value).accepted(format!("at most {max}")));
    }
}

pub(super) fn above_zero(key: &str, value: Nanos, errors: &mut Vec<ScenarioError>) {
    if value.0 == 0 {
        let error = ScenarioError::at(key, format!("`{key}` cannot be 0"));
        errors.push(error.found(value).accepted("a duration above zero"));
    }
}
