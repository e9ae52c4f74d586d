//! placeholder
pub mod monitor;
