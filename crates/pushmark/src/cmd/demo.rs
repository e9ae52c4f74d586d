//! `pushmark demo`: shows a stock ticker by push and by pull side by side, each with its delay.

use std::io::Write as _;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use clap::Args;
use pushmark_builtin::{Options, Stop};
use pushmark_model::units::{Nanos, PerSecond};

use super::serve::stop_on_signal;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{complain, note};
use pushmark_demo::{Market, pages, publish};

/// The highest rate of quotes of a stock. A person cannot see more.
const RATE_MAX: f64 = 50.0;

/// Flags of `demo`.
#[derive(Args, Clone, Debug)]
pub struct DemoArgs {
    /// Port to listen on; 0 lets the system choose
    #[arg(long, short, default_value_t = 0)]
    pub port: u16,
    /// Rate of new quotes of each stock, such as 1/s or 6/m
    #[arg(long, default_value = "1/s", value_name = "RATE")]
    pub rate: PerSecond,
    /// Initial time between two polls of the pull page; a slider on the page changes it
    #[arg(long, default_value = "5s", value_name = "TIME")]
    pub pull_interval: Nanos,
    /// Seed of the prices
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    /// Open the page in the default browser
    #[arg(long)]
    pub open: bool,
}

/// Serves the pages until SIGTERM or Ctrl-C.
///
/// # Errors
/// Fails if a flag is out of range or the address cannot be bound.
pub fn run(args: &DemoArgs) -> anyhow::Result<Exit> {
    if args.rate.0 > RATE_MAX {
        let text = format!("--rate {}: accepted: up to {RATE_MAX}/s", args.rate);
        return Err(Ending::error(Exit::Usage, text));
    }
    if !(100_000_000..=60_000_000_000).contains(&args.pull_interval.0) {
        let text = format!("--pull-interval {}: accepted: 100ms to 60s", args.pull_interval);
        return Err(Ending::error(Exit::Usage, text));
    }
    let market = Market::new(args.seed, args.rate.0);
    let stop = Stop::new()?;
    stop_on_signal(stop.clone())?;
    let address = SocketAddr::from(([127, 0, 0, 1], args.port));
    let options = Options {
        address,
        pages: pages(&market, args.pull_interval.0),
        stop: Some(stop.clone()),
        ..Options::default()
    };
    let open = args.open;
    pushmark_builtin::serve(options, |address| {
        let url = format!("http://{address}/");
        let mut out = std::io::stdout().lock();
        // If stdout is closed, the server continues.
        let _ = writeln!(out, "{url}  a stock ticker by push and by pull; alone: {url}push and {url}pull")
            .and_then(|()| writeln!(out, "stop it with Ctrl-C"))
            .and_then(|()| out.flush());
        drop(out);
        let quotes = std::thread::Builder::new().name("quotes".into()).spawn(move || {
            if let Err(error) = publish(market, address) {
                complain(&format!("publishing quotes failed: {error}"));
                stop.request();
            }
        });
        if let Err(error) = quotes {
            complain(&format!("cannot start publishing quotes: {error}"));
        }
        if open {
            show(&url);
        }
    })
    .map_err(|error| Ending::error(Exit::Refused, format!("cannot listen on {address}: {error}")))?;
    Ok(Exit::Pass)
}

/// Opens the URL in a browser. If that fails, the user can open the printed URL.
fn show(url: &str) {
    let mut command = Command::new("xdg-open");
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Err(error) = command.spawn() {
        note(&format!("cannot open a browser (xdg-open: {error})"));
    }
}
