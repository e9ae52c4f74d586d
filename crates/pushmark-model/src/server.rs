//! The types of `servers.toml` (its rows and their common parts), and the record of a build or a check.

use std::collections::BTreeMap;

use crate::scenario::{PublishTemplate, SubscribeSet};
use crate::transport::Transport;
use serde::{Deserialize, Serialize};

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The URLs that the contract fixes.
    pub contract: Contract,
    /// The arguments of every JVM.
    #[serde(default)]
    pub jvm: Jvm,
    /// What servers need, by name.
    #[serde(default)]
    pub need: BTreeMap<String, Need>,
    /// The rows.
    #[serde(default)]
    pub server: Vec<Server>,
}

/// The URLs and templates of every server that keeps the contract.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// URL that answers 2xx once it is up.
    pub health: String,
    /// URL of its counters.
    pub stats: String,
    /// URL of its emitters.
    pub emitters: String,
    /// URL that switches its log (CONTRACT 2.4).
    pub log: String,
    /// How clients subscribe.
    pub subscribe: SubscribeSet,
    /// How clients subscribe with instrumented requests (CONTRACT 7).
    #[serde(default)]
    pub instrumented: SubscribeSet,
    /// How a message is published.
    pub publish: PublishTemplate,
}

/// The arguments that fix a JVM's configuration: they replace an argument that is exactly `{jvm}`.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Jvm {
    /// Arguments; they may name the flags of the row that uses them.
    pub arguments: Vec<String>,
}

/// Something that must be on this machine: one of `program`, `jdk`, `file` and `probe` defines how it is
/// found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Need {
    /// A description for people; absent: its name.
    #[serde(default)]
    pub what: Option<String>,
    /// A program in `PATH`, or where daemons are.
    #[serde(default)]
    pub program: Option<String>,
    /// The feature release of a JDK. Its home fills the variable of the need's name.
    #[serde(default)]
    pub jdk: Option<u32>,
    /// A file; `~/` is the user's home.
    #[serde(default)]
    pub file: Option<String>,
    /// A command that ends with 0 if the need is met.
    #[serde(default)]
    pub probe: Vec<String>,
    /// Command that installs it.
    #[serde(default)]
    pub install: Option<String>,
}

/// A reference server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// Its name in scenarios.
    pub name: String,
    /// Its folder beside `servers.toml`; absent: it needs nothing on disk.
    #[serde(default)]
    pub folder: Option<String>,
    /// The generation that it represents.
    #[serde(default)]
    pub generation: Generation,
    /// Product and version, in a line for people.
    #[serde(default)]
    pub stands_for: String,
    /// How it serves many connections.
    #[serde(default)]
    pub architecture: Option<Architecture>,
    /// Servers that share a descent; absent: its name.
    #[serde(default)]
    pub family: Option<String>,
    /// The transports that it offers.
    pub transports: Vec<Transport>,
    /// It keeps `servers/CONTRACT.md`, so the templates of `[contract]` are its own.
    #[serde(default)]
    pub contract: bool,
    /// Clauses of the contract that it does not offer (CONTRACT 8.2).
    #[serde(default)]
    pub lacks: Vec<String>,
    /// Names of `[need.*]` that must be met on this machine.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The inputs of its build outside its folder, relative to `servers.toml`.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Command that builds it.
    #[serde(default)]
    pub build: Vec<String>,
    /// The outputs of a build, relative to its folder.
    #[serde(default)]
    pub built: Vec<String>,
    /// Command that starts it.
    pub run: Vec<String>,
    /// Command that prints its version.
    #[serde(default)]
    pub version: Vec<String>,
    /// Command that removes the build.
    #[serde(default)]
    pub clean: Vec<String>,
    /// The flags that a case may set, with their defaults: each is a variable of the commands.
    #[serde(default)]
    pub flags: BTreeMap<String, String>,
    /// The flag that sets the number of processes, or tables of open files, over which it spreads its
    /// connections: the limit applies to each. Absent: it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")] // a key that no row had changes no digest
    pub spreads_by: Option<String>,
    /// The clock of its stamps.
    #[serde(default = "monotonic")]
    pub clock: String,
    /// Grain of that clock, µs.
    #[serde(default)]
    pub grain_us: u64,
    /// How its emitters keep time; absent: it has no emitters.
    #[serde(default)]
    pub emitter: Option<Emitter>,
    /// It sets TCP_NODELAY.
    #[serde(default)]
    pub nodelay: bool,
    /// How clients subscribe, if it does not keep the contract.
    #[serde(default)]
    pub subscribe: Option<SubscribeSet>,
    /// How a message is published, if it does not keep the contract.
    #[serde(default)]
    pub publish: Option<PublishTemplate>,
    /// URL that answers 2xx once the server is ready, if it does not keep the contract.
    #[serde(default)]
    pub ready: Option<String>,
}

impl Server {
    /// The family it belongs to.
    pub fn family(&self) -> &str {
        self.family.as_deref().unwrap_or(&self.name)
    }

    /// Whether its row runs this program.
    pub fn is_this_program(&self) -> bool {
        self.run.iter().any(|word| word.contains("{pushmark}"))
    }

    /// Whether it lacks a clause or the clause's whole section.
    pub fn lacks(&self, clause: &str) -> bool {
        let section = clause.split_once('.').map_or(clause, |(section, _)| section);
        self.lacks.iter().any(|lacking| lacking == clause || lacking == section)
    }

    /// Its commands, by key.
    pub fn commands(&self) -> [(&'static str, &[String]); 4] {
        [("run", &self.run), ("build", &self.build), ("version", &self.version), ("clean", &self.clean)]
    }
}

/// The generation of server software that a server represents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Generation {
    /// The software of the studies, or the nearest available version.
    Original,
    /// Software in use now.
    #[default]
    Present,
}

impl Generation {
    /// The name in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Generation::Original => "original",
            Generation::Present => "present",
        }
    }
}

/// How a server serves many connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Architecture {
    /// One thread, or a few, each around a loop of events.
    #[serde(rename = "event loop")]
    EventLoop,
    /// A system thread for each held request.
    #[serde(rename = "thread per request")]
    ThreadPerRequest,
    /// Requests are held without a thread; a pool handles their events.
    #[serde(rename = "asynchronous servlet")]
    AsynchronousServlet,
    /// A thread of the runtime for each held request.
    #[serde(rename = "virtual threads")]
    VirtualThreads,
    /// Processes that share the port.
    #[serde(rename = "several processes")]
    SeveralProcesses,
}

impl Architecture {
    /// The words in files and tables.
    pub fn name(self) -> &'static str {
        match self {
            Architecture::EventLoop => "event loop",
            Architecture::ThreadPerRequest => "thread per request",
            Architecture::AsynchronousServlet => "asynchronous servlet",
            Architecture::VirtualThreads => "virtual threads",
            Architecture::SeveralProcesses => "several processes",
        }
    }
}

/// How an emitter keeps time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Emitter {
    /// On an absolute schedule: start + n × interval.
    Absolute,
    /// Re-arms its own timer, so it drifts.
    #[serde(rename = "self")]
    SelfArmed,
}

fn monotonic() -> String {
    "monotonic".to_owned()
}

/// The format of [`Record`].
pub const RECORD_SCHEMA: &str = "pushmark.server/1";

/// The input digest of a build or a check, and its result. It is kept beside the sources.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Always [`RECORD_SCHEMA`].
    pub schema: String,
    /// The digest at that time.
    pub digest: String,
    /// RFC 3339, UTC.
    pub at: String,
    /// The result in words.
    pub summary: String,
}
