//! The servers, as `pushmark servers list` reports them.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::shell;

/// A row of `servers.toml`, and whether it can run here.
#[derive(Clone, Debug)]
pub(crate) struct Server {
    pub(crate) name: String,
    pub(crate) generation: String,
    pub(crate) stands_for: String,
    pub(crate) architecture: String,
    pub(crate) transports: Vec<String>,
    /// Its flags, as its row has them.
    pub(crate) flags: BTreeMap<String, String>,
    /// It has to be built first.
    pub(crate) builds: bool,
    /// What keeps it from running here, with the command that helps.
    pub(crate) missing: Option<String>,
}

impl Server {
    /// One thread a held request: thousands, not tens of thousands.
    pub(crate) fn threaded(&self) -> bool {
        self.architecture == "thread per request"
    }

    /// The first of these transports that it speaks.
    pub(crate) fn first_of(&self, transports: &[&'static str]) -> Option<&'static str> {
        transports.iter().copied().find(|transport| self.transports.iter().any(|own| own == transport))
    }
}

/// The built `pushmark`, with these arguments.
pub(crate) fn pushmark(arguments: &[&str]) -> Command {
    let program = shell::target().join("release/pushmark");
    let mut command = shell::command(&[program]);
    command.args(arguments);
    command
}

/// All of them, in the order of `servers.toml`.
pub(crate) fn read() -> anyhow::Result<Vec<Server>> {
    let output = pushmark(&["servers", "list", "--format", "json"]).output()?;
    if !output.status.success() {
        bail!("pushmark servers list: {}", String::from_utf8_lossy(&output.stderr));
    }
    let rows: Vec<Value> = serde_json::from_slice(&output.stdout).context("pushmark servers list")?;
    rows.iter().map(server).collect()
}

/// Their names, in that order.
pub(crate) fn names() -> anyhow::Result<Vec<String>> {
    Ok(read()?.into_iter().map(|server| server.name).collect())
}

fn server(row: &Value) -> anyhow::Result<Server> {
    let text = |key: &str| row.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let name = text("name");
    if name.is_empty() {
        bail!("a server without a name: {row}");
    }
    let transports = row.get("transports").and_then(Value::as_array).context("transports")?;
    let missing: Vec<String> = row
        .get("missing")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|need| {
            let word = |key: &str| need.get(key).and_then(Value::as_str).unwrap_or_default();
            format!("{} is missing: {}", word("what"), word("install"))
        })
        .collect();
    Ok(Server {
        name,
        generation: text("generation"),
        stands_for: text("stands_for"),
        architecture: text("architecture"),
        transports: transports.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        flags: flags(row),
        builds: row.get("built").is_some_and(Value::is_boolean),
        missing: (!missing.is_empty()).then(|| missing.join("; ")),
    })
}

fn flags(row: &Value) -> BTreeMap<String, String> {
    let flags = row.get("flags").and_then(Value::as_object);
    let text = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
    flags.into_iter().flatten().filter_map(text).collect()
}
