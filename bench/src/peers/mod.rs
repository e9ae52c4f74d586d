//! Other load tools on the same work: a server on one core, a tool on the other, in turn.
//!
//! Every tool does what a user of it would write (`bench/peers/`): it connects, hears, and times a
//! message by its stamp where it can. Schedules are absolute and told beforehand: the crowd has until
//! a known instant to connect, and only publications due in the window count.
//!
//! | file | holds |
//! |---|---|
//! | `tool.rs` | the tools: how each is started, what it lacks |
//! | `cell.rs` | one measurement |
//! | `tree.rs` | what a tree of processes has used; what lies unread in its sockets |
//! | `truth.rs` | the server's own log of the same window |

mod cell;
mod tool;
mod tree;
mod truth;

use clap::Args as ClapArgs;
use pushmark_model::transport::Transport;

use crate::median::median;
use crate::receive::Receiver;
use crate::run::{self, Common};
use crate::table::Table;
use cell::{Cell, Seen};
use tool::TOOLS;

/// Flags of `peers`.
#[derive(ClapArgs, Debug)]
pub(crate) struct Args {
    /// Rounds; each measures every tool once
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Length of a window
    #[arg(long, default_value_t = 10)]
    seconds: u64,
    /// Tools by name, comma-separated; absent: all
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// One transport: sse, websocket or long-poll
    #[arg(long)]
    transport: Option<String>,
    /// Clients
    #[arg(long, default_value_t = 1_000)]
    clients: u64,
    /// Deliveries a second
    #[arg(long, default_value_t = 10_000)]
    rate: u64,
}

/// CPU for a delivery of ours may be at most this share of a tool's.
const SHARES: [(&str, f64); 3] = [("k6", 1.0 / 8.0), ("locust", 1.0 / 8.0), ("wrk", 1.0)];

pub(crate) fn run(args: &Args, common: &Common) -> anyhow::Result<bool> {
    let all = [Transport::WebSocket, Transport::Sse, Transport::LongPoll];
    let mut reached = true;
    for transport in run::chosen(&all, args.transport.as_deref())? {
        let cell = Cell { transport, clients: args.clients, rate: args.rate, seconds: args.seconds };
        reached &= one(args, common, cell)?.print(common.format);
    }
    Ok(reached)
}

/// Who is measured: our floor and driver, then the tools.
fn one(args: &Args, common: &Common, cell: Cell) -> anyhow::Result<Table> {
    let asked = |name: &str| args.only.is_empty() || args.only.iter().any(|only| only == name);
    let tools: Vec<_> = TOOLS.iter().filter(|tool| asked(tool.name)).collect();
    let ours = [("floor", Receiver::Floor), ("pushmark", Receiver::Driver)];
    // The floor keeps no conversation: it cannot ask again.
    let ours: Vec<_> =
        ours.into_iter().filter(|o| cell.transport.is_push() || o.1 == Receiver::Driver).collect();
    let mut seen: Vec<(String, Vec<Seen>)> = Vec::new();
    let mut keep = |name: &str, one: Seen| match seen.iter_mut().find(|row| row.0 == name) {
        Some(row) => row.1.push(one),
        None => seen.push((name.to_owned(), vec![one])),
    };
    let mut lacking = Vec::new();
    for round in 0..args.rounds {
        let say = |name: &str, one: &Seen| {
            eprintln!(
                "{} round {} of {}, {name}: {:.1} CPU-s/M, {} of {} handled",
                cell.transport,
                round + 1,
                args.rounds,
                one.cpu_s_per_million(),
                one.handled,
                one.sent
            );
        };
        for (name, receiver) in &ours {
            let one = cell.of_ours(*receiver, common)?;
            say(name, &one);
            keep(name, one);
        }
        for tool in &tools {
            match tool.lacks(cell.transport) {
                Some(why) if round == 0 => lacking.push((tool.name, why)),
                Some(_) => {}
                None => {
                    let one = cell.of_tool(tool, common)?;
                    say(tool.name, &one);
                    keep(tool.name, one);
                }
            }
        }
    }
    Ok(table(args, cell, &seen, &lacking))
}

fn table(args: &Args, cell: Cell, seen: &[(String, Vec<Seen>)], lacking: &[(&str, &str)]) -> Table {
    let title = format!(
        "{}: {} clients, {} deliveries/s, {} rounds of {} s",
        cell.transport, cell.clients, cell.rate, args.rounds, cell.seconds
    );
    let mut table = Table::new(
        title,
        &[
            "tool",
            "CPU-s per million handled",
            "÷ pushmark",
            "handled of sent",
            "unread at end, KiB",
            "memory, MiB",
            "p50 / p99 it reports, ms",
            "p50 / p99 of the writes, ms",
        ],
    );
    let of = |runs: &[Seen], f: &dyn Fn(&Seen) -> f64| median(&runs.iter().map(f).collect::<Vec<_>>());
    let pushmark = seen.iter().find(|row| row.0 == "pushmark").map(|row| &row.1);
    let ratio = |runs: &[Seen]| {
        let pairs = runs.iter().zip(pushmark?);
        let ratios: Vec<f64> = pairs.map(|(a, b)| a.cpu_s_per_million() / b.cpu_s_per_million()).collect();
        (!ratios.is_empty()).then(|| median(&ratios))
    };
    let pair = |runs: &[Seen], f: &dyn Fn(&Seen) -> Option<(f64, f64)>| {
        let both: Vec<(f64, f64)> = runs.iter().filter_map(f).collect();
        if both.is_empty() {
            return "–".to_owned();
        }
        let middle = |of: fn(&(f64, f64)) -> f64| median(&both.iter().map(of).collect::<Vec<_>>()).value;
        format!("{:.1} / {:.1}", middle(|p| p.0), middle(|p| p.1))
    };
    for (name, runs) in seen {
        table.row(vec![
            name.clone(),
            format!("{:.1}", of(runs, &Seen::cpu_s_per_million)),
            ratio(runs).map_or("–".into(), |r| format!("{r:.1}")),
            format!("{:.2} %", of(runs, &|s| s.handled as f64 / s.sent.max(1) as f64 * 100.0).value),
            format!("{:.0}", of(runs, &|s| s.unread_bytes as f64 / 1024.0).value),
            format!("{:.0}", of(runs, &|s| s.rss_bytes as f64 / 1_048_576.0).value),
            pair(runs, &|s| s.reported_ms),
            pair(runs, &|s| s.written_ms),
        ]);
        if let Some((_, share)) = SHARES.iter().find(|(tool, _)| tool == name)
            && let Some(ratio) = ratio(runs)
        {
            table.target(
                format!("ours at most {share:.3} of {name}'s CPU for a delivery: {:.3}", 1.0 / ratio.value),
                1.0 / ratio.value <= *share,
            );
        }
    }
    for (name, why) in lacking {
        table.note(format!("{name} is not in it: {why}"));
    }
    table.note("CPU of a tool is its whole tree's over the window, of ours that of its receiving thread and the one that takes its records.");
    table
}
