//! The tool around the instrument: files, child processes, monitors, judgement, store and
//! report. What a number is, `pushmark-model` says; how it is measured, `pushmark-load`.

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
pub mod find_max;
mod flood;
pub mod gather;
pub mod monitor;
pub mod preflight;
pub mod probes;
pub mod progress;
mod quiet;
pub mod report;
mod resolve;
pub mod run;
pub mod scenario_file;
pub mod secure;
pub mod selftest;
pub mod server;
pub mod session;
pub mod store;
pub mod suite;
pub mod truth;
pub mod verdict;
