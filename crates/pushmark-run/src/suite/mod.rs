//! Suites: a matrix of scenarios. The modules read a suite, check what this machine can hold, order its
//! cases, keep its folder, and run the loop.

mod folder;
mod glob;
mod load;
mod order;
mod plan_text;
mod run;

pub use folder::starts_done;
pub use glob::Glob;
pub use load::{AskedSuite, Loaded, SuiteSettings, load};
pub use order::{Turn, turns};
pub use plan_text::plan_text;
pub use run::{Asked, Done, run};
