//! `pushmark servers list|build|start|clean`: works on the reference servers of `servers.toml`.

mod list;

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use super::mistakes::usage;
use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{Format, note, print};
use pushmark_host::server::build;
use pushmark_host::server::port::free_port;
use pushmark_host::server::registry::{Filling, Registry, Server};

/// Flags of `servers`.
#[derive(Args, Clone, Debug)]
pub struct ServersArgs {
    /// Folder that holds servers.toml
    #[arg(long, value_name = "DIR", global = true)]
    pub servers: Option<PathBuf>,
    /// The action.
    #[command(subcommand)]
    pub action: Action,
}

/// The actions on servers.
#[derive(Clone, Debug, Subcommand)]
pub enum Action {
    /// List the servers, with their transports and what is missing to run them here
    List {
        /// Format of the result on stdout
        #[arg(long, value_enum, default_value_t)]
        format: Format,
        /// Show the version of each server that can run here
        #[arg(long)]
        versions: bool,
    },
    /// Build servers; an unchanged server is not built again
    Build {
        /// Names of the servers; default: all that can be built here
        names: Vec<String>,
    },
    /// Start one server in the foreground, until Ctrl-C
    Start {
        /// Name of the server
        name: String,
        /// Port to listen on; default: a free one
        #[arg(short, long)]
        port: Option<u16>,
        /// Set a flag of the server, such as heap=1g
        #[arg(long = "flag", value_name = "NAME=VALUE")]
        flags: Vec<String>,
        /// Additional arguments for the server's command
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Remove the built files of servers
    Clean {
        /// Names of the servers; default: all
        names: Vec<String>,
    },
}

/// Runs the command.
///
/// # Errors
/// Fails if a name is unknown (2), a command fails (3), or this machine lacks something (4).
pub fn run(args: &ServersArgs) -> anyhow::Result<Exit> {
    let registry = Registry::load(args.servers.as_deref()).map_err(usage)?;
    match &args.action {
        Action::List { format, versions } => print(&list::list(&registry, *format, *versions)?)?,
        Action::Build { names } => return build_all(&registry, names),
        Action::Start { name, port, flags, args } => start(&registry, name, *port, flags, args)?,
        Action::Clean { names } => clean_all(&registry, names)?,
    }
    Ok(Exit::Pass)
}

/// Builds the named servers, or all that this machine can build.
fn build_all(registry: &Registry, names: &[String]) -> anyhow::Result<Exit> {
    let mut exit = Exit::Pass;
    for server in chosen(registry, names, |server| &server.build)? {
        if server.build.is_empty() {
            note(&format!("{}: nothing to build", server.name));
            continue;
        }
        // Without names, servers that lack something here are skipped, and a failed build stops no other.
        if let (true, Some(missing)) = (names.is_empty(), build::missing(registry, server)) {
            note(&format!("{}: skipped: {}", server.name, missing.replace('\n', "; ")));
            continue;
        }
        match build::ensure(registry, server, &mut note) {
            Ok(true) => {}
            Ok(false) => note(&format!("{}: already built", server.name)),
            Err(error) => {
                pushmark_console::output::complain(&format!("{error:#}"));
                exit = exit.worst(Ending::exit_of(&error));
            }
        }
    }
    Ok(exit)
}

fn clean_all(registry: &Registry, names: &[String]) -> anyhow::Result<()> {
    for server in chosen(registry, names, |server| &server.clean)? {
        if server.clean.is_empty() {
            note(&format!("{}: nothing to clean", server.name));
        } else {
            build::clean(registry, server, &mut note)?;
        }
    }
    Ok(())
}

/// Returns the named servers, or all that have a command of this kind, one of those that share it.
fn chosen<'r>(
    registry: &'r Registry,
    names: &[String],
    of: fn(&Server) -> &Vec<String>,
) -> anyhow::Result<Vec<&'r Server>> {
    if !names.is_empty() {
        return names.iter().map(|name| find(registry, name)).collect();
    }
    let mut chosen: Vec<&Server> = Vec::new();
    for server in registry.servers().iter().filter(|server| !of(server).is_empty()) {
        if !chosen.iter().any(|other| other.folder == server.folder && of(other) == of(server)) {
            chosen.push(server);
        }
    }
    Ok(chosen)
}

/// Replaces this process with the server, which then receives the signals. Returns only if that fails.
fn start(
    registry: &Registry,
    name: &str,
    port: Option<u16>,
    flags: &[String],
    extra: &[String],
) -> anyhow::Result<()> {
    let server = find(registry, name)?;
    let flags = flags_of(registry, server, flags)?;
    build::ensure(registry, server, &mut note)?;
    let port = match port {
        Some(port) => port,
        None => free_port().context("cannot find a free port for the server")?,
    };
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let log = match server.run.iter().chain(&registry.jvm().arguments).any(|word| word.contains("{log}")) {
        true => build::foreground_logs(registry, server)?,
        false => PathBuf::new(),
    };
    let filling = Filling { pushmark: &own, port: Some(port), log: Some(&log), flags: &flags };
    let words = registry.command(server, &server.run, &filling)?;
    let mut command = build::in_folder(registry, server, &words)?;
    let endpoints = registry.endpoints(server);
    note(&format!("{name} on port {port}; stop it with Ctrl-C"));
    for transport in endpoints.subscribe.transports() {
        let url = endpoints.subscribe.of(transport).map_or("", |template| &template.url);
        note(&format!("  {:16}  {}", transport.name(), with_port(url, port)));
    }
    if let Some(publish) = &endpoints.publish {
        note(&format!("  {:16}  {} {}", "publish", publish.method, with_port(&publish.url, port)));
    }
    // Without this, the usual soft limit of 1,024 open files would limit the connections of the server.
    let _ = pushmark_net::limits::raise_open_files();
    let error = command.args(extra).exec();
    Err(Ending::error(Exit::Unreachable, format!("{name}: cannot start {}: {error}", words.join(" "))))
}

/// Parses `heap=1g`, a flag of the server's row.
pub(super) fn flags_of(
    registry: &Registry,
    server: &Server,
    given: &[String],
) -> anyhow::Result<BTreeMap<String, String>> {
    let mut flags = BTreeMap::new();
    for text in given {
        let Some((name, value)) = text.split_once('=') else {
            let text = format!("--flag {text}: expected NAME=VALUE, such as heap=1g");
            return Err(Ending::error(Exit::Usage, text));
        };
        if !server.flags.contains_key(name) {
            return Err(told(&registry.unknown_flag("flag", server, name)));
        }
        flags.insert(name.to_owned(), value.to_owned());
    }
    Ok(flags)
}

/// Fills in the port. Other placeholders stay, because only a run has their values.
fn with_port(url: &str, port: u16) -> String {
    url.replace("{port}", &port.to_string())
}

fn find<'r>(registry: &'r Registry, name: &str) -> anyhow::Result<&'r Server> {
    registry.find(name).ok_or_else(|| told(&registry.unknown("name", name)))
}

/// Makes a usage error with the advice on one line.
fn told(error: &pushmark_model::scenario::ScenarioError) -> anyhow::Error {
    let advice: Vec<String> = std::iter::once(error.label()).chain(error.advice()).collect();
    Ending::error(Exit::Usage, format!("{error}: {}", advice.join("; ")))
}
