//! Scenario texts for the checks, each with its differences from a common small crowd.

use std::fmt::Write as _;

use pushmark_model::poller::Poller;

/// A scenario to be written as text.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    transport: &'static str,
    target: Target,
    poller: Option<Poller>,
    flags: String,
    top: String,
    load: String,
    subscriptions: String,
    publisher: String,
    thresholds: String,
    connections: u64,
    warmup_ms: u64,
    settle_ms: u64,
    drain_ms: u64,
    /// Length of the measure phase.
    pub(super) duration_ms: u64,
}

#[derive(Clone, Debug)]
enum Target {
    /// The built-in server with these arguments.
    Builtin(Vec<String>),
    /// The built-in server by templates, as if it were a foreign one.
    Templates { subscribe: String, arguments: Vec<String> },
    /// A target that is already running.
    Url { subscribe: String, publish: String },
}

impl Ask {
    /// The built-in server over one transport.
    pub(super) fn builtin(transport: &'static str) -> Ask {
        Ask {
            transport,
            target: Target::Builtin(Vec::new()),
            poller: None,
            flags: String::new(),
            top: String::new(),
            load: String::new(),
            subscriptions: String::new(),
            publisher: String::new(),
            thresholds: String::new(),
            connections: 20,
            warmup_ms: 0,
            settle_ms: 300,
            drain_ms: 1_000,
            duration_ms: 2_000,
        }
    }

    /// The built-in server as a foreign one; `subscribe` is the transport's template.
    pub(super) fn by_template(transport: &'static str, subscribe: &str) -> Ask {
        let target = Target::Templates { subscribe: subscribe.to_owned(), arguments: Vec::new() };
        Ask { target, ..Ask::builtin(transport) }
    }

    /// A target that is already listening.
    pub(super) fn url(transport: &'static str, subscribe: String, publish: String) -> Ask {
        Ask { target: Target::Url { subscribe, publish }, ..Ask::builtin(transport) }
    }

    /// More arguments for the server.
    pub(super) fn arguments(mut self, more: &[&str]) -> Ask {
        match &mut self.target {
            Target::Builtin(list) | Target::Templates { arguments: list, .. } => {
                list.extend(more.iter().map(|word| (*word).to_owned()));
            }
            Target::Url { .. } => unreachable!("nothing is started"),
        }
        self
    }

    pub(super) fn connections(self, connections: u64) -> Ask {
        Ask { connections, ..self }
    }

    /// Phases around the measure phase, ms.
    pub(super) fn phases(self, settle_ms: u64, warmup_ms: u64, duration_ms: u64, drain_ms: u64) -> Ask {
        Ask { settle_ms, warmup_ms, duration_ms, drain_ms, ..self }
    }

    /// Publishes for this long before measure.
    pub(super) fn warmup(self, warmup_ms: u64) -> Ask {
        Ask { warmup_ms, ..self }
    }

    pub(super) fn duration(self, duration_ms: u64) -> Ask {
        Ask { duration_ms, ..self }
    }

    /// A flag of the built-in server's row.
    pub(super) fn flag(mut self, name: &str, value: &str) -> Ask {
        self.flags += &format!("flags.{name} = \"{value}\"\n");
        self
    }

    /// Uses another poller than the bench's.
    pub(super) fn by(self, poller: Poller) -> Ask {
        Ask { poller: Some(poller), ..self }
    }

    /// The poller, if it is not the bench's.
    pub(super) fn poller(&self) -> Option<Poller> {
        self.poller
    }

    /// A line of the top of the file.
    pub(super) fn top(mut self, line: &str) -> Ask {
        self.top += &format!("{line}\n");
        self
    }

    /// A line of `[load]`.
    pub(super) fn load(mut self, line: &str) -> Ask {
        self.load += &format!("{line}\n");
        self
    }

    /// A line of `[publisher]`.
    pub(super) fn publisher(mut self, line: &str) -> Ask {
        self.publisher += &format!("{line}\n");
        self
    }

    /// Publications a second of each channel.
    pub(super) fn rate(self, per_second: f64) -> Ask {
        self.publisher(&format!("rate = \"{per_second}/s\""))
    }

    /// A line of `[subscriptions]`.
    pub(super) fn subscriptions(mut self, line: &str) -> Ask {
        self.subscriptions += &format!("{line}\n");
        self
    }

    /// A threshold.
    pub(super) fn threshold(mut self, metric: &str, bound: &str) -> Ask {
        self.thresholds += &format!("\"{metric}\" = \"{bound}\"\n");
        self
    }

    /// Its text. `program` is this program, `truth` the path of a started server's log.
    pub(super) fn text(&self, program: &str, truth: &str) -> String {
        let list = |words: &[&str], more: &[String]| {
            let words = words.iter().map(|w| (*w).to_owned()).chain(more.iter().cloned());
            words.map(|word| toml::Value::String(word).to_string()).collect::<Vec<_>>().join(", ")
        };
        let mut text =
            format!("name = \"truth\"\nseed = 42\ntransports = [\"{}\"]\n{}", self.transport, self.top);
        let named = |url: &str| if url.starts_with('{') { url.to_owned() } else { format!("\"{url}\"") };
        let publish = |url: &str| format!("[target.publish]\nurl = \"{url}\"\n");
        text += &match &self.target {
            Target::Builtin(arguments) => {
                format!(
                    "[target]\nserver = \"builtin\"\nargs = [{}]\n{}",
                    list(&["--truth", truth], arguments),
                    self.flags
                )
            }
            Target::Templates { subscribe, arguments } => format!(
                "[target.subscribe]\n{} = {}\n{}[target.process]\nstart = [{}]\nready = \"http://127.0.0.1:{{port}}/health\"\n",
                self.transport,
                named(subscribe),
                publish("http://127.0.0.1:{port}/publish?channel={channel}"),
                list(&[program, "serve", "--port", "{port}", "--truth", truth], arguments),
            ),
            Target::Url { subscribe, publish: url } => {
                format!("[target.subscribe]\n{} = {}\n{}", self.transport, named(subscribe), publish(url))
            }
        };
        let Ask { connections, settle_ms, warmup_ms, duration_ms, drain_ms, .. } = self;
        // Writing to a string does not fail.
        let _ = write!(
            text,
            "[load]\nconnections = {connections}\nsettle = \"{settle_ms}ms\"\nwarmup = \"{warmup_ms}ms\"\n\
             duration = \"{duration_ms}ms\"\ndrain = \"{drain_ms}ms\"\n{}",
            self.load
        );
        for (table, lines) in [
            ("subscriptions", &self.subscriptions),
            ("publisher", &self.publisher),
            ("thresholds", &self.thresholds),
        ] {
            if !lines.is_empty() {
                let _ = write!(text, "[{table}]\n{lines}");
            }
        }
        text
    }
}
