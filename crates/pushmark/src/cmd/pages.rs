//! How the commands that measure draw their results: by `pushmark-report`.

use pushmark_report::{self as report, search, suite};
use pushmark_run::pages::Pages;

/// The pages of every command.
pub(super) const PAGES: Pages =
    Pages { runs: report::html, suite: suite::html, search: search::html, probe: search::line };
