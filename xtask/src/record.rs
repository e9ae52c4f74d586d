//! `cargo xtask record`: measures the suites of the studies for a time and keeps the runs, or keeps the runs of
//! one suite. Ten findings are drawn by lot, and measured again in a sitting of their own.

mod keep;
mod sitting;

use std::path::PathBuf;

use anyhow::bail;

use crate::shell;

pub(crate) fn run(arguments: &[String]) -> anyhow::Result<()> {
    match arguments {
        [first, time] if first == "--for" => sitting::run(time),
        [first, second, time] if first == "--again" && second == "--for" => sitting::again(time),
        [first, seed] if first == "--draw" => {
            shell::run(shell::cargo(&["run", "--quiet", "-p", "studies", "--bin", "lot", "--", seed]))
        }
        [from, to] if !from.starts_with('-') => {
            let kept = keep::keep(&at_root(from), &at_root(to))?;
            println!("{to}: {} runs, {} of them new, {} given way", kept.all, kept.new, kept.replaced);
            Ok(())
        }
        _ => bail!(
            "say how long to measure, or what to keep and where:\n  cargo xtask record --for 150m\n  \
             cargo xtask record --draw SEED\n  cargo xtask record --again --for 60m\n  \
             cargo xtask record SUITE_DIR record/<date>-<machine>/<suite>"
        ),
    }
}

/// As it is typed at the root.
fn at_root(path: &str) -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| shell::root()).join(path)
}
