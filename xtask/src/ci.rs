//! `cargo xtask ci`: what a commit must pass, quick things first, with the time each took.

use std::time::{Duration, Instant};

use crate::{arguments, instructions, shell, test, tidy};

type Step = (&'static str, fn() -> anyhow::Result<()>);

const STEPS: [Step; 6] = [
    ("format", || shell::run(shell::cargo(&["fmt", "--all", "--check"]))),
    ("tidy", || tidy::run(&[])),
    ("lints", lints),
    ("test", || test::run(&["--install".to_owned()])),
    ("instructions", || instructions::run(&[])),
    ("docs", docs),
];

/// Runs the steps until one fails.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    arguments::only(given, &[])?;
    let mut times: Vec<(&str, Duration)> = Vec::new();
    let mut outcome = Ok(());
    for (name, step) in STEPS {
        println!("== {name}");
        let started = Instant::now();
        outcome = step().map_err(|error| error.context(name));
        times.push((name, started.elapsed()));
        if outcome.is_err() {
            break;
        }
    }
    println!("== times");
    for (name, time) in times {
        println!("{name:<14} {:>5} s", time.as_secs());
    }
    outcome
}

fn lints() -> anyhow::Result<()> {
    let arguments = ["clippy", shell::PROFILE, "--workspace", "--all-targets", "--", "--deny", "warnings"];
    shell::run(shell::cargo(&arguments))
}

fn docs() -> anyhow::Result<()> {
    let mut command = shell::cargo(&["doc", shell::PROFILE, "--workspace", "--no-deps"]);
    command.env("RUSTDOCFLAGS", "--deny warnings");
    shell::run(command)
}
