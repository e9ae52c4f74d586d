//! `pushmark doctor [SCENARIO]`: reports what this machine can hold, and what to change.

use std::path::{Path, PathBuf};

use clap::Args;
use pushmark_model::scenario::Override;

use pushmark_console::exit::{Ending, Exit};
use pushmark_console::file_errors::FileErrors;
use pushmark_console::output::{Format, print};
use pushmark_console::progress::screen::Screen;
use pushmark_host::preflight::{Machine, Need, examine};
use pushmark_host::server::registry::Registry;
use pushmark_run::doctor;
use pushmark_run::run::is_local;
use pushmark_run::scenario_file::{self, Asked};
use pushmark_store::RESULTS;

/// The crowd to check if no scenario is given.
const CROWD: u64 = 10_000;

/// Checks this machine: limits, ports, memory, cores, timers, clocks, disk.
#[derive(Args, Clone, Debug)]
pub struct DoctorArgs {
    /// Scenario to check for; default: 10,000 connections on this machine
    pub scenario: Option<String>,
    /// Set any key of the scenario
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Number of connections; default: as in the scenario
    #[arg(short = 'c', long, value_name = "N")]
    pub connections: Option<u64>,
    /// Folder of servers.toml; default: PUSHMARK_SERVERS, else the nearest parent folder
    #[arg(long, value_name = "DIR")]
    pub servers: Option<PathBuf>,
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Checks the machine. Exits with 4 if the scenario would be refused.
pub fn run(args: &DoctorArgs) -> anyhow::Result<Exit> {
    let mut need = match &args.scenario {
        Some(_) => need_of_scenario(args)?,
        None => Need::of_crowd(CROWD),
    };
    if let Some(connections) = args.connections {
        need = need.scaled_to(connections);
    }
    let machine = Machine::measured(Path::new(RESULTS));
    let findings = examine(&need, &machine);
    match args.format {
        Format::Text => print(&doctor::text(&findings, &need, &machine, &Screen::of_stdout()))?,
        Format::Json => print(&format!("{:#}\n", doctor::json(&findings, &need, &machine)))?,
    }
    Ok(doctor::exit(&findings))
}

fn need_of_scenario(args: &DoctorArgs) -> anyhow::Result<Need> {
    let usage = |report: FileErrors| {
        let screen = Screen::of_stderr();
        Ending::error(Exit::Usage, report.render(screen.colours, screen.columns.unwrap_or(80)))
    };
    let overrides: Result<Vec<Override>, _> = args.set.iter().map(|text| Override::set(text)).collect();
    let overrides = overrides.map_err(|error| Ending::error(Exit::Usage, error.to_string()))?;
    let registry = Registry::load(args.servers.as_deref()).map_err(usage)?;
    let asked = Asked::argument(args.scenario.as_deref(), &[]);
    let plan = scenario_file::load(&asked, &overrides, &registry).map_err(usage)?.plan;
    Ok(Need::of(&plan, plan.arms.iter().any(is_local)))
}
