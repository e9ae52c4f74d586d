//! One measurement: a fresh server on one core, a tool on the other, one window.

use std::time::Duration;

use anyhow::ensure;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;
use serde_json::json;

use super::cell::{Cell, OURS_PER_S, Seen};
use super::contestant::Ours;
use super::running::{Running, Said};
use super::tool::{Tool, Work};
use super::tree::{self, Use};
use super::truth::{self, Truth};
use crate::plan::{self, Ask};
use crate::run::{self, Common};
use crate::server::Server;

const SECOND_NS: u64 = 1_000_000_000;
/// How long before the window the server begins to publish to pushmark.
const SETTLE_NS: u64 = 2 * SECOND_NS;
/// A message handled later than this after the window's end is not counted as the window's work.
const LATE_NS: u64 = SECOND_NS / 2;
/// What was due in the window is handled within this, or not counted.
const TAIL_NS: u64 = 2 * SECOND_NS;
/// Data still in sockets this long after the last message counts as unread.
const UNREAD_AFTER_NS: u64 = SECOND_NS / 10;
/// After its own end a tool that does not go is ended.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two polls of a crowd that connects.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Payload with its stamp.
const SIZE: u64 = 128;

impl Cell {
    /// Our own receivers, as `bench engine` runs them.
    pub(super) fn of_ours(&self, ours: &Ours, common: &Common) -> anyhow::Result<Seen> {
        let ask = Ask {
            connect_rate: OURS_PER_S,
            settle_ns: SECOND_NS,
            warmup_ns: SETTLE_NS,
            measure_ns: self.seconds * SECOND_NS,
            batch_ns: ours.batch_ns,
            poller: ours.poller,
            ..Ask::of(self.transport, self.clients, self.interval_us)
        };
        let log = tempfile::NamedTempFile::new()?;
        let m = run::measure_with(common, ours.receiver, &ask, &[], Some(log.path()))?;
        let truth = truth::read(log.path(), (m.window_ns.0 / 1_000, m.window_ns.1 / 1_000))?;
        let others_ns = m.looks[1].other_cpu_ns.saturating_sub(m.looks[0].other_cpu_ns);
        let accounts = m.accounts.as_ref();
        // All stood when the ramp had ended and the slowest had made it, or before.
        let stood_s =
            |a: &crate::driver::Accounts| self.clients as f64 / OURS_PER_S + a.connect_max_us as f64 / 1e6;
        Ok(Seen {
            cpu_ns: m.looks[1].cpu_ns - m.looks[0].cpu_ns + others_ns,
            offered: truth.publications * self.clients,
            sent: truth.written,
            handled: accounts.map_or(m.messages, |a| a.delivered + a.late),
            in_time: m.messages,
            counts: true,
            unread: m.backlog.max(0) as u64,
            busy_after: None,
            rss_bytes: m.looks[1].rss_bytes,
            held: accounts.map_or(self.clients, |a| a.connected),
            connects_per_s: accounts.map(|a| self.clients as f64 / stood_s(a)),
            connect_cpu_ns: None,
            reported_ms: accounts.map(|a| (a.latency_p50_us as f64 / 1e3, a.latency_p99_us as f64 / 1e3)),
            written_ms: truth.delay_ms,
        })
    }

    /// A tool. `patience` multiplies its time to connect.
    pub(super) fn of_tool(&self, tool: &Tool, common: &Common, patience: u64) -> anyhow::Result<Seen> {
        let log = tempfile::NamedTempFile::new()?;
        let server = Server::start(&common.pushmark()?, common.server_cpu(), Some(log.path()), 0)?;
        // A crowd that is held idle has nothing to settle.
        let settle_s = if self.is_idle() { 0 } else { tool.settles_s };
        let settle_ns = settle_s * SECOND_NS;
        let connects_s = tool.starts_in_s + self.clients.div_ceil(tool.connects_per_s);
        let lead_ns = (patience * connects_s + settle_s) * SECOND_NS;
        let began_ns = Clock::now();
        let from_ns = (began_ns + lead_ns) / 1_000_000 * 1_000_000;
        let until_ns = from_ns + self.seconds * SECOND_NS;
        let publishes_us = settle_ns / 1_000 + self.seconds * 1_000_000;
        server.emit(&json!({
            "interval_us": self.interval_us,
            "size": SIZE,
            "channels": ["c0"],
            "nonce": 0xB37C4,
            "start_us": (from_ns - settle_ns) / 1_000,
            "count": publishes_us.div_ceil(self.interval_us),
        }))?;
        let work = Work {
            transport: self.transport,
            url: self.url(&server),
            clients: self.clients,
            hold_ms: (until_ns + TAIL_NS - began_ns) / 1_000_000,
            window_us: (from_ns / 1_000, until_ns / 1_000),
            late_us: (until_ns + LATE_NS) / 1_000,
        };
        let mut running = Running::start(tool.command(&work), common.receiver_cpu(), tool.name)?;
        let crowd = Crowd::wait(self.clients, from_ns, &server, &running)?;
        let look = |at_ns: u64| {
            std::thread::sleep(Duration::from_nanos(at_ns.saturating_sub(Clock::now())));
            tree::of(running.id())
        };
        let (before, after) = (look(from_ns), look(until_ns));
        std::thread::sleep(Duration::from_nanos((until_ns + UNREAD_AFTER_NS).saturating_sub(Clock::now())));
        let unread_bytes = tree::unread_bytes(server.address.port());
        let held = clients_of(&server)?;
        let later = look(until_ns + SECOND_NS);
        let said = if tool.counts {
            Some(running.said(Duration::from_nanos(TAIL_NS) + PATIENCE)?)
        } else {
            running.end();
            None
        };
        server.finish()?;
        let truth = truth::read(log.path(), (from_ns / 1_000, until_ns / 1_000))?;
        let seen = Seen {
            held,
            connects_per_s: crowd.per_s,
            connect_cpu_ns: Some(crowd.cpu_ns),
            busy_after: Some(later.cpu_ns.saturating_sub(after.cpu_ns) as f64 / SECOND_NS as f64),
            ..self.seen((before, after), unread_bytes, said, truth)
        };
        ensure!(held >= self.clients, "{}: {held} of {} clients at the end", tool.name, self.clients);
        Ok(seen)
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

    fn seen(&self, (before, after): (Use, Use), unread_bytes: u64, said: Option<Said>, truth: Truth) -> Seen {
        // Without its framing: no fewer messages than these bytes hold.
        let unread = unread_bytes.div_ceil(SIZE);
        let written = truth.written.saturating_sub(unread);
        Seen {
            cpu_ns: after.cpu_ns.saturating_sub(before.cpu_ns),
            offered: truth.publications * self.clients,
            sent: truth.written,
            handled: said.as_ref().map_or(written, |said| said.handled),
            in_time: said.as_ref().map_or(written, |said| said.handled.saturating_sub(said.late)),
            counts: said.is_some(),
            unread,
            rss_bytes: after.rss_bytes,
            reported_ms: said.and_then(|said| said.p50_ms.zip(said.p99_ms)),
            written_ms: truth.delay_ms,
            ..Seen::default()
        }
    }
}

/// How a tool's crowd came.
struct Crowd {
    /// Connections a second from the first seen to the last; absent if all connected between two polls.
    per_s: Option<f64>,
    /// What the tool had used by then.
    cpu_ns: u64,
}

impl Crowd {
    /// Waits until every client is there.
    ///
    /// # Errors
    /// Some are not there when the window begins, or the tool has gone.
    fn wait(clients: u64, from_ns: u64, server: &Server, running: &Running) -> anyhow::Result<Crowd> {
        let mut first = None;
        loop {
            let (at_ns, there) = (Clock::now(), clients_of(server)?);
            if there > 0 && first.is_none() {
                first = Some((at_ns, there));
            }
            if let Some((first_ns, already)) = first
                && there >= clients
            {
                let s = (at_ns - first_ns) as f64 / 1e9;
                let per_s = (there > already).then(|| (there - already) as f64 / s);
                return Ok(Crowd { per_s, cpu_ns: tree::of(running.id()).cpu_ns });
            }
            ensure!(
                at_ns < from_ns,
                "{}: {there} of {clients} clients in time{}",
                running.name(),
                running.complaint()
            );
            std::thread::sleep(LOOK_EVERY);
        }
    }
}

/// Connections of a server but the one that asks.
fn clients_of(server: &Server) -> anyhow::Result<u64> {
    Ok(server.stats()?["connections"].as_u64().unwrap_or(0).saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CELL: Cell =
        Cell { transport: Transport::WebSocket, clients: 1_000, interval_us: 100_000, seconds: 5 };

    fn seen(said: Option<Said>, unread_bytes: u64) -> Seen {
        let after = Use { cpu_ns: 900_000_000, rss_bytes: 1 };
        let before = Use { cpu_ns: 400_000_000, rss_bytes: 1 };
        let truth = Truth { publications: 50, written: 50_000, delay_ms: None };
        CELL.seen((before, after), unread_bytes, said, truth)
    }

    #[test]
    fn a_tool_that_lags_does_not_look_cheap() {
        let said = |late| Some(Said { handled: 50_000, late, p50_ms: None, p99_ms: None });
        let (prompt, lagging) = (seen(said(0), 0), seen(said(25_000), 0));
        assert_eq!((prompt.cpu_s_per_million(), lagging.cpu_s_per_million()), (10.0, 20.0));
        assert!(prompt.kept_up() && !lagging.kept_up());
        assert_eq!((lagging.handled, lagging.in_time), (50_000, 25_000));
    }

    #[test]
    fn a_tool_that_cannot_count_is_believed_for_what_is_not_unread() {
        let seen = seen(None, 1_280_000);
        assert_eq!((seen.handled, seen.in_time, seen.unread, seen.counts), (40_000, 40_000, 10_000, false));
        assert!(!seen.kept_up());
    }

    #[test]
    fn what_was_published_as_its_sockets_were_looked_at_is_no_backlog() {
        let kept_up = |unread| Seen { unread, held: 1_000, ..seen(None, 0) }.kept_up();
        assert!(kept_up(1_000) && !kept_up(1_001));
    }

    #[test]
    fn a_tool_that_still_works_on_what_is_over_has_not_kept_up() {
        let kept_up = |share| Seen { busy_after: Some(share), ..seen(None, 0) }.kept_up();
        assert!(kept_up(0.2) && !kept_up(0.9));
    }
}
