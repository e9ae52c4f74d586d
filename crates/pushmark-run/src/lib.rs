//! From a scenario to a result.

#![forbid(unsafe_code)]

pub mod agent;
pub mod calibrate;
pub mod compare;
pub mod doctor;
pub mod find_max;
pub mod fitted;
pub mod flood;
pub mod gather;
mod marks;
pub mod pages;
pub mod reconcile;
pub mod run;
pub mod scenario_file;
mod seen;
pub mod session;
pub mod sitting;
pub mod suite;
pub mod tally;
pub mod target;
pub mod verdict;
