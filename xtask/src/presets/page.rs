//! The page of a server, and the index of all pages.

use std::fmt::Write as _;

use anyhow::Context as _;
use serde_json::Value;

use super::{Seen, Server, median};
use crate::shell;

const MADE: &str = "<!-- written by `cargo xtask presets`: edit servers.toml -->";

/// Returns the page.
pub(super) fn write(server: &Server, preset: &str, seen: &Seen) -> anyhow::Result<String> {
    let arm = &seen.run["arms"][0];
    let count = |pointer: &str| arm.pointer(pointer).and_then(Value::as_u64).unwrap_or_default();
    let commit = shell::command(&["git", "rev-parse", "--short", "HEAD"]).output()?;
    let commit = String::from_utf8(commit.stdout)?;
    let environment = &seen.run["environment"];
    let cpu = environment["cpu"].as_str().context("the run names its CPU")?;
    let kernel = environment["kernel"].as_str().unwrap_or_default();
    let kernel = kernel.split('.').take(2).collect::<Vec<_>>().join(".");

    let mut out = format!("# {}\n\n{MADE}\n\n", server.title);
    writeln!(out, "Server: {}. {}\n", server.server, server.note)?;
    writeln!(out, "## Start it\n\n```\nnpm ci --prefix conformance/node\n{}\n```\n", server.start.join(" "))?;
    writeln!(out, "It prints its port. Then\n\n```\n{}\n```\n", seen.command)?;
    writeln!(out, "The preset ([`presets/{0}.toml`](../../presets/{0}.toml)):\n", server.preset)?;
    writeln!(out, "```toml\n{}\n```\n", preset.trim())?;
    writeln!(out, "## Result\n\n```text\n{}\n```\n", seen.text.trim_matches('\n'))?;
    writeln!(out, "## Its own client beside it\n")?;
    let due = count("/published/due");
    let (heard, missing) = (seen.heard.len(), count("/delivery/missing"));
    writeln!(
        out,
        "{} listened to the same channel. It heard {heard} messages, those of warm-up included; {due} were due in measure, and {missing} deliveries were missing.",
        server.client
    )?;
    let stamped: Vec<i64> = seen.heard.iter().filter_map(|latency| *latency).collect();
    let ours = arm.pointer("/delivery/from_sent/p50_us").and_then(Value::as_i64);
    if let (Some(theirs), Some(ours)) = (median(&stamped), ours) {
        writeln!(
            out,
            "From the stamp in a message to the instant at which that client had it, by the same clock, the median was {}; pushmark's crowd: {}.",
            ms(theirs),
            ms(ours)
        )?;
    }
    let connections = count("/connections/opened");
    writeln!(
        out,
        "\n{connections} clients, commit {}, {cpu}, Linux {kernel}, server and clients on one machine.",
        commit.trim()
    )?;
    Ok(out)
}

fn ms(us: i64) -> String {
    format!("{:.2} ms", us as f64 / 1e3)
}

/// Returns the page that lists them all.
pub(super) fn index(servers: &[Server]) -> String {
    let mut out = format!("# Real servers of the presets\n\n{MADE}\n\n");
    out.push_str(
        "Each page was made by running it: the real server, the preset, and the ecosystem's own client beside pushmark's crowd. `pushmark presets` lists all presets; those without a page were not run against a real server here.\n\n| preset | server |\n|---|---|\n",
    );
    for server in servers {
        out.push_str(&format!("| [{0}]({0}.md) | {1} |\n", server.preset, server.server));
    }
    out
}
