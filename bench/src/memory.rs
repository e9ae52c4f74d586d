//! Generator memory of an idle connection: the slope of RSS between two sizes of crowd.

use clap::Args as ClapArgs;
use pushmark_model::transport::Transport;

use crate::median::median;
use crate::plan::{self, Ask};
use crate::receive::Receiver;
use crate::run::{self, Common};
use crate::table::Table;

const BYTES_MAX: f64 = 600.0;
const TLS_BYTES_MAX: f64 = 24.0 * 1024.0;
const FEW: u64 = 1_000;
const MANY: u64 = 8_000;

/// Flags of `memory`.
#[derive(ClapArgs, Debug)]
pub(crate) struct Args {
    /// Times each crowd is measured
    #[arg(long, default_value_t = 3)]
    repeats: usize,
    /// One transport
    #[arg(long)]
    only: Option<String>,
    /// Over TLS, which nginx ends
    #[arg(long)]
    tls: bool,
}

pub(crate) fn run(args: &Args, common: &Common) -> anyhow::Result<bool> {
    let all = [
        Transport::LongPoll,
        Transport::Bayeux,
        Transport::Stream,
        Transport::Sse,
        Transport::WebSocket,
        Transport::BayeuxWebSocket,
    ];
    let over = if args.tls { " over TLS" } else { "" };
    let bytes_max = if args.tls { TLS_BYTES_MAX } else { BYTES_MAX };
    let title = format!("Memory of an idle connection{over}, {} repeats", args.repeats);
    let (few, many) = ("RSS at 1,000, MiB", "RSS at 8,000, MiB");
    let mut table = Table::new(title, &["transport", "bytes per connection", few, many, "connected"]);
    for transport in run::chosen(&all, args.only.as_deref())? {
        let (mut at_few, mut at_many, mut slopes, mut connected) = (vec![], vec![], vec![], MANY);
        for _ in 0..args.repeats {
            let (low, _) = rss(common, args, transport, FEW)?;
            let (high, stood) = rss(common, args, transport, MANY)?;
            at_few.push(low as f64 / 1048576.0);
            at_many.push(high as f64 / 1048576.0);
            slopes.push((high as f64 - low as f64) / (MANY - FEW) as f64);
            connected = connected.min(stood);
        }
        let slope = median(&slopes);
        table.row(vec![
            transport.name().to_owned(),
            format!("{slope:.0}"),
            format!("{:.1}", median(&at_few)),
            format!("{:.1}", median(&at_many)),
            connected.to_string(),
        ]);
        let reached = slope.value <= bytes_max && connected == MANY;
        table.target(format!("{transport}: at most {bytes_max} bytes: {slope:.0}"), reached);
    }
    table.note(
        "Medians with their range. Each connection had received three messages, then none for two seconds.",
    );
    Ok(table.print(common.format))
}

/// Resident memory once all connections are subscribed, have received three messages and are silent.
fn rss(common: &Common, args: &Args, transport: Transport, connections: u64) -> anyhow::Result<(u64, u64)> {
    let ask = Ask {
        // Over TLS the server shakes hands 8,000 times on one core.
        connect_rate: if args.tls { 500.0 } else { 5_000.0 },
        count: Some(3),
        settle_ns: 1_000_000_000,
        warmup_ns: 2_000_000_000,
        measure_ns: 1_000_000_000,
        tls: args.tls,
        ..Ask::of(transport, connections, 250_000)
    };
    // Between two records: at whole seconds one is handed over, and both are in memory.
    let quiet_ns = plan::arm(&ask).phases.measure_end_ns() + 500_000_000;
    let m = run::measure(common, Receiver::Driver, &ask, &[quiet_ns])?;
    let rss_bytes = m.looks[2].rss_bytes;
    let stood = m.accounts.as_ref().map_or(0, |a| a.connected);
    if let Some(accounts) = m.accounts.filter(|a| a.failed + a.lost > 0) {
        eprintln!("{} failed, {} lost: {:?}", accounts.failed, accounts.lost, accounts.troubles);
    }
    eprintln!("{transport}, {connections} connections: {} KiB, {stood} connected", rss_bytes / 1024);
    Ok((rss_bytes, stood))
}
