//! `pushmark serve`: the built-in push server, with its known-answer faults.

use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use clap::Args;
use pushmark_builtin::{Access, Bayeux, Faults, Options, QueuePolicy, Stop, Token, faults};
use pushmark_model::units::Nanos;

use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::note;

/// Flags of `serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// Port to listen on; 0 lets the system choose one, which is printed
    #[arg(long, short, default_value_t = 0)]
    pub port: u16,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1", env = "PUSHMARK_LISTEN")]
    pub host: IpAddr,
    /// Number of event loops, each with its own listener
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: u16,
    /// Maximum number of messages queued for one slow consumer
    #[arg(long, default_value_t = 256, value_name = "N")]
    pub queue_max: usize,
    /// Action for a subscriber whose queue is full: drop-oldest or disconnect
    #[arg(long, default_value_t = QueuePolicy::DropOldest, value_name = "POLICY")]
    pub queue_policy: QueuePolicy,
    /// Collect the messages of a subscriber for this time, then write them at once (not Bayeux over requests)
    #[arg(long, default_value = "0s", value_name = "TIME")]
    pub batch: Nanos,
    /// Let an emitter that is behind its schedule skip the missed ticks instead of publishing them late
    #[arg(long)]
    pub skip_late: bool,
    /// Write the truth log to this file at the end
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// Time limit to receive a whole request, and to have a last answer read
    #[arg(long, default_value = "30s", value_name = "TIME")]
    pub request_timeout: Nanos,
    /// Access flags
    #[command(flatten)]
    pub access: AccessArgs,
    /// Bayeux flags
    #[command(flatten)]
    pub bayeux: BayeuxArgs,
    /// Fault flags
    #[command(flatten)]
    pub faults: FaultArgs,
}

/// Access flags.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Access")]
pub struct AccessArgs {
    /// Allow web pages of this origin, such as `https://example.org`, besides the server's own and loopback; `null` is a file
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
    /// Accept this name in the Host header, in addition to addresses and localhost
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Require `Authorization: Bearer TOKEN` for publishing, emitters, /log and /shutdown; other users of this machine can read a command line, but not this variable
    #[arg(long, env = "PUSHMARK_TOKEN", hide_env_values = true, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Require the token for every request except /health
    #[arg(long)]
    pub token_for_all: bool,
}

impl AccessArgs {
    fn access(&self) -> anyhow::Result<Access> {
        let token = match self.token.as_deref().filter(|text| !text.is_empty()) {
            None if self.token_for_all => {
                let text = "--token-for-all needs --token TOKEN, or PUSHMARK_TOKEN in the environment";
                return Err(Ending::error(Exit::Usage, text.to_owned()));
            }
            None => None,
            Some(text) => Some(Token::new(text).ok_or_else(|| {
                let text = "--token: accepted: 1 to 256 visible ASCII characters, without spaces";
                Ending::error(Exit::Usage, text.to_owned())
            })?),
        };
        Ok(Access {
            origins: self.allow_origin.clone(),
            hosts: self.allow_host.clone(),
            token,
            token_for_all: self.token_for_all,
        })
    }
}

/// The advice to Bayeux clients, and how long their state is kept.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Bayeux (/cometd)")]
pub struct BayeuxArgs {
    /// How long to hold a connect that does not name a timeout
    #[arg(long, default_value = "30s", value_name = "TIME")]
    pub bayeux_timeout: Nanos,
    /// How long a client should wait between the reply to a connect and its next connect
    #[arg(long, default_value = "0s", value_name = "TIME")]
    pub bayeux_interval: Nanos,
    /// How long after that to keep a client without a connect
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

/// The faults to make, and exactly how often.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Known-answer faults")]
pub struct FaultArgs {
    /// Delay every delivery: `5ms`, `table:1ms,2ms`, `bimodal:2ms,20ms,10` (every 10th by 20ms)
    #[arg(long, value_name = "SPEC")]
    pub delay: Option<faults::Delay>,
    /// Stop all work for S, beginning T after the first publication, such as `1s@5s`
    #[arg(long, value_name = "S@T")]
    pub freeze: Option<faults::Freeze>,
    /// Drop every N-th delivery
    #[arg(long, value_name = "1/N")]
    pub drop: Option<faults::OneIn>,
    /// Deliver every N-th delivery twice
    #[arg(long, value_name = "1/N")]
    pub dup: Option<faults::OneIn>,
    /// Swap every N-th delivery with the next one of its subscriber
    #[arg(long, value_name = "1/N")]
    pub swap: Option<faults::OneIn>,
    /// Truncate every N-th delivery, so that its stamp is lost
    #[arg(long, value_name = "1/N")]
    pub truncate: Option<faults::OneIn>,
    /// Change the first byte of every N-th delivery, but not its stamp
    #[arg(long, value_name = "1/N")]
    pub corrupt: Option<faults::OneIn>,
    /// Reset every N-th connection as soon as it is accepted
    #[arg(long, value_name = "1/N")]
    pub refuse: Option<faults::OneIn>,
    /// Accept every N-th connection and never answer it
    #[arg(long, value_name = "1/N")]
    pub half_open: Option<faults::OneIn>,
    /// Reset every N-th connection T after the first publication
    #[arg(long, value_name = "1/N@T")]
    pub reset: Option<faults::ResetAt>,
    /// Write messages in pieces of this size, one piece per millisecond
    #[arg(long, value_name = "BYTES")]
    pub slow_write: Option<std::num::NonZeroUsize>,
    /// Encode every delivered payload as `base64`, `percent` or `json`
    #[arg(long, value_name = "HOW")]
    pub encode: Option<faults::Encode>,
    /// Answer every N-th publication by request with 503 and do not publish it
    #[arg(long, value_name = "1/N")]
    pub refuse_publish: Option<faults::OneIn>,
    /// Publish every N-th publication by request, but answer it with 503
    #[arg(long, value_name = "1/N")]
    pub deny_publish: Option<faults::OneIn>,
    /// Publish every N-th publication by request, but reset its connection without an answer
    #[arg(long, value_name = "1/N")]
    pub hang_up: Option<faults::OneIn>,
    /// Let emitters stop without notice after this number of publications per channel
    #[arg(long, value_name = "COUNT")]
    pub stop_emitters_after: Option<u64>,
}

/// Serves until SIGTERM, Ctrl-C or `POST /shutdown`.
///
/// # Errors
/// Fails if the address cannot be bound, or the truth log cannot be written.
pub fn run(args: &ServeArgs) -> anyhow::Result<Exit> {
    // Without this, the usual soft limit of 1,024 open files would limit the connections.
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
        request_max_ns: args.request_timeout.0.max(1_000_000),
        access: args.access.access()?,
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
            encode: f.encode,
            refuse_publish: f.refuse_publish,
            deny_publish: f.deny_publish,
            hang_up: f.hang_up,
            stop_emitters_after: f.stop_emitters_after,
        },
        stop: Some(stop),
        ..Options::default()
    };
    if !args.host.is_loopback() {
        note(beyond_loopback(&options.access));
    }
    let summary = pushmark_builtin::serve(options, |address| {
        let mut out = std::io::stdout().lock();
        // If stdout is closed, the server continues.
        let _ = writeln!(out, "listening on http://{address}").and_then(|()| out.flush());
    })
    .map_err(|error| refused(args, error))?;
    note(&format!(
        "served {} connections, {} publications, {} deliveries; dropped {}, disconnected {}",
        summary.connections, summary.publications, summary.deliveries, summary.dropped, summary.disconnected
    ));
    Ok(Exit::Pass)
}

/// Returns the warning for an address that other machines can reach.
fn beyond_loopback(access: &Access) -> &'static str {
    match (&access.token, access.token_for_all) {
        (None, _) => {
            "warning: anyone who can reach this machine can use, publish on and stop this server; require a secret with --token TOKEN, or use --host 127.0.0.1"
        }
        (Some(_), false) => {
            "warning: anyone who can reach this machine can subscribe; require the token with --token-for-all"
        }
        (Some(_), true) => "warning: the token is sent unencrypted; use it only on a trusted network",
    }
}

/// Makes the error of an address that cannot be bound.
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

/// Waits for signals in a thread. It wakes the loops of the server and never interrupts them.
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
