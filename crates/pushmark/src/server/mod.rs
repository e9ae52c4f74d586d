//! Servers that pushmark knows how to start.

pub mod cpus;
pub mod http;
pub mod port;
pub mod process;
pub mod registry;
