//! Scenario files, read from disk, embedded in the program, or made from a URL.

use std::path::{Path, PathBuf};

use pushmark_model::plan::{Over, Plan, Tls};
use pushmark_model::scenario::{Context, Endpoints, Override, Scenario, ScenarioError, Source, resolve};
use pushmark_model::secret::SecretValues;
use pushmark_model::template::ClientFields;
use pushmark_model::transport::Transport;

mod secret;

use pushmark_console::file_errors::{FileErrors, read_bytes, read_text};
use pushmark_host::secure;
use pushmark_host::server::registry::{Registry, Server};

/// The scenario of `pushmark run` without arguments.
const QUICK: &str = include_str!("../../../scenarios/quick.toml");

/// The source of a scenario.
#[derive(Clone, Debug)]
pub enum Asked<'a> {
    /// The scenario embedded in the program.
    Quick,
    /// A file.
    File(&'a Path),
    /// A server of the registry by its name, with all its transports.
    Server(&'a str),
    /// A URL to observe. Transports are those of `-t`, else that of the scheme (ws: websocket, http: sse).
    Url {
        /// The URL.
        url: &'a str,
        /// The requested transports.
        transports: &'a [Transport],
    },
    /// A text made in memory: the scenario of a suite's case.
    Text {
        /// The text.
        text: &'a str,
        /// The name of its source, for messages.
        file: &'a str,
        /// The folder that paths in it are relative to.
        folder: &'a Path,
    },
}

impl<'a> Asked<'a> {
    /// Returns the meaning of an argument of `run`: a URL if it contains `://`, else a file.
    pub fn argument(argument: Option<&'a str>, transports: &'a [Transport]) -> Asked<'a> {
        match argument {
            None => Asked::Quick,
            Some(url) if url.contains("://") => Asked::Url { url, transports },
            Some(path) => Asked::File(Path::new(path)),
        }
    }
}

/// A scenario with everything that it names.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The scenario with the flags applied.
    pub scenario: Scenario,
    /// The original text.
    pub text: String,
    /// The file's name, for messages.
    pub file: String,
    /// The folder that paths in the scenario are relative to.
    pub folder: PathBuf,
    /// The endpoints of the target.
    pub endpoints: Endpoints,
    /// The server to start; absent for the user's own target.
    pub server: Option<Server>,
    /// The values of `{secret.NAME}`.
    pub secrets: SecretValues,
    /// The settings of `[target.tls]`, with its files read.
    tls: Option<Tls>,
    /// Every number filled in; [`Plan::of_run`] makes it the plan of a run.
    pub plan: Plan,
    source: Source,
}

/// Reads a scenario, applies the flags, and finds its server and its clients.
///
/// # Errors
/// Reports all mistakes in the files (exit code 2).
pub fn load(asked: &Asked<'_>, overrides: &[Override], registry: &Registry) -> Result<Loaded, FileErrors> {
    let (text, file, folder, name) = match asked {
        Asked::Quick => (QUICK.to_owned(), "quick.toml (built in)".to_owned(), PathBuf::new(), "quick"),
        Asked::File(path) => {
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("scenario");
            (read_text(path)?, path.display().to_string(), folder, stem)
        }
        Asked::Server(name) => {
            let text = format!("[target]\nserver = {name:?}\n");
            (text, "the scenario for this name".to_owned(), PathBuf::new(), *name)
        }
        Asked::Url { url, transports } => {
            (observe(url, transports), "the scenario for this URL".to_owned(), PathBuf::new(), "observe")
        }
        Asked::Text { text, file, folder } => {
            ((*text).to_owned(), (*file).to_owned(), (*folder).to_owned(), "case")
        }
    };
    let report = |errors| FileErrors::new(&file, &text, errors);
    let (mut scenario, source) = Scenario::parse(&text, overrides).map_err(report)?;
    if scenario.name.is_empty() {
        name.clone_into(&mut scenario.name);
    }
    let located = |error| report(vec![source.locate(error)]);
    let clients = scenario.target.clients.as_deref().map(|path| read_clients(&folder.join(path), path));
    let clients = clients.transpose().map_err(|error| located(*error))?;
    let secrets = secret::read(&scenario, &folder).map_err(|errors| report(source.locate_all(errors)))?;
    secret::learn(&scenario, clients.as_ref(), &secrets);
    let tls = scenario.target.tls.as_ref().map(|spec| secure::read(spec, &folder));
    let tls = tls.transpose().map_err(|error| located(*error))?;
    let (endpoints, server) = match &scenario.target.server {
        None => (Endpoints::of_target(&scenario.target).expect("checked"), None),
        Some(name) => {
            let server =
                registry.find(name).ok_or_else(|| located(registry.unknown("target.server", name)))?;
            let unknown = scenario.target.flags.keys().filter(|flag| !server.flags.contains_key(*flag));
            let unknown: Vec<ScenarioError> = unknown
                .map(|flag| registry.unknown_flag(&format!("target.flags.{flag}"), server, flag))
                .collect();
            if !unknown.is_empty() {
                return Err(report(source.locate_all(unknown)));
            }
            if scenario.target.log.is_some() && (!server.contract || server.lacks("2.4")) {
                return Err(located(
                    ScenarioError::at("target.log", format!("`{name}` cannot switch its request log"))
                        .found("log")
                        .accepted("no `log` with this server"),
                ));
            }
            (registry.endpoints(server), Some(server.clone()))
        }
    };
    let context = Context {
        endpoints: &endpoints,
        clients: clients.as_ref(),
        tls: tls.as_ref(),
        secrets: Some(&secrets),
    };
    let mut plan = resolve(&scenario, &context).map_err(|errors| report(source.locate_all(errors)))?;
    for publish in plan.arms.iter_mut().filter_map(|arm| arm.publish.as_mut()) {
        if let Over::Command(command) = &mut publish.over {
            let within = command.folder.take().unwrap_or_default();
            command.folder = Some(folder.join(within)).filter(|folder| !folder.as_os_str().is_empty());
        }
    }
    let loaded = Loaded { scenario, text, file, folder, endpoints, server, secrets, tls, plan, source };
    // Reports now what TLS cannot do, instead of after a server was started.
    let ready = loaded.scenario.target.process.as_ref().and_then(|process| process.ready.as_deref());
    let errors = secure::check(&loaded.plan, ready, &loaded.tls());
    if !errors.is_empty() {
        return Err(loaded.report(errors));
    }
    Ok(loaded)
}

impl Loaded {
    /// Returns the TLS settings of the target.
    pub fn tls(&self) -> Tls {
        self.tls.clone().unwrap_or_default()
    }

    /// Makes a report of later errors with this scenario's text.
    pub fn report(&self, errors: Vec<ScenarioError>) -> FileErrors {
        FileErrors::new(&self.file, &self.text, self.source.locate_all(errors))
    }

    /// Returns the text without literal secrets, for the run's folder.
    pub fn redacted_text(&self) -> String {
        self.scenario.secrets().redact(&self.text)
    }
}

/// Returns the scenario for a URL.
fn observe(url: &str, transports: &[Transport]) -> String {
    let by_scheme =
        [if url.to_ascii_lowercase().starts_with("ws") { Transport::WebSocket } else { Transport::Sse }];
    let transports = if transports.is_empty() { &by_scheme[..] } else { transports };
    let url = toml::Value::String(url.to_owned());
    let templates: String = transports.iter().map(|transport| format!("{transport} = {url}\n")).collect();
    format!(
        "name = \"observe\"\n\
         analysis = \"A system that publishes by itself and is only observed.\"\n\n\
         [target.subscribe]\n{templates}\n\
         [load]\nconnections = 10\nwarmup = \"0s\"\n"
    )
}

/// Reads the clients' table: a header line, then one line per client.
fn read_clients(path: &Path, written: &str) -> Result<ClientFields, Box<ScenarioError>> {
    let at = |message: String| {
        let error = ScenarioError::at("target.clients", message).found(format!("{written:?}"));
        Box::new(error.accepted("a CSV file with a header line and a line for each client"))
    };
    let bytes = read_bytes(path).map_err(|error| at(format!("the clients' file: {}", error.message)))?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(bytes.as_slice());
    let wrong = |error: csv::Error| at(format!("the clients' file: {error}"));
    let columns: Vec<String> = reader.headers().map_err(wrong)?.iter().map(str::to_owned).collect();
    let rows: Result<Vec<Vec<String>>, _> =
        reader.records().map(|row| row.map(|row| row.iter().map(str::to_owned).collect())).collect();
    let rows = rows.map_err(wrong)?;
    if rows.is_empty() {
        return Err(at("the clients' file has no client".to_owned()));
    }
    // A line end inside a value would end the header line it is put into.
    if rows.iter().flatten().any(|value| value.contains(['\r', '\n', '\0'])) {
        return Err(at("the clients' file has a value of more than one line".to_owned()));
    }
    Ok(ClientFields { columns, rows })
}
