//! The last self-test on this machine: kept beside the results, told with each later run.

use std::path::Path;

use pushmark_model::run::SelftestRef;

use crate::store::RESULTS;

/// The file of the last self-test, in the results' folder.
const FILE: &str = "selftest.json";

/// The last self-test whose result is kept here.
pub fn last() -> Option<SelftestRef> {
    let text = std::fs::read_to_string(Path::new(RESULTS).join(FILE)).ok()?;
    serde_json::from_str(&text).ok()
}
