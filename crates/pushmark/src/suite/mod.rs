//! Suites: a matrix of scenarios, run unattended. Reading one and what this machine can hold of
//! it; the order of its cases; a folder whose runs alone say what is done; and the loop.

mod glob;
mod load;
mod plan_text;
mod words;

pub use glob::Glob;
pub use load::{AskedSuite, Loaded, Wishes, load};
pub use plan_text::plan_text;
pub use words::about;
