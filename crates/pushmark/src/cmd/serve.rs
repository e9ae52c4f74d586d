//! `pushmark serve`: the built-in push server, with its known-answer faults.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use pushmark_model::units::Nanos;
use pushmark_server::{Bayeux, Faults, Options, QueuePolicy, Stop, faults};

use super::output::note;
use crate::exit::{Ending, Exit};

/// Flags of `serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// Port to listen on; 0 lets the system choose, and the choice is printed
    #[arg(long, short, default_value_t = 0)]
    pub port: u16,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub host: IpAddr,
    /// Event loops, each with its own listener
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: u16,
    /// Most messages that wait for one subscriber who does not read
    #[arg(long, default_value_t = 256, value_name = "N")]
    pub queue_max: usize,
    /// What happens to a subscriber whose queue is full: drop-oldest or disconnect
    #[arg(long, default_value_t = QueuePolicy::DropOldest, value_name = "POLICY")]
    pub queue_policy: QueuePolicy,
    /// Collect what comes for a subscriber for so long, and write it at once (Bayeux over requests is answered as ever)
    #[arg(long, default_value = "0s", value_name = "TIME")]
    pub batch: Nanos,
    /// An emitter behind its schedule skips the ticks it missed, instead of publishing them late
    #[arg(long)]
    pub skip_late: bool,
    /// Write the truth log to this file at the end
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// What Bayeux clients are advised
    #[command(flatten)]
    pub bayeux: BayeuxArgs,
    /// What to do wrong
    #[command(flatten)]
    pub faults: FaultArgs,
}

/// What Bayeux clients are advised, and how long they are remembered.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Bayeux (/cometd)")]
pub struct BayeuxArgs {
    /// How long a connect is held that does not say
    #[arg(long, default_value = "30s", value_name = "TIME")]
    pub bayeux_timeout: Nanos,
    /// How long a client waits between a connect's reply and its next connect
    #[arg(long, default_value = "0s", value_name = "TIME")]
    pub bayeux_interval: Nanos,
    /// How long beyond that a client without a connect is remembered
    #[arg(long, default_value = "10s", value_name = "TIME")]
    pub bayeux_max_interval: Nanos,
}

impl BayeuxArgs {
    fn options(self) -> Bayeux {
        Bayeux {
            timeout_ms: self.bayeux_timeout.0 / 1_000_000,
            interval_ms: self.bayeux_interval.0 / 1_000_000,
            max_interval_ms: self.bayeux_max_interval.0 / 1_000_000,
        }
    }
}

/// What to do wrong, and exactly how often.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Known-answer faults")]
pub struct FaultArgs {
    /// Delay every delivery: `5ms`, `table:1ms,2ms`, `bimodal:2ms,20ms,10` (every 10th the second)
    #[arg(long, value_name = "SPEC")]
    pub delay: Option<faults::Delay>,
    /// Stand still for S, beginning T after the first publication: `1s@5s`
    #[arg(long, value_name = "S@T")]
    pub freeze: Option<faults::Freeze>,
    /// Drop every N-th delivery
    #[arg(long, value_name = "1/N")]
    pub drop: Option<faults::OneIn>,
    /// Deliver every N-th twice
    #[arg(long, value_name = "1/N")]
    pub dup: Option<faults::OneIn>,
    /// Swap every N-th with the next of its subscriber
    #[arg(long, value_name = "1/N")]
    pub swap: Option<faults::OneIn>,
    /// Cut every N-th short: its stamp is lost
    #[arg(long, value_name = "1/N")]
    pub truncate: Option<faults::OneIn>,
    /// Change the first byte of every N-th: its stamp is whole, its content is not
    #[arg(long, value_name = "1/N")]
    pub corrupt: Option<faults::OneIn>,
    /// Reset every N-th connection as it comes
    #[arg(long, value_name = "1/N")]
    pub refuse: Option<faults::OneIn>,
    /// Accept every N-th connection and never answer it
    #[arg(long, value_name = "1/N")]
    pub half_open: Option<faults::OneIn>,
    /// Reset every N-th connection T after the first publication
    #[arg(long, value_name = "1/N@T")]
    pub reset: Option<faults::ResetAt>,
    /// Write messages in pieces of so many bytes, one each ms
    #[arg(long, value_name = "BYTES")]
    pub slow_write: Option<std::num::NonZeroUsize>,
    /// Emitters fall silent after so many publications a channel, and say nothing
    #[arg(long, value_name = "COUNT")]
    pub stop_emitters_after: Option<u64>,
}

/// Serves until SIGTERM, Ctrl-C or `POST /shutdown`.
///
/// # Errors
/// An address that cannot be bound, or a truth log that cannot be written.
pub fn run(args: &ServeArgs) -> anyhow::Result<Exit> {
    // Its own limit, not a shell's habit of 1,024, decides how many it can hold.
    let _ = pushmark_net::limits::raise_open_files();
    let stop = Stop::new()?;
    stop_on_signal(stop.clone())?;
    let f = &args.faults;
    let options = Options {
        address: SocketAddr::new(args.host, args.port),
        threads: usize::from(args.threads),
        queue_max: args.queue_max.max(1),
        queue_policy: args.queue_policy,
        skip_late: args.skip_late,
        batch_ns: args.batch.0,
        bayeux: args.bayeux.options(),
        truth: args.truth.clone(),
        faults: Faults {
            delay: f.delay.clone(),
            freeze: f.freeze,
            drop: f.drop,
            dup: f.dup,
            swap: f.swap,
            truncate: f.truncate,
            corrupt: f.corrupt,
            refuse: f.refuse,
            half_open: f.half_open,
            reset: f.reset,
            slow_write: f.slow_write,
            stop_emitters_after: f.stop_emitters_after,
        },
        stop: Some(stop),
        ..Options::default()
    };
    let summary = pushmark_server::serve(options, |address| {
        let mut out = std::io::stdout().lock();
        // A closed stdout is no reason to stop serving.
        let _ = writeln!(out, "listening on http://{address}").and_then(|()| out.flush());
    })
    .map_err(|error| refused(args, error))?;
    note(&format!(
        "served {} connections, {} publications, {} deliveries; dropped {}, disconnected {}",
        summary.connections, summary.publications, summary.deliveries, summary.dropped, summary.disconnected
    ));
    Ok(Exit::Pass)
}

/// An address that this machine does not give, said with the address.
fn refused(args: &ServeArgs, error: std::io::Error) -> anyhow::Error {
    use std::io::ErrorKind::{AddrInUse, AddrNotAvailable, PermissionDenied};
    match error.kind() {
        AddrInUse | AddrNotAvailable | PermissionDenied => {
            let address = SocketAddr::new(args.host, args.port);
            Ending::error(Exit::Refused, format!("cannot listen on {address}: {error}"))
        }
        _ => error.into(),
    }
}

/// A thread waits for the signals: the server's loops are rung, never interrupted.
pub(super) fn stop_on_signal(stop: Stop) -> std::io::Result<()> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for _ in signals.forever() {
            stop.request();
        }
    })?;
    Ok(())
}
