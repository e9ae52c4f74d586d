//! `cargo xtask instructions`: what a message costs in instructions, which no busy machine changes.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::{arguments, shell, tools};

/// Messages of the first count; the second has twice as many.
const MESSAGES: u64 = 2000;

/// How far a count may differ from the recorded one, in percent.
const TOLERANCE_PERCENT: u64 = 3;

const HEADER: &str = "\
# Instructions a message, in release, counted by callgrind on x86-64 with AVX2.
# `cargo xtask instructions` fails beyond 3 %; `--bless` writes this file again. Say why in the commit.
";

/// Counts, and compares or writes down.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    arguments::only(given, &["--bless"])?;
    let bless = arguments::has(given, "--bless");
    if let Some(why) = impossible() {
        if bless || shell::says_yes("PUSHMARK_TEST_ALL") || shell::says_yes("CI") {
            bail!("{why}");
        }
        println!("SKIPPED instructions: {why}");
        return Ok(());
    }
    let program = build()?;
    let counted = count_all(&program)?;
    let file = shell::root().join("conformance/instructions.toml");
    if bless {
        fs::write(&file, render(&counted)).with_context(|| file.display().to_string())?;
        return Ok(());
    }
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let written = parse(&text)?;
    let mut deviations = compare(&written, &counted);
    deviations.extend(dear(&counted));
    for (name, count) in &counted {
        println!("{name:<24} {count:>7}  written down {:>7}", written.get(name).unwrap_or(&0));
    }
    if !deviations.is_empty() {
        bail!("{}\n--bless writes down what was counted", deviations.join("\n"));
    }
    Ok(())
}

/// A conversation that divides messages and knows heartbeats may cost this much of one that does not, in percent.
const ANSWERS_PERCENT: u64 = 110;

fn dear(counted: &BTreeMap<String, u64>) -> Option<String> {
    let (plain, answers) = (counted.get("client_websocket_whole")?, counted.get("client_websocket_answers")?);
    (answers * 100 > plain * ANSWERS_PERCENT).then(|| {
        format!(
            "client_websocket_answers: {answers} is more than {ANSWERS_PERCENT} % of {plain} without them"
        )
    })
}

fn impossible() -> Option<&'static str> {
    if !cfg!(target_arch = "x86_64") {
        return Some("the counts are of x86-64");
    }
    tools::in_path("valgrind").is_none().then_some("valgrind is missing: apt-get install valgrind")
}

fn build() -> anyhow::Result<PathBuf> {
    // As `test` builds it: of one package alone, or without a test beside it, dependencies would be
    // compiled again with the fewer features that are needed then.
    let wanted = ["--workspace", "--bin", "instructions", "--test", "corpus"];
    shell::run(shell::cargo(&[&["build", shell::PROFILE, "--quiet"], &wanted[..]].concat()))?;
    Ok(shell::target().join("checked/instructions"))
}

fn count_all(program: &Path) -> anyhow::Result<BTreeMap<String, u64>> {
    let output = shell::command(&[program.as_os_str(), "--list".as_ref()]).output()?;
    let names = String::from_utf8(output.stdout)?;
    let count = |name: &str| {
        let once = count(program, name, MESSAGES)?;
        let twice = count(program, name, 2 * MESSAGES)?;
        Ok((name.to_owned(), (twice - once) / MESSAGES))
    };
    names.lines().map(count).collect()
}

/// Instructions of one run, start-up and all.
fn count(program: &Path, name: &str, messages: u64) -> anyhow::Result<u64> {
    let mut command = shell::command(&["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]);
    let output = command.arg(program).arg(name).arg(messages.to_string()).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    collected(&said).with_context(|| format!("{name}: callgrind says no count: {said}"))
}

/// The number after `Collected :`.
fn collected(said: &str) -> Option<u64> {
    let (_, count) = said.lines().find_map(|line| line.split_once("Collected :"))?;
    count.trim().parse().ok()
}

fn parse(text: &str) -> anyhow::Result<BTreeMap<String, u64>> {
    let table: toml::Table = text.parse()?;
    let count = |(name, count): (&String, &toml::Value)| {
        Ok((name.clone(), count.as_integer().context("a count is wanted")? as u64))
    };
    table.iter().map(count).collect()
}

fn render(counted: &BTreeMap<String, u64>) -> String {
    let mut text = HEADER.to_owned();
    for (name, count) in counted {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name} = {count}");
    }
    text
}

fn compare(written: &BTreeMap<String, u64>, counted: &BTreeMap<String, u64>) -> Vec<String> {
    let mut deviations = Vec::new();
    for (name, &count) in counted {
        let Some(&expected) = written.get(name) else {
            deviations.push(format!("{name}: {count}, and nothing is written down"));
            continue;
        };
        if count.abs_diff(expected) * 100 > expected * TOLERANCE_PERCENT {
            let percent = (count as f64 - expected as f64) * 100.0 / expected as f64;
            deviations.push(format!("{name}: {count}, written down is {expected} ({percent:+.1} %)"));
        }
    }
    let gone = written.keys().filter(|name| !counted.contains_key(*name));
    deviations.extend(gone.map(|name| format!("{name}: written down, but not counted")));
    deviations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(counts: &[(&str, u64)]) -> BTreeMap<String, u64> {
        counts.iter().map(|&(name, count)| (name.to_owned(), count)).collect()
    }

    #[test]
    fn a_count_is_read_from_what_callgrind_says() {
        assert_eq!(collected("==1== Events    : Ir\n==1== Collected : 3601680\n"), Some(3_601_680));
        assert_eq!(collected("no such program"), None);
    }

    #[test]
    fn counts_within_three_percent_are_the_same() {
        let written = counts(&[("a", 1000)]);
        assert!(compare(&written, &counts(&[("a", 1030)])).is_empty());
        assert!(compare(&written, &counts(&[("a", 970)])).is_empty());
        assert_eq!(compare(&written, &counts(&[("a", 1031)])), ["a: 1031, written down is 1000 (+3.1 %)"]);
        // Faster is a change too: what was gained is to be written down, or it is lost unseen.
        assert_eq!(compare(&written, &counts(&[("a", 900)])).len(), 1);
        assert_eq!(compare(&written, &counts(&[("b", 1)])).len(), 2);
    }

    #[test]
    fn what_is_written_down_is_read_back() {
        let counted = counts(&[("a", 1), ("b", 22)]);
        assert_eq!(parse(&render(&counted)).unwrap(), counted);
    }
}
