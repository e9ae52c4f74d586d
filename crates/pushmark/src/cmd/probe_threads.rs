//! `pushmark probe-threads`: finds how many blocked requests a thread-per-request server holds, over a
//! grid of heap and stack sizes, and which kind of memory runs out first.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use pushmark_model::run::ServerRef;

use super::mistakes::usage;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{note, print};
use pushmark_console::progress::Progress;
use pushmark_host::server::registry::{Architecture, Registry, Server};
use pushmark_run::flood::grid::{Cell, First, probe, table};
use pushmark_run::run::{Signals, Start};
use pushmark_run::scenario_file::{self, Asked};
use pushmark_run::session::{Asking, Cpus, Session, prepare};

/// Threads a server may start in addition to one per client.
const THREADS_BESIDE: u64 = 200;

/// Flags of `probe-threads`.
#[derive(Args, Clone, Debug)]
pub struct ProbeThreadsArgs {
    /// A thread-per-request server; default: the first one of the registry
    #[arg(value_name = "SERVER")]
    pub server: Option<String>,
    /// Heap sizes, from small to large
    #[arg(long, value_delimiter = ',', value_name = "SIZE", default_value = "128m,256m,512m")]
    pub heap: Vec<String>,
    /// Stack sizes, from small to large; a JVM refuses a size that is too small
    #[arg(long, value_delimiter = ',', value_name = "SIZE", default_value = "136k,256k,1m")]
    pub stack: Vec<String>,
    /// New requests per second; a cell takes at most LIMIT ÷ RATE plus half a minute
    #[arg(long, value_name = "RATE", default_value = "200/s")]
    pub rate: String,
    /// Maximum number of requests of a cell; fewer if this machine holds fewer
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    pub limit: u64,
    /// Folder that holds servers.toml
    #[arg(long, value_name = "DIR")]
    pub servers: Option<PathBuf>,
    /// Show no progress on stderr
    #[arg(short, long)]
    pub quiet: bool,
}

/// Probes the server and prints the table.
///
/// # Errors
/// Fails if the server is unknown, lacks the flags, or cannot be built.
pub fn run(args: &ProbeThreadsArgs) -> anyhow::Result<Exit> {
    let _ = pushmark_net::limits::raise_open_files();
    let registry = Registry::load(args.servers.as_deref()).map_err(usage)?;
    let server = choose(&registry, args.server.as_deref())?;
    let say = |text: &str| {
        if !args.quiet {
            note(text);
        }
    };
    let first = load(args, &registry, &server, &args.heap[0], &args.stack[0])?;
    prepare(&registry, &server, &first, None, say)?;
    let cpus = Cpus::share_out(true, false)?;
    let signals = Signals::listen()?;
    let session = Session {
        registry: &registry,
        cpus: &cpus,
        signals: &signals,
        pages: super::pages::PAGES,
        machines: None,
    };
    let of = args.heap.len() * args.stack.len();
    let mut number = 0;
    let mut failed = None;
    let cells = probe(&args.heap, &args.stack, |heap, stack| {
        if signals.stopped().is_some() {
            return None;
        }
        number += 1;
        say(&format!("{number} of {of}: heap {heap}, stack {stack}"));
        let cell = hold(args, &session, &server, heap, stack);
        cell.map_err(|error| failed = Some(error)).ok()
    });
    match failed {
        Some(error) if cells.is_empty() => return Err(error),
        Some(error) => say(&format!("ended early: {error:#}")),
        None => {}
    }
    print(&table(&server.name, &cells)).context("the table could not be printed")?;
    Ok(signals.stopped().unwrap_or(if cells.len() < of { Exit::Incomplete } else { Exit::Pass }))
}

/// Returns the server to probe, which must have the flags heap and stack.
fn choose(registry: &Registry, name: Option<&str>) -> anyhow::Result<Server> {
    let threads = |s: &&Server| s.architecture == Some(Architecture::ThreadPerRequest);
    let server = match name {
        Some(name) => registry.find(name).ok_or_else(|| {
            let names: Vec<&str> = registry.servers().iter().filter(threads).map(|s| &*s.name).collect();
            let text = format!("unknown server {name:?}; accepted: {}", names.join(", "));
            Ending::error(Exit::Usage, text)
        })?,
        None => registry
            .servers()
            .iter()
            .find(threads)
            .ok_or_else(|| Ending::error(Exit::Usage, "the registry has no thread-per-request server"))?,
    };
    for flag in ["heap", "stack"] {
        if !server.flags.contains_key(flag) {
            let text = format!("{} has no flag `{flag}`; probe-threads needs heap and stack", server.name);
            return Err(Ending::error(Exit::Usage, text));
        }
    }
    Ok(server.clone())
}

/// Returns the flood of one pair of sizes: requests are held, and nothing is published.
fn load(
    args: &ProbeThreadsArgs,
    registry: &Registry,
    server: &Server,
    heap: &str,
    stack: &str,
) -> anyhow::Result<scenario_file::Loaded> {
    let threads = match server.flags.contains_key("threads") {
        true => format!("threads = \"{}\"\n", args.limit + THREADS_BESIDE),
        false => String::new(),
    };
    // The initial heap is as small as possible, so that the row's minimum does not exceed the probed heap.
    let least = if server.flags.contains_key("heap_min") { "heap_min = \"16m\"\n" } else { "" };
    let text = format!(
        "name = \"probe-threads\"\ntransports = [\"stream\"]\n\n[target]\nserver = {:?}\n\n[target.flags]\n\
         heap = {heap:?}\nstack = {stack:?}\n{threads}{least}\n\
         [flood]\nrate = {:?}\ninterval = \"5s\"\nlimit = {}\n\n[publisher]\nmode = \"none\"\n",
        server.name, args.rate, args.limit
    );
    let asked = Asked::Text { text: &text, file: "the scenario of a probe", folder: Path::new("") };
    scenario_file::load(&asked, &[], registry).map_err(usage)
}

/// Probes one cell. A server that does not start with these sizes gives a row of the table, not an error.
fn hold(
    args: &ProbeThreadsArgs,
    session: &Session<'_>,
    server: &Server,
    heap: &str,
    stack: &str,
) -> anyhow::Result<Cell> {
    let loaded = load(args, session.registry, server, heap, stack)?;
    let asking = Asking { start: Start { number: 1, of: 1 }, server: None::<ServerRef>, case: None };
    let mut progress = Progress::new(args.quiet);
    let measured = session.measure(&loaded, asking, &mut progress);
    progress.finish();
    let cell = |held, threads, first| Cell { heap: heap.into(), stack: stack.into(), held, threads, first };
    match measured {
        Ok(assembled) => {
            let arm = &assembled.run.arms[0];
            let held = arm.flood.as_ref().map(|flood| flood.connected_max);
            let threads = arm.server.as_ref().map(|server| server.threads_max);
            Ok(cell(held, threads, First::of(arm)))
        }
        Err(error) if Ending::exit_of(&error) == Exit::Unreachable => {
            Ok(cell(None, None, First::NotStarted(own_word(&format!("{error:#}")))))
        }
        Err(error) => Err(error),
    }
}

/// Returns the first line of the server's output that the error quotes, else the last line of the error.
fn own_word(text: &str) -> String {
    let own = text.lines().find_map(|line| line.trim_start().strip_prefix('|'));
    own.or_else(|| text.lines().next_back()).unwrap_or(text).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_does_not_start_says_why_in_its_first_line() {
        let told =
            "it ended: exit 1\n  | The stack size specified is too small\n  | Error: Could not create it";
        assert_eq!(own_word(told), "The stack size specified is too small");
        assert_eq!(own_word("no such file"), "no such file");
    }
}
