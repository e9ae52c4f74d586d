//! The output of a command on stdout and stderr, and its format.

use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;

use crate::exit::{Ending, Exit};
use crate::redact;
use pushmark_store::Draft;

/// The format of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Text for a person
    #[default]
    Text,
    /// JSON for a program
    Json,
}

/// Writes a result to stdout. A closed pipe (`| head`) is not an error.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Checks that the output folder can be made and written, before minutes of measuring are spent.
///
/// # Errors
/// Fails with the reason; exit 2.
pub fn can_keep(place: &Path) -> anyhow::Result<()> {
    Draft::try_out(place)
        .map_err(|error| Ending::error(Exit::Usage, format!("-o {}: {error:#}", place.display())))
}

/// Prints an error to stderr. If that fails, only the exit code reports it.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "pushmark: {}", redact::text(text));
}

/// Prints a line to stderr.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{}", redact::text(text));
}
