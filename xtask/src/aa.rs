//! `cargo xtask aa`: the same server against itself, twenty times. Each pair is two sets of five
//! starts of `scenarios/aa.toml` on the built-in server, interleaved, compared by `pushmark compare`;
//! how many pairs differ is what a comparison on this machine is worth.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use serde::Serialize;
use serde_json::Value;

use crate::shell;

/// Pairs, and starts of each side that are believed: at four seconds a start, a quarter of an hour.
const PAIRS: usize = 20;
const STARTS: usize = 5;
/// As many starts at most.
const STARTS_MAX: usize = 2 * STARTS;

/// Ends of `run` that leave a run to be believed: passed, a threshold crossed.
const BELIEVED: [i32; 2] = [0, 99];
/// And one that is not.
const DOUBTED: i32 = 6;

/// Every pair, and what became of it.
#[derive(Debug, Default, Serialize)]
struct Pairs {
    /// Pairs that could be tested: five believed starts on each side.
    tested: usize,
    /// Of them those whose deciding metric differed.
    differ: usize,
    /// A line a pair.
    pairs: Vec<Pair>,
}

#[derive(Debug, Serialize)]
struct Pair {
    metric: String,
    /// B ÷ A, and its interval.
    ratio: Option<f64>,
    interval: Option<(f64, f64)>,
    p: Option<f64>,
    finding: String,
    /// The share that would have shown.
    detectable: Option<f64>,
    /// Starts that were believed.
    n: (u64, u64),
}

/// Measures the pairs into a new folder, and says how many differ.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    let [folder] = given else { bail!("a folder is needed for the runs: cargo xtask aa DIR") };
    let folder = PathBuf::from(folder);
    if folder.exists() {
        bail!("{} exists already", folder.display());
    }
    shell::run(shell::cargo(&["build", "--release", "--package", "pushmark"]))?;
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let folder = folder.canonicalize()?;
    let mut all = Pairs::default();
    for number in 1..=PAIRS {
        let place = folder.join(format!("pair-{number:02}"));
        measure(&place, number)?;
        let pair = compared(&place)?;
        all.tested += usize::from(pair.p.is_some());
        all.differ += usize::from(["better", "worse", "differs"].contains(&pair.finding.as_str()));
        eprintln!("pair {number} of {PAIRS}: {}", line(&pair));
        all.pairs.push(pair);
        // After every pair: what was measured is not lost with the next.
        fs::write(folder.join("aa.json"), serde_json::to_string_pretty(&all)? + "\n")?;
    }
    println!("{}", summary(&all));
    Ok(())
}

/// Both sides of a pair, start by start; which goes first changes from start to start, so that what
/// drifts in between is on neither side. A start that cannot be believed is made again.
fn measure(place: &Path, number: usize) -> anyhow::Result<()> {
    let mut believed = [0; 2];
    for start in 0..STARTS_MAX {
        let sides = [("a", 0), ("b", 1)];
        for (side, at) in if (number + start).is_multiple_of(2) { sides } else { [sides[1], sides[0]] } {
            if believed[at] == STARTS {
                continue;
            }
            let output = place.join(side).join(format!("{}", start + 1));
            let mut command = pushmark(&["run", "scenarios/aa.toml", "--quiet", "-o"]);
            command.arg(&output).arg("--seed").arg(format!("{}", number * 100 + start));
            let ended = command.output().context("pushmark cannot be started")?;
            match ended.status.code() {
                Some(code) if BELIEVED.contains(&code) => believed[at] += 1,
                Some(DOUBTED) => {}
                _ => {
                    let said = String::from_utf8_lossy(&ended.stderr);
                    bail!("{} {}", shell::line(&command), said.trim());
                }
            }
        }
    }
    Ok(())
}

fn compared(place: &Path) -> anyhow::Result<Pair> {
    let mut command = pushmark(&["compare", "--format", "json"]);
    command.arg(place.join("a")).arg(place.join("b"));
    let output = command.output().context("pushmark cannot be started")?;
    let found: Value = serde_json::from_slice(&output.stdout)
        .with_context(|| String::from_utf8_lossy(&output.stderr).trim().to_owned())?;
    Ok(read(&found))
}

fn read(found: &Value) -> Pair {
    let pair = &found["pairs"][0];
    let effect = &pair["primary"];
    let ends = &effect["ratio"]["interval"];
    Pair {
        metric: effect["metric"].as_str().unwrap_or("nothing").to_owned(),
        ratio: effect["ratio"]["value"].as_f64(),
        interval: ends[0].as_f64().zip(ends[1].as_f64()),
        p: effect["p_adjusted"].as_f64(),
        finding: effect["finding"].as_str().unwrap_or("not-compared").to_owned(),
        detectable: effect["detectable"].as_f64(),
        n: (pair["n_a"].as_u64().unwrap_or(0), pair["n_b"].as_u64().unwrap_or(0)),
    }
}

fn line(pair: &Pair) -> String {
    let ratio = pair.ratio.map_or(String::new(), |ratio| format!("  B ÷ A {ratio:.3}"));
    let interval = pair.interval.map_or(String::new(), |(low, high)| format!(" [{low:.3}, {high:.3}]"));
    format!("{}{ratio}{interval}  {}  n = {} and {}", pair.metric, pair.finding, pair.n.0, pair.n.1)
}

fn summary(all: &Pairs) -> String {
    let mut shown: Vec<f64> = all.pairs.iter().filter_map(|pair| pair.detectable).collect();
    shown.sort_by(f64::total_cmp);
    let median = shown.get(shown.len() / 2).map_or(String::new(), |share| {
        format!("; a shift of {:.0} % would have shown in the median pair", share * 100.0)
    });
    format!(
        "{} of {} tested pairs of a server against itself differ; not to be tested: {}{median}",
        all.differ,
        all.tested,
        all.pairs.len() - all.tested
    )
}

/// The program as it was built, from the root of the tree.
fn pushmark(words: &[&str]) -> std::process::Command {
    let program = shell::target().join("release/pushmark");
    let mut command = shell::command(&[program]);
    command.args(words);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_is_read_as_it_is_written() {
        let found = serde_json::json!({ "pairs": [{
            "n_a": 5, "n_b": 4,
            "primary": {
                "metric": "delivery.p99", "ratio": { "value": 1.02, "interval": [0.97, 1.07] },
                "p_adjusted": 0.4, "finding": "no-difference", "detectable": 0.06,
            },
        }] });
        let pair = read(&found);
        assert_eq!(line(&pair), "delivery.p99  B ÷ A 1.020 [0.970, 1.070]  no-difference  n = 5 and 4");
        let all =
            Pairs { tested: 1, differ: 0, pairs: vec![pair, read(&serde_json::json!({ "pairs": [] }))] };
        assert_eq!(
            summary(&all),
            "0 of 1 tested pairs of a server against itself differ; not to be tested: 1; \
             a shift of 6 % would have shown in the median pair"
        );
    }
}
