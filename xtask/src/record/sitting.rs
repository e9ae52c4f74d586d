//! `cargo xtask record --for TIME`: measures what is missing of `studies/record.toml`, most worth first, for this
//! time; keeps the runs in `record/`, draws the pages again, and prints how much of the studies is covered. Called
//! again, here or on another machine with as many CPUs, it goes on.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde::Deserialize;
use serde_json::Value;

use super::keep::{self, json, keep, measured_of};
use crate::{shell, studies};

/// Less is not worth the start of another suite.
const LEAST: Duration = Duration::from_secs(30);
/// Exit codes of a suite whose cases were measured: passed, refused here, cut short, a doubtful figure, a crossed
/// threshold or a dead server.
const MEASURED: [i32; 5] = [0, 4, 5, 6, 99];
/// Starts of a case that was drawn by lot.
const STARTS_AGAIN: u32 = 3;
/// Those of a person who stops it.
const STOPPED: [i32; 2] = [130, 143];

/// `studies/record.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Plan {
    #[serde(default)]
    scale_time: BTreeMap<String, f64>,
    step: Vec<Step>,
}

/// Cases of a suite, and the starts that each should have.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    suite: String,
    /// Patterns of case ids; empty: all cases.
    #[serde(default)]
    only: Vec<String>,
    starts: u32,
    why: String,
}

pub(super) fn run(time: &str) -> anyhow::Result<()> {
    let until = Instant::now() + length(time)?;
    let text = fs::read_to_string(shell::root().join("studies/record.toml"))?;
    let plan: Plan = toml::from_str(&text).context("studies/record.toml")?;
    shell::run(shell::cargo(&["build", "--release", "--quiet", "-p", "pushmark"]))?;
    let mut sitting = Sitting { plan: &plan, until, within: "", checked: Vec::new() };
    for step in &plan.step {
        if sitting.over() || sitting.step(step)? {
            break;
        }
    }
    studies::run(&[])?;
    let page = fs::read_to_string(shell::root().join("studies/pages/README.md"))?;
    println!("{}", page.split_once("## Coverage").map_or("", |(_, coverage)| coverage).trim());
    Ok(())
}

/// `studies/lot.toml`, as far as it says what to run.
#[derive(Debug, Deserialize)]
struct Lot {
    drawn: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
struct Finding {
    suite: String,
    cases: Vec<String>,
}

/// Measures the cases of `studies/lot.toml` in a sitting of their own.
pub(super) fn again(time: &str) -> anyhow::Result<()> {
    let until = Instant::now() + length(time)?;
    let read = |name: &str| fs::read_to_string(shell::root().join("studies").join(name));
    let plan: Plan = toml::from_str(&read("record.toml")?).context("studies/record.toml")?;
    let lot: Lot = toml::from_str(&read("lot.toml")?).context("studies/lot.toml")?;
    shell::run(shell::cargo(&["build", "--release", "--quiet", "-p", "pushmark"]))?;
    let mut sitting = Sitting { plan: &plan, until, within: "again", checked: Vec::new() };
    let mut cases: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for finding in lot.drawn {
        cases.entry(finding.suite).or_default().extend(finding.cases);
    }
    for (suite, only) in cases {
        let step = Step { suite, only, starts: STARTS_AGAIN, why: "drawn by lot".to_owned() };
        if sitting.over() || sitting.step(&step)? {
            break;
        }
    }
    studies::run(&[])
}

/// A sitting: what it may take, and what it has seen.
struct Sitting<'p> {
    plan: &'p Plan,
    until: Instant,
    /// The folder within that of the machine; empty for none.
    within: &'static str,
    /// Suites whose servers were checked.
    checked: Vec<String>,
}

impl Sitting<'_> {
    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    fn over(&self) -> bool {
        self.left() < LEAST
    }

    /// Runs what is missing of a step, and keeps it. Returns whether a person stopped it.
    fn step(&mut self, step: &Step) -> anyhow::Result<bool> {
        let Step { suite, starts, why, .. } = step;
        println!("== {suite}: {why} ({starts} starts, {} min left)", self.left().as_secs() / 60);
        let scale = self.plan.scale_time.get(suite).copied().unwrap_or(1.0);
        let file = shell::root().join(format!("studies/suites/{suite}.toml"));
        let text = fs::read_to_string(&file)?;
        let known = known(suite, &text, scale, self.within)?;
        for folder in &known {
            if covers(step, &file, folder, scale)? {
                println!("   {suite}: all of it is in {}", folder.display());
                return Ok(false);
            }
        }
        let place = place(suite, self.within, known)?;
        let of_machine = place.strip_prefix(shell::root().join("record"))?;
        let work = shell::root().join("results/record").join(of_machine);
        begin(&place, &work)?;
        if !self.checked.contains(suite) {
            check_servers(&file)?;
            self.checked.push(suite.clone());
        }
        let stopped = measure(step, &file, &work, scale, self.left())?;
        if work.join("suite.json").is_file() {
            let done = keep(&work, &place)?;
            println!("   {suite}: {} runs, {} of them new", done.all, done.new);
        }
        Ok(stopped)
    }
}

/// Runs the missing starts of a step. Returns whether a person stopped it.
fn measure(step: &Step, file: &Path, work: &Path, scale: f64, left: Duration) -> anyhow::Result<bool> {
    let mut words = words(step, file, work, scale);
    words.push(format!("--for={}s", left.as_secs()));
    let mut command = shell::command(&words);
    // The sitting prints its own summary.
    let status = command.stdout(std::process::Stdio::null()).status()?;
    match status.code() {
        Some(code) if MEASURED.contains(&code) => Ok(false),
        Some(code) if STOPPED.contains(&code) => Ok(true),
        _ => bail!("{} ended with {status}", shell::line(&command)),
    }
}

/// Whether a folder has all starts of a step that its machine can hold.
fn covers(step: &Step, file: &Path, folder: &Path, scale: f64) -> anyhow::Result<bool> {
    let mut words = words(step, file, folder, scale);
    words.push("--dry-run".to_owned());
    let listed = shell::command(&words).output()?;
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    Ok(listed.lines().any(|line| line.trim_start().starts_with("0 cases to run")))
}

/// The command that goes on with a step in a folder.
fn words(step: &Step, file: &Path, folder: &Path, scale: f64) -> Vec<String> {
    let mut words = vec![
        program().display().to_string(),
        "suite".to_owned(),
        file.display().to_string(),
        "--output".to_owned(),
        folder.display().to_string(),
        "--resume".to_owned(),
        format!("--repeat={}", step.starts),
    ];
    if scale < 1.0 {
        words.push(format!("--scale-time={scale}"));
    }
    words.extend(step.only.iter().map(|glob| format!("--only={glob}")));
    words
}

fn program() -> PathBuf {
    shell::target().join("release/pushmark")
}

/// The folders that hold runs of this text and scale, of any machine with as many CPUs; the newest first.
fn known(suite: &str, text: &str, scale: f64, within: &str) -> anyhow::Result<Vec<PathBuf>> {
    let record = shell::root().join("record");
    let mut folders: Vec<PathBuf> =
        fs::read_dir(&record)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    folders.sort();
    let cpus = std::thread::available_parallelism()?.get();
    let of_machine = |folder: &&PathBuf| folder.to_string_lossy().contains(&format!("-{cpus}-cores"));
    let same = |folder: &PathBuf| {
        let kept = json(&folder.join("suite.json")).ok()?;
        let scaled = kept.get("scale_time").and_then(Value::as_f64).unwrap_or(1.0);
        let here = measured_of(kept.get("text")?.as_str()?) == measured_of(text);
        (here && (scaled - scale).abs() < 1e-9).then_some(())
    };
    let all = folders.iter().rev().filter(of_machine).map(|folder| folder.join(within).join(suite));
    Ok(all.filter(|folder| same(folder).is_some()).collect())
}

/// Where the runs of a suite are kept: beside earlier ones of the same CPU, else in a new folder. Starts of one
/// cell must be of one machine: two differ by more than their starts do.
fn place(suite: &str, within: &str, known: Vec<PathBuf>) -> anyhow::Result<PathBuf> {
    let model = cpu();
    if let Some(ours) = known.into_iter().find(|folder| cpu_of(folder).is_none_or(|its| its == model)) {
        return Ok(ours);
    }
    let cpus = std::thread::available_parallelism()?.get();
    let mut date = shell::command(&["date", "-u", "+%F"]);
    let today = String::from_utf8(date.output()?.stdout)?;
    let folder = format!("{}-{cpus}-cores-{}", today.trim(), slug(&model));
    Ok(shell::root().join("record").join(folder).join(within).join(suite))
}

/// This machine's CPU, as a run names it.
fn cpu() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':')).map_or_else(String::new, |(_, name)| name.trim().to_owned())
}

/// The CPU of the kept runs of a suite.
fn cpu_of(folder: &Path) -> Option<String> {
    let runs = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path().join("run.json"));
    let run = runs.into_iter().find(|path| path.is_file())?;
    json(&run).ok()?["environment"]["cpu"].as_str().map(str::to_owned)
}

/// A CPU's name in a folder's: `intel-xeon`.
fn slug(cpu: &str) -> String {
    let plain = cpu.replace("(R)", " ").replace("(TM)", " ").to_lowercase();
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let telling = words.filter(|word| !["processor", "cpu"].contains(word));
    telling.take(3).collect::<Vec<_>>().join("-")
}

/// Puts earlier runs into the folder that is measured in, if they are not there.
fn begin(place: &Path, work: &Path) -> anyhow::Result<()> {
    let text = |folder: &Path| json(&folder.join("suite.json")).ok().map(|suite| keep::measured(&suite));
    if work.is_dir() {
        if let (Some(kept), Some(here)) = (text(place), text(work))
            && kept != here
        {
            bail!("{} holds runs of another text of this suite: remove it", work.display());
        }
        return Ok(());
    }
    if place.is_dir() {
        copy(place, work)?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to).with_context(|| to.display().to_string())?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &place)?
        } else {
            fs::copy(entry.path(), place).map(|_| ())?
        }
    }
    Ok(())
}

/// Checks the servers of a suite that were not checked as they are now, so that each run says so. A server that
/// fails is measured all the same: its runs say that too.
fn check_servers(file: &Path) -> anyhow::Result<()> {
    let suite: toml::Value = toml::from_str(&fs::read_to_string(file)?)?;
    let mut names = Vec::new();
    servers_in(&suite, &mut names);
    let program = program().display().to_string();
    let listed = shell::command(&[&program[..], "servers", "list", "--format", "json"]).output()?;
    let listed: Value = serde_json::from_slice(&listed.stdout).context("the list of servers")?;
    let unchecked = |name: &String| {
        let row = listed.as_array().into_iter().flatten().find(|row| row["name"] == name.as_str());
        row.is_some_and(|row| row["checked"] == false && row["missing"].as_array().is_none_or(Vec::is_empty))
    };
    for name in names.iter().filter(|name| *name != "builtin" && unchecked(name)) {
        println!("   checking {name}");
        shell::command(&[&program[..], "servers", "build", name]).status()?;
        shell::command(&[&program[..], "check", name, "--quiet"]).status()?;
    }
    Ok(())
}

/// Every value of `target.server` in a suite, each once.
fn servers_in(value: &toml::Value, names: &mut Vec<String>) {
    let mut add = |value: &toml::Value| {
        if let Some(name) = value.as_str().filter(|name| !names.iter().any(|known| known == name)) {
            names.push(name.to_owned());
        }
    };
    match value {
        toml::Value::Table(table) => {
            table.get("target.server").into_iter().for_each(&mut add);
            table.get("target").and_then(|target| target.get("server")).into_iter().for_each(&mut add);
            if table.get("key").and_then(toml::Value::as_str) == Some("target.server") {
                let values = table.get("values").and_then(toml::Value::as_array);
                values.into_iter().flatten().for_each(&mut add);
            }
            table.values().for_each(|value| servers_in(value, names));
        }
        toml::Value::Array(values) => values.iter().for_each(|value| servers_in(value, names)),
        _ => {}
    }
}

/// Reads `150m`, `2h` or `90s`.
fn length(text: &str) -> anyhow::Result<Duration> {
    let unit = |unit: char| text.strip_suffix(unit).and_then(|number| number.parse::<u64>().ok());
    let seconds = unit('s').or_else(|| Some(unit('m')? * 60)).or_else(|| Some(unit('h')? * 3_600));
    seconds
        .map(Duration::from_secs)
        .with_context(|| format!("--for {text}: expected a time such as 150m, 2h or 90s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_names_a_folder() {
        assert_eq!(slug("Intel(R) Xeon(R) Processor"), "intel-xeon");
        assert_eq!(slug("AMD EPYC"), "amd-epyc");
        assert_eq!(slug("AMD Ryzen 9 7950X 16-Core Processor"), "amd-ryzen-9");
    }

    #[test]
    fn a_time_has_a_unit() {
        assert_eq!(length("150m").unwrap(), Duration::from_secs(9_000));
        assert_eq!(length("2h").unwrap(), Duration::from_secs(7_200));
        assert!(length("150").unwrap_err().to_string().contains("such as 150m"));
    }

    #[test]
    fn the_servers_of_a_suite_are_found_wherever_they_are_named() {
        let text = "[scenario]\ntarget.server = \"a\"\n[axes.server]\nkey = \"target.server\"\nvalues = [\"b\", \"a\"]\n\
                    [axes.style]\nvalues = [{ name = \"x\", set = { \"target.server\" = \"c\" } }]";
        let mut names = Vec::new();
        servers_in(&toml::from_str(text).unwrap(), &mut names);
        names.sort();
        assert_eq!(names, ["a", "b", "c"]);
    }

    #[test]
    fn the_plan_of_the_tree_names_suites_that_exist() {
        let text = fs::read_to_string(shell::root().join("studies/record.toml")).unwrap();
        let plan: Plan = toml::from_str(&text).unwrap();
        let suites = plan.step.iter().map(|step| &step.suite).chain(plan.scale_time.keys());
        for suite in suites {
            let file = shell::root().join(format!("studies/suites/{suite}.toml"));
            assert!(file.is_file(), "{}", file.display());
        }
    }
}
