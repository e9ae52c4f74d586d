//! What the engine costs: pushmark's driver held against a receiver that does nothing but read.
//!
//! | file | holds |
//! |---|---|
//! | `engine.rs`, `growth.rs`, `memory.rs`, `connect.rs`, `ceiling.rs`, `fleet.rs` | a question each, and the figure to reach |
//! | `peers/` | the same work done by other tools |
//! | `plan.rs` | the arms they ask about |
//! | `run.rs`, `server.rs`, `terminator.rs` | one measurement: a fresh server, TLS before it, a fresh receiver |
//! | `rounds.rs` | many of them, interleaved |
//! | `receive.rs`, `driver.rs`, `floor.rs` | the receivers, as child processes |
//! | `watch.rs`, `usage.rs`, `machine.rs` | CPU time, memory, steal; the measuring machine |
//! | `median.rs`, `table.rs` | from numbers to the printed table |

mod ceiling;
mod connect;
mod driver;
mod engine;
mod fleet;
mod floor;
mod growth;
mod machine;
mod median;
mod memory;
mod peers;
mod plan;
mod receive;
mod rounds;
mod run;
mod server;
mod table;
mod terminator;
mod usage;
mod watch;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(about = "What the engine costs, and whether it reaches its figures")]
struct Cli {
    #[command(flatten)]
    common: run::Common,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// CPU per million deliveries against the floor: 5,000 connections, 50,000 deliveries/s
    Engine(engine::Args),
    /// Generator memory of an idle connection, beyond the first thousand
    Memory(memory::Args),
    /// 15,000 connections from one process: how fast, and whether they stay
    Connect(connect::Args),
    /// The same in a crowd of 1,000 and of 15,000: how the cost grows, and the floor's
    Growth(growth::Args),
    /// 150,000 deliveries/s on one core, and 400,000 by four in a write: nothing missing
    Ceiling(ceiling::Args),
    /// Ten million clients over 1,000 agents: planned and merged by one coordinator, on one core
    Fleet(fleet::Args),
    /// Other load tools on the same work (`cargo xtask bench peers` gets them first)
    Peers(peers::Args),
    /// A receiver: its order on stdin, what it measured on stdout
    #[command(hide = true)]
    Receive,
}

fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let reached = match &cli.command {
        Command::Engine(args) => engine::run(args, &cli.common)?,
        Command::Growth(args) => growth::run(args, &cli.common)?,
        Command::Memory(args) => memory::run(args, &cli.common)?,
        Command::Connect(args) => connect::run(args, &cli.common)?,
        Command::Ceiling(args) => ceiling::run(args, &cli.common)?,
        Command::Fleet(args) => fleet::run(args, &cli.common)?,
        Command::Peers(args) => peers::run(args, &cli.common)?,
        Command::Receive => return receive::run(),
    };
    if !reached {
        eprintln!("not every figure was reached");
    }
    Ok(())
}
