//! Servers that pushmark knows how to start.

pub mod build;
mod check;
pub mod cpus;
pub mod heap;
pub mod http;
pub mod jdk;
mod keeper;
mod last_words;
pub(crate) mod lineage;
pub mod listeners;
pub mod logs;
pub mod needs;
pub mod paths;
pub mod port;
pub mod process;
pub mod registry;
pub mod state;
pub mod version;
mod words;
