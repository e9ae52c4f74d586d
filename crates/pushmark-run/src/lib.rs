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
pub mod pages;
pub mod run;
pub mod scenario_file;
pub mod session;
pub mod sitting;
pub mod suite;
pub mod tally;
pub mod verdict;
