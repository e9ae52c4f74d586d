//! `--dry-run`: lists every case with its time, the resources of this machine, and the refused cases.

use std::fmt::Write as _;

use super::Loaded;
use pushmark_chart::durations::{about, length};
use pushmark_chart::numbers::TERMINAL;
use pushmark_console::progress::screen::Screen;
use pushmark_host::preflight::Machine;

/// Start-up of a server and the cool-down before it, s, for an estimate before the first start. The first
/// cases then show the actual time.
pub(super) const START_S: f64 = 5.0;

/// The plan of a suite, for a person. `chosen` says which cases are asked for, `done` how many starts of each
/// exist.
pub fn plan_text(loaded: &Loaded, chosen: &[bool], done: &[u32], screen: &Screen) -> String {
    let suite = &loaded.suite;
    let mut out = String::new();
    let mut scale = String::new();
    for (word, share) in [("scale", suite.scale), ("time scale", suite.scale_time)] {
        if share < 1.0 {
            let _ = write!(scale, " · {word} {share}");
        }
    }
    let starts = match suite.repeat {
        1 => "1 start each".to_owned(),
        n => format!("{n} starts each"),
    };
    let _ = writeln!(
        out,
        "pushmark suite · {} · {} cases · {starts}{scale}\n",
        suite.name,
        TERMINAL.count(suite.cases.len() as u64)
    );
    let cases = suite.cases.iter().zip(chosen).zip(done);
    let rows: Vec<_> =
        cases.filter(|((_, chosen), _)| **chosen).map(|((case, _), done)| (case, *done)).collect();
    let widest = rows.iter().map(|(case, _)| case.id.chars().count()).max().unwrap_or(0).max(4);
    let _ = writeln!(out, "  {:widest$}  {:>9}  per start", "case", "clients");
    for (case, done) in &rows {
        let clients = TERMINAL.count(case.clients);
        match &case.refused {
            None => {
                let there = match done {
                    0 => String::new(),
                    n => format!(" · {n} of {} done", suite.repeat.max(*n)),
                };
                let planned = length(case.planned_s);
                let _ = writeln!(out, "  {:widest$}  {clients:>9}  {planned}{there}", case.id);
            }
            Some(why) => {
                let glyph = if screen.unicode { '✕' } else { 'x' };
                let _ = writeln!(out, "{glyph} {:widest$}  {clients:>9}  refused: {why}", case.id);
            }
        }
    }
    let left = |done: u32| f64::from(suite.repeat.saturating_sub(done));
    let held: Vec<_> = rows.iter().filter(|(case, _)| case.refused.is_none()).collect();
    let run: Vec<_> = held.iter().filter(|(_, done)| *done < suite.repeat).collect();
    let planned_s: f64 = run.iter().map(|(case, done)| case.planned_s * left(*done)).sum();
    let starts: f64 = run.iter().map(|(_, done)| left(*done)).sum();
    let _ = write!(out, "\n  {} to run", counted(run.len() as u64, "case"));
    if run.len() < held.len() {
        let _ = write!(out, ", {} done", held.len() - run.len());
    }
    if held.len() < rows.len() {
        let _ = write!(out, ", {} refused here", rows.len() - held.len());
    }
    if rows.len() < suite.cases.len() {
        let _ = write!(out, ", {} not selected", suite.cases.len() - rows.len());
    }
    let _ = writeln!(out, ": {}", about(planned_s + starts * START_S));
    let _ = writeln!(
        out,
        "  planned {}, plus {START_S} s per start for start-up and cool-down (at most {})",
        length(planned_s),
        loaded.cooldown.max
    );
    let _ = writeln!(out, "  this machine: {}", has(&loaded.machine));
    screen.words(&out)
}

fn counted(n: u64, word: &str) -> String {
    format!("{} {word}{}", TERMINAL.count(n), if n == 1 { "" } else { "s" })
}

/// The limits of a crowd on this machine.
fn has(machine: &Machine) -> String {
    let memory = machine.memory_bytes as f64 / f64::from(1u32 << 30);
    format!(
        "{}, {memory:.1} GiB of memory available, {} open files per process, ports {}–{}",
        counted(u64::from(machine.cpus), "CPU"),
        TERMINAL.count(machine.open_files.1),
        machine.ports.0,
        machine.ports.1
    )
}
