//! The rate one core takes: received, parsed, accounted and recorded, with nothing missing.

use clap::Args as ClapArgs;
use pushmark_model::poller::Poller;
use pushmark_model::transport::Transport;

use crate::median::median;
use crate::plan::Ask;
use crate::receive::Receiver;
use crate::run::{self, Common, Measured};
use crate::table::Table;

/// Flags of `ceiling`.
#[derive(ClapArgs, Debug)]
pub(crate) struct Args {
    /// Size of the crowd
    #[arg(long, default_value_t = 1_000)]
    connections: u64,
    /// Deliveries a second
    #[arg(long, default_value_t = 90_000)]
    rate: u64,
    /// Length of a measurement
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Times each is measured
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// One transport
    #[arg(long)]
    only: Option<String>,
}

pub(crate) fn run(args: &Args, common: &Common) -> anyhow::Result<bool> {
    let title = format!(
        "{} deliveries/s to {} connections on one core, {} repeats of {} s",
        args.rate, args.connections, args.repeats, args.seconds
    );
    let columns = [
        "transport",
        "received a second",
        "intended",
        "late",
        "missing",
        "core busy",
        "waited for core",
        "CPU-s per million",
        "read lag p99, ms",
        "latency p99, ms",
    ];
    let mut table = Table::new(title, &columns);
    let all = [Transport::Stream, Transport::Sse, Transport::WebSocket];
    for transport in run::chosen(&all, args.only.as_deref())? {
        let runs: Vec<Measured> = (0..args.repeats)
            .map(|_| run::measure(common, Receiver::Driver, &ask(args, transport), &[]))
            .collect::<anyhow::Result<_>>()?;
        let of = |f: &dyn Fn(&Measured) -> f64| median(&runs.iter().map(f).collect::<Vec<_>>());
        let accounts = || runs.iter().filter_map(|m| m.accounts.as_ref());
        let lag = |f: &dyn Fn(&crate::driver::Accounts) -> i64| {
            median(&accounts().map(|a| f(a) as f64 / 1e3).collect::<Vec<_>>())
        };
        let missing: i64 = accounts().map(|a| a.missing).sum();
        let rate = of(&Measured::rate);
        table.row(vec![
            transport.name().to_owned(),
            format!("{rate:.0}"),
            accounts().map(|a| a.intended).sum::<u64>().to_string(),
            accounts().map(|a| a.late).sum::<u64>().to_string(),
            missing.to_string(),
            format!("{:.1} %", of(&Measured::busy).value * 100.0),
            format!("{:.1} %", of(&Measured::waited).value * 100.0),
            format!("{:.2}", of(&Measured::cpu_s_per_million)),
            format!("{:.1}", lag(&|a| a.read_lag_p99_us)),
            format!("{:.1}", lag(&|a| a.latency_p99_us)),
        ]);
        // What is due at the window's edge arrives beyond it: a hundredth is left to that.
        let reached = missing == 0 && rate.value >= args.rate as f64 * 0.99;
        table.target(format!("{transport}: {}/s, nothing missing: {rate:.0}/s", args.rate), reached);
    }
    table.note("Medians with their range; intended, late and missing are sums over the repeats.");
    Ok(table.print(common.format))
}

fn ask(args: &Args, transport: Transport) -> Ask {
    Ask {
        transport,
        connections: args.connections,
        connect_rate: 5_000.0,
        interval_us: (1_000_000 * args.connections).div_ceil(args.rate).max(1),
        count: None,
        settle_ns: 0,
        warmup_ns: 1_000_000_000,
        measure_ns: args.seconds * 1_000_000_000,
        stamp_sample: 0,
        batch_ns: 0,
        poller: Poller::Epoll,
        tls: false,
    }
}
