//! The target: a server that pushmark starts, or one that is already running.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use pushmark_model::plan::{ArmPlan, CommandPlan, Over, Publish, Tls};
use pushmark_model::run::LastWords;
use pushmark_model::secret::SecretValues;
use pushmark_model::template::{Template, Values};

use crate::scenario_file::Loaded;
use pushmark_host::resolve;
use pushmark_host::server::http::{self, Control};
use pushmark_host::server::listeners::is_taken;
use pushmark_host::server::logs::Logs;
use pushmark_host::server::paths;
use pushmark_host::server::port::free_port;
use pushmark_host::server::process::{Process, Start};
use pushmark_host::server::registry::{Architecture, Filling, Registry, Server};
use pushmark_store::KeptFile;

/// How long a server may take until it is ready.
const READY_WITHIN: Duration = Duration::from_secs(60);
const CONTROL_TIMEOUT: Duration = Duration::from_secs(5);

/// How the target of a scenario is started and asked.
#[derive(Clone, Debug, Default)]
pub struct Target {
    name: String,
    command: Vec<String>,
    folder: Option<PathBuf>,
    variables: Vec<(OsString, OsString)>,
    /// The variables are from the scenario, so they are templates.
    templates: bool,
    /// Values of `{secret.NAME}`.
    secrets: SecretValues,
    ready: Option<String>,
    stop: Vec<String>,
    stats: Option<String>,
    emitters: Option<String>,
    /// The TLS settings of these requests, the same as those of clients.
    tls: Tls,
    /// The URL that switches its log, and the setting; absent: its default.
    log: Option<(String, bool)>,
    /// The `--token` that it was started with: control requests carry it.
    token: Option<String>,
    /// Its port; absent: a free one.
    port: Option<u16>,
    /// Its listener must be one of its own processes.
    strict: bool,
    /// Each client has its own thread.
    thread_each: bool,
    /// Its heap is collected in drain.
    live_heap: bool,
    /// Tables of open files that it spreads its connections over; absent for a target that pushmark does not
    /// know.
    tables: Option<u64>,
}

/// A target that can be measured now.
#[derive(Debug)]
pub struct Up {
    /// The process, if one was started.
    pub process: Option<Process>,
    /// Where `{port}` leads.
    pub port: u16,
    pub(super) subscribe_to: SocketAddr,
    pub(super) publish_to: Option<SocketAddr>,
    /// Where the requests before the subscription are sent.
    pub(super) before_to: Vec<SocketAddr>,
    /// Time from the start of its process to its first successful answer.
    pub(super) ready_us: Option<u64>,
}

impl Up {
    /// Stops the started server. Returns how it ended and its output.
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
    /// Fails if its command names a JDK that is not on this machine.
    pub fn new(loaded: &Loaded, registry: &Registry) -> anyhow::Result<Target> {
        let own = std::env::current_exe().context("the path of this program")?;
        Target::with_program(loaded, registry, &own)
    }

    /// The same with another program for `{pushmark}` than the running one (in a test).
    ///
    /// # Errors
    /// Fails like [`Target::new`].
    pub fn with_program(loaded: &Loaded, registry: &Registry, program: &Path) -> anyhow::Result<Target> {
        match &loaded.server {
            Some(server) => Target::of_server(server, registry, loaded, program),
            None => Ok(Target::of_process(loaded)),
        }
    }

    fn of_server(
        server: &Server,
        registry: &Registry,
        loaded: &Loaded,
        program: &Path,
    ) -> anyhow::Result<Target> {
        let asked = &loaded.scenario.target;
        let contract = server.contract.then(|| registry.contract());
        // Port and log folder are filled in at the start, when they are known.
        let filling = Filling { pushmark: program, port: None, log: None, flags: &asked.flags };
        let mut command = registry.command(server, &server.run, &filling)?;
        command.extend_from_slice(&asked.args);
        Ok(Target {
            name: server.name.clone(),
            command,
            folder: registry.folder_of(server),
            // Its command may name a daemon. A token in pushmark's environment is for a server that other
            // clients ask; requests here do not carry it.
            variables: vec![("PATH".into(), paths::search_path()), ("PUSHMARK_TOKEN".into(), "".into())],
            templates: false,
            secrets: loaded.secrets.clone(),
            ready: registry.ready_url(server).map(str::to_owned),
            stop: Vec::new(),
            stats: contract.map(|c| c.stats.clone()),
            emitters: contract.map(|c| c.emitters.clone()),
            tls: Tls::default(),
            log: contract.zip(asked.log).map(|(c, on)| (c.log.clone(), on)),
            token: token_of(&asked.args),
            port: asked.port,
            strict: true,
            thread_each: server.architecture == Some(Architecture::ThreadPerRequest),
            live_heap: asked.live_heap,
            tables: Some(registry.tables(server, &asked.flags)),
        })
    }

    fn of_process(loaded: &Loaded) -> Target {
        let Loaded { scenario, folder, .. } = loaded;
        let Some(process) = &scenario.target.process else { return Target::default() };
        Target {
            name: "target".to_owned(),
            command: process.start.clone(),
            folder: Some(process.cwd.as_ref().map_or(folder.to_owned(), |cwd| folder.join(cwd)))
                .filter(|folder| !folder.as_os_str().is_empty()),
            variables: process.env.iter().map(|(k, v)| (k.into(), v.into())).collect(),
            templates: true,
            secrets: loaded.secrets.clone(),
            ready: process.ready.clone(),
            stop: process.stop.clone().unwrap_or_default(),
            stats: None,
            emitters: None,
            tls: loaded.tls(),
            log: None,
            token: None,
            port: scenario.target.port,
            strict: false,
            thread_each: false,
            live_heap: scenario.target.live_heap,
            tables: None,
        }
    }

    /// Whether pushmark starts it.
    pub fn is_started(&self) -> bool {
        !self.command.is_empty()
    }

    /// Tables of open files that it spreads its connections over; `None` if not known.
    pub fn tables(&self) -> Option<u64> {
        self.tables
    }

    /// Its name for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Starts the server if the scenario has one, waits until it is ready, and resolves its addresses.
    pub fn bring_up(&self, arm: &ArmPlan, cpus: &[u32]) -> anyhow::Result<Up> {
        let mut port = 0;
        let mut process = None;
        let mut ready_us = None;
        if self.is_started() {
            port = match self.port {
                Some(port) => port,
                None => free_port().context("a port for the server")?,
            };
            let logs = Logs::new(&self.name).context("cannot write a log to the temporary folder")?;
            let log = logs.folder().display().to_string();
            let filled = |text: &String| self.fill_in(text, port, &log);
            let start = Start {
                name: self.name.clone(),
                command: self.command.iter().map(filled).collect(),
                folder: self.folder.clone(),
                variables: self.variables_at(port, &log),
                cpus: cpus.to_vec(),
                stop: self.stop.iter().map(filled).collect(),
            };
            // A target may choose its port: this is the port that clients connect to.
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
            Some(Publish { over: Over::Command(command), .. }) => {
                is_program(command)?;
                None
            }
            None => None,
            Some(publish) => Some(resolve::host(&publish.host, publish.port.unwrap_or(port))?),
        };
        let before = arm.before.iter();
        let before = before.map(|request| resolve::host(&request.host, request.port.unwrap_or(port)));
        let before_to = before.collect::<anyhow::Result<_>>()?;
        Ok(Up { process, port, subscribe_to, publish_to, before_to, ready_us })
    }

    /// Turns its log on or off, if requested.
    fn switch_log(&self, port: u16) -> anyhow::Result<()> {
        let Some((url, on)) = &self.log else { return Ok(()) };
        let to = &self.control(self.fill(url, port));
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

    /// The URL of the server's statistics, if it has one.
    pub(super) fn stats_at(&self, port: u16) -> Option<Control> {
        self.stats.as_ref().map(|url| self.control(self.fill(url, port)))
    }

    /// Whether its heap is collected in drain.
    pub(super) fn live_heap(&self) -> bool {
        self.live_heap
    }

    /// Whether it uses a thread for each client, according to its row.
    pub(super) fn thread_each(&self) -> bool {
        self.thread_each
    }

    /// The server's statistics; `None` if it does not answer with any.
    pub(super) fn stats(&self, port: u16) -> Option<serde_json::Value> {
        let stats = self.stats_at(port)?;
        let answer = http::get(&stats, CONTROL_TIMEOUT).ok().filter(http::Answer::is_success)?;
        serde_json::from_slice(&answer.body).ok()
    }

    /// The URL that sets its emitters.
    pub(super) fn emitters(&self, port: u16) -> Option<Control> {
        self.emitters.as_ref().map(|url| self.control(self.fill(url, port)))
    }

    fn control(&self, url: String) -> Control {
        // It may be a placeholder: `--token {secret.NAME}`.
        let token = self.token.as_ref().map(|token| self.fill(token, 0));
        Control { url, tls: self.tls.clone(), token }
    }

    fn fill(&self, text: &str, port: u16) -> String {
        self.fill_in(text, port, "")
    }

    fn fill_in(&self, text: &str, port: u16, log: &str) -> String {
        let values = Values { port, log, secrets: Some(&self.secrets), ..Values::default() };
        // An argument in a server's row may hold other braces; a scenario's arguments were checked.
        Template::parse(text).map_or_else(|_| text.to_owned(), |template| template.render_text(&values))
    }

    /// Its variables, filled in. A value that is not text is not a template.
    fn variables_at(&self, port: u16, log: &str) -> Vec<(OsString, OsString)> {
        let filled = |value: &OsString| match value.to_str() {
            Some(text) if self.templates => self.fill_in(text, port, log).into(),
            _ => value.clone(),
        };
        self.variables.iter().map(|(name, value)| (name.clone(), filled(value))).collect()
    }
}

/// Fails if the command that publishes names no program of this machine: better before the run than in it.
fn is_program(command: &CommandPlan) -> anyhow::Result<()> {
    let Some(program) = command.start.first().map(Template::source) else { return Ok(()) };
    let there = match program.contains(['/', '{']) {
        // As the kernel looks for it: from the folder in which it is started.
        true => {
            program.contains('{')
                || command.folder.as_deref().unwrap_or(Path::new("")).join(program).is_file()
        }
        false => paths::in_path(program).is_some(),
    };
    ensure!(there, "target.publish.command.start: there is no program `{program}` on this machine");
    Ok(())
}

/// The value of `--token TOKEN` or `--token=TOKEN`.
fn token_of(arguments: &[String]) -> Option<String> {
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix("--token") {
            Some("") => return arguments.next().cloned(),
            Some(rest) => {
                if let Some(token) = rest.strip_prefix('=') {
                    return Some(token.to_owned());
                }
            }
            None => {}
        }
    }
    None
}
