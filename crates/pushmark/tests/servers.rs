//! The reference servers keep the contract: one of each family, every one that has changed since
//! it was last seen to (`servers/checked.toml`), and with `PUSHMARK_TEST_SERVERS=all`
//! (`cargo xtask test --all`) every one there is, after which that file is written anew.

mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use pushmark::server::registry::{Registry, Server};
use pushmark::server::state;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tool::{Tool, have};

/// Says which servers: `all`, names with commas between them, or (absent) those that must be.
const WHICH: &str = "PUSHMARK_TEST_SERVERS";

const HEADER: &str = "\
# What every server was when it was last checked, and the clauses it is known to break: a digest that
# differs has its server checked by every `cargo xtask test` again. `cargo xtask test --all` writes the
# digests; `breaks` is written by hand and explained in the server's README.
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
    /// Clauses that it breaks, by its nature or for show.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    breaks: BTreeSet<String>,
    /// Clauses that it breaks now and then.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    may_break: BTreeSet<String>,
}

#[test]
fn reference_servers_keep_the_contract() {
    let folder = tool::servers();
    let registry = Registry::load(Some(&folder)).expect("servers.toml can be read");
    let mut known = read_known();
    let contract = contract_digest();
    let all = std::env::var(WHICH).is_ok_and(|which| which == "all");
    let tool = Tool::new();
    let mut wrong = Vec::new();
    for server in chosen(&registry, &known, &contract) {
        let missing = registry.missing(server);
        let names: Vec<&str> = missing.iter().map(|(name, _)| *name).collect();
        if !have(missing.is_empty(), &format!("{} (for {})", names.join(", "), server.name)) {
            continue;
        }
        let expected = known.server.get(&server.name).cloned().unwrap_or_default();
        match check(&tool, server) {
            Err(why) => wrong.push(format!("{}: {why}", server.name)),
            Ok(failures) => {
                let broken: BTreeSet<String> = failures.iter().map(|(clause, _)| clause.clone()).collect();
                let told: Vec<String> = failures
                    .into_iter()
                    .filter(|(clause, _)| {
                        !expected.breaks.contains(clause) && !expected.may_break.contains(clause)
                    })
                    .map(|(clause, why)| format!("{} breaks {clause}: {why}", server.name))
                    .collect();
                let mended = expected.breaks.difference(&broken);
                wrong
                    .extend(mended.map(|clause| format!("{} does not break {clause} any more", server.name)));
                wrong.extend(told);
            }
        }
        let digest = state::digest(&registry, server).expect("a digest");
        known.server.insert(server.name.clone(), Checked { digest, ..expected });
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    if all {
        known.contract = contract;
        known.server.retain(|name, _| registry.find(name).is_some());
        let text = format!("{HEADER}\n{}", toml::to_string(&known).expect("TOML"));
        fs::write(file(), text).expect("checked.toml can be written");
    }
}

/// The present one of each family, and those that are not what they were.
fn chosen<'r>(registry: &'r Registry, known: &Known, contract: &str) -> Vec<&'r Server> {
    let which = std::env::var(WHICH).unwrap_or_default();
    let mut families = BTreeSet::new();
    let mut representatives = BTreeSet::new();
    // A family's last row is its newest server.
    for server in registry.servers().iter().rev() {
        if families.insert(server.family().to_owned()) {
            representatives.insert(server.name.clone());
        }
    }
    let changed = |server: &Server| {
        let then = known.server.get(&server.name).map(|checked| &checked.digest);
        // The digest of a server that is this program changes with every build; its family is itself.
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

/// Checks a server in the tree's own folder; gives each broken clause and how it was broken.
fn check(tool: &Tool, server: &Server) -> Result<Vec<(String, String)>, String> {
    let ended = tool.run(&["check", &server.name, "--format", "json"]);
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

fn file() -> PathBuf {
    tool::servers().join("checked.toml")
}

fn read_known() -> Known {
    match fs::read_to_string(file()) {
        Ok(text) => toml::from_str(&text).unwrap_or_else(|error| panic!("checked.toml: {error}")),
        // Nothing was checked yet: everything is.
        Err(_) => Known::default(),
    }
}

fn contract_digest() -> String {
    let text = fs::read(tool::servers().join("CONTRACT.md")).expect("the contract");
    sha1_smol::Sha1::from(text).digest().to_string()
}
