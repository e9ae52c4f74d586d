//! `cargo xtask test`: every test there is, none skipped.

use crate::{arguments, shell, tools};

/// Tools first, then everything: unit tests, tests over real sockets, fuzz corpora, conformance
/// from outside, doc tests.
///
/// In release, because timing is tested: an unoptimised driver would measure itself. Every step
/// of `ci` uses that profile, so dependencies are compiled once.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    arguments::only(given, &["--install"])?;
    tools::ready(arguments::has(given, "--install") || shell::says_yes("CI"))?;
    let mut command = shell::cargo(&["test", "--release", "--workspace", "--no-fail-fast"]);
    command.env("PUSHMARK_TEST_ALL", "1");
    shell::run(command)
}
