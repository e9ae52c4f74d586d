//! The two runs of a server.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail};
use serde_json::Value;

use super::list::{self, Server};
use crate::shell;

/// Clients that an event-driven server is asked to hold: a process may open 20,000 files here.
const HELD: &str = "15000";
/// Clients that a server with a thread for each is asked to hold.
const HELD_BY_THREADS: &str = "2000";
/// Memory of a JVM that holds this many clients, as in the first study.
const HEAP: &str = "2400m";
/// A held request, whichever the server speaks.
const WAITING: [&str; 4] = ["long-poll", "bayeux", "stream", "sse"];
/// Exit codes after which there is a run: pass, incomplete, invalid, a threshold crossed.
const WITH_RUN: [i32; 4] = [0, 5, 6, 99];

/// As many waiting clients as its kind is asked to hold.
pub(crate) fn held(server: &Server, scratch: &Path) -> anyhow::Result<Value> {
    let transport = server.first_of(&WAITING).context("it has no transport that holds clients")?;
    let clients = if server.threaded() { HELD_BY_THREADS } else { HELD };
    let mut more = vec!["-c".to_owned(), clients.to_owned()];
    // A JVM's heap has a unit; with a row's small one the heap would be what is measured.
    if !server.threaded() && server.flags.get("heap").is_some_and(|heap| heap.ends_with('m')) {
        more.extend(["--set".to_owned(), format!("target.flags.heap={HEAP}")]);
    }
    if server.threaded() {
        // The steps of the scenario end at its own crowd.
        more.extend([
            "--set".to_owned(),
            "load.ramp.steps=[{to=200,over='2s'},{to=2000,over='5s'}]".to_owned(),
        ]);
        more.extend(["--set".to_owned(), "target.flags.threads=2200".to_owned()]);
    }
    run(server, "held", &[transport], &more, scratch)
}

/// What a delivery costs, over each transport that servers are compared by.
pub(crate) fn cost(server: &Server, scratch: &Path) -> anyhow::Result<Value> {
    let compared = ["long-poll", "stream", "websocket", "bayeux", "bayeux-websocket"];
    let transports: Vec<&str> =
        compared.into_iter().filter(|transport| server.first_of(&[transport]).is_some()).collect();
    let mut more = Vec::new();
    if server.threaded() {
        more.extend(["--set".to_owned(), "target.flags.threads=700".to_owned()]);
    }
    run(server, "cost", &transports, &more, scratch)
}

fn run(
    server: &Server,
    scenario: &str,
    transports: &[&str],
    more: &[String],
    scratch: &Path,
) -> anyhow::Result<Value> {
    let output = scratch.join(scenario);
    // As it is typed at the root, where the command runs: a kept run says how to repeat it, and
    // names no folder of this machine.
    let typed = output.strip_prefix(shell::root()).unwrap_or(&output);
    let file = format!("scenarios/{scenario}.toml");
    let target = format!("target.server={}", server.name);
    let mut command = list::pushmark(&["run", &file, "--set", &target, "-t", &transports.join(",")]);
    command.args(more).arg("-o").arg(typed).stdout(std::process::Stdio::null());
    let status = command.status().context("pushmark run")?;
    if !status.code().is_some_and(|code| WITH_RUN.contains(&code)) {
        bail!("{}: {scenario} ended with {status}", server.name);
    }
    let text = fs::read_to_string(output.join("run.json")).context("run.json")?;
    serde_json::from_str(&text).context("run.json")
}
