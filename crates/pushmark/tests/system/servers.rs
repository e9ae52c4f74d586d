//! The reference servers keep the contract. The test checks one server of each family and every server
//! that has changed since its last check (`servers/checked.toml`); with `PUSHMARK_TEST_SERVERS=all`
//! (`cargo xtask test --all`) it checks all of them, or those it names, and then rewrites the file. The
//! same servers are killed in mid-run: the run keeps their last words, and no process is left.

use crate::tool;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use crate::tool::{LOAD, Tool, arms, have, is_gone};
use pushmark_host::server::registry::{Registry, Server};
use pushmark_host::server::state;
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The servers to check: `all`, names separated by commas, or (absent) the required ones. With the
/// variable set, passed checks are written to the file.
const WHICH: &str = "PUSHMARK_TEST_SERVERS";

const HEADER: &str = "\
# What every server was when it was last checked, and the clauses it is known to break: a digest that
# differs has its server checked by every `cargo xtask test` again. `cargo xtask test --all` writes the
# digests; `breaks`, `wavers` and `flags` are written by hand and explained in the server's README.
";

/// `servers/checked.toml`.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// Digest of `servers/CONTRACT.md`.
    #[serde(default)]
    contract: String,
    #[serde(default)]
    server: BTreeMap<String, Checked>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Checked {
    digest: String,
    /// Flags with which the server keeps the contract, if it does not with those of its row.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    flags: BTreeMap<String, String>,
    /// Clauses that the server breaks, because of its age or on purpose.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    breaks: BTreeSet<String>,
    /// An exhibit: further broken clauses depend on how slow the machine is.
    #[serde(default, skip_serializing_if = "is_false")]
    wavers: bool,
}

fn is_false(value: &bool) -> bool {
    !value
}

#[test]
fn reference_servers_keep_the_contract() {
    let folder = tool::servers();
    let registry = Registry::load(Some(&folder)).expect("servers.toml can be read");
    let mut known = read_known();
    let contract = contract_digest();
    let asked = std::env::var(WHICH).unwrap_or_default();
    let tool = Tool::new();
    let mut wrong = Vec::new();
    for server in chosen(&registry, &known, &contract) {
        let missing = registry.missing(server);
        let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
        if !have(missing.is_empty(), &format!("{} (for {})", names.join(", "), server.name)) {
            continue;
        }
        let expected = known.server.get(&server.name).cloned().unwrap_or_default();
        match check_twice(&tool, server, &expected) {
            Err(why) => wrong.push(format!("{}: {why}", server.name)),
            Ok(failures) => {
                let broken: BTreeSet<String> = failures.iter().map(|(clause, _)| clause.clone()).collect();
                for clause in expected.breaks.difference(&broken) {
                    wrong.push(format!("{} does not break {clause} any more", server.name));
                }
                for (clause, why) in failures {
                    if !expected.wavers && !expected.breaks.contains(&clause) {
                        wrong.push(format!("{} breaks {clause}: {why}", server.name));
                    }
                }
            }
        }
        killed_in_mid_run(&tool, server);
        let digest = state::digest(&registry, server).expect("a digest");
        known.server.insert(server.name.clone(), Checked { digest, ..expected });
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    if asked == "all" {
        known.contract = contract;
    }
    if !asked.is_empty() {
        // A server that is this program changes with every build, so it is always checked.
        let lasts = |server: &Server| !server.run.iter().any(|word| word.contains("{pushmark}"));
        known.server.retain(|name, _| registry.find(name).is_some_and(lasts));
        let text = format!("{HEADER}\n{}", toml::to_string(&known).expect("TOML"));
        fs::write(file(), text).expect("checked.toml can be written");
    }
}

/// Returns the newest server of each family, and the servers that have changed.
fn chosen<'r>(registry: &'r Registry, known: &Known, contract: &str) -> Vec<&'r Server> {
    let which = std::env::var(WHICH).unwrap_or_default();
    let mut families = BTreeSet::new();
    let mut representatives = BTreeSet::new();
    // The last row of a family is its newest server.
    for server in registry.servers().iter().rev() {
        if families.insert(server.family().to_owned()) {
            representatives.insert(server.name.clone());
        }
    }
    let changed = |server: &Server| {
        let then = known.server.get(&server.name).map(|checked| &checked.digest);
        // The digest of a server that is this program changes with every build; it is a family by itself.
        let follows = server.contract && contract != known.contract;
        follows || state::digest(registry, server).ok().as_ref() != then
    };
    let is_asked_for = |server: &&Server| match &which[..] {
        "all" => true,
        "" => representatives.contains(&server.name) || changed(server),
        names => names.split(',').any(|name| name == server.name),
    };
    registry.servers().iter().filter(is_asked_for).collect()
}

/// Checks a server, and checks it again if a clause fails that it is not known to break. Old servers on a
/// busy machine sometimes end a connection; a really broken clause fails both times.
fn check_twice(tool: &Tool, server: &Server, expected: &Checked) -> Result<Vec<(String, String)>, String> {
    let mut failures = check(tool, server, &expected.flags)?;
    let is_known = |clause: &String| expected.wavers || expected.breaks.contains(clause);
    if failures.iter().any(|(clause, _)| !is_known(clause)) {
        let again = check(tool, server, &expected.flags)?;
        failures.retain(|(clause, _)| is_known(clause) || again.iter().any(|(other, _)| other == clause));
    }
    Ok(failures)
}

/// Checks a server in the tree's folder. Returns each broken clause with the failed case.
fn check(
    tool: &Tool,
    server: &Server,
    flags: &BTreeMap<String, String>,
) -> Result<Vec<(String, String)>, String> {
    let mut arguments = vec!["check".to_owned(), server.name.clone(), "--format=json".to_owned()];
    arguments.extend(flags.iter().map(|(name, value)| format!("--flag={name}={value}")));
    let ended = tool.run(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    if !matches!(ended.code, 0 | 99) {
        return Err(format!("pushmark check ended with {}\n{}", ended.code, ended.err));
    }
    let document: Value = serde_json::from_str(&ended.out).map_err(|error| error.to_string())?;
    let cases = document["cases"].as_array().ok_or("no cases")?;
    let text = |case: &Value, key: &str| case[key].as_str().unwrap_or_default().to_owned();
    let passed = cases.iter().filter(|case| case["verdict"] == "pass").count();
    if passed == 0 {
        return Err("no case passed".to_owned());
    }
    let failed = cases.iter().filter(|case| case["verdict"] == "fail");
    Ok(failed.map(|case| (text(case, "clause"), case.to_string())).collect())
}

/// Kills a server in the middle of a measurement.
fn killed_in_mid_run(tool: &Tool, server: &Server) {
    let (name, transport) = (&server.name, server.transports[0]);
    let scenario = format!("transports = [\"{transport}\"]\n[target]\nserver = \"{name}\"\n{LOAD}");
    tool.write("killed.toml", &scenario);
    let mut running = tool.start(&["run", "killed.toml", "-o", name, "-d", "3s"]);
    running.wait_for("measure");
    let started = descendants(running.id());
    let leader = started.iter().find(|process| process.parent == running.id() && !process.keeps);
    let leader = leader.unwrap_or_else(|| panic!("{name}: no process of it in {started:?}")).pid;
    kill_process(Pid::from_raw(leader).expect("a number"), Signal::KILL).expect("it is there");
    let ended = running.end().never_panicked();
    let run = tool.run_json(name);
    let arm = &arms(&run)[0];
    assert_eq!(arm["outcome"], "died", "{name}: {ended:#?}");
    assert_eq!(arm["last_words"]["how"], "signal 9", "{name}: {}", arm["last_words"]);
    assert_eq!(arm["last_words"]["by_itself"], true, "{name}");
    let left: Vec<&Started> = started.iter().filter(|process| !is_gone(process.pid)).collect();
    assert!(left.is_empty(), "{name} leaves {left:?}");
}

/// A process that a run started.
#[derive(Debug)]
struct Started {
    pid: i32,
    parent: i32,
    /// Whether it is the process that watches the others.
    keeps: bool,
}

/// Returns all processes below one.
fn descendants(of: i32) -> Vec<Started> {
    let all: Vec<Started> = fs::read_dir("/proc")
        .expect("/proc")
        .filter_map(|entry| {
            let pid: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            // The name before it may contain anything, a bracket too.
            let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
            let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?;
            Some(Started { pid, parent, keeps: command.contains("pushmark-keeper") })
        })
        .collect();
    let mut below = BTreeSet::from([of]);
    // Repeats until a round finds nothing new, because a child may be listed before its parent.
    while all
        .iter()
        .filter(|process| below.contains(&process.parent))
        .any(|process| !below.contains(&process.pid))
    {
        let found: Vec<i32> =
            all.iter().filter(|process| below.contains(&process.parent)).map(|process| process.pid).collect();
        below.extend(found);
    }
    below.remove(&of);
    all.into_iter().filter(|process| below.contains(&process.pid)).collect()
}

fn file() -> PathBuf {
    tool::servers().join("checked.toml")
}

fn read_known() -> Known {
    match fs::read_to_string(file()) {
        Ok(text) => toml::from_str(&text).unwrap_or_else(|error| panic!("checked.toml: {error}")),
        // Nothing was checked yet, so everything is checked now.
        Err(_) => Known::default(),
    }
}

fn contract_digest() -> String {
    let text = fs::read(tool::servers().join("CONTRACT.md")).expect("the contract");
    sha1_smol::Sha1::from(text).digest().to_string()
}
