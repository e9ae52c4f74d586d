//! `cargo xtask studies`: writes `studies/pages` from `studies/` and `record/`. A test of that crate keeps the
//! pages fresh: here that test writes them.

use crate::{arguments, shell};

/// Writes the pages again.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    arguments::only(given, &[])?;
    let mut command = shell::cargo(&["test", "--quiet", "-p", "studies", "--test", "study_pages"]);
    command.env("PUSHMARK_BLESS", "1");
    shell::run(command)
}
