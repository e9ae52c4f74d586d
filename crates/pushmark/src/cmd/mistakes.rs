//! Mistakes in files and flags, as the error of a command.

use pushmark_console::exit::{Ending, Exit};
use pushmark_console::file_errors::FileErrors;
use pushmark_console::progress::screen::Screen;

/// Returns the error of a command: the mistakes with their lines, and exit code 2.
pub(super) fn usage(report: FileErrors) -> anyhow::Error {
    Ending::error(Exit::Usage, shown_report(&report))
}

/// Formats the mistakes with the lines that contain them, in the width and colours of stderr.
fn shown_report(report: &FileErrors) -> String {
    let screen = Screen::of_stderr();
    report.render(screen.colours, screen.columns.unwrap_or(80)).trim_end().to_owned()
}
