//! `pushmark presets`: shows the scenarios for known protocols.

use clap::Args;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::print;
use pushmark_model::scenario::nearest;

use crate::presets;

/// Flags of `presets`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Use one with: pushmark run ws://HOST:PORT --preset NAME. In its text {url} and {http} stand for the \
    address of the server; --save FILE.toml writes the scenario that it becomes."
)]
pub struct PresetsArgs {
    /// The preset to print; default: list them all
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// Lists the presets, or prints one.
///
/// # Errors
/// Fails if there is no preset of this name (2).
pub fn run(args: &PresetsArgs) -> anyhow::Result<Exit> {
    match &args.name {
        Some(name) => print(find(name)?)?,
        None => {
            for name in presets::names() {
                let text = presets::text(name).unwrap_or_default();
                print(&format!("{name:<22}{}\n", presets::about(text)))?;
            }
        }
    }
    Ok(Exit::Pass)
}

/// Returns the text of a preset.
///
/// # Errors
/// Fails if there is no preset of this name; names the nearest.
pub(super) fn find(name: &str) -> anyhow::Result<&'static str> {
    presets::text(name).ok_or_else(|| {
        let known: Vec<&str> = presets::names().collect();
        let hint =
            nearest(name, known.iter().copied()).map_or(String::new(), |n| format!(" (did you mean {n}?)"));
        let text = format!("no preset is called {name:?}{hint}; known: {}", known.join(", "));
        Ending::error(Exit::Usage, text)
    })
}
