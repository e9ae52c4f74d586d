//! Servers that pushmark knows how to start.

pub mod registry;
