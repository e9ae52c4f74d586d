//! The commands. Each has its own file.

pub mod ab;
pub mod agent;
pub mod asking;
pub mod calibrate;
pub mod check;
pub mod compare;
pub mod demo;
pub mod doctor;
pub mod find_max;
pub mod flood;
pub mod measuring;
mod mistakes;
pub mod one_line;
mod pages;
pub mod presets;
pub mod probe_threads;
pub mod report;
pub mod run;
pub mod runs;
pub mod schema;
pub mod secure;
pub mod selftest;
pub mod serve;
pub mod servers;
pub mod suite;
pub mod try_out;
