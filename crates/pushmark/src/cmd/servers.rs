//! `pushmark servers list|build|start|clean`: the reference servers of `servers.toml`.

mod list;

use std::collections::BTreeMap;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand};

use super::output::{Format, note, print};
use super::run::usage;
use crate::exit::{Ending, Exit};
use crate::server::build;
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
        /// Ask each that can run for its version
        #[arg(long)]
        versions: bool,
    },
    /// Build servers; what is built already and has not changed is left alone
    Build {
        /// Their names; none: all that can be built here
        names: Vec<String>,
    },
    /// Start one in the foreground, until Ctrl-C
    Start {
        /// Its name
        name: String,
        /// The port; without it a free one
        #[arg(short, long)]
        port: Option<u16>,
        /// A flag of its row, such as heap=1g
        #[arg(long = "flag", value_name = "NAME=VALUE")]
        flags: Vec<String>,
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
/// A name that is none (2), a command that fails (3), something missing on this machine (4).
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

/// Builds those named, or all that this machine can build.
fn build_all(registry: &Registry, names: &[String]) -> anyhow::Result<Exit> {
    let mut exit = Exit::Pass;
    for server in chosen(registry, names, |server| &server.build)? {
        if server.build.is_empty() {
            note(&format!("{}: nothing to build", server.name));
            continue;
        }
        // Asked for all, what cannot be had here is passed over; one that fails stops no other.
        if let (true, Some(missing)) = (names.is_empty(), build::missing(registry, server)) {
            note(&format!("{}: passed over: {}", server.name, missing.replace('\n', "; ")));
            continue;
        }
        match build::ensure(registry, server, &mut note) {
            Ok(true) => {}
            Ok(false) => note(&format!("{}: built already", server.name)),
            Err(error) => {
                super::output::complain(&format!("{error:#}"));
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

/// The servers named, or all that have a command of this sort, one of several that share it.
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

/// Becomes the server: signals and output are its own. Returns only where it cannot start.
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
        None => free_port().context("a port for the server")?,
    };
    let own = std::env::current_exe().context("the path of this program")?;
    let log = match server.run.iter().chain(&registry.jvm().arguments).any(|word| word.contains("{log}")) {
        true => build::foreground_logs(registry, server)?,
        false => PathBuf::new(),
    };
    let filling = Filling { pushmark: &own, port: Some(port), log: Some(&log), flags: &flags };
    let words = registry.command(server, &server.run, &filling)?;
    let mut command = build::in_folder(registry, server, &words)?;
    let endpoints = registry.endpoints(server);
    note(&format!("{name} on port {port}; Ctrl-C ends it"));
    for transport in endpoints.subscribe.transports() {
        let url = endpoints.subscribe.of(transport).map_or("", |template| &template.url);
        note(&format!("  {:16}  {}", transport.name(), with_port(url, port)));
    }
    if let Some(publish) = &endpoints.publish {
        note(&format!("  {:16}  {} {}", "publish", publish.method, with_port(&publish.url, port)));
    }
    // Its own limit, not a shell's habit of 1,024, decides how many it can hold.
    let _ = pushmark_net::limits::raise_open_files();
    let error = command.args(extra).exec();
    Err(Ending::error(Exit::Unreachable, format!("{name}: {} does not start: {error}", words.join(" "))))
}

/// `heap=1g`, one of the row's.
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

/// The port filled in; what only a run knows stays as it is written.
fn with_port(url: &str, port: u16) -> String {
    url.replace("{port}", &port.to_string())
}

fn find<'r>(registry: &'r Registry, name: &str) -> anyhow::Result<&'r Server> {
    registry.find(name).ok_or_else(|| told(&registry.unknown("name", name)))
}

/// An error of the command line, on one line.
fn told(error: &pushmark_model::scenario::ScenarioError) -> anyhow::Error {
    let advice: Vec<String> = std::iter::once(error.label()).chain(error.advice()).collect();
    Ending::error(Exit::Usage, format!("{error}: {}", advice.join("; ")))
}
