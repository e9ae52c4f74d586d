//! Runs on disk: a folder for each run, and an index that can be rebuilt from the folders at any time.
//!
//! `results/<UTC time>-<name>-<short id>/` holds `run.json`, `windows.csv`, `latency.hlog`, `report.html` and
//! `scenario.toml`; `results/index.sqlite` holds one row for each run, arm and threshold. The folders are
//! authoritative; the index only makes queries fast.

mod document;
mod draft;
mod folder;
pub mod hlog;
mod id;
pub mod index;
pub mod jtl;
mod kept_file;
mod last;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod utc;
pub mod wide;

pub use document::write_json;
pub use draft::Draft;
pub use folder::{Kept, Saved, find_runs, load, parse, places, save};
pub use id::{run_id, slug};
pub use index::Index;
pub use kept_file::KeptFile;
pub use last::last_selftest;
pub use last::{keep_calibration, keep_selftest, last_calibration};
pub use utc::Utc;

/// The folder of runs without `-o`.
pub const RESULTS: &str = "results";
