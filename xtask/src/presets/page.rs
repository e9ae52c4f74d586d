//! The page of a server, and the index of all pages.

use std::fmt::Write as _;

use anyhow::Context as _;
use serde_json::Value;

use super::{Seen, Server, median};
use crate::shell;

const MADE: &str = "<!-- written by `cargo xtask presets`: edit servers.toml -->";

/// Returns the page.
pub(super) fn write(server: &Server, seen: &Seen) -> anyhow::Result<String> {
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
    let install = server.install.as_ref().map(|install| format!("{install}\n")).unwrap_or_default();
    let start = server.start.join(" ");
    writeln!(out, "## Start it\n\n```\n{install}{}{start}\n```\n", packages(server))?;
    writeln!(out, "It prints its port. Then\n\n```\n{}\n```\n", seen.command)?;
    let kind = if server.url.is_some() { "preset" } else { "scenario" };
    writeln!(out, "The {kind} ([`{0}`](../../{0})):\n", server.described())?;
    writeln!(out, "```toml\n{}\n```\n", seen.described.trim())?;
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

/// The commands that get the packages of its scripts.
fn packages(server: &Server) -> String {
    let words = || server.start.iter().chain(&server.hear);
    let of = |folder: &&str| words().any(|word| word.starts_with(*folder) && word.ends_with(".mjs"));
    let folders = ["conformance/node", "conformance/servers"].into_iter().filter(of);
    folders.map(|folder| format!("npm ci --prefix {folder}\n")).collect()
}

fn ms(us: i64) -> String {
    format!("{:.2} ms", us as f64 / 1e3)
}

/// Returns the page that lists them all.
pub(super) fn index(servers: &[Server]) -> String {
    let mut out = format!("# Real servers of the presets\n\n{MADE}\n\n");
    out.push_str(
        "Each page was made by running it: the real server, and the ecosystem's own client beside pushmark's crowd. `pushmark presets` lists all presets; those without a page were not run against a real server here.\n\n",
    );
    for (head, has_preset) in [("preset", true), ("scenario", false)] {
        if !has_preset {
            out.push_str("\nWithout a preset, by a scenario alone:\n\n");
        }
        out.push_str(&format!("| {head} | server |\n|---|---|\n"));
        for server in servers.iter().filter(|server| server.url.is_some() == has_preset) {
            out.push_str(&format!("| [{0}]({0}.md) | {1} |\n", server.name, server.server));
        }
    }
    out
}
