//! This machine and its processes: servers that are started and watched, what they and the host use, and what
//! the machine can hold.

#![forbid(unsafe_code)]

pub mod addresses;
pub mod aside;
pub mod environment;
pub mod monitor;
pub mod preflight;
pub mod quiet;
pub mod resolve;
pub mod secure;
pub mod server;
pub mod wall_clock;
