//! `cargo xtask aa`: the same server against itself on a host that drifts. Each pair of sets is
//! measured twice: in turn by `pushmark ab`, and one set after the other by `pushmark run --repeat`;
//! how often either claims a difference is what a comparison on such a host is worth. The drift is planted:
//! busy loops whose share of the CPUs rises and falls over minutes.

mod interval;
mod noise;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Serialize;
use serde_json::Value;

use crate::shell;

/// Pairs if no number is given.
const PAIRS: usize = 20;
/// Believed starts of each side: three blocks, whose 216 ways to deal leave room for the two tests that
/// decide.
const STARTS: &str = "6";

/// Ends of a command that leave runs to be compared: passed, invalid figures, a threshold crossed.
const MEASURED: [i32; 3] = [0, 6, 99];

/// Every pair, and what became of it.
#[derive(Debug, Default, Serialize)]
struct Pairs {
    in_turn: Vec<Pair>,
    one_after_the_other: Vec<Pair>,
}

#[derive(Debug, Default, Serialize)]
struct Pair {
    /// The deciding metric, B ÷ A with its interval, and what was said of it.
    metric: String,
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
    p: Option<f64>,
    finding: String,
    /// Whether what decides was tested.
    tested: bool,
    /// Claims among what decides, and among the rest.
    decided: Vec<String>,
    others: Vec<String>,
    /// Starts that were compared.
    n: (u64, u64),
}

/// Measures the pairs into a new folder, and says how many differ.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    let is_dev = given.iter().any(|argument| argument == "--dev");
    let words: Vec<&String> = given.iter().filter(|argument| *argument != "--dev").collect();
    let (folder, pairs) = match words[..] {
        [folder] => (folder, PAIRS),
        [folder, pairs] => (folder, pairs.parse().with_context(|| format!("{pairs} is no number of pairs"))?),
        _ => bail!("a folder is needed for the runs: cargo xtask aa DIR [PAIRS] [--dev]"),
    };
    let folder = PathBuf::from(folder);
    if folder.exists() {
        bail!("{} exists already", folder.display());
    }
    let build = ["build", "--package", "pushmark", "--release"];
    shell::run(shell::cargo(if is_dev { &build[..3] } else { &build }))?;
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let folder = folder.canonicalize()?;
    let program = shell::target().join(if is_dev { "debug/pushmark" } else { "release/pushmark" });
    let _noise = noise::Noise::plant();
    let mut all = Pairs::default();
    for number in 1..=pairs {
        let place = folder.join(format!("pair-{number:02}"));
        let seed = number.to_string();
        let pair = in_turn(&program, &place, &seed)?;
        eprintln!("pair {number} of {pairs}, in turn: {}", line(&pair));
        all.in_turn.push(pair);
        let pair = one_after_the_other(&program, &place, &seed)?;
        eprintln!("pair {number} of {pairs}, one after the other: {}", line(&pair));
        all.one_after_the_other.push(pair);
        // After every pair: what was measured is not lost with the next.
        fs::write(folder.join("aa.json"), serde_json::to_string_pretty(&all)? + "\n")?;
    }
    println!("in turn: {}", summary(&all.in_turn));
    println!("one after the other: {}", summary(&all.one_after_the_other));
    Ok(())
}

/// Both sides by `ab`, the sides' order drawn from the seed.
fn in_turn(program: &Path, place: &Path, seed: &str) -> anyhow::Result<Pair> {
    let mut command = shell::command(&[program]);
    command.args(["ab", "scenarios/aa.toml", "--starts", STARTS, "-q", "--format", "json", "--seed", seed]);
    command.arg("-o").arg(place.join("turn"));
    compared(command)
}

/// Each side by `run --repeat`, then compared.
fn one_after_the_other(program: &Path, place: &Path, seed: &str) -> anyhow::Result<Pair> {
    let sides = ["a", "b"].map(|side| place.join("apart").join(side));
    for side in &sides {
        let mut command = shell::command(&[program]);
        command.args(["run", "scenarios/aa.toml", "--repeat", STARTS, "-q", "--seed", seed, "-o"]).arg(side);
        ended(&mut command)?;
    }
    let mut command = shell::command(&[program]);
    command.args(["compare", "--format", "json"]).args(&sides);
    compared(command)
}

fn ended(command: &mut std::process::Command) -> anyhow::Result<Vec<u8>> {
    let ended = command.output().context("pushmark cannot be started")?;
    if !ended.status.code().is_some_and(|code| MEASURED.contains(&code)) {
        bail!("{} {}", shell::line(command), String::from_utf8_lossy(&ended.stderr).trim());
    }
    Ok(ended.stdout)
}

fn compared(mut command: std::process::Command) -> anyhow::Result<Pair> {
    let found = ended(&mut command)?;
    Ok(read(&serde_json::from_slice(&found).with_context(|| shell::line(&command))?))
}

fn read(found: &Value) -> Pair {
    let pair = &found["pairs"][0];
    let effect = &pair["primary"];
    let ends = &effect["ratio"]["interval"];
    let claims = |effects: &mut dyn Iterator<Item = &Value>| -> Vec<String> {
        let is_claim = |effect: &&Value| {
            ["better", "worse", "differs"].contains(&effect["finding"].as_str().unwrap_or(""))
        };
        effects.filter(is_claim).filter_map(|effect| Some(effect["metric"].as_str()?.to_owned())).collect()
    };
    let none = Vec::new();
    Pair {
        metric: effect["metric"].as_str().unwrap_or("nothing").to_owned(),
        ratio: effect["ratio"]["value"].as_f64(),
        interval: ends[0].as_f64().zip(ends[1].as_f64()),
        p: effect["p_adjusted"].as_f64(),
        finding: effect["finding"].as_str().unwrap_or("not-compared").to_owned(),
        tested: effect["p"].is_number(),
        decided: claims(&mut ["lost", "primary", "loss"].iter().map(|name| &pair[*name])),
        others: claims(&mut pair["others"].as_array().unwrap_or(&none).iter()),
        n: (pair["n_a"].as_u64().unwrap_or(0), pair["n_b"].as_u64().unwrap_or(0)),
    }
}

fn line(pair: &Pair) -> String {
    let ratio = pair.ratio.map_or(String::new(), |ratio| format!("  B ÷ A {ratio:.3}"));
    let interval = pair.interval.map_or(String::new(), |(low, high)| format!(" [{low:.3}, {high:.3}]"));
    let p = pair.p.map_or(String::new(), |p| format!(" p {p:.3}"));
    let claims: Vec<&str> = pair.decided.iter().chain(&pair.others).map(String::as_str).collect();
    let claims = if claims.is_empty() { String::new() } else { format!("  claimed: {}", claims.join(", ")) };
    let (n_a, n_b) = pair.n;
    format!("{}{ratio}{interval}{p}  {}  n = {n_a} and {n_b}{claims}", pair.metric, pair.finding)
}

fn summary(pairs: &[Pair]) -> String {
    let tested: Vec<&Pair> = pairs.iter().filter(|pair| pair.tested).collect();
    let rate = |claimed: usize| {
        let (low, high) = interval::of(claimed, tested.len());
        let share = |share: f64| format!("{:.1}", share * 100.0);
        format!("{claimed} of {} [{}, {} %]", tested.len(), share(low), share(high))
    };
    let decided = tested.iter().filter(|pair| !pair.decided.is_empty()).count();
    let any = tested.iter().filter(|pair| !pair.decided.is_empty() || !pair.others.is_empty()).count();
    format!(
        "a difference claimed by what decides in {} pairs that were tested, by anything in {}; not to be tested: {}",
        rate(decided),
        rate(any),
        pairs.len() - tested.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_read_as_it_is_written() {
        let found = serde_json::json!({ "pairs": [{
            "n_a": 6, "n_b": 5,
            "primary": {
                "metric": "delivery.p99", "ratio": { "value": 1.02, "interval": [0.97, 1.07] },
                "p": 0.2, "p_adjusted": 0.4, "finding": "no-difference", "detectable": 0.06,
            },
            "loss": { "metric": "delivery.of_intended", "finding": "worse" },
            "others": [{ "metric": "connect.p50", "finding": "alike" }],
        }] });
        let pair = read(&found);
        assert_eq!(
            line(&pair),
            "delivery.p99  B ÷ A 1.020 [0.970, 1.070] p 0.400  no-difference  n = 6 and 5  claimed: delivery.of_intended"
        );
        let none = read(&serde_json::json!({ "pairs": [] }));
        assert_eq!(
            summary(&[pair, none]),
            "a difference claimed by what decides in 1 of 1 [2.5, 100.0 %] pairs that were tested, \
             by anything in 1 of 1 [2.5, 100.0 %]; not to be tested: 1"
        );
    }
}
