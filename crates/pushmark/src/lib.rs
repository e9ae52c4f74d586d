//! placeholder
pub mod monitor;
pub mod exit;
pub mod progress;
pub mod verdict;
pub mod store;
pub mod scenario_file;
pub mod server;
