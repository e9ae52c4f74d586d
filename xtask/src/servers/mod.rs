//! Measures every reference server (`cargo xtask servers`) and writes the table of `servers/README.md`.
//!
//! Two scenarios a server, each on a fresh start of it: `held` (as many waiting clients as its
//! kind is asked to hold) and `cost` (what a delivery costs). A server that breaks keeps its row,
//! and its run is kept with its last words.

mod cases;
mod figures;
mod list;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::{arguments, shell};
use figures::Row;
use list::Server;

/// Renders what was measured today once more.
const TABLE: &str = "--table";

/// Measures the servers named, or all that can run here, and writes the table.
pub(crate) fn run(given: &[String]) -> anyhow::Result<()> {
    let options: Vec<String> = given.iter().filter(|word| word.starts_with('-')).cloned().collect();
    arguments::only(&options, &[TABLE])?;
    if arguments::has(given, TABLE) {
        let rows = figures::read(&record()?.join("servers.json"))?;
        return table::write(&shell::root().join("servers/README.md"), &rows);
    }
    shell::run(shell::cargo(&["build", "--release", "--package", "pushmark"]))?;
    let servers = chosen(list::read()?, given)?;
    let folder = record()?;
    let file = folder.join("servers.json");
    let mut rows = figures::read(&file)?;
    for (n, server) in servers.iter().enumerate() {
        eprintln!("== {} ({} of {})", server.name, n + 1, servers.len());
        if let Some(why) = &server.missing {
            eprintln!("{} cannot run here: {why}", server.name);
            continue;
        }
        let row = measure(server, &folder)?;
        rows.retain(|old| old.name != row.name);
        rows.push(row);
        // After every server: what was measured is not lost with the next.
        figures::write(&file, &rows)?;
    }
    let order = list::names()?;
    rows.sort_by_key(|row| order.iter().position(|name| *name == row.name));
    figures::write(&file, &rows)?;
    table::write(&shell::root().join("servers/README.md"), &rows)
}

fn chosen(servers: Vec<Server>, names: &[String]) -> anyhow::Result<Vec<Server>> {
    if names.is_empty() {
        return Ok(servers);
    }
    let find = |name: &String| {
        let found = servers.iter().find(|server| server.name == *name).cloned();
        let nearest = arguments::nearest(name, servers.iter().map(|server| &server.name[..]));
        found.with_context(|| format!("no server is called {name}{nearest}"))
    };
    names.iter().map(find).collect()
}

/// Where curated runs of today and this machine are kept.
fn record() -> anyhow::Result<PathBuf> {
    let output = shell::command(&["date", "-u", "+%F"]).output()?;
    let day = String::from_utf8(output.stdout)?;
    let cores = std::thread::available_parallelism()?;
    let folder = shell::root().join(format!("record/{}-{cores}-cores/servers", day.trim()));
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    Ok(folder)
}

/// Both cases of one server.
fn measure(server: &Server, record: &Path) -> anyhow::Result<Row> {
    if server.builds {
        shell::run(list::pushmark(&["servers", "build", &server.name]))?;
    }
    let scratch = shell::target().join("servers").join(&server.name);
    if scratch.exists() {
        fs::remove_dir_all(&scratch).with_context(|| scratch.display().to_string())?;
    }
    fs::create_dir_all(&scratch)?;
    let held = cases::held(server, &scratch)?;
    let cost = cases::cost(server, &scratch)?;
    let row = figures::row(server, &held, &cost)?;
    if row.broke() {
        keep(&scratch, &record.join(&server.name))?;
    }
    Ok(row)
}

/// Keeps the runs of a server that broke, without their bulk.
fn keep(scratch: &Path, folder: &Path) -> anyhow::Result<()> {
    for case in ["held", "cost"] {
        let to = folder.join(case);
        fs::create_dir_all(&to)?;
        for entry in fs::read_dir(scratch.join(case))? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name == "run.json" || name.ends_with(".log") {
                fs::copy(entry.path(), to.join(name))?;
            }
        }
    }
    if !folder.join("held").exists() {
        bail!("nothing was kept in {}", folder.display());
    }
    Ok(())
}
