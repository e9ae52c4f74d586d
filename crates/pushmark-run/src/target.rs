//! The target: a server that pushmark starts, here or by a monitor elsewhere, or one that is already running.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use pushmark_model::monitor::Serve;
use pushmark_model::plan::{ArmPlan, CommandPlan, Over, Publish, Tls};
use pushmark_model::run::LastWords;
use pushmark_model::scenario::ProcessTemplate;
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
/// The host in the URLs of the registry.
const ROW_HOST: &str = "127.0.0.1";

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
    /// The order by which a monitor starts it; absent: this machine does.
    elsewhere: Option<Serve>,
    /// Where its row's URLs lead in place of this machine.
    host: Option<IpAddr>,
}

/// A server that is up.
#[derive(Debug, Default)]
pub(crate) struct Started {
    /// Its process, if this machine has started one.
    pub(crate) process: Option<Process>,
    /// Its port.
    pub(crate) port: u16,
    /// Time from the start of its process to its first successful answer.
    pub(crate) ready_us: Option<u64>,
}

/// A target that can be measured now.
#[derive(Debug)]
pub struct Up {
    /// The process, if one was started.
    pub process: Option<Process>,
    /// Where `{port}` leads.
    pub port: u16,
    pub(crate) subscribe_to: SocketAddr,
    pub(crate) publish_to: Option<SocketAddr>,
    /// Where the requests before the subscription are sent.
    pub(crate) before_to: Vec<SocketAddr>,
    /// Time from the start of its process to its first successful answer.
    pub(crate) ready_us: Option<u64>,
}

impl Up {
    /// Resolves the addresses of a target.
    pub(crate) fn of(started: Started, arm: &ArmPlan) -> anyhow::Result<Up> {
        let Started { process, port, ready_us } = started;
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
        let before = arm.requests().map(|request| resolve::host(&request.host, request.port.unwrap_or(port)));
        let before_to = before.collect::<anyhow::Result<_>>()?;
        Ok(Up { process, port, subscribe_to, publish_to, before_to, ready_us })
    }

    /// Stops the started server. Returns how it ended and its output.
    pub(crate) fn stop(&mut self) -> (Option<LastWords>, Vec<KeptFile>) {
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
        let serve = order(&server.name, loaded);
        let target = Target::of_row(server, registry, &serve, program)?;
        let command = [&target.command[..], &asked.args].concat();
        Ok(Target { command, secrets: loaded.secrets.clone(), token: token_of(&asked.args), ..target })
    }

    /// A row of the registry, started on this machine.
    ///
    /// # Errors
    /// Fails if its command names a JDK that is not on this machine.
    pub(crate) fn of_row(
        server: &Server,
        registry: &Registry,
        asked: &Serve,
        program: &Path,
    ) -> anyhow::Result<Target> {
        let contract = server.contract.then(|| registry.contract());
        // Port and log folder are filled in at the start, when they are known.
        let filling = Filling { pushmark: program, port: None, log: None, flags: &asked.flags };
        Ok(Target {
            name: server.name.clone(),
            command: registry.command(server, &server.run, &filling)?,
            folder: registry.folder_of(server),
            // Its command may name a daemon. A token in pushmark's environment is for a server that other
            // clients ask; requests here do not carry it.
            variables: vec![("PATH".into(), paths::search_path()), ("PUSHMARK_TOKEN".into(), "".into())],
            ready: registry.ready_url(server).map(str::to_owned),
            stats: contract.map(|c| c.stats.clone()),
            emitters: contract.map(|c| c.emitters.clone()),
            log: contract.zip(asked.log).map(|(c, on)| (c.log.clone(), on)),
            port: asked.port,
            strict: true,
            thread_each: server.architecture == Some(Architecture::ThreadPerRequest),
            live_heap: asked.live_heap,
            tables: Some(registry.tables(server, &asked.flags)),
            ..Target::default()
        })
    }

    fn of_process(loaded: &Loaded) -> Target {
        let Loaded { scenario, folder, .. } = loaded;
        let Some(process) = &scenario.target.process else { return Target::default() };
        let serve = order(process.monitor.as_deref().unwrap_or("target"), loaded);
        Target {
            secrets: loaded.secrets.clone(),
            tls: loaded.tls(),
            ..Target::of_command(process, folder, &serve)
        }
    }

    /// A command, started on this machine.
    pub(crate) fn of_command(process: &ProcessTemplate, folder: &Path, asked: &Serve) -> Target {
        Target {
            name: asked.name.clone(),
            command: process.start.clone(),
            folder: Some(process.cwd.as_ref().map_or(folder.to_owned(), |cwd| folder.join(cwd)))
                .filter(|folder| !folder.as_os_str().is_empty()),
            variables: process.env.iter().map(|(k, v)| (k.into(), v.into())).collect(),
            templates: true,
            ready: process.ready.clone(),
            stop: process.stop.clone().unwrap_or_default(),
            port: asked.port,
            live_heap: asked.live_heap,
            ..Target::default()
        }
    }

    /// The target of a scenario whose server a monitor starts. `host`: where clients reach a row of the registry;
    /// a target with a command of the monitor's own has its host in its URLs.
    pub(crate) fn elsewhere(loaded: &Loaded, registry: &Registry, host: IpAddr) -> Target {
        let asked = &loaded.scenario.target;
        let Some(server) = &loaded.server else {
            let name = asked.process.as_ref().and_then(|process| process.monitor.as_deref());
            let serve = order(name.unwrap_or_default(), loaded);
            return Target { name: serve.name.clone(), elsewhere: Some(serve), ..Target::default() };
        };
        let contract = server.contract.then(|| registry.contract());
        Target {
            name: server.name.clone(),
            stats: contract.map(|c| c.stats.clone()),
            emitters: contract.map(|c| c.emitters.clone()),
            thread_each: server.architecture == Some(Architecture::ThreadPerRequest),
            elsewhere: Some(order(&server.name, loaded)),
            host: Some(host),
            ..Target::default()
        }
    }

    /// The order by which a monitor starts it; `None` if none does.
    pub(crate) fn order(&self) -> Option<&Serve> {
        self.elsewhere.as_ref()
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
        Up::of(self.start(arm.subscribe.port, cpus)?, arm)
    }

    /// Starts the server if there is one to start here, and waits until it is ready. `serves`: the port that
    /// clients connect to, if it is not the server's.
    pub(crate) fn start(&self, serves: Option<u16>, cpus: &[u32]) -> anyhow::Result<Started> {
        if !self.is_started() {
            return Ok(Started::default());
        }
        let port = match self.port {
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
        let serves = serves.unwrap_or(port);
        let taken = is_taken(serves);
        let began = Instant::now();
        let mut started = Process::start(&start, logs)?;
        match self.ready.as_ref().map(filled) {
            Some(url) => started.wait_ready(&self.control(url), READY_WITHIN)?,
            None => started.wait_accepting(serves, READY_WITHIN)?,
        };
        let ready_us = Some(began.elapsed().as_micros() as u64);
        started.owns(serves, taken, self.strict)?;
        self.switch_log(port)?;
        Ok(Started { process: Some(started), port, ready_us })
    }

    /// The same with the address at which its servers listen, for machines that are not this one.
    pub(crate) fn listening_at(mut self, address: IpAddr) -> Target {
        self.variables.push(("PUSHMARK_LISTEN".into(), address.to_string().into()));
        self
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
    pub(crate) fn stats_at(&self, port: u16) -> Option<Control> {
        self.stats.as_ref().map(|url| self.control(self.fill(url, port)))
    }

    /// Whether its heap is collected in drain.
    pub(crate) fn live_heap(&self) -> bool {
        self.live_heap
    }

    /// Whether it uses a thread for each client, according to its row.
    pub(crate) fn thread_each(&self) -> bool {
        self.thread_each
    }

    /// The server's statistics; `None` if it does not answer with any.
    pub(crate) fn stats(&self, port: u16) -> Option<serde_json::Value> {
        let stats = self.stats_at(port)?;
        let answer = http::get(&stats, CONTROL_TIMEOUT).ok().filter(http::Answer::is_success)?;
        serde_json::from_slice(&answer.body).ok()
    }

    /// The URL that sets its emitters.
    pub(crate) fn emitters(&self, port: u16) -> Option<Control> {
        self.emitters.as_ref().map(|url| self.control(self.fill(url, port)))
    }

    fn control(&self, url: String) -> Control {
        // It may be a placeholder: `--token {secret.NAME}`.
        let token = self.token.as_ref().map(|token| self.fill(token, 0));
        Control { url, tls: self.tls.clone(), token }
    }

    /// A URL of its row: rows name the machine that they run on.
    fn fill(&self, text: &str, port: u16) -> String {
        let url = self.fill_in(text, port, "");
        match self.host {
            Some(IpAddr::V6(host)) => url.replacen(ROW_HOST, &format!("[{host}]"), 1),
            Some(host) => url.replacen(ROW_HOST, &host.to_string(), 1),
            None => url,
        }
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

/// The order to start the server of a scenario.
fn order(name: &str, loaded: &Loaded) -> Serve {
    let asked = &loaded.scenario.target;
    let serves = loaded.plan.arms.first().and_then(|arm| arm.subscribe.port);
    Serve {
        name: name.to_owned(),
        flags: asked.flags.clone(),
        log: asked.log,
        port: asked.port,
        live_heap: asked.live_heap,
        serves,
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
