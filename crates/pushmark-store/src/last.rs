//! The last self-test and the last calibration on this machine, kept in the results' folder. Later runs name
//! them.

use std::path::Path;

use pushmark_model::calibration::Calibration;
use pushmark_model::run::{Environment, SelftestRef};
use serde::de::DeserializeOwned;

use super::{RESULTS, write_json};

const SELFTEST: &str = "selftest.json";
const CALIBRATION: &str = "calibration.json";

/// The last self-test whose result is kept.
pub fn last_selftest() -> Option<SelftestRef> {
    read(SELFTEST)
}

/// Keeps the result of a self-test and replaces the previous one.
pub fn keep_selftest(results: &Path, result: &SelftestRef) -> anyhow::Result<()> {
    write_json(&results.join(SELFTEST), result)
}

/// The calibration of this machine and program, if one is kept.
pub fn last_calibration(machine: &Environment) -> Option<Calibration> {
    read(CALIBRATION).filter(|kept: &Calibration| kept.holds_for(env!("CARGO_PKG_VERSION"), machine))
}

/// Keeps a calibration and replaces the previous one.
pub fn keep_calibration(results: &Path, calibration: &Calibration) -> anyhow::Result<()> {
    write_json(&results.join(CALIBRATION), calibration)
}

fn read<T: DeserializeOwned>(name: &str) -> Option<T> {
    let text = std::fs::read_to_string(Path::new(RESULTS).join(name)).ok()?;
    serde_json::from_str(&text).ok()
}
