//! `pushmark servers list|build|start|clean`: the reference servers of `servers.toml`.

use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::Context as _;
use clap::{Args, Subcommand};
use serde_json::json;

use super::output::{Format, note, print};
use super::run::usage;
use crate::exit::{Ending, Exit};
use crate::server::needs::search_path;
use crate::server::port::free_port;
use crate::server::registry::{Filling, Registry, Server};

/// What is asked of the reference servers.
#[derive(Args, Clone, Debug)]
pub struct ServersArgs {
    /// Folder of servers.toml
    #[arg(long, value_name = "DIR", global = true)]
    pub servers: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with servers.
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// List them: what each speaks, and what it lacks to run here
    List {
        /// What stdout is
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Build servers that have to be built
    Build {
        /// Their names; none: all that can be built
        names: Vec<String>,
    },
    /// Start one in the foreground, until Ctrl-C
    Start {
        /// Its name
        name: String,
        /// The port; without it a free one
        #[arg(short, long)]
        port: Option<u16>,
        /// More arguments for its command
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Remove what was built
    Clean {
        /// Their names; none: all
        names: Vec<String>,
    },
}

/// Runs the command.
///
/// # Errors
/// A name that is none (2), a command that fails (3).
pub fn run(args: &ServersArgs) -> anyhow::Result<Exit> {
    let registry = Registry::load(args.servers.as_deref()).map_err(usage)?;
    match &args.action {
        Action::List { format } => print(&list(&registry, *format)?)?,
        Action::Build { names } => chores(&registry, names, "build", |server| &server.build)?,
        Action::Start { name, port, args } => start(&registry, name, *port, args)?,
        Action::Clean { names } => chores(&registry, names, "clean", |server| &server.clean)?,
    }
    Ok(Exit::Pass)
}

/// Whether a server can be started here.
#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    /// It can; what it says of its version.
    Ready(String),
    /// These programs are not to be found.
    Missing(Vec<String>),
    /// It has to be built first.
    NotBuilt,
    /// Its version command fails: why.
    Broken(String),
}

impl State {
    fn of(server: &Server, registry: &Registry) -> anyhow::Result<State> {
        let missing: Vec<String> =
            registry.missing(server).into_iter().map(|(name, _)| name.to_owned()).collect();
        if !missing.is_empty() {
            return Ok(State::Missing(missing));
        }
        if server.version.is_empty() {
            return Ok(State::Ready(String::new()));
        }
        let answer = command(&server.version, server, registry, 0)?.stdin(Stdio::null()).output();
        Ok(match answer {
            Ok(answer) if answer.status.success() => {
                let said = [answer.stdout, answer.stderr].concat();
                State::Ready(first_line(&String::from_utf8_lossy(&said)))
            }
            _ if !server.build.is_empty() => State::NotBuilt,
            Ok(answer) => State::Broken(first_line(&String::from_utf8_lossy(&answer.stderr))),
            Err(error) => State::Broken(error.to_string()),
        })
    }

    fn words(&self, name: &str) -> String {
        match self {
            State::Ready(version) if version.is_empty() => "ready".to_owned(),
            State::Ready(version) => format!("ready: {version}"),
            State::Missing(programs) => format!("missing: {}", programs.join(", ")),
            State::NotBuilt => format!("not built: pushmark servers build {name}"),
            State::Broken(why) => format!("does not start: {why}"),
        }
    }
}

fn list(registry: &Registry, format: Format) -> anyhow::Result<String> {
    let mut rows = Vec::new();
    for server in registry.servers() {
        rows.push((server, State::of(server, registry)?));
    }
    if format == Format::Json {
        let rows: Vec<_> = rows
            .iter()
            .map(|(server, state)| {
                json!({
                    "name": server.name,
                    "generation": server.generation,
                    "architecture": server.architecture.map(|a| a.name()),
                    "transports": server.transports,
                    "contract": server.contract,
                    "ready": matches!(state, State::Ready(_)),
                    "state": state.words(&server.name),
                })
            })
            .collect();
        return Ok(format!("{:#}\n", json!(rows)));
    }
    let wide = rows.iter().map(|(server, _)| server.name.len()).max().unwrap_or(0).max(4);
    let mut text = String::new();
    for (server, state) in rows {
        let transports: Vec<&str> = server.transports.iter().map(|t| t.name()).collect();
        text.push_str(&format!("{:wide$}  {}\n", server.name, state.words(&server.name)));
        text.push_str(&format!("{:wide$}  {}\n", "", transports.join(", ")));
        if let Some(architecture) = server.architecture {
            text.push_str(&format!("{:wide$}  {}\n", "", architecture.name()));
        }
    }
    Ok(text)
}

/// Runs one kind of command for the servers named, or for all that have one.
fn chores(
    registry: &Registry,
    names: &[String],
    what: &str,
    of: fn(&Server) -> &Vec<String>,
) -> anyhow::Result<()> {
    let named: Vec<&Server> = match names {
        [] => registry.servers().iter().filter(|server| !of(server).is_empty()).collect(),
        names => names.iter().map(|name| find(registry, name)).collect::<anyhow::Result<_>>()?,
    };
    for server in named {
        if of(server).is_empty() {
            note(&format!("{}: nothing to {what}", server.name));
            continue;
        }
        let status = command(of(server), server, registry, 0)?.status();
        let why = match status {
            Ok(status) if status.success() => continue,
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        };
        let text = format!("{}: {} failed: {why}", server.name, of(server).join(" "));
        return Err(Ending::error(Exit::Unreachable, text));
    }
    Ok(())
}

/// Becomes the server: signals and output are its own. Returns only where it cannot start.
fn start(registry: &Registry, name: &str, port: Option<u16>, extra: &[String]) -> anyhow::Result<()> {
    let server = find(registry, name)?;
    let state = State::of(server, registry)?;
    if !matches!(state, State::Ready(_)) {
        let text = format!("{name} cannot be started here: {}", state.words(name));
        return Err(Ending::error(Exit::Unreachable, text));
    }
    let port = match port {
        Some(port) => port,
        None => free_port().context("a port for the server")?,
    };
    let endpoints = registry.endpoints(server);
    note(&format!("{name} on port {port}; Ctrl-C ends it"));
    for transport in endpoints.subscribe.transports() {
        let url = endpoints.subscribe.of(transport).map_or("", |template| &template.url);
        note(&format!("  {:9}  {}", transport.name(), with_port(url, port)));
    }
    if let Some(publish) = &endpoints.publish {
        note(&format!("  publish    {} {}", publish.method, with_port(&publish.url, port)));
    }
    // Its own limit, not a shell's habit of 1,024, decides how many it can hold.
    let _ = pushmark_net::limits::raise_open_files();
    let error = command(&server.run, server, registry, port)?.args(extra).exec();
    Err(Ending::error(Exit::Unreachable, format!("{name}: {} does not start: {error}", server.run.join(" "))))
}

/// The port filled in; what only a run knows stays as it is written.
fn with_port(url: &str, port: u16) -> String {
    url.replace("{port}", &port.to_string())
}

fn find<'r>(registry: &'r Registry, name: &str) -> anyhow::Result<&'r Server> {
    registry.find(name).ok_or_else(|| {
        let error = registry.unknown("name", name);
        let advice: Vec<String> = std::iter::once(error.label()).chain(error.advice()).collect();
        Ending::error(Exit::Usage, format!("{error}: {}", advice.join("; ")))
    })
}

/// A command of a server, in its folder, with daemons in reach.
fn command(words: &[String], server: &Server, registry: &Registry, port: u16) -> anyhow::Result<Command> {
    let own = std::env::current_exe().context("the path of this program")?;
    let none = std::collections::BTreeMap::new();
    let log = std::env::temp_dir();
    let filling = Filling { pushmark: &own, port: Some(port), log: Some(&log), flags: &none };
    let words = registry.command(server, words, &filling)?;
    let (program, arguments) =
        words.split_first().with_context(|| format!("{} has no command", server.name))?;
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", search_path());
    if let Some(folder) = registry.folder_of(server) {
        command.current_dir(folder);
    }
    Ok(command)
}

fn first_line(text: &str) -> String {
    text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default().to_owned()
}
