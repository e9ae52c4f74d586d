//! What every command shares with its user: exit codes, text on stdout and stderr without secrets, the live
//! line, stop signals, and the mistakes of files that a user wrote.

#![forbid(unsafe_code)]

pub mod exit;
pub mod file_errors;
pub mod output;
pub mod progress;
pub mod redact;
pub mod stop;
