//! The figures of one server, taken from its two runs.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::list::Server;
use crate::shell;

/// A row of the table. What was not measured is absent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) generation: String,
    pub(crate) stands_for: String,
    pub(crate) architecture: String,
    /// RFC 3339, UTC.
    pub(crate) measured_at: String,
    pub(crate) machine: String,
    pub(crate) pushmark: String,
    /// Of this tree.
    pub(crate) commit: String,
    /// From the start of its process to its first good answer.
    pub(crate) ready_us: Option<u64>,
    pub(crate) held: Held,
    pub(crate) cost: Vec<Cost>,
}

/// A crowd that waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Held {
    pub(crate) transport: String,
    pub(crate) asked: u64,
    /// Clients whose request it took.
    pub(crate) opened: u64,
    pub(crate) lost: u64,
    pub(crate) intended: u64,
    pub(crate) delivered: u64,
    /// Growth of its resident memory a client, from the first tenth of the crowd to the whole.
    pub(crate) rss_bytes_per_connection: Option<f64>,
    pub(crate) rss_bytes_peak: Option<u64>,
    pub(crate) outcome: String,
    /// How it ended, if it ended by itself.
    pub(crate) ended: Option<String>,
}

/// What a delivery costs over one transport.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cost {
    pub(crate) transport: String,
    /// CPU of the server's processes a million deliveries.
    pub(crate) cpu_s_per_million: Option<f64>,
    pub(crate) outcome: String,
    pub(crate) verdict: String,
}

impl Row {
    /// Something was turned away, lost or died.
    pub(crate) fn broke(&self) -> bool {
        let held = &self.held;
        let whole = held.opened == held.asked && held.lost == 0 && held.delivered == held.intended;
        !whole || held.outcome != "held" || self.cost.iter().any(|cost| cost.outcome != "held")
    }
}

/// The row of a server.
pub(crate) fn row(server: &Server, held: &Value, cost: &Value) -> anyhow::Result<Row> {
    let arm = arms(held)?.first().context("an arm")?;
    let environment = &held["environment"];
    let machine = format!(
        "{} × {}, Linux {}",
        number(environment, "cpus").unwrap_or(0),
        text(environment, "cpu"),
        text(environment, "kernel"),
    );
    Ok(Row {
        name: server.name.clone(),
        generation: server.generation.clone(),
        stands_for: server.stands_for.clone(),
        architecture: server.architecture.clone(),
        measured_at: text(held, "started_at"),
        machine,
        pushmark: text(held, "pushmark_version"),
        commit: commit()?,
        ready_us: number(&arm["server"], "ready_us"),
        held: held_of(arm),
        cost: arms(cost)?.iter().map(cost_of).collect(),
    })
}

fn commit() -> anyhow::Result<String> {
    let output = shell::command(&["git", "rev-parse", "--short", "HEAD"]).output()?;
    Ok(String::from_utf8(output.stdout)?.trim().to_owned())
}

fn held_of(arm: &Value) -> Held {
    Held {
        transport: text(arm, "transport"),
        asked: number(&arm["connections"], "asked").unwrap_or(0),
        opened: number(&arm["connections"], "opened").unwrap_or(0),
        lost: number(&arm["connections"], "lost").unwrap_or(0),
        intended: number(&arm["delivery"], "intended").unwrap_or(0),
        delivered: number(&arm["delivery"], "delivered").unwrap_or(0),
        rss_bytes_per_connection: arm["server"]["rss_bytes_per_connection"].as_f64(),
        rss_bytes_peak: number(&arm["server"], "rss_bytes_peak"),
        outcome: text(arm, "outcome"),
        ended: ended(arm),
    }
}

fn ended(arm: &Value) -> Option<String> {
    let ended = &arm["server"]["ended"];
    ended.as_str().or_else(|| ended["how"].as_str()).map(str::to_owned)
}

fn cost_of(arm: &Value) -> Cost {
    let delivered = number(&arm["delivery"], "delivered").filter(|&count| count > 0);
    let cpu = number(&arm["server"], "cpu_us");
    // µs a delivery are seconds a million.
    let cost = delivered.zip(cpu).map(|(delivered, cpu_us)| cpu_us as f64 / delivered as f64);
    Cost {
        transport: text(arm, "transport"),
        cpu_s_per_million: cost,
        outcome: text(arm, "outcome"),
        verdict: text(arm, "verdict"),
    }
}

fn arms(run: &Value) -> anyhow::Result<&Vec<Value>> {
    run["arms"].as_array().context("a run has arms")
}

fn text(value: &Value, key: &str) -> String {
    value[key].as_str().unwrap_or_default().to_owned()
}

fn number(value: &Value, key: &str) -> Option<u64> {
    value[key].as_u64()
}

/// The rows measured before.
pub(crate) fn read(file: &Path) -> anyhow::Result<Vec<Row>> {
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    serde_json::from_str(&text).with_context(|| file.display().to_string())
}

/// Keeps the rows.
pub(crate) fn write(file: &Path, rows: &[Row]) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(rows)?;
    fs::write(file, text + "\n").with_context(|| file.display().to_string())
}
