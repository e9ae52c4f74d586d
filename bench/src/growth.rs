//! What a message costs in a large crowd against a small one, beside the floor's own growth: what is
//! above it is the driver's.

use clap::Args as ClapArgs;
use pushmark_model::transport::Transport;

use crate::median::{Median, median};
use crate::plan::Ask;
use crate::receive::Receiver;
use crate::rounds::{Rounds, Turn};
use crate::run::{self, Common, Measured};
use crate::table::Table;

/// How much more the driver's cost may grow than the floor's.
const GROWTH_MAX: f64 = 1.1;
const FEW: u64 = 1_000;
const MANY: u64 = 15_000;
const WHO: [(&str, Receiver); 2] =
    [("floor", Receiver::Floor), ("driver, full accounting", Receiver::Driver)];

/// Flags of `growth`.
#[derive(ClapArgs, Debug)]
pub(crate) struct Args {
    /// Rounds; each measures both receivers with both crowds
    #[arg(long, default_value_t = 10)]
    pairs: usize,
    /// Length of a measurement
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Deliveries a second, to either crowd
    #[arg(long, default_value_t = 60_000)]
    rate: u64,
    /// One transport: sse or websocket
    #[arg(long)]
    only: Option<String>,
}

pub(crate) fn run(args: &Args, common: &Common) -> anyhow::Result<bool> {
    let mut reached = true;
    for transport in run::chosen(&[Transport::Sse, Transport::WebSocket], args.only.as_deref())? {
        reached &= one(args, common, transport)?.print(common.format);
    }
    Ok(reached)
}

fn one(args: &Args, common: &Common, transport: Transport) -> anyhow::Result<Table> {
    let turn = |(name, receiver): (&str, Receiver), clients: u64| Turn {
        name: format!("{name}, {clients}"),
        receiver,
        ask: Ask {
            connect_rate: clients as f64,
            measure_ns: args.seconds * 1_000_000_000,
            ..Ask::of(transport, clients, 1_000_000 * clients / args.rate)
        },
    };
    let turns = WHO.map(|who| [turn(who, FEW), turn(who, MANY)]).concat();
    let rounds = Rounds::of(&turns, args.pairs, common)?;
    let [floor_few, floor_many, driver_few, driver_many] = &rounds.measured[..] else {
        unreachable!("two receivers, two crowds")
    };
    let title = format!(
        "{transport}: {} deliveries/s to {FEW} and to {MANY} connections, {} rounds of {} s",
        args.rate, args.pairs, args.seconds
    );
    let mut table =
        Table::new(title, &["receiver", "CPU-s per million, 1,000", "15,000", "grows by", "missing"]);
    for ((name, _), [few, many]) in WHO.iter().zip([[floor_few, floor_many], [driver_few, driver_many]]) {
        let missing: i64 =
            few.iter().chain(many).filter_map(|m| m.accounts.as_ref()).map(|a| a.missing).sum();
        table.row(vec![
            (*name).to_owned(),
            format!("{:.2}", cost(few)),
            format!("{:.2}", cost(many)),
            format!("{:.2} ×", median(&growth(few, many))),
            missing.to_string(),
        ]);
    }
    let more = growth(driver_few, driver_many);
    let own = growth(floor_few, floor_many);
    let beyond = median(&more.iter().zip(&own).map(|(driver, floor)| driver / floor).collect::<Vec<_>>());
    table.target(
        format!("the driver's cost grows by ≤ {GROWTH_MAX} × the floor's: {beyond:.2}"),
        beyond.high <= GROWTH_MAX,
    );
    table.note(
        "Medians with their 95 % interval, or their range; growths and their ratio are taken within a round.",
    );
    rounds.note(&mut table);
    Ok(table)
}

fn cost(runs: &[Measured]) -> Median {
    median(&runs.iter().map(Measured::cpu_s_per_million).collect::<Vec<_>>())
}

/// Round by round.
fn growth(few: &[Measured], many: &[Measured]) -> Vec<f64> {
    few.iter().zip(many).map(|(few, many)| many.cpu_s_per_million() / few.cpu_s_per_million()).collect()
}
