//! Servers that die repeatedly with a whole crowd connected: every client stays in the accounts, every
//! client comes back, and nothing is left behind.

use crate::tool;
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::tool::{Running, Tool, arms, number, until};
use rustix::process::Signal;
use serde_json::Value;

/// The number of connected clients, and how often their server dies.
struct Size {
    crowd: u64,
    storms: u64,
}

/// For every change.
const SHORT: Size = Size { crowd: 4_000, storms: 4 };
/// For `cargo xtask test --all`: a little less than one table of open files holds. Memory needs this many
/// storms to become stable.
const LONG: Size = Size { crowd: 15_000, storms: 10 };

/// The time over which a crowd comes back: long enough that each storm covers two seconds of the curve.
const BACK: &str = "2s";
/// Open files of a shard beyond its crowd: its poller, and publishing connections.
const BESIDE: usize = 32;
/// Storms before memory is compared. Records of a second circulate between threads, and each allocates its
/// distributions (4 MiB in all) at its first value.
const FIRST: usize = 3;
/// Storms whose memory is compared with the same number at the end, because the need of a single second
/// varies.
const COMPARED: usize = 3;
/// How much memory may grow over the four storms between: 35 bytes a client and storm.
const MEMORY_KIB: u64 = 2 << 10;

/// Locks the machine: the whole crowd takes it, and two tests that look for a free port together find the
/// same one.
fn alone() -> MutexGuard<'static, ()> {
    static MACHINE: Mutex<()> = Mutex::new(());
    MACHINE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn storms_lose_nobody_from_the_accounts_and_leave_nothing_behind() {
    let _alone = alone();
    let long = std::env::var_os("PUSHMARK_TEST_LONG").is_some();
    let Size { crowd, storms } = if long { LONG } else { SHORT };
    let tool = Tool::new();
    let port = free_port();
    let load = format!(
        "connections = {crowd}\nramp = {{ rate = 5000 }}\nsettle = \"2s\"\nwarmup = \"0s\"\nduration = \"10m\"\n"
    );
    tool.write("storms.toml", &scenario(port, 2, BACK, &load));
    let mut server = Some(serve(&tool, port));
    let running = tool.start(&["run", "storms.toml", "-o", "storms"]);
    until("the crowd is there", || connected(port) == crowd);
    let mut kept = Vec::new();
    for _ in 0..storms {
        let dies = server.take().expect("it was started again");
        dies.signal(Signal::KILL);
        dies.end();
        server = Some(serve(&tool, port));
        until("the crowd is back", || connected(port) == crowd);
        kept.push((descriptors(running.id()), resident_kib(running.id())));
    }
    running.signal(Signal::INT);
    let ended = running.end().never_panicked();
    let run = tool.run_json("storms");
    let arm = &arms(&run)[0];
    let connections = &arm["connections"];
    let counted = ["/lost", "/reconnected"].map(|key| number(connections, key) as u64);
    assert_eq!(counted, [crowd * storms; 2], "{connections:#}\n{ended:#?}");
    let by_kind: u64 =
        connections["lost_by"].as_object().expect("kinds").values().filter_map(Value::as_u64).sum();
    assert_eq!(by_kind, crowd * storms, "each loss has its kind: {connections:#}");

    assert!(
        kept.iter().all(|(files, _)| *files <= crowd as usize + BESIDE),
        "open files, KiB after each storm: {kept:?}"
    );
    if long {
        memory_stands(&kept);
    }

    // The curve of connected clients falls to nothing and comes back as often as the server died. Its
    // drawing has a separate test (`report.rs`), because a run on a slow machine may be invalid and is
    // then not drawn.
    let curve = connected_by_second(&tool);
    assert_eq!(curve.iter().max(), Some(&crowd), "{curve:?}");
    let falls = curve.windows(2).filter(|pair| pair[1] * 2 < pair[0]).count() as u64;
    assert!(falls >= storms / 2, "the seconds show the storms: {curve:?}");
}

/// Checks open files and KiB after each storm: the last storms need no more memory than those after the
/// first few.
fn memory_stands(kept: &[(usize, u64)]) {
    let memory = |storms: &[(usize, u64)]| storms.iter().map(|(_, memory)| *memory).collect::<BTreeSet<_>>();
    let (first, last) = (memory(&kept[FIRST..FIRST + COMPARED]), memory(&kept[kept.len() - COMPARED..]));
    assert!(
        last.first() <= first.last().map(|most| most + MEMORY_KIB).as_ref(),
        "open files, KiB after each storm: {kept:?}"
    );
}

/// Clients of a target that is away for a while, and publications a second.
const FEW: (u64, u64) = (40, 50);

/// Runs against a target that is killed in mid-run, for a second or for good.
fn outage(duration: &str, back: bool) -> Value {
    let tool = Tool::new();
    let port = free_port();
    let load =
        format!("connections = {}\nsettle = \"1s\"\nwarmup = \"0s\"\nduration = \"{duration}\"\n", FEW.0);
    tool.write("outage.toml", &scenario(port, FEW.1, "1s", &load));
    let server = serve(&tool, port);
    let running = tool.start(&["run", "outage.toml", "-o", "outage"]);
    until("the crowd is there", || connected(port) == FEW.0);
    tool::pass(Duration::from_secs(2));
    server.signal(Signal::KILL);
    server.end();
    let server = back.then(|| {
        tool::pass(Duration::from_secs(1));
        serve(&tool, port)
    });
    running.end().never_panicked();
    drop(server);
    tool.run_json("outage")
}

#[test]
fn a_target_that_was_away_is_an_outcome_and_no_doubt_about_the_run() {
    let _alone = alone();
    for (back, outcome) in [(true, "degraded"), (false, "died")] {
        let run = outage("6s", back);
        let arm = &arms(&run)[0];
        let (published, delivery) = (&arm["published"], &arm["delivery"]);
        let [due, sent, away] = ["/due", "/sent", "/unreachable"].map(|key| number(published, key) as u64);
        assert_eq!(sent + away, due, "each has its fate: {published:#}");
        // One second of publications; half of them, because the machine may be late.
        assert!(away >= FEW.1 / 2, "{published:#}");
        // Deliveries are unserved if the connection was lost too; otherwise unpublished.
        let unheard = number(delivery, "/unserved") + number(delivery, "/unpublished");
        assert!(unheard >= (away * FEW.0) as f64, "{delivery:#}");
        let reasons = run["verdict"]["reasons"].as_array().expect("reasons");
        let short = reasons.iter().any(|reason| reason["code"] == "achieved_rate");
        assert!(!short, "what finds no target is not ours: {reasons:#?}");
        assert_eq!(arm["outcome"], outcome, "{arm:#}");
    }
}

/// Clients over SSE that come back.
fn scenario(port: u16, rate: u64, backoff: &str, load: &str) -> String {
    let url = |what: &str| format!("http://127.0.0.1:{port}{what}?channel={{channel}}");
    format!(
        "transports = [\"sse\"]\nthreads = 1\n[target.subscribe]\nsse = \"{}\"\n[target.publish]\nurl = \"{}\"\n\
         [publisher]\nrate = \"{rate}/s\"\n[load]\n{load}drain = \"2s\"\n\
         reconnect = {{ backoff = \"full-jitter\", base = \"{backoff}\", max = \"{backoff}\" }}\n",
        url("/sse"),
        url("/publish"),
    )
}

/// Returns a port below the range of outgoing connections, so that no connection takes it meanwhile.
fn free_port() -> u16 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").expect("the range");
    let first: u16 = range.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a number");
    let free = (first / 2..first).find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok());
    free.expect("a free port")
}

fn serve(tool: &Tool, port: u16) -> Running {
    let running = tool.start(&["serve", "--port", &port.to_string()]);
    until("the server listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    running
}

/// Returns the number of SSE clients; 0 if the server does not answer.
fn connected(port: u16) -> u64 {
    let asked = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(Duration::from_secs(5)))?;
        stream.write_all(b"GET /stats HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map(|_| answer)
    };
    let answer = asked().unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let stats: Value = serde_json::from_str(body).unwrap_or_default();
    stats["transports"]["sse"].as_u64().unwrap_or(0)
}

/// Counts the open files of a process, in the largest of its tables; threads may share a table.
fn descriptors(pid: i32) -> usize {
    let tables: BTreeSet<usize> = fs::read_dir(format!("/proc/{pid}/task"))
        .expect("its threads")
        .filter_map(|task| fs::read_dir(task.ok()?.path().join("fd")).ok())
        .map(Iterator::count)
        .collect();
    tables.into_iter().max().expect("a table")
}

fn resident_kib(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|n| n.parse().ok()).expect("KiB")
}

/// Reads the column of connected clients from `windows.csv`.
fn connected_by_second(tool: &Tool) -> Vec<u64> {
    let text = fs::read_to_string(tool.path("storms/windows.csv")).expect("the seconds");
    let mut lines = text.lines();
    let at = lines.next().expect("a head").split(',').position(|name| name == "connected").expect("a column");
    lines.filter_map(|line| line.split(',').nth(at)?.parse().ok()).collect()
}
