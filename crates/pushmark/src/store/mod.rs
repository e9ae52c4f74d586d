//! Runs on disk: a folder a run, and an index that can be rebuilt from the folders at any time.
//!
//! `results/<UTC time>-<name>-<short id>/` holds `run.json`, `windows.csv`, `latency.hlog`,
//! `report.html` and `scenario.toml`; `results/index.sqlite` holds one row a run, arm and
//! threshold. The folders are the truth; the index is only quick.

mod document;
mod draft;
mod folder;
pub mod hlog;
mod id;
pub mod index;
pub mod jtl;
#[cfg(test)]
pub(crate) mod testing;
pub mod utc;
pub mod wide;

pub(crate) use document::write_json;
pub use draft::Draft;
pub use folder::{Kept, Saved, find_runs, load, parse, places, save};
pub use id::{run_id, slug};
pub use index::Index;
pub use utc::Utc;

/// Where runs are kept unless `-o` says otherwise.
pub const RESULTS: &str = "results";
