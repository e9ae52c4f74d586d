//! The tools: how each is started, and what it lacks. Their scripts are in `bench/peers/`.

use std::path::PathBuf;
use std::process::Command;

use pushmark_model::transport::Transport;

/// A load tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// Clients it is given to connect in a second, slower than the slowest that was seen.
    pub(super) connects_per_s: u64,
    /// Until its first client.
    pub(super) starts_in_s: u64,
    command: fn(Work) -> Command,
    /// What it cannot be asked, and why.
    lacks: &'static [(Transport, &'static str)],
}

/// What a script is told, in its environment.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) transport: Transport,
    /// Of one client.
    pub(super) url: String,
    pub(super) clients: u64,
    /// It ends by itself after so long.
    pub(super) hold_ms: u64,
}

impl Tool {
    pub(super) fn lacks(&self, transport: Transport) -> Option<&'static str> {
        self.lacks.iter().find(|lack| lack.0 == transport).map(|lack| lack.1)
    }

    pub(super) fn command(&self, work: &Work) -> Command {
        let mut command = (self.command)(work.clone());
        command.env("URL", &work.url).env("N", work.clients.to_string());
        command.env("HOLD_MS", work.hold_ms.to_string());
        command
    }
}

pub(super) const TOOLS: [Tool; 3] = [
    Tool {
        name: "k6",
        connects_per_s: 1_500,
        starts_in_s: 4,
        command: |work| {
            let script = if work.transport == Transport::WebSocket { "websocket.js" } else { "long-poll.js" };
            let mut command = Command::new(installed("bin/k6"));
            command.args(["run", "--quiet", "--no-usage-report"]).arg(scripts("k6").join(script));
            command
        },
        lacks: &[(Transport::Sse, "its SSE extension is not served by the registries")],
    },
    Tool {
        name: "locust",
        connects_per_s: 500,
        starts_in_s: 5,
        command: |work| {
            let mut command = Command::new(installed("locust/bin/locust"));
            command.arg("-f").arg(scripts("locust").join("push.py"));
            command.args(["--headless", "--only-summary", "--stop-timeout", "1", "-r", "1000"]);
            command.args(["-u", &work.clients.to_string()]);
            command
        },
        lacks: &[(Transport::LongPoll, "its users would be a loop of requests, as k6's are")],
    },
    Tool {
        name: "wrk",
        connects_per_s: 5_000,
        starts_in_s: 1,
        command: |work| {
            let mut command = Command::new("wrk");
            let clients = work.clients.to_string();
            let length = format!("{}s", work.hold_ms.div_ceil(1_000));
            command.args(["-t", "1", "-c", &clients, "-d", &length, "--timeout", "60s", &work.url]);
            command
        },
        lacks: &[
            (Transport::WebSocket, "it speaks requests and answers alone"),
            (Transport::Sse, "an answer that does not end is none to it"),
        ],
    },
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn installed(file: &str) -> PathBuf {
    root().join("target/peers").join(file)
}

fn scripts(tool: &str) -> PathBuf {
    root().join("bench/peers").join(tool)
}
