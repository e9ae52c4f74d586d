//! Tools of known behaviour (`examples/pretend.rs`): the reported figures must match what they did.

use std::path::PathBuf;
use std::process::Command;

use pushmark_model::transport::Transport;

use super::cell::{Cell, Seen};
use super::tool::{Tool, Work};
use crate::run::Common;

const CELL: Cell = Cell { transport: Transport::Sse, clients: 20, interval_us: 20_000, seconds: 2 };
/// 100 publications to each.
const OFFERED: u64 = 2_000;

fn pretend() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let path = own.parent().and_then(|deps| deps.parent()).unwrap().join("examples/pretend");
    assert!(
        path.exists(),
        "{}: `cargo test -p bench` builds it, `--bin bench` alone does not",
        path.display()
    );
    path
}

/// As the harness does it: a machine that has much to do needs patience.
fn seen(command: fn(&Work) -> Command, counts: bool) -> Seen {
    let patient = |_: anyhow::Error| seen_once(command, counts, 4).or_else(|_| seen_once(command, counts, 8));
    seen_once(command, counts, 1).or_else(patient).unwrap()
}

fn seen_once(command: fn(&Work) -> Command, counts: bool, patience: u64) -> anyhow::Result<Seen> {
    let tool = Tool {
        name: "pretender",
        version: "0",
        asks_per_s: 1_000,
        connects_per_s: 1_000,
        starts_in_s: 1,
        settles_s: 0,
        counts,
        command,
        lacks: &[],
    };
    CELL.of_tool(&tool, &Common::with(pretend()), patience)
}

fn acts(conduct: &str) -> Command {
    let mut command = Command::new(pretend());
    command.arg(conduct);
    command
}

#[test]
fn a_tool_that_forgets_one_in_ten_has_handled_nine() {
    let seen = seen(|_| acts("lossy"), true);
    assert_eq!((seen.offered, seen.sent, seen.handled), (OFFERED, OFFERED, OFFERED / 10 * 9));
    assert_eq!((seen.held, seen.unread, seen.counts), (20, 0, true));
    assert!(!seen.kept_up() && seen.written_ms.is_some() && seen.reported_ms.is_none());
}

#[test]
fn what_a_tool_does_not_read_is_unread_and_not_handled() {
    let seen = seen(|_| acts("deaf"), false);
    assert_eq!((seen.offered, seen.sent, seen.handled), (OFFERED, OFFERED, 0));
    assert!(seen.unread >= OFFERED && !seen.counts && !seen.kept_up(), "{seen:?}");
    // It sleeps: the harness adds nothing of its own.
    assert!(seen.cpu_ns < 20_000_000, "{seen:?}");
}

#[test]
fn what_a_tool_and_its_child_burn_in_the_window_is_what_it_costs() {
    let seen = seen(|_| acts("burns"), true);
    // 300 ms each; beside them 2,000 events are read, and the last look may be a tick early.
    assert!((590_000_000..720_000_000).contains(&seen.cpu_ns), "{seen:?}");
    assert_eq!((seen.handled, seen.unread), (OFFERED, 0));
    assert!(seen.cpu_s_per_million() > 295.0);
}

#[test]
fn a_tool_whose_clients_do_not_come_is_told_with_its_complaint() {
    let command = |_: &Work| {
        let mut command = Command::new("sh");
        command.args(["-c", "echo no such crowd >&2; sleep 30"]);
        command
    };
    let error = seen_once(command, true, 1).unwrap_err().to_string();
    assert_eq!(error, "pretender: 0 of 20 clients in time: no such crowd");
}
