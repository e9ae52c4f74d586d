//! Other load tools on the same work: a server on one core, a tool on the other, in turn.
//!
//! Every tool does what a user of it would write (`bench/peers/`): it connects, receives, and times a
//! message by its stamp if it can. Schedules are absolute and announced beforehand: the crowd has until
//! a known instant to connect, and only publications due in the window count.
//!
//! | file | holds |
//! |---|---|
//! | `asked.rs` | the questions, in order |
//! | `contestant.rs`, `tool.rs` | pushmark and the tools: how each is started, what it lacks |
//! | `cell.rs`, `running.rs` | one measurement; a tool that runs |
//! | `tree.rs` | what a tree of processes has used; what lies unread in its sockets |
//! | `truth.rs` | the server's own log of the same window |
//! | `rows.rs` | what was measured, as a file that a later call goes on with |
//! | `tables.rs`, `chart.rs` | the printed tables and the chart |
//! | `known.rs` | tests: tools of known conduct |

mod asked;
mod cell;
mod chart;
mod contestant;
#[cfg(test)]
mod known;
mod measuring;
mod rows;
mod running;
mod tables;
mod tool;
mod tree;
mod truth;

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, ensure};
use clap::Args as ClapArgs;
use pushmark_model::transport::Transport;
use pushmark_net::limits;

use crate::machine::{self, Machine};
use crate::run::{self, Common};
use asked::{Asked, Size};
use cell::{Cell, Seen};
use contestant::Contestant;
use rows::{Question, Row, Rows};

/// What fails is tried so often, each time with more patience.
const TRIES: u64 = 3;
/// A step of a ladder that fails is tried so often: once may be the machine's doing.
const ATTEMPTS: usize = 2;

/// Flags of `peers`.
#[derive(ClapArgs, Debug)]
pub(crate) struct Args {
    /// Everything, ceilings and crowds of 10,000 too: an hour instead of a quarter
    #[arg(long)]
    full: bool,
    /// Rounds of the fan-outs at 10,000/s; each measures every tool once (10 with --full, else 2)
    #[arg(long)]
    rounds: Option<usize>,
    /// Length of a fan-out's window
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Tools by name, comma-separated; absent: all
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// One transport: sse, websocket or long-poll
    #[arg(long)]
    transport: Option<String>,
    /// Questions, comma-separated; absent: all
    #[arg(long, value_delimiter = ',')]
    questions: Vec<Question>,
    /// Folder of the result; absent: `record/DATE-N-cores/peers`. What is in it is not measured again
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Measure again what is there
    #[arg(long)]
    again: bool,
}

pub(crate) fn run(args: &Args, common: &Common) -> anyhow::Result<bool> {
    let contestants = args.contestants()?;
    let asked = args.asked()?;
    // Tools inherit it, and most would ask for no more.
    limits::raise_open_files()?;
    let machine = Machine::here();
    let folder = args.out.clone().map_or_else(|| folder(machine.cpus), Ok)?;
    let source = format!("commit {} · {}", machine.commit, machine.hardware());
    let mut rows = Rows::open(folder.join("peers.json"), machine, machine::sources(), args.again)?;
    for one in &asked {
        match one.question {
            Question::Ceiling => climb(one, &contestants, &mut rows, common)?,
            _ => take_turns(one, &contestants, &mut rows, common)?,
        }
        rows::write(&rows.beside("peers.svg"), &chart::draw(rows.all(), &source))?;
    }
    let mut reached = true;
    for table in tables::all(rows.all(), &contestants) {
        reached &= table.print(common.format);
    }
    eprintln!("kept in {}", folder.display());
    Ok(reached)
}

impl Args {
    fn contestants(&self) -> anyhow::Result<Vec<Contestant>> {
        let all = contestant::all();
        let is = |one: &Contestant, name: &str| one.name().eq_ignore_ascii_case(name);
        for name in &self.only {
            let names = || all.iter().map(Contestant::name).collect::<Vec<_>>().join(", ");
            ensure!(all.iter().any(|one| is(one, name)), "{name} is not one of {}", names());
        }
        let asked = |one: &Contestant| self.only.is_empty() || self.only.iter().any(|name| is(one, name));
        Ok(all.iter().copied().filter(asked).collect())
    }

    fn asked(&self) -> anyhow::Result<Vec<Asked>> {
        let transports = [Transport::WebSocket, Transport::Sse, Transport::LongPoll];
        let transports = run::chosen(&transports, self.transport.as_deref())?;
        let rounds = self.rounds.unwrap_or(if self.full { 10 } else { 2 });
        let mut asked = asked::all(Size { full: self.full, rounds, seconds: self.seconds });
        asked.retain(|one| transports.contains(&one.cells[0].transport));
        asked.retain(|one| self.questions.is_empty() || self.questions.contains(&one.question));
        Ok(asked)
    }
}

/// Every contestant once a round; a round begins with another each time.
fn take_turns(
    asked: &Asked,
    contestants: &[Contestant],
    rows: &mut Rows,
    common: &Common,
) -> anyhow::Result<()> {
    let cell = asked.cells[0];
    let able: Vec<_> =
        contestants.iter().filter(|one| one.lacks(asked.question, cell.transport).is_none()).collect();
    for round in 0..asked.rounds {
        for turn in 0..able.len() {
            measure(asked.question, cell, able[(turn + round) % able.len()], round, rows, common)?;
        }
    }
    Ok(())
}

/// Every contestant up the ladder, until it does not keep up, twice.
fn climb(asked: &Asked, contestants: &[Contestant], rows: &mut Rows, common: &Common) -> anyhow::Result<()> {
    let transport = asked.cells[0].transport;
    for one in contestants.iter().filter(|one| one.lacks(asked.question, transport).is_none()) {
        for &cell in &asked.cells {
            let mut keeps_up = false;
            for attempt in 0..ATTEMPTS {
                let row = measure(asked.question, cell, one, attempt, rows, common)?;
                keeps_up = row.seen.is_some_and(|seen| seen.kept_up());
                if keeps_up {
                    break;
                }
            }
            if !keeps_up {
                break;
            }
        }
    }
    Ok(())
}

/// Measures one, unless it is there; what fails is a row with its reason.
fn measure(
    question: Question,
    cell: Cell,
    one: &Contestant,
    round: usize,
    rows: &mut Rows,
    common: &Common,
) -> anyhow::Result<Row> {
    let mut row = Row::new(question, cell, one.name(), round);
    if let Some(there) = rows.find(&row) {
        return Ok(there.clone());
    }
    for patience in 1..=TRIES {
        match one.measure(cell, common, patience) {
            Ok(seen) => {
                row.seen = Some(seen);
                row.failed = None;
                break;
            }
            Err(error) => row.failed = Some(format!("{error:#}")),
        }
    }
    eprintln!("{}", said(&row));
    rows.add(row.clone())?;
    Ok(row)
}

/// A row in a line.
fn said(row: &Row) -> String {
    let cell = row.cell;
    let asked = format!(
        "{}, {} clients, {:.0}/s, round {}, {}",
        cell.transport,
        cell.clients,
        cell.rate(),
        row.round + 1,
        row.tool
    );
    let mib = |seen: &Seen| seen.rss_bytes as f64 / 1_048_576.0;
    match (&row.seen, row.question) {
        (Some(seen), Question::Idle) => {
            let rate = seen.connects_per_s.map_or(String::new(), |rate| format!(", {rate:.0} connects/s"));
            format!("{asked}: {:.0} MiB{rate}", mib(seen))
        }
        (Some(seen), _) => format!(
            "{asked}: {:.1} CPU-s/M, {} of {} in time, {:.0} MiB",
            seen.cpu_s_per_million(),
            seen.in_time,
            seen.offered,
            mib(seen)
        ),
        (None, _) => format!("{asked}: failed: {}", row.failed.as_deref().unwrap_or_default()),
    }
}

/// Where the result of today is kept.
fn folder(cpus: usize) -> anyhow::Result<PathBuf> {
    let output = Command::new("date").args(["-u", "+%F"]).output().context("date")?;
    let date = String::from_utf8(output.stdout)?;
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../record");
    Ok(root.canonicalize()?.join(format!("{}-{cpus}-cores", date.trim())).join("peers"))
}
