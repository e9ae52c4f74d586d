//! The tools: how each is started, and what it lacks. Their scripts are in `bench/peers/`.

use std::path::PathBuf;
use std::process::Command;

use pushmark_model::transport::Transport;
use pushmark_net::Clock;

/// A load tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// As `bench/peers` pins it, or as Debian 12 has it.
    pub(super) version: &'static str,
    /// Clients it is asked to connect in a second: more than it was seen to reach.
    pub(super) asks_per_s: u64,
    /// Clients it is given to connect in a second, slower than the slowest that was seen.
    pub(super) connects_per_s: u64,
    /// Until its first client.
    pub(super) starts_in_s: u64,
    /// How long it receives before the window: a virtual machine compiles busy code.
    pub(super) settles_s: u64,
    /// Whether its script can count what it receives.
    pub(super) counts: bool,
    pub(super) command: fn(&Work) -> Command,
    /// What it cannot be asked, and why.
    pub(super) lacks: &'static [(Transport, &'static str)],
}

/// The environment variables of a script.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) transport: Transport,
    /// Of one client.
    pub(super) url: String,
    pub(super) clients: u64,
    /// It ends by itself after this time.
    pub(super) hold_ms: u64,
    /// Due from one instant until another, monotonic µs: what counts.
    pub(super) window_us: (u64, u64),
    /// What is handled after this is late.
    pub(super) late_us: u64,
}

impl Tool {
    pub(super) fn lacks(&self, transport: Transport) -> Option<&'static str> {
        self.lacks.iter().find(|lack| lack.0 == transport).map(|lack| lack.1)
    }

    pub(super) fn command(&self, work: &Work) -> Command {
        let mut command = (self.command)(work);
        let connect_s = work.clients.div_ceil(self.asks_per_s);
        command
            .env("URL", &work.url)
            .env("N", work.clients.to_string())
            .env("CONNECT_S", connect_s.to_string())
            .env("HOLD_MS", work.hold_ms.to_string())
            .env("FROM_US", work.window_us.0.to_string())
            .env("UNTIL_US", work.window_us.1.to_string())
            .env("LATE_US", work.late_us.to_string())
            .env("OFFSET_US", (Clock::realtime_minus_monotonic_ns() / 1_000).to_string());
        command
    }
}

pub(super) static TOOLS: [Tool; 6] = [
    Tool {
        name: "k6",
        version: "1.8.1",
        // Its virtual users all begin at once.
        asks_per_s: u64::MAX,
        connects_per_s: 1_500,
        starts_in_s: 3,
        settles_s: 2,
        counts: true,
        command: |work| {
            let script = if work.transport == Transport::WebSocket { "websocket.js" } else { "long-poll.js" };
            let mut command = Command::new(installed("bin/k6"));
            command.args(["run", "--quiet", "--no-usage-report"]).arg(scripts("k6").join(script));
            command
        },
        lacks: &[(Transport::Sse, "its SSE extension is not served by the registries")],
    },
    Tool {
        name: "Gatling",
        version: "3.15.1",
        asks_per_s: 5_000,
        connects_per_s: 1_000,
        starts_in_s: 5,
        settles_s: 8,
        counts: true,
        command: |_| {
            let place = installed("gatling");
            let mut command = Command::new("java");
            command.args(["--add-opens=java.base/java.lang=ALL-UNNAMED", "-Xmx6g", "-cp"]);
            command.arg(format!("{0}/classes:{0}/lib/*", place.display()));
            command.args(["io.gatling.app.Gatling", "-s", "Push", "-nr", "-rf"]).arg(place.join("results"));
            command
        },
        lacks: &[(Transport::LongPoll, "its users would be a loop of requests, as k6's are")],
    },
    Tool {
        name: "Artillery",
        version: "2.0.34",
        asks_per_s: 1_000,
        connects_per_s: 300,
        starts_in_s: 5,
        settles_s: 4,
        counts: true,
        command: |_| Command::new(scripts("artillery").join("run.sh")),
        lacks: &[
            (Transport::Sse, "it has no engine for it"),
            (Transport::LongPoll, "its users would be a loop of requests, as k6's are"),
        ],
    },
    Tool {
        name: "Locust",
        version: "2.47.0",
        asks_per_s: 2_000,
        connects_per_s: 450,
        starts_in_s: 4,
        settles_s: 2,
        counts: true,
        command: |work| {
            let mut command = Command::new(installed("locust/bin/locust"));
            command.arg("-f").arg(scripts("locust").join("push.py"));
            command.args(["--headless", "--only-summary", "--stop-timeout", "1", "-r", "2000"]);
            command.args(["-u", &work.clients.to_string()]);
            command
        },
        lacks: &[(Transport::LongPoll, "its users would be a loop of requests, as k6's are")],
    },
    Tool {
        name: "Tsung",
        version: "1.7.0",
        asks_per_s: 5_000,
        connects_per_s: 900,
        starts_in_s: 4,
        settles_s: 2,
        counts: false,
        command: |_| Command::new(scripts("tsung").join("run.sh")),
        lacks: &[
            (Transport::Sse, "it waits for the end of an answer"),
            (Transport::LongPoll, "its users would be a loop of requests, as k6's are"),
        ],
    },
    Tool {
        name: "wrk",
        version: "4.1.0",
        asks_per_s: u64::MAX,
        connects_per_s: 5_000,
        starts_in_s: 2,
        settles_s: 2,
        counts: false,
        command: |work| {
            let mut command = Command::new("wrk");
            let clients = work.clients.to_string();
            let length = format!("{}s", work.hold_ms.div_ceil(1_000));
            command.args(["-t", "1", "-c", &clients, "-d", &length, "--timeout", "60s", &work.url]);
            command
        },
        lacks: &[
            (Transport::WebSocket, "it speaks requests and answers alone"),
            (Transport::Sse, "it does not support an answer without end"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_those_that_are_pinned() {
        let text = |file: &str| std::fs::read_to_string(root().join("bench/peers").join(file)).unwrap();
        let pinned = [
            ("k6", text("tools.toml"), "go.k6.io/k6@v"),
            ("Gatling", text("gatling/pom.xml"), "<version>"),
            ("Artillery", text("artillery/package.json"), "\"artillery\": \""),
            ("Locust", text("locust/requirements.txt"), "locust=="),
        ];
        for (name, text, before) in pinned {
            let tool = TOOLS.iter().find(|tool| tool.name == name).unwrap();
            assert!(text.contains(&format!("{before}{}", tool.version)), "{name} {}", tool.version);
        }
    }
}
