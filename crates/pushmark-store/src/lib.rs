//! Runs on disk: a folder for each run, and nothing beside them.
//!
//! `results/<UTC time>-<name>-<short id>/` holds `run.json`, `windows.csv`, `latency.hlog`, `report.html`,
//! `scenario.toml` and the logs of servers. [`list`] and [`find`] read the folders; [`wide`] and [`jtl`] write
//! runs for other tools.

mod document;
mod draft;
mod find;
mod folder;
pub mod hlog;
mod id;
pub mod jtl;
mod kept_file;
mod last;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod utc;
pub mod wide;

pub use document::write_json;
pub use draft::Draft;
pub use find::{Listed, find, list};
pub use folder::{Kept, Saved, find_runs, load, parse, places, save};
pub use id::{run_id, slug};
pub use kept_file::KeptFile;
pub use last::last_selftest;
pub use last::{keep_calibration, keep_selftest, last_calibration};
pub use utc::Utc;

/// The folder of runs without `-o`.
pub const RESULTS: &str = "results";
