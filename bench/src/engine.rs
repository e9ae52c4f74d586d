//! CPU per million deliveries, driver against floor, in interleaved rounds.

use clap::Args as ClapArgs;
use pushmark_model::transport::Transport;

use crate::median::median;
use crate::plan::Ask;
use crate::receive::Receiver;
use crate::run::{self, Common, Measured};
use crate::table::Table;

/// What a delivery may cost, in floors.
const RATIO_MAX: f64 = 1.5;
const CONNECTIONS: u64 = 5_000;

/// Flags of `engine`.
#[derive(ClapArgs, Debug)]
pub(crate) struct Args {
    /// Rounds; each measures every receiver once
    #[arg(long, default_value_t = 10)]
    pairs: usize,
    /// Length of a measurement
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// One transport: sse, websocket or stream
    #[arg(long)]
    only: Option<String>,
    /// Deliveries a second
    #[arg(long, default_value_t = 50_000)]
    rate: u64,
    /// Leave the rows with kernel stamps out
    #[arg(long)]
    no_stamps: bool,
}

/// A receiver: its name, who it is, one connection in how many is stamped, how long arrivals gather.
type Row = (&'static str, Receiver, u32, u64);

/// Receivers in the order of the table; a round begins with another each time.
const RECEIVERS: [Row; 5] = [
    ("floor", Receiver::Floor, 0, 0),
    ("driver, full accounting", Receiver::Driver, 0, 0),
    ("driver, batches of 1 ms", Receiver::Driver, 0, 1_000_000),
    ("driver, stamps on 1 in 64", Receiver::Driver, 64, 0),
    ("driver, stamps on all", Receiver::Driver, 1, 0),
];

pub(crate) fn run(args: &Args, common: &Common) -> anyhow::Result<bool> {
    let mut reached = true;
    let default = [Transport::Sse, Transport::WebSocket];
    let transports = match args.only.as_deref() {
        Some("stream") => vec![Transport::Stream],
        only => run::chosen(&default, only)?,
    };
    for transport in transports {
        reached &= one(args, common, transport)?.print(common.format);
    }
    Ok(reached)
}

fn one(args: &Args, common: &Common, transport: Transport) -> anyhow::Result<Table> {
    let receivers = &RECEIVERS[..if args.no_stamps { 3 } else { RECEIVERS.len() }];
    let mut measured: Vec<Vec<Measured>> = vec![Vec::new(); receivers.len()];
    for round in 0..args.pairs {
        for turn in 0..receivers.len() {
            let at = (turn + round) % receivers.len();
            let (name, receiver, stamp_sample, batch_ns) = receivers[at];
            let ask = Ask {
                transport,
                connections: CONNECTIONS,
                connect_rate: CONNECTIONS as f64,
                interval_us: 1_000_000 * CONNECTIONS / args.rate,
                count: None,
                settle_ns: 0,
                warmup_ns: 1_000_000_000,
                measure_ns: args.seconds * 1_000_000_000,
                stamp_sample,
                batch_ns,
            };
            let m = run::measure(common, receiver, &ask, &[])?;
            eprintln!(
                "{transport} round {} of {}, {name}: {:.2} CPU-s/M, {:.0}/s, waited {:.1} %, steal {:.1} %",
                round + 1,
                args.pairs,
                m.cpu_s_per_million(),
                m.rate(),
                m.waited() * 100.0,
                m.steal() * 100.0
            );
            measured[at].push(m);
        }
    }
    Ok(table(args, transport, receivers, &measured))
}

fn table(args: &Args, transport: Transport, receivers: &[Row], measured: &[Vec<Measured>]) -> Table {
    let title = format!(
        "{transport}: {CONNECTIONS} connections, {} deliveries/s, {} rounds of {} s",
        args.rate, args.pairs, args.seconds
    );
    let mut table = Table::new(
        title,
        &[
            "receiver",
            "CPU-s per million",
            "÷ floor",
            "with its other threads ÷ floor",
            "core busy",
            "waited for core",
            "steal",
            "backlog at end, max",
            "read lag p99, ms",
            "missing",
        ],
    );
    let of =
        |runs: &[Measured], f: &dyn Fn(&Measured) -> f64| median(&runs.iter().map(f).collect::<Vec<_>>());
    let ratios = |runs: &[Measured], f: &dyn Fn(&Measured) -> f64| {
        let pairs = runs.iter().zip(&measured[0]);
        median(&pairs.map(|(m, floor)| f(m) / floor.cpu_s_per_million()).collect::<Vec<_>>())
    };
    for ((name, receiver, ..), runs) in receivers.iter().zip(measured) {
        let accounts = |f: &dyn Fn(&crate::driver::Accounts) -> f64| {
            let values: Vec<f64> = runs.iter().filter_map(|m| m.accounts.as_ref().map(f)).collect();
            (!values.is_empty()).then(|| median(&values))
        };
        let lag = accounts(&|a| a.read_lag_p99_us as f64 / 1e3);
        let missing: Option<i64> = runs.iter().map(|m| m.accounts.as_ref().map(|a| a.missing)).sum();
        let percent = |f: &dyn Fn(&Measured) -> f64| format!("{:.1} %", of(runs, f).value * 100.0);
        let driver = *receiver == Receiver::Driver;
        table.row(vec![
            (*name).to_owned(),
            format!("{:.2}", of(runs, &Measured::cpu_s_per_million)),
            if driver { format!("{:.2}", ratios(runs, &Measured::cpu_s_per_million)) } else { "1".into() },
            match driver {
                true => format!("{:.2}", ratios(runs, &Measured::process_cpu_s_per_million)),
                false => String::new(),
            },
            percent(&Measured::busy),
            percent(&Measured::waited),
            percent(&Measured::steal),
            runs.iter().map(|m| m.backlog).max().unwrap_or(0).to_string(),
            lag.map_or(String::new(), |lag| format!("{lag:.1}")),
            missing.map_or(String::new(), |missing| missing.to_string()),
        ]);
    }
    let ratio = ratios(&measured[1], &Measured::cpu_s_per_million);
    table.target(
        format!("CPU of a delivery with full accounting ≤ {RATIO_MAX} × the floor: {ratio:.2}"),
        ratio.value <= RATIO_MAX,
    );
    let interval = if ratio.sure { "95 % interval by order statistics" } else { "range" };
    table.note(format!("Medians with their {interval}; ratios are taken within a round."));
    table
}
