//! A crowd of 15,000 from one process: how fast it is subscribed, and whether it stays connected.

use clap::Args as ClapArgs;
use pushmark_model::transport::Transport;

use crate::median::median;
use crate::plan::Ask;
use crate::receive::Receiver;
use crate::run::{self, Common};
use crate::table::Table;

const RATE_MIN: f64 = 20_000.0;

/// Flags of `connect`.
#[derive(ClapArgs, Debug)]
pub(crate) struct Args {
    /// Size of the crowd
    #[arg(long, default_value_t = 15_000)]
    connections: u64,
    /// Seconds they are held
    #[arg(long, default_value_t = 60)]
    hold: u64,
    /// Connections begun a second
    #[arg(long, default_value_t = 25_000.0)]
    rate: f64,
    /// Times each is measured
    #[arg(long, default_value_t = 1)]
    repeats: usize,
    /// One transport
    #[arg(long)]
    only: Option<String>,
}

pub(crate) fn run(args: &Args, common: &Common) -> anyhow::Result<bool> {
    let title = format!(
        "{} connections begun at {}/s, held {} s, {} repeats",
        args.connections, args.rate, args.hold, args.repeats
    );
    let columns = [
        "transport",
        "opened",
        "failed",
        "lost",
        "opened a second",
        "due to subscribed p99, ms",
        "max, ms",
        "heard of intended",
    ];
    let mut table = Table::new(title, &columns);
    for transport in run::chosen(&Transport::ALL, args.only.as_deref())? {
        let (mut rates, mut p99, mut slowest) = (vec![], vec![], vec![]);
        let (mut opened, mut failed, mut lost, mut missing, mut intended) = (u64::MAX, 0, 0, 0, 0);
        for _ in 0..args.repeats {
            let m = run::measure(common, Receiver::Driver, &ask(args, transport), &[])?;
            let a = m.accounts.expect("the driver has accounts");
            a.troubles.iter().for_each(|trouble| eprintln!("{transport}: {trouble}"));
            // The last one is due at the ramp's end, and none took longer than the slowest:
            // all stood after the sum, or before.
            let stood_s = args.connections as f64 / args.rate + a.connect_max_us as f64 / 1e6;
            rates.push(a.opened as f64 / stood_s);
            p99.push(a.connect_p99_us as f64 / 1e3);
            slowest.push(a.connect_max_us as f64 / 1e3);
            opened = opened.min(a.opened);
            failed += a.failed;
            lost += a.lost;
            missing += a.missing;
            intended += a.intended as i64;
        }
        let rate = median(&rates);
        table.row(vec![
            transport.name().to_owned(),
            opened.to_string(),
            failed.to_string(),
            lost.to_string(),
            format!("{rate:.0}"),
            format!("{:.1}", median(&p99)),
            format!("{:.1}", median(&slowest)),
            format!("{} of {intended}", intended - missing),
        ]);
        let all = opened == args.connections && failed == 0 && lost == 0;
        table.target(
            format!(
                "{transport}: all {}, none failed, none lost, ≥ {RATE_MIN}/s: {rate:.0}/s",
                args.connections
            ),
            all && rate.value >= RATE_MIN,
        );
    }
    table.note("Opened a second: all, by the time the ramp ended plus the slowest from due to subscribed.");
    Ok(table.print(common.format))
}

fn ask(args: &Args, transport: Transport) -> Ask {
    Ask {
        connect_rate: args.rate,
        settle_ns: 2_000_000_000,
        measure_ns: args.hold * 1_000_000_000,
        // A message every ten seconds shows that the connections are alive.
        ..Ask::of(transport, args.connections, 10_000_000)
    }
}
