//! One measurement: a fresh server on one core, a fresh receiver on another, one window.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail, ensure};
use clap::{Args, ValueEnum};
use pushmark_model::plan::ShardPlan;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;

use crate::driver::Accounts;
use crate::plan::{self, Ask};
use crate::receive::{Order, Outcome, Receiver};
use crate::server::{Server, spawn_on};
use crate::terminator::Terminator;
use crate::watch::Look;

/// Flags of every question.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// The built binary whose `serve` is the server; absent: the one beside this
    #[arg(long, global = true, value_name = "FILE")]
    pushmark: Option<PathBuf>,
    /// CPU of the server
    #[arg(long, global = true, default_value_t = 0)]
    server_cpu: usize,
    /// CPU of the receiver
    #[arg(long, global = true, default_value_t = 1)]
    receiver_cpu: usize,
    /// Command to run receivers under, to profile them: `perf record -o driver.data`
    #[arg(long, global = true, value_name = "COMMAND")]
    under: Option<String>,
    /// How to print
    #[arg(long, global = true, default_value = "text")]
    pub(crate) format: Format,
}

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    Text,
    Json,
}

/// What one measurement gave.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    /// At the instants asked for, window's start and end first.
    pub(crate) looks: Vec<Look>,
    /// The window as it was planned.
    pub(crate) window_ns: (u64, u64),
    /// Messages received in the window.
    pub(crate) messages: u64,
    /// Due by the window's end and not yet received then.
    pub(crate) backlog: i64,
    pub(crate) accounts: Option<Accounts>,
}

impl Measured {
    /// CPU-seconds of the receiving thread for a million messages: the number of ns ÷ 1,000.
    pub(crate) fn cpu_s_per_million(&self) -> f64 {
        (self.looks[1].cpu_ns - self.looks[0].cpu_ns) as f64 / self.messages as f64 / 1e3
    }

    /// The same with the threads that take its records.
    pub(crate) fn process_cpu_s_per_million(&self) -> f64 {
        let others_ns = self.looks[1].other_cpu_ns.saturating_sub(self.looks[0].other_cpu_ns);
        self.cpu_s_per_million() + others_ns as f64 / self.messages as f64 / 1e3
    }

    fn length_ns(&self) -> f64 {
        (self.looks[1].at_ns - self.looks[0].at_ns) as f64
    }

    /// Share of the window in which it had the core.
    pub(crate) fn busy(&self) -> f64 {
        (self.looks[1].cpu_ns - self.looks[0].cpu_ns) as f64 / self.length_ns()
    }

    /// Share of the window in which it waited for the core.
    pub(crate) fn waited(&self) -> f64 {
        (self.looks[1].wait_ns - self.looks[0].wait_ns) as f64 / self.length_ns()
    }

    /// CPUs' share the hypervisor kept, of one CPU.
    pub(crate) fn steal(&self) -> f64 {
        (self.looks[1].steal_ticks - self.looks[0].steal_ticks) as f64 * 1e7 / self.length_ns()
    }

    /// Messages a second.
    pub(crate) fn rate(&self) -> f64 {
        self.messages as f64 / self.length_ns() * 1e9
    }
}

/// Runs one arm on a fresh server. `looks_ns` are further instants, from the arm's start.
pub(crate) fn measure(
    common: &Common,
    receiver: Receiver,
    ask: &Ask,
    looks_ns: &[u64],
) -> anyhow::Result<Measured> {
    measure_with(common, receiver, ask, looks_ns, None)
}

/// The same; the server's log of it goes to `truth`.
pub(crate) fn measure_with(
    common: &Common,
    receiver: Receiver,
    ask: &Ask,
    looks_ns: &[u64],
    truth: Option<&Path>,
) -> anyhow::Result<Measured> {
    let arm = plan::arm(ask);
    let server = Server::start(&common.pushmark()?, common.server_cpu, truth, ask.server_gathers_us())?;
    let terminator = ask.tls.then(|| Terminator::start(server.address, common.server_cpu)).transpose()?;
    let subscribe_to = terminator.as_ref().map_or(server.address, |terminator| terminator.address);
    let mut command = common.receiver()?;
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = spawn_on(command, common.receiver_cpu).context("starting the receiver")?;

    let start_ns = (Clock::now() + 100_000_000) / 1_000_000 * 1_000_000;
    server.emit(&plan::emitter(&arm, ask, start_ns))?;
    let phases = arm.phases;
    let window = [phases.measure_start_ns(), phases.measure_end_ns()];
    let order = Order {
        receiver,
        path: plan::path(ask.transport).to_owned(),
        looks: window.iter().chain(looks_ns).map(|at_ns| start_ns + at_ns).collect(),
        plan: ShardPlan {
            arm: arm.clone(),
            shard: 0,
            shards: 1,
            start_ns,
            subscribe_to,
            half: None,
            publish_to: None,
            before_to: Vec::new(),
            port: server.address.port(),
            clock_ahead_us: 0,
            machine_shards: Vec::new(),
        },
    };
    child.stdin.take().expect("piped").write_all(serde_json::to_string(&order)?.as_bytes())?;
    let mut text = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut text)?;
    ensure!(child.wait()?.success(), "the receiver failed");
    let outcome: Outcome = serde_json::from_str(&text).with_context(|| format!("receiver said {text:?}"))?;

    let due = plan::due_in(&arm, phases.measure_end_ns());
    let due_before = plan::due_in(&arm, phases.measure_start_ns());
    let looks = outcome.looks;
    let (messages, received) = match &outcome.accounts {
        Some(accounts) => (accounts.measure_messages, accounts.received_by_end),
        None => (looks[1].messages - looks[0].messages, looks[1].messages),
    };
    let missing = outcome.accounts.as_ref().is_some_and(|a| a.missing > 0);
    let nothing = messages == 0 && due > due_before;
    if missing || nothing {
        let stats = server.stats().map_or_else(|error| error.to_string(), |stats| stats.to_string());
        eprintln!("not all was received; the server says {stats}");
    }
    ensure!(!nothing, "nothing was received: {:?}", outcome.accounts);
    if truth.is_some() {
        server.finish()?;
    }
    Ok(Measured {
        window_ns: (start_ns + phases.measure_start_ns(), start_ns + phases.measure_end_ns()),
        looks,
        messages,
        backlog: (due * ask.connections) as i64 - received as i64,
        accounts: outcome.accounts,
    })
}

impl Common {
    /// This binary again, as a receiver.
    fn receiver(&self) -> anyhow::Result<Command> {
        let own = std::env::current_exe()?;
        let mut words = self.under.as_deref().unwrap_or_default().split_ascii_whitespace();
        let mut command = match words.next() {
            Some(first) => {
                let mut command = Command::new(first);
                command.args(words).arg(own);
                command
            }
            None => Command::new(own),
        };
        // Blocks of histograms come from the system and go back to it: whether the heap keeps
        // some megabytes of them would otherwise drown what a connection takes.
        command.arg("receive").env("MALLOC_MMAP_THRESHOLD_", "65536");
        Ok(command)
    }

    /// With another server than the one that is built beside this, on the first CPU and the last.
    #[cfg(test)]
    pub(crate) fn with(pushmark: PathBuf) -> Common {
        let last = std::thread::available_parallelism().map_or(0, |n| n.get() - 1);
        Common {
            pushmark: Some(pushmark),
            server_cpu: 0,
            receiver_cpu: last,
            under: None,
            format: Format::Text,
        }
    }

    pub(crate) fn server_cpu(&self) -> usize {
        self.server_cpu
    }

    pub(crate) fn receiver_cpu(&self) -> usize {
        self.receiver_cpu
    }

    pub(crate) fn pushmark(&self) -> anyhow::Result<PathBuf> {
        let path = match &self.pushmark {
            Some(path) => path.clone(),
            None => std::env::current_exe()?.with_file_name("pushmark"),
        };
        ensure!(
            path.exists(),
            "there is no {}: `cargo build --release -p pushmark` makes it",
            path.display()
        );
        Ok(path)
    }
}

/// The transports of a question: all of them, or the one named.
pub(crate) fn chosen(all: &[Transport], only: Option<&str>) -> anyhow::Result<Vec<Transport>> {
    let Some(name) = only else { return Ok(all.to_vec()) };
    match Transport::parse(name).filter(|t| all.contains(t)) {
        Some(transport) => Ok(vec![transport]),
        None => bail!("{name} is not one of {}", all.iter().map(|t| t.name()).collect::<Vec<_>>().join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(messages: u64, cpu_ns: u64, others_ns: u64) -> Measured {
        let from = Look { at_ns: 1_000, cpu_ns: 7, ..Look::default() };
        let to = Look {
            at_ns: 1_000 + 10_000_000_000,
            cpu_ns: 7 + cpu_ns,
            other_cpu_ns: others_ns,
            wait_ns: 500_000_000,
            steal_ticks: 20,
            ..Look::default()
        };
        Measured { window_ns: (0, 0), looks: vec![from, to], messages, backlog: 0, accounts: None }
    }

    #[test]
    fn ns_a_message_are_cpu_seconds_a_million() {
        // 2.5 s for 500,000 messages: 5 µs each.
        let m = measured(500_000, 2_500_000_000, 50_000_000);
        assert_eq!((m.cpu_s_per_million(), m.process_cpu_s_per_million()), (5.0, 5.1));
        assert_eq!((m.busy(), m.waited(), m.steal(), m.rate()), (0.25, 0.05, 0.02, 50_000.0));
    }

    #[test]
    fn one_transport_can_be_chosen() {
        let all = [Transport::Sse, Transport::WebSocket];
        assert_eq!(chosen(&all, None).unwrap(), all);
        assert_eq!(chosen(&all, Some("ws")).unwrap(), [Transport::WebSocket]);
        assert!(chosen(&all, Some("poll")).unwrap_err().to_string().contains("sse, websocket"));
    }
}
