//! One measurement: a fresh server on one core, a tool on the other, one window.

use std::io::Read as _;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use pushmark_model::poller::Poller;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;
use serde::Deserialize;
use serde_json::json;

use super::tool::{Tool, Work};
use super::tree::{self, Use};
use super::truth;
use crate::plan::{self, Ask};
use crate::receive::Receiver;
use crate::run::{self, Common};
use crate::server::{Server, spawn_on};

const SECOND_NS: u64 = 1_000_000_000;
/// The server publishes so long before the window.
const SETTLE_NS: u64 = 2 * SECOND_NS;
/// What was due in the window is handled within this, or not counted.
const TAIL_NS: u64 = 2 * SECOND_NS;
/// After its own end a tool that does not go is ended.
const PATIENCE: Duration = Duration::from_secs(30);

/// What is asked of every tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cell {
    pub(super) transport: Transport,
    pub(super) clients: u64,
    /// Deliveries a second.
    pub(super) rate: u64,
    pub(super) seconds: u64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    pub(super) cpu_ns: u64,
    /// By its own count; by the server's where it has none.
    pub(super) handled: u64,
    /// Written by the server in the window.
    pub(super) sent: u64,
    /// In its sockets at the window's end.
    pub(super) unread_bytes: u64,
    pub(super) rss_bytes: u64,
    /// Median and 99th percentile of received − due, by its own clock.
    pub(super) reported_ms: Option<(f64, f64)>,
    /// The same of the server's writes.
    pub(super) written_ms: Option<(f64, f64)>,
}

/// The line that a script ends with.
#[derive(Debug, Deserialize)]
struct Said {
    handled: u64,
    p50_ms: Option<f64>,
    p99_ms: Option<f64>,
}

impl Seen {
    /// Infinite where it handled nothing.
    pub(super) fn cpu_s_per_million(&self) -> f64 {
        self.cpu_ns as f64 / self.handled as f64 / 1e3
    }
}

impl Cell {
    fn interval_us(&self) -> u64 {
        1_000_000 * self.clients / self.rate
    }

    /// Our own receivers, as `bench engine` runs them.
    pub(super) fn of_ours(&self, receiver: Receiver, common: &Common) -> anyhow::Result<Seen> {
        let ask = Ask {
            transport: self.transport,
            connections: self.clients,
            connect_rate: 2_500.0,
            interval_us: self.interval_us(),
            count: None,
            settle_ns: SECOND_NS,
            warmup_ns: SETTLE_NS,
            measure_ns: self.seconds * SECOND_NS,
            stamp_sample: 0,
            batch_ns: 0,
            poller: Poller::Epoll,
        };
        let log = tempfile::NamedTempFile::new()?;
        let m = run::measure_with(common, receiver, &ask, &[], Some(log.path()))?;
        let truth = truth::read(log.path(), (m.window_ns.0 / 1_000, m.window_ns.1 / 1_000))?;
        let others_ns = m.looks[1].other_cpu_ns.saturating_sub(m.looks[0].other_cpu_ns);
        Ok(Seen {
            cpu_ns: m.looks[1].cpu_ns - m.looks[0].cpu_ns + others_ns,
            handled: m.messages,
            sent: m.accounts.as_ref().map_or(truth.written, |a| a.intended),
            unread_bytes: 0,
            rss_bytes: m.looks[1].rss_bytes,
            reported_ms: m.accounts.map(|a| (a.latency_p50_us as f64 / 1e3, a.latency_p99_us as f64 / 1e3)),
            written_ms: truth.delay_ms,
        })
    }

    /// A tool.
    pub(super) fn of_tool(&self, tool: &Tool, common: &Common) -> anyhow::Result<Seen> {
        let log = tempfile::NamedTempFile::new()?;
        let server = Server::start_with(&common.pushmark()?, common.server_cpu(), Some(log.path()))?;
        let lead_ns = (tool.starts_in_s + self.clients / tool.connects_per_s + 1) * SECOND_NS + SETTLE_NS;
        let began_ns = Clock::now();
        let from_ns = (began_ns + lead_ns) / 1_000_000 * 1_000_000;
        let until_ns = from_ns + self.seconds * SECOND_NS;
        let arm_start_ns = from_ns - SETTLE_NS;
        server.emit(&json!({
            "interval_us": self.interval_us(),
            "size": 128,
            "channels": ["c0"],
            "nonce": 0xB37C4,
            "start_us": arm_start_ns / 1_000,
            "count": (SETTLE_NS / 1_000 + (self.seconds * 1_000_000)) / self.interval_us() + 1,
        }))?;
        let work = Work {
            transport: self.transport,
            url: self.url(&server),
            clients: self.clients,
            hold_ms: (until_ns + TAIL_NS - began_ns) / 1_000_000,
        };
        let mut command = tool.command(&work);
        command
            .env("FROM_US", (from_ns / 1_000).to_string())
            .env("UNTIL_US", (until_ns / 1_000).to_string())
            .env("OFFSET_US", (Clock::realtime_minus_monotonic_ns() / 1_000).to_string())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let child =
            spawn_on(command, common.receiver_cpu()).with_context(|| format!("starting {}", tool.name))?;
        let mut running = Running(child);
        let look = |at_ns: u64, running: &Running| {
            std::thread::sleep(Duration::from_nanos(at_ns.saturating_sub(Clock::now())));
            tree::of(running.0.id())
        };
        let before = look(from_ns, &running);
        let there = server.stats()?["connections"].as_u64().unwrap_or(0);
        ensure!(there >= self.clients, "{}: {there} of {} clients in time", tool.name, self.clients);
        let after = look(until_ns, &running);
        let unread_bytes = tree::unread_bytes(server.address.port());
        let said = running.finish(Duration::from_nanos(TAIL_NS) + PATIENCE)?;
        server.finish()?;
        let truth = truth::read(log.path(), (from_ns / 1_000, until_ns / 1_000))?;
        Ok(seen((before, after), unread_bytes, said, truth))
    }

    fn url(&self, server: &Server) -> String {
        let scheme = if self.transport == Transport::WebSocket { "ws" } else { "http" };
        // A tool that keeps no cursor hears what comes while it asks.
        let path = match self.transport {
            Transport::LongPoll => "/long-poll?channel=c0",
            other => plan::path(other),
        };
        format!("{scheme}://{}{path}", server.address)
    }
}

fn seen((before, after): (Use, Use), unread_bytes: u64, said: Option<Said>, truth: truth::Truth) -> Seen {
    Seen {
        cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
        handled: said.as_ref().map_or(truth.written, |said| said.handled),
        sent: truth.written,
        unread_bytes,
        rss_bytes: after.rss_bytes,
        reported_ms: said.and_then(|said| said.p50_ms.zip(said.p99_ms)),
        written_ms: truth.delay_ms,
    }
}

/// A tool that goes on; ended when dropped.
struct Running(Child);

impl Running {
    /// Waits for its end; its last line, where it is one of ours.
    fn finish(&mut self, within: Duration) -> anyhow::Result<Option<Said>> {
        let began = Instant::now();
        while self.0.try_wait()?.is_none() && began.elapsed() < within {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.0.kill();
        let mut text = String::new();
        if let Some(mut out) = self.0.stdout.take() {
            out.read_to_string(&mut text)?;
        }
        Ok(text.lines().rev().find_map(|line| serde_json::from_str(line).ok()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
