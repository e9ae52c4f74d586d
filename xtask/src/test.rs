//! `cargo xtask test`: every test there is, none skipped.

use crate::{arguments, shell, tools};

/// Tools first, then everything: unit tests, tests over real sockets, fuzz corpora, conformance
/// from outside, doc tests.
///
/// In release, because timing is tested: an unoptimised driver would measure itself. Every step
/// of `ci` uses that profile, so dependencies are compiled once.
///
/// Of the reference servers one of each family is checked and every one that has changed; with
/// `--all` every one there is, and `servers/checked.toml` is written anew.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    arguments::only(given, &["--install", "--all"])?;
    tools::ready(arguments::has(given, "--install") || shell::says_yes("CI"))?;
    let mut command = shell::cargo(&["test", "--release", "--workspace", "--no-fail-fast"]);
    command.env("PUSHMARK_TEST_ALL", "1");
    if arguments::has(given, "--all") {
        command.env("PUSHMARK_TEST_SERVERS", "all");
    }
    shell::run(command)
}
