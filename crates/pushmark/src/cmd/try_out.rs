//! `pushmark try`: one client subscribes to a target, and the conversation is printed as it happens.

use std::sync::mpsc::channel;
use std::time::Duration;

use clap::Args;
use pushmark_check::conversation::{self, Conversation, Line};
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::print;
use pushmark_console::redact;
use pushmark_host::server::registry::Registry;
use pushmark_model::units::Nanos;
use pushmark_run::run::Signals;

use super::asking::AskingArgs;
use super::check::start_foreign;
use super::mistakes::usage;

/// Flags of `try`.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Lines: → the client sends, ← the target sends, · what pushmark makes of it; times in ms since the \
    connection began.\nExit: 0 the client subscribed, 2 a mistake in the scenario, 3 it could not subscribe, or its \
    connection ended."
)]
pub struct TryArgs {
    /// A scenario file, or a URL
    #[arg(value_name = "SCENARIO.toml | URL")]
    pub target: String,
    /// Flags that set keys of the scenario
    #[command(flatten)]
    pub asking: AskingArgs,
    /// How long the client listens after it has subscribed, such as 5s
    #[arg(long = "for", value_name = "TIME", default_value = "3s")]
    pub listens: Nanos,
    /// Folder that holds servers.toml
    #[arg(long, value_name = "DIR")]
    pub servers: Option<std::path::PathBuf>,
}

/// Starts the target if the scenario does, and lets one client of each transport speak with it.
///
/// # Errors
/// Fails if the target does not start, or a client could not subscribe or lost its connection (3).
pub fn run(args: &TryArgs) -> anyhow::Result<Exit> {
    let registry = Registry::load(args.servers.as_deref()).map_err(usage)?;
    let loaded = args.asking.load(Some(&args.target), &[], &registry)?;
    let _signals = Signals::listen_to_end()?;
    let (subject, running) = start_foreign(&registry, &loaded)?;
    let mut failed = Vec::new();
    for arm in &loaded.plan.arms {
        let transport = arm.transport.name();
        if transport.starts_with("bayeux") {
            failed.push(format!("{transport}: `try` does not speak Bayeux; use pushmark check"));
            continue;
        }
        print(&format!("{transport}\n"))?;
        let (said, lines) = channel::<Line>();
        let name = arm.channel_name(0);
        let asked = Conversation { channel: &name, listens: Duration::from_nanos(args.listens.0) };
        let ended = std::thread::scope(|scope| {
            let speaks = scope.spawn(|| conversation::converse(&subject, transport, &asked, said));
            for line in lines {
                // The conversation goes on without a reader.
                let _ = print(&shown(&line));
            }
            speaks.join()
        });
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(why)) => failed.push(format!("{transport}: {}", redact::text(&why))),
            Err(_) => failed.push(format!("{transport}: the conversation broke off")),
        }
    }
    running.end();
    match failed.is_empty() {
        true => Ok(Exit::Pass),
        false => Err(Ending::error(Exit::Unreachable, failed.join("\n"))),
    }
}

fn shown(line: &Line) -> String {
    format!("{:>9.1}  {}\n", line.at.as_secs_f64() * 1e3, redact::text(&line.text))
}
