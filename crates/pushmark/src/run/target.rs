//! What is measured: a server that pushmark starts, or one that is there.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use pushmark_model::plan::{ArmPlan, Tls};
use pushmark_model::run::LastWords;
use pushmark_model::scenario::Scenario;
use pushmark_model::template::{Template, Values};

use crate::resolve;
use crate::scenario_file::Loaded;
use crate::server::http::{self, Control};
use crate::server::listeners::is_taken;
use crate::server::logs::{KeptFile, Logs};
use crate::server::needs;
use crate::server::port::free_port;
use crate::server::process::{Process, Start};
use crate::server::registry::{Architecture, Filling, Registry, Server};

/// How long a server may take until it is ready.
const READY_WITHIN: Duration = Duration::from_secs(60);
const CONTROL_TIMEOUT: Duration = Duration::from_secs(5);

/// How the target of a scenario is started and asked.
#[derive(Clone, Debug, Default)]
pub struct Target {
    name: String,
    command: Vec<String>,
    folder: Option<PathBuf>,
    variables: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    ready: Option<String>,
    stop: Vec<String>,
    stats: Option<String>,
    emitters: Option<String>,
    /// How these are met where they go over TLS: as clients meet it.
    tls: Tls,
    /// Where its log is switched, and to what; absent: as it starts.
    log: Option<(String, bool)>,
    /// Its port; absent: a free one.
    port: Option<u16>,
    /// Its listener is one of its own processes.
    strict: bool,
    /// Each client is held by a thread of its own.
    thread_each: bool,
    /// Tables of open files that it spreads its connections over; absent for one that is not ours.
    tables: Option<u64>,
}

/// A target that can be measured now.
#[derive(Debug)]
pub(crate) struct Up {
    pub(crate) process: Option<Process>,
    pub(crate) port: u16,
    pub(super) subscribe_to: SocketAddr,
    pub(super) publish_to: Option<SocketAddr>,
    /// From the start of its process to its first good answer.
    pub(super) ready_us: Option<u64>,
}

impl Up {
    /// Ends what was started; what is left of it, and what it wrote.
    pub(super) fn stop(&mut self) -> (Option<LastWords>, Vec<KeptFile>) {
        let Some(process) = &mut self.process else { return (None, Vec::new()) };
        process.stop();
        (Some(process.last_words()), process.logs())
    }
}

impl Target {
    /// The target of a scenario; a server's commands come from its row.
    ///
    /// # Errors
    /// A JDK that its command names and that is not on this machine.
    pub fn new(loaded: &Loaded, registry: &Registry) -> anyhow::Result<Target> {
        let own = std::env::current_exe().context("the path of this program")?;
        Target::with_program(loaded, registry, &own)
    }

    /// The same where `{pushmark}` is another program than the one that runs (a test's).
    ///
    /// # Errors
    /// As for [`Target::new`].
    pub fn with_program(loaded: &Loaded, registry: &Registry, program: &Path) -> anyhow::Result<Target> {
        match &loaded.server {
            Some(server) => Target::of_server(server, registry, &loaded.scenario.target, program),
            None => Ok(Target::of_process(&loaded.scenario, &loaded.folder, loaded.tls())),
        }
    }

    fn of_server(
        server: &Server,
        registry: &Registry,
        asked: &pushmark_model::scenario::Target,
        program: &Path,
    ) -> anyhow::Result<Target> {
        let contract = server.contract.then(|| registry.contract());
        // Port and folder of its logs stay open until they are known, at the start.
        let filling = Filling { pushmark: program, port: None, log: None, flags: &asked.flags };
        let mut command = registry.command(server, &server.run, &filling)?;
        command.extend_from_slice(&asked.args);
        Ok(Target {
            name: server.name.clone(),
            command,
            folder: registry.folder_of(server),
            // Its command may name a daemon.
            variables: vec![("PATH".into(), needs::search_path())],
            ready: registry.ready_url(server).map(str::to_owned),
            stop: Vec::new(),
            stats: contract.map(|c| c.stats.clone()),
            emitters: contract.map(|c| c.emitters.clone()),
            tls: Tls::default(),
            log: contract.zip(asked.log).map(|(c, on)| (c.log.clone(), on)),
            port: asked.port,
            strict: true,
            thread_each: server.architecture == Some(Architecture::ThreadPerRequest),
            tables: Some(registry.tables(server, &asked.flags)),
        })
    }

    fn of_process(scenario: &Scenario, folder: &Path, tls: Tls) -> Target {
        let Some(process) = &scenario.target.process else { return Target::default() };
        Target {
            name: "target".to_owned(),
            command: process.start.clone(),
            folder: Some(process.cwd.as_ref().map_or(folder.to_owned(), |cwd| folder.join(cwd)))
                .filter(|folder| !folder.as_os_str().is_empty()),
            variables: process.env.iter().map(|(k, v)| (k.into(), v.into())).collect(),
            ready: process.ready.clone(),
            stop: process.stop.clone().unwrap_or_default(),
            stats: None,
            emitters: None,
            tls,
            log: None,
            port: scenario.target.port,
            strict: false,
            thread_each: false,
            tables: None,
        }
    }

    /// Whether pushmark starts it.
    pub fn is_started(&self) -> bool {
        !self.command.is_empty()
    }

    /// Tables of open files that it spreads its connections over; absent where that is not known.
    pub fn tables(&self) -> Option<u64> {
        self.tables
    }

    /// Its name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts it if it is to be started, waits until it is ready, resolves its addresses.
    pub(crate) fn bring_up(&self, arm: &ArmPlan, cpus: &[u32]) -> anyhow::Result<Up> {
        let mut port = 0;
        let mut process = None;
        let mut ready_us = None;
        if self.is_started() {
            port = match self.port {
                Some(port) => port,
                None => free_port().context("a port for the server")?,
            };
            let filled = |text: &String| fill(text, port);
            let logs = Logs::new(&self.name).context("cannot write a log to the temporary folder")?;
            let with_log = |word: &String| filled(&logs.fill(word));
            let start = Start {
                name: self.name.clone(),
                command: self.command.iter().map(with_log).collect(),
                folder: self.folder.clone(),
                variables: self.variables.clone(),
                cpus: cpus.to_vec(),
                stop: self.stop.iter().map(filled).collect(),
            };
            // A target on a port of its own choice: where its clients will come.
            let serves = arm.subscribe.port.unwrap_or(port);
            let taken = is_taken(serves);
            let began = Instant::now();
            let mut started = Process::start(&start, logs)?;
            match self.ready.as_ref().map(filled) {
                Some(url) => started.wait_ready(&self.control(url), READY_WITHIN)?,
                None => started.wait_accepting(serves, READY_WITHIN)?,
            };
            ready_us = Some(began.elapsed().as_micros() as u64);
            started.owns(serves, taken, self.strict)?;
            self.switch_log(port)?;
            process = Some(started);
        }
        let subscribe = &arm.subscribe;
        let subscribe_to = resolve::host(&subscribe.host, subscribe.port.unwrap_or(port))?;
        let publish_to = match &arm.publish {
            Some(publish) => Some(resolve::host(&publish.host, publish.port.unwrap_or(port))?),
            None => None,
        };
        Ok(Up { process, port, subscribe_to, publish_to, ready_us })
    }

    /// Turns its log on or off, where that was asked for.
    fn switch_log(&self, port: u16) -> anyhow::Result<()> {
        let Some((url, on)) = &self.log else { return Ok(()) };
        let to = &self.control(fill(url, port));
        let body = serde_json::json!({ "on": on }).to_string();
        let answer = http::send(&http::Request {
            method: "POST",
            to,
            headers: &[("content-type", "application/json")],
            body: body.as_bytes(),
            timeout: CONTROL_TIMEOUT,
        })?;
        if !answer.is_success() {
            anyhow::bail!(
                "the server did not switch its log: POST {} was answered {}: {}",
                to.url,
                answer.status,
                answer.text()
            );
        }
        Ok(())
    }

    /// Where the server says what it does, if it does.
    pub(super) fn stats_at(&self, port: u16) -> Option<Control> {
        self.stats.as_ref().map(|url| self.control(fill(url, port)))
    }

    /// Whether its row says that it holds each client by a thread.
    pub(super) fn thread_each(&self) -> bool {
        self.thread_each
    }

    /// What the server says of itself; `None` where it says nothing.
    pub(super) fn stats(&self, port: u16) -> Option<serde_json::Value> {
        let stats = self.stats_at(port)?;
        let answer = http::get(&stats, CONTROL_TIMEOUT).ok().filter(http::Answer::is_success)?;
        serde_json::from_slice(&answer.body).ok()
    }

    /// Where its emitters are set.
    pub(super) fn emitters(&self, port: u16) -> Option<Control> {
        self.emitters.as_ref().map(|url| self.control(fill(url, port)))
    }

    fn control(&self, url: String) -> Control {
        Control { url, tls: self.tls.clone() }
    }
}

fn fill(text: &str, port: u16) -> String {
    match Template::parse(text) {
        Ok(template) => template.render_text(&Values { port, ..Values::default() }),
        Err(_) => text.to_owned(),
    }
}
