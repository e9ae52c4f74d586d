//! What a command writes to stdout, and in which form.

use std::io::{self, Write};

use clap::ValueEnum;

/// The form of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For a person.
    #[default]
    Text,
    /// For a program.
    Json,
}

/// Writes a result to stdout. A reader that went away (`| head`) has seen what it wanted.
pub fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Says on stderr what went wrong. Where nobody can hear it, the exit code still tells.
pub fn complain(text: &str) {
    let _ = writeln!(io::stderr(), "pushmark: {text}");
}

/// A line on stderr for whoever waits there.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
