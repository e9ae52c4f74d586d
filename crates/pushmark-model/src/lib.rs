//! The vocabulary of pushmark: plain data, no I/O, no clock.

pub mod stamp;
