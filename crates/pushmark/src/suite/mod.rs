//! Suites: a matrix of scenarios, run unattended. Reading one and what this machine can hold of
//! it; the order of its cases; a folder whose runs alone say what is done; and the loop.

mod folder;
mod glob;
mod load;
mod order;
mod plan_text;
mod run;
mod words;

pub use glob::Glob;
pub use load::{AskedSuite, Loaded, Wishes, load};
pub use order::{Turn, turns};
pub use plan_text::plan_text;
pub use run::{Asked, Done, run};
pub use words::about;
