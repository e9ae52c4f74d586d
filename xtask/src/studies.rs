//! `cargo xtask studies`: writes `studies/pages` from `studies/suites/` and `record/`. The pages are made by
//! the tool's own report, and a test of it keeps them fresh: here that test writes them.

use crate::{arguments, shell};

/// Writes the pages again.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    arguments::only(given, &[])?;
    let mut command = shell::cargo(&["test", "--quiet", "-p", "pushmark", "--test", "study_pages"]);
    command.env("PUSHMARK_BLESS", "1");
    shell::run(command)
}
