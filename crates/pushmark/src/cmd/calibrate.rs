//! `pushmark calibrate`: measures what this generator can do on this machine.

use std::path::Path;

use clap::Args;
use pushmark_model::transport::Transport;

use super::measuring::MeasuringArgs;
use super::mistakes::usage;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{Format, print};
use pushmark_console::progress::Progress;
use pushmark_host::server::registry::Registry;
use pushmark_run::calibrate::{self, Bench, TRANSPORTS};
use pushmark_run::run::Signals;
use pushmark_run::session::{Cpus, Session, prepare};
use pushmark_store::{RESULTS, keep_calibration};

/// Flags of `calibrate`.
#[derive(Args, Clone, Debug)]
pub struct CalibrateArgs {
    /// Calibrate only this transport; default: SSE, WebSocket and long polling. The result is not kept
    #[arg(short, long, value_name = "TRANSPORT")]
    pub transport: Option<String>,
    /// Length of a step in seconds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=60))]
    pub seconds: u64,
    /// Flags of every command that measures
    #[command(flatten)]
    pub measuring: MeasuringArgs,
}

/// Finds the ceilings and the noise floor, prints them and keeps them for later runs.
///
/// # Errors
/// Fails if the null server cannot be started.
pub fn run(args: &CalibrateArgs) -> anyhow::Result<Exit> {
    let _ = pushmark_net::limits::raise_open_files();
    let registry = Registry::load(args.measuring.servers.as_deref()).map_err(usage)?;
    let transports = match &args.transport {
        None => TRANSPORTS.to_vec(),
        Some(name) => vec![Transport::parse(name).ok_or_else(|| {
            let all: Vec<&str> = Transport::ALL.iter().map(|t| t.name()).collect();
            Ending::error(Exit::Usage, format!("-t {name}: unknown transport; known: {}", all.join(", ")))
        })?],
    };
    let say = |text: &str| args.measuring.say(text);
    let loaded = calibrate::load(&registry, transports[0], (1, 1.0), args.seconds).map_err(usage)?;
    let server = loaded.server.as_ref().ok_or_else(|| anyhow::anyhow!("the null server is missing"))?;
    let server = prepare(&registry, server, &loaded, None, say)?;
    args.measuring.look_at_host();
    let cpus = Cpus::share_out(true, args.measuring.no_pin)?;
    let signals = Signals::listen()?;
    let session = Session {
        registry: &registry,
        cpus: &cpus,
        signals: &signals,
        pages: super::pages::PAGES,
        machines: None,
    };
    // One line per step is printed instead of one line per phase.
    let mut progress = Progress::new(true);
    let bench = Bench { session: &session, server, seconds: args.seconds };
    let found = bench.calibrate(&transports, &mut progress, say)?;
    if let Some(exit) = signals.stopped() {
        return Ok(exit);
    }
    if args.transport.is_none() {
        keep_calibration(Path::new(RESULTS), &found)?;
    }
    match args.measuring.format {
        Format::Text => print(&calibrate::text(&found))?,
        Format::Json => print(&format!("{:#}\n", serde_json::json!(found)))?,
    }
    Ok(Exit::Pass)
}
