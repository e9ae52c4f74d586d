//! `pushmark agents`: which agents and monitors wait on a bus; and the keys by which agents know a coordinator.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use pushmark_cluster::{Bus, Signer, to_hex};
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::print;
use pushmark_model::cluster::Card;
use pushmark_model::monitor::Beside;
use pushmark_run::agent::who;

use super::bus::{AccessArgs, wrong};

/// Flags of `agents`.
#[derive(Args, Clone, Debug, Default)]
pub struct AgentsArgs {
    /// The bus
    #[command(flatten)]
    pub access: AccessArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Draw a key for a coordinator into this file, and print the public key for `pushmark agent --trust`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nats", "json"])]
    pub new_key: Option<PathBuf>,
}

/// Lists agents, or draws a key.
///
/// # Errors
/// Fails if the bus cannot be reached, or the file exists.
pub fn run(args: &AgentsArgs) -> anyhow::Result<Exit> {
    if let Some(path) = &args.new_key {
        print(&(draw(path).map_err(|error| wrong(&format!("--new-key {error:#}")))? + "\n"))?;
        return Ok(Exit::Pass);
    }
    let Some(access) = args.access.access() else {
        return Err(wrong("--nats URL: the bus on which the agents wait"));
    };
    let unreachable = |error: anyhow::Error| Ending::error(Exit::Unreachable, format!("{error:#}"));
    let bus = Bus::connect(&access, "pushmark agents").map_err(unreachable)?;
    let cards = who(&bus).map_err(unreachable)?;
    let text = if args.json { serde_json::to_string_pretty(&cards)? + "\n" } else { table(&cards) };
    print(&text)?;
    Ok(Exit::Pass)
}

/// Writes a new key, for its owner's eyes only. Returns the public one.
fn draw(path: &Path) -> anyhow::Result<String> {
    let (signer, seed) = Signer::draw()?;
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .with_context(|| path.display().to_string())?;
    writeln!(file, "{}", to_hex(&seed))?;
    Ok(signer.public())
}

fn table(cards: &[Card]) -> String {
    if cards.is_empty() {
        return "no agent waits here\n".to_owned();
    }
    let width = |of: fn(&Card) -> usize, least: usize| cards.iter().map(of).max().unwrap_or(0).max(least);
    let (name, host) = (width(|card| card.name.len(), 5), width(|card| card.host.len(), 7));
    let mut text = format!("{:name$}  {:host$}  version  shards   files    may reach\n", "agent", "machine");
    for card in cards {
        let labels: String = card.labels.iter().map(|(key, value)| format!("  {key}={value}")).collect();
        let (shards, files, reach) = match &card.beside {
            None if card.targets.is_empty() => row(card, "its own machine".to_owned()),
            None => row(card, card.targets.join(", ")),
            Some(beside) => ("monitor".to_owned(), String::new(), starts(beside)),
        };
        let busy = card.busy.as_ref().map_or(String::new(), |by| format!("  works for {by}"));
        let _ = writeln!(
            text,
            "{:name$}  {:host$}  {:7}  {shards:7}  {files:7}  {reach}{labels}{busy}",
            card.name, card.host, card.version
        );
        if !card.wall_clock.is_empty() {
            let _ = writeln!(text, "{:name$}  wall clock {}", "", card.wall_clock);
        }
    }
    text
}

fn row(card: &Card, reach: String) -> (String, String, String) {
    (card.threads.to_string(), card.open_files.to_string(), reach)
}

fn starts(beside: &Beside) -> String {
    let names: Vec<&str> = beside.offers.iter().map(|offer| offer.name.as_str()).collect();
    if names.is_empty() { "starts no server".to_owned() } else { format!("starts {}", names.join(", ")) }
}
