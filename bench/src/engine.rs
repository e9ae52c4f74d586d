//! CPU per million deliveries, driver against floor, in interleaved rounds.

use clap::Args as ClapArgs;
use pushmark_model::poller::Poller;
use pushmark_model::transport::Transport;

use crate::median::median;
use crate::plan::Ask;
use crate::receive::Receiver;
use crate::rounds::{Rounds, STEAL_MAX, Turn};
use crate::run::{self, Common, Measured};
use crate::table::Table;

/// What a delivery may cost, in floors.
const RATIO_MAX: f64 = 1.2;

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
    /// Connections
    #[arg(long, default_value_t = 5_000)]
    connections: u64,
    /// Rows for io_uring in place of epoll, too
    #[arg(long)]
    io_uring: bool,
    /// Leave the rows with kernel stamps out
    #[arg(long)]
    no_stamps: bool,
    /// One more row, over TLS that nginx ends
    #[arg(long)]
    tls: bool,
}

/// A receiver, and how it is asked to work.
#[derive(Clone, Copy)]
struct Row {
    name: &'static str,
    receiver: Receiver,
    /// One connection in how many is stamped.
    stamp_sample: u32,
    /// How long arrivals gather.
    batch_ns: u64,
    poller: Poller,
    /// Over TLS, which nginx ends.
    tls: bool,
}

impl Row {
    const FLOOR: Row = Row {
        name: "floor",
        receiver: Receiver::Floor,
        stamp_sample: 0,
        batch_ns: 0,
        poller: Poller::Epoll,
        tls: false,
    };
    const DRIVER: Row = Row { name: "driver, full accounting", receiver: Receiver::Driver, ..Row::FLOOR };
    const BATCHES: Row = Row { name: "driver, batches of 1 ms", batch_ns: 1_000_000, ..Row::DRIVER };
    const STAMPS: [Row; 2] = [
        Row { name: "driver, stamps on 1 in 64", stamp_sample: 64, ..Row::DRIVER },
        Row { name: "driver, stamps on all", stamp_sample: 1, ..Row::DRIVER },
    ];
    const OVER_TLS: Row = Row { name: "driver, over TLS", tls: true, ..Row::DRIVER };
    const RING: [Row; 2] = [
        Row { name: "driver, io_uring", poller: Poller::IoUring, ..Row::DRIVER },
        Row { name: "driver, io_uring, batches of 1 ms", poller: Poller::IoUring, ..Row::BATCHES },
    ];
}

impl Args {
    /// In the order of the table.
    fn receivers(&self) -> Vec<Row> {
        let mut rows = vec![Row::FLOOR, Row::DRIVER, Row::BATCHES];
        if self.io_uring {
            rows.extend(Row::RING);
        }
        if !self.no_stamps {
            rows.extend(Row::STAMPS);
        }
        if self.tls {
            rows.push(Row::OVER_TLS);
        }
        rows
    }
}

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
    let receivers = args.receivers();
    let turn = |row: &Row| Turn {
        name: row.name.to_owned(),
        receiver: row.receiver,
        ask: ask(args, transport, *row),
    };
    let turns: Vec<Turn> = receivers.iter().map(turn).collect();
    let rounds = Rounds::of(&turns, args.pairs, common)?;
    let mut table = table(args, transport, &receivers, &rounds.measured);
    rounds.note(&mut table);
    Ok(table)
}

fn ask(args: &Args, transport: Transport, row: Row) -> Ask {
    Ask {
        // Handshakes are no part of what a delivery costs: they are over before the window.
        connect_rate: if row.tls { 500.0 } else { args.connections as f64 },
        measure_ns: args.seconds * 1_000_000_000,
        stamp_sample: row.stamp_sample,
        batch_ns: row.batch_ns,
        poller: row.poller,
        tls: row.tls,
        ..Ask::of(transport, args.connections, 1_000_000 * args.connections / args.rate)
    }
}

fn table(args: &Args, transport: Transport, receivers: &[Row], measured: &[Vec<Measured>]) -> Table {
    let title = format!(
        "{transport}: {} connections, {} deliveries/s, {} rounds of {} s",
        args.connections, args.rate, args.pairs, args.seconds
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
    for (row, runs) in receivers.iter().zip(measured) {
        let accounts = |f: &dyn Fn(&crate::driver::Accounts) -> f64| {
            let values: Vec<f64> = runs.iter().filter_map(|m| m.accounts.as_ref().map(f)).collect();
            (!values.is_empty()).then(|| median(&values))
        };
        let lag = accounts(&|a| a.read_lag_p99_us as f64 / 1e3);
        let missing: Option<i64> = runs.iter().map(|m| m.accounts.as_ref().map(|a| a.missing)).sum();
        let percent = |f: &dyn Fn(&Measured) -> f64| format!("{:.1} %", of(runs, f).value * 100.0);
        let driver = row.receiver == Receiver::Driver;
        table.row(vec![
            row.name.to_owned(),
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
        ratio.high <= RATIO_MAX,
    );
    let steal = of(&measured[1], &Measured::steal).value;
    table.target(
        format!("steal while that was measured ≤ {:.0} %: {:.1} %", STEAL_MAX * 100.0, steal * 100.0),
        steal <= STEAL_MAX,
    );
    let interval = if ratio.sure { "95 % interval by order statistics" } else { "range" };
    table.note(format!("Medians with their {interval}; ratios are taken within a round."));
    table
}
