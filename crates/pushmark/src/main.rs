//! The command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    pushmark::cli::main().into()
}
