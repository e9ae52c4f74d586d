//! The rate one core takes: received, parsed, accounted and recorded, with nothing missing.

use clap::Args as ClapArgs;
use pushmark_model::transport::Transport;

use crate::median::median;
use crate::plan::Ask;
use crate::receive::Receiver;
use crate::run::{self, Common, Measured};
use crate::table::Table;

/// What one core has to take: each delivery by itself, and four in a write.
const STEPS: [Step; 2] = [
    Step { connections: 1_000, rate: 150_000, per_write: 1 },
    Step { connections: 5_000, rate: 400_000, per_write: 4 },
];

/// Deliveries a second to a crowd.
#[derive(Clone, Copy, Debug)]
struct Step {
    connections: u64,
    rate: u64,
    per_write: u64,
}

/// Flags of `ceiling`.
#[derive(ClapArgs, Debug)]
pub(crate) struct Args {
    /// Another rate, in deliveries a second, than the two that have to be reached
    #[arg(long)]
    rate: Option<u64>,
    /// Size of the crowd at that rate
    #[arg(long, default_value_t = 1_000, requires = "rate")]
    connections: u64,
    /// Publications that the server puts into one write, at that rate
    #[arg(long, default_value_t = 1, requires = "rate")]
    per_write: u64,
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
    let steps = match args.rate {
        Some(rate) => vec![Step { connections: args.connections, rate, per_write: args.per_write }],
        None => STEPS.into(),
    };
    let mut reached = true;
    for step in steps {
        reached &= one(args, step, common)?.print(common.format);
    }
    Ok(reached)
}

fn one(args: &Args, step: Step, common: &Common) -> anyhow::Result<Table> {
    let in_a_write =
        if step.per_write > 1 { format!(", {} in a write", step.per_write) } else { String::new() };
    let title = format!(
        "{} deliveries/s to {} connections on one core{in_a_write}, {} repeats of {} s",
        step.rate, step.connections, args.repeats, args.seconds
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
            .map(|_| run::measure(common, Receiver::Driver, &step.ask(args, transport), &[]))
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
        let reached = missing == 0 && rate.value >= step.rate as f64 * 0.99;
        table.target(format!("{transport}: {}/s, nothing missing: {rate:.0}/s", step.rate), reached);
    }
    table.note("Medians with their range; intended, late and missing are sums over the repeats.");
    Ok(table)
}

impl Step {
    fn ask(self, args: &Args, transport: Transport) -> Ask {
        let interval_us = (1_000_000 * self.connections).div_ceil(self.rate).max(1);
        Ask {
            measure_ns: args.seconds * 1_000_000_000,
            per_write: self.per_write,
            ..Ask::of(transport, self.connections, interval_us)
        }
    }
}
