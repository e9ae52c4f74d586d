//! The tool around the instrument: files, child processes, monitors, judgement, store and report.
//! `pushmark-model` defines the figures; `pushmark-load` measures them.

mod agent;
mod aside;
mod calibrate;
pub mod check;
pub mod cli;
pub mod cmd;
pub mod compare;
pub mod demo;
pub mod doctor;
pub mod environment;
pub mod exit;
pub mod file_errors;
pub mod find_max;
mod flood;
pub mod gather;
pub mod monitor;
mod output;
pub mod preflight;
pub mod probes;
pub mod progress;
mod quiet;
mod redact;
mod resolve;
pub mod run;
pub mod scenario_file;
pub mod secure;
pub mod selftest;
pub mod server;
pub mod session;
pub mod sitting;
mod stop;
pub mod suite;
pub mod tally;
pub mod truth;
pub mod verdict;
