//! Scenario files: read from disk, from the program itself, or made of a bare URL; and
//! what is wrong with them, shown with the lines at fault.

use std::fmt;
use std::path::{Path, PathBuf};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource, SourceCode};
use pushmark_model::plan::{Plan, Tls};
use pushmark_model::scenario::{Context, Endpoints, Override, Scenario, ScenarioError, Source, resolve};
use pushmark_model::template::ClientFields;
use pushmark_model::transport::Transport;

use crate::secure;
use crate::server::registry::{Registry, Server};

/// The scenario of `pushmark run` without arguments.
const QUICK: &str = include_str!("../../../scenarios/quick.toml");

/// Largest scenario, registry or clients file.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// Where a scenario comes from.
#[derive(Clone, Debug)]
pub enum Asked<'a> {
    /// The one embedded in the program.
    Quick,
    /// A file.
    File(&'a Path),
    /// A server of the registry by its name, with every transport that it has.
    Server(&'a str),
    /// A bare URL, observed. Transports by `-t`; none: by the scheme (ws: websocket, http: sse).
    Url {
        /// The URL.
        url: &'a str,
        /// The transports asked for.
        transports: &'a [Transport],
    },
    /// A text made in memory: the scenario of a suite's case.
    Text {
        /// The text.
        text: &'a str,
        /// The name of what it was made of, for messages.
        file: &'a str,
        /// The folder that paths in it are relative to.
        folder: &'a Path,
    },
}

impl<'a> Asked<'a> {
    /// What an argument of `run` means: with `://` a URL, else a file.
    pub fn argument(argument: Option<&'a str>, transports: &'a [Transport]) -> Asked<'a> {
        match argument {
            None => Asked::Quick,
            Some(url) if url.contains("://") => Asked::Url { url, transports },
            Some(path) => Asked::File(Path::new(path)),
        }
    }
}

/// A scenario and all it names.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What is asked, flags applied.
    pub scenario: Scenario,
    /// The text, as given.
    pub text: String,
    /// The file's name, for messages.
    pub file: String,
    /// The folder that paths in the scenario are relative to.
    pub folder: PathBuf,
    /// Where the target is reached.
    pub endpoints: Endpoints,
    /// The server to start; absent for a target of the user's own.
    pub server: Option<Server>,
    /// The table of `[target] clients`.
    pub clients: Option<ClientFields>,
    /// What `[target.tls]` says, its files read.
    tls: Option<Tls>,
    source: Source,
}

/// Reads a scenario, applies the flags, finds its server and its clients.
///
/// # Errors
/// All that the files alone show to be wrong (exit code 2).
pub fn load(asked: &Asked<'_>, overrides: &[Override], registry: &Registry) -> Result<Loaded, Report> {
    let (text, file, folder, name) = match asked {
        Asked::Quick => (QUICK.to_owned(), "quick.toml (built in)".to_owned(), PathBuf::new(), "quick"),
        Asked::File(path) => {
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("scenario");
            (read_text(path)?, path.display().to_string(), folder, stem)
        }
        Asked::Server(name) => {
            let text = format!("[target]\nserver = {name:?}\n");
            (text, "the scenario made of the name".to_owned(), PathBuf::new(), *name)
        }
        Asked::Url { url, transports } => {
            (observe(url, transports), "the scenario made of the URL".to_owned(), PathBuf::new(), "observe")
        }
        Asked::Text { text, file, folder } => {
            ((*text).to_owned(), (*file).to_owned(), (*folder).to_owned(), "case")
        }
    };
    let report = |errors| Report::new(&file, &text, errors);
    let (mut scenario, source) = Scenario::parse(&text, overrides).map_err(report)?;
    if scenario.name.is_empty() {
        name.clone_into(&mut scenario.name);
    }
    let located = |error| report(vec![source.locate(error)]);
    let clients = scenario.target.clients.as_deref().map(|path| read_clients(&folder.join(path), path));
    let clients = clients.transpose().map_err(|error| located(*error))?;
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
                    ScenarioError::at("target.log", format!("`{name}` does not switch its log when told"))
                        .found("log")
                        .accepted("no `log` with this server"),
                ));
            }
            (registry.endpoints(server), Some(server.clone()))
        }
    };
    let loaded = Loaded { scenario, text, file, folder, endpoints, server, clients, tls, source };
    // What the target cannot give is shown now, not after a server was started.
    let ready = loaded.scenario.target.process.as_ref().and_then(|process| process.ready.as_deref());
    let errors = secure::check(&loaded.plan(0)?, ready, &loaded.tls());
    if !errors.is_empty() {
        return Err(loaded.report(errors));
    }
    Ok(loaded)
}

impl Loaded {
    /// The plan of a run; `run` is a number no other run has.
    ///
    /// # Errors
    /// What the scenario asks of the target that it cannot give. [`load`] has tried already.
    pub fn plan(&self, run: u64) -> Result<Plan, Report> {
        let Loaded { endpoints, clients, tls, .. } = self;
        let context = Context { endpoints, clients: clients.as_ref(), tls: tls.as_ref(), run };
        resolve(&self.scenario, &context).map_err(|errors| self.report(errors))
    }

    /// How the target is met over TLS, where it is.
    pub fn tls(&self) -> Tls {
        self.tls.clone().unwrap_or_default()
    }

    /// Errors found later, shown in this scenario's text.
    pub fn report(&self, errors: Vec<ScenarioError>) -> Report {
        Report::new(&self.file, &self.text, self.source.locate_all(errors))
    }

    /// The text without literal secrets, for the run's folder.
    pub fn redacted_text(&self) -> String {
        self.scenario.secrets().redact(&self.text)
    }
}

/// The scenario that a bare URL stands for.
fn observe(url: &str, transports: &[Transport]) -> String {
    let by_scheme =
        [if url.to_ascii_lowercase().starts_with("ws") { Transport::WebSocket } else { Transport::Sse }];
    let transports = if transports.is_empty() { &by_scheme[..] } else { transports };
    let url = toml::Value::String(url.to_owned());
    let templates: String = transports.iter().map(|transport| format!("{transport} = {url}\n")).collect();
    format!(
        "name = \"observe\"\n\
         analysis = \"A system that publishes by itself, only listened to.\"\n\n\
         [target.subscribe]\n{templates}\n\
         [load]\nconnections = 10\nwarmup = \"0s\"\n"
    )
}

/// Reads a file that must be UTF-8.
///
/// # Errors
/// Says what the file is instead.
pub fn read_text(path: &Path) -> Result<String, Report> {
    let file = path.display().to_string();
    let fail = |error: ScenarioError| Report::new(&file, "", vec![error]);
    let bytes = read_bytes(path).map_err(|error| fail(*error))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let bytes = error.as_bytes();
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        let utf16 = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        let found =
            if utf16 { "UTF-16".to_owned() } else { format!("byte 0x{:02x} in line {line}", bytes[at]) };
        fail(ScenarioError::at("", "the file is not UTF-8").found(found).accepted("a UTF-8 text"))
    })
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, Box<ScenarioError>> {
    let fail = |message: String| Box::new(ScenarioError::at("", message));
    let size = std::fs::metadata(path).map(|data| data.len());
    match size.and_then(|size| if size > FILE_BYTES_MAX { Ok(None) } else { std::fs::read(path).map(Some) }) {
        Ok(Some(bytes)) => Ok(bytes),
        Ok(None) => Err(fail("the file is larger than 64 MiB".to_owned())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut error = fail("there is no such file".to_owned());
            error.nearest = nearest_file(path);
            Err(error)
        }
        Err(error) => Err(fail(format!("the file cannot be read: {error}"))),
    }
}

/// The file of the same folder with the nearest name.
fn nearest_file(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let names: Vec<String> = std::fs::read_dir(folder.unwrap_or(Path::new(".")))
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    let wanted = path.file_name()?.to_str()?;
    let name = pushmark_model::scenario::nearest(wanted, names.iter().map(String::as_str))?;
    Some(folder.map_or(name.clone(), |folder| folder.join(&name).display().to_string()))
}

/// Reads the clients' table: a header line, then a line a client.
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

/// What is wrong with a file. Exit code 2.
#[derive(Clone, Debug)]
pub struct Report {
    /// The file's name.
    pub file: String,
    /// Its text; empty where it could not be read.
    pub text: String,
    /// Everything found, in the order of the file; at least one.
    pub errors: Vec<ScenarioError>,
}

impl Report {
    /// What was found in a file's text.
    pub fn new(file: &str, text: &str, errors: Vec<ScenarioError>) -> Report {
        Report { file: file.to_owned(), text: text.to_owned(), errors }
    }

    /// The errors with the lines at fault, `width` columns wide.
    pub fn render(&self, colors: bool, width: usize) -> String {
        let theme = if colors { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
        let handler = GraphicalReportHandler::new_themed(theme)
            .with_links(false)
            .with_context_lines(1)
            .with_width(width)
            .without_syntax_highlighting();
        let source = NamedSource::new(&self.file, self.text.clone());
        let mut out = String::new();
        for (i, error) in self.errors.iter().enumerate() {
            if i > 0 {
                out.push('\n');
            }
            let shown = Shown { error, file: &self.file, source: &source };
            handler.render_report(&mut out, &shown).expect("writing to memory");
        }
        // Lines end where their text does.
        out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n") + "\n"
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.render(false, 100).trim_end())
    }
}

impl std::error::Error for Report {}

/// One error, as miette shows it.
#[derive(Debug)]
struct Shown<'r> {
    error: &'r ScenarioError,
    file: &'r str,
    source: &'r NamedSource<String>,
}

impl Shown<'_> {
    fn span(&self) -> Option<std::ops::Range<usize>> {
        self.error.span.clone().filter(|span| !span.is_empty())
    }
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.span().is_none() && self.error.flag.is_none() {
            write!(f, "{}: ", self.file)?;
        }
        write!(f, "{}", self.error)
    }
}

impl std::error::Error for Shown<'_> {}

impl Diagnostic for Shown<'_> {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        // Without a line to mark, what stands under the mark goes into the advice.
        let label = self.span().is_none().then(|| self.error.label()).filter(|label| label != "here");
        let lines: Vec<String> = label.into_iter().chain(self.error.advice()).collect();
        (!lines.is_empty()).then(|| Box::new(lines.join("\n")) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.span().is_some().then_some(self.source as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = LabeledSpan::new_with_span(Some(self.error.label()), self.span()?);
        Some(Box::new(std::iter::once(label)))
    }
}
