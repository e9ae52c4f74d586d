//! The command line: a file a command. What commands do lives in the other crates.

#![forbid(unsafe_code)]

pub mod cli;
pub mod cmd;
mod presets;
