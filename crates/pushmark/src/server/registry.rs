//! `servers.toml`: reference servers as data. Nothing here knows one by name.
//!
//! Found by `--servers DIR`, `PUSHMARK_SERVERS`, else in the nearest parent folder that has
//! `servers/servers.toml`. Rows that need no folder are embedded in the program too.

use std::path::{Path, PathBuf};

use pushmark_model::scenario::{
    self, Endpoints, PublishTemplate, ScenarioError, Source, SubscribeSet, nearest, one_of,
};
use pushmark_model::transport::Transport;
use serde::{Deserialize, Serialize};

use crate::scenario_file::{Report, read_text};

const EMBEDDED: &str = include_str!("../../../../servers/servers.toml");

/// The variable that names the folder of `servers.toml`.
pub const VARIABLE: &str = "PUSHMARK_SERVERS";

/// All servers there are.
#[derive(Clone, Debug)]
pub struct Registry {
    contract: Contract,
    servers: Vec<Server>,
    folder: Option<PathBuf>,
}

/// What every server that keeps the contract speaks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Contract {
    /// URL that answers 2xx once it is up.
    pub health: String,
    /// URL of its counters.
    pub stats: String,
    /// URL of its emitters.
    pub emitters: String,
    /// How clients subscribe.
    pub subscribe: SubscribeSet,
    /// How a message is published.
    pub publish: PublishTemplate,
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
    /// The time it stands for.
    #[serde(default)]
    pub generation: String,
    /// How it is built: threads, loops, blocking or not.
    #[serde(default)]
    pub architecture: String,
    /// What it speaks.
    pub transports: Vec<Transport>,
    /// It keeps `servers/CONTRACT.md`, so the templates of `[contract]` are its own.
    #[serde(default)]
    pub contract: bool,
    /// Command that starts it, with {pushmark} and {port}.
    pub run: Vec<String>,
    /// Command that builds it, once.
    #[serde(default)]
    pub build: Vec<String>,
    /// Command that prints its version: proof that it is there.
    #[serde(default)]
    pub version: Vec<String>,
    /// Command that removes what was built.
    #[serde(default)]
    pub clean: Vec<String>,
    /// Programs it needs, by name.
    #[serde(default)]
    pub needs: Vec<String>,
    /// The clock of its stamps.
    #[serde(default = "monotonic")]
    pub clock: String,
    /// Grain of that clock, µs.
    #[serde(default)]
    pub grain_us: u64,
    /// How its emitters keep time; absent: it has none.
    #[serde(default)]
    pub emitter: Option<Emitter>,
    /// It sets TCP_NODELAY.
    #[serde(default)]
    pub nodelay: bool,
    /// How clients subscribe, where it does not keep the contract.
    #[serde(default)]
    pub subscribe: Option<SubscribeSet>,
    /// How a message is published, where it does not keep the contract.
    #[serde(default)]
    pub publish: Option<PublishTemplate>,
    /// URL that answers 2xx once it is up, where it does not keep the contract.
    #[serde(default)]
    pub ready: Option<String>,
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    contract: Contract,
    #[serde(default)]
    server: Vec<Server>,
}

impl Registry {
    /// The servers of the folder asked for, of `PUSHMARK_SERVERS`, of the nearest parent of
    /// the working folder; and those embedded.
    ///
    /// # Errors
    /// A folder that was named and has no `servers.toml`, or what is wrong in the file.
    pub fn load(folder: Option<&Path>) -> Result<Registry, Report> {
        let from_variable = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from);
        let named = folder.map(Path::to_owned).or(from_variable);
        let found = match named {
            Some(folder) => Some(folder),
            None => std::env::current_dir().ok().and_then(|here| nearest_folder(&here)),
        };
        let Some(folder) = found else { return Ok(Registry::embedded()) };
        let path = folder.join("servers.toml");
        let text = read_text(&path)?;
        Registry::parse(&text, &path.display().to_string(), Some(folder))
    }

    /// The servers that need nothing on disk.
    pub fn embedded() -> Registry {
        let mut registry = Registry::parse(EMBEDDED, "servers.toml", None).expect("tested");
        registry.servers.retain(|server| server.folder.is_none());
        registry
    }

    fn parse(text: &str, file: &str, folder: Option<PathBuf>) -> Result<Registry, Report> {
        let report = |errors| Report::new(file, text, errors);
        let (parsed, source) = scenario::read::<File>(text, &[]).map_err(report)?;
        let errors = check(&parsed, &source);
        if !errors.is_empty() {
            return Err(report(errors));
        }
        let mut registry = Registry { contract: parsed.contract, servers: parsed.server, folder };
        if registry.folder.is_some() {
            // What the program carries is there whatever the folder lists.
            let carried = Registry::embedded().servers;
            let missing: Vec<Server> =
                carried.into_iter().filter(|s| registry.find(&s.name).is_none()).collect();
            registry.servers.splice(0..0, missing);
        }
        Ok(registry)
    }

    /// All servers, in the order of the file.
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The server with this name.
    pub fn find(&self, name: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.name == name)
    }

    /// Says that there is no such server, and which there are.
    pub fn unknown(&self, key: &str, name: &str) -> ScenarioError {
        let names = || self.servers.iter().map(|server| server.name.as_str());
        ScenarioError::at(key, format!("there is no server `{name}`"))
            .found(format!("{name:?}"))
            .accepted(one_of(names()))
            .nearest(nearest(name, names()))
    }

    /// What servers that keep the contract speak.
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// Where `servers.toml` was found; absent: embedded.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The folder of a server; absent where it needs none.
    pub fn folder_of(&self, server: &Server) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(server.folder.as_ref()?))
    }

    /// Where a server is reached; its templates name `{port}`.
    pub fn endpoints(&self, server: &Server) -> Endpoints {
        let templates = match &server.subscribe {
            Some(own) => own,
            None => &self.contract.subscribe,
        };
        let mut subscribe = SubscribeSet::default();
        for transport in &server.transports {
            *subscribe.of_mut(*transport) = templates.of(*transport).cloned();
        }
        let contract = || server.contract.then(|| self.contract.publish.clone());
        Endpoints {
            name: server.name.clone(),
            subscribe,
            publish: server.publish.clone().or_else(contract),
            emitters: server.emitter.is_some(),
            started: true,
        }
    }

    /// URL template that answers 2xx once the server is up; absent: its port accepts.
    pub fn ready_url<'r>(&'r self, server: &'r Server) -> Option<&'r str> {
        match (&server.ready, server.contract) {
            (Some(own), _) => Some(own),
            (None, true) => Some(&self.contract.health),
            (None, false) => None,
        }
    }
}

impl Server {
    /// A command of this server with `{pushmark}` and `{port}` filled in.
    pub fn command(command: &[String], pushmark: &Path, port: u16) -> Vec<String> {
        let pushmark = pushmark.to_string_lossy();
        let fill = |word: &String| word.replace("{pushmark}", &pushmark).replace("{port}", &port.to_string());
        command.iter().map(fill).collect()
    }
}

/// The nearest parent (the folder itself first) with `servers/servers.toml`.
fn nearest_folder(from: &Path) -> Option<PathBuf> {
    from.ancestors().map(|parent| parent.join("servers")).find(|folder| folder.join("servers.toml").is_file())
}

fn check(file: &File, source: &Source) -> Vec<ScenarioError> {
    let mut errors = Vec::new();
    for (i, server) in file.server.iter().enumerate() {
        let key = |key: &str| format!("server[{i}].{key}");
        if file.server[..i].iter().any(|other| other.name == server.name) {
            errors.push(
                ScenarioError::at(key("name"), format!("two servers are called `{}`", server.name))
                    .found(format!("{:?} again", server.name))
                    .accepted("each name once"),
            );
        }
        if server.run.is_empty() {
            errors.push(
                ScenarioError::at(key("run"), "there is no command to start")
                    .found("an empty list")
                    .accepted("a command and its arguments, with {port}"),
            );
        }
        let templates = match (server.contract, &server.subscribe) {
            (_, Some(own)) => own,
            (true, None) => &file.contract.subscribe,
            (false, None) => {
                errors.push(
                    ScenarioError::at(
                        key("name"),
                        format!("nothing says how to subscribe to `{}`", server.name),
                    )
                    .accepted("contract = true, or templates under [server.subscribe]"),
                );
                continue;
            }
        };
        for (n, transport) in server.transports.iter().enumerate() {
            if templates.of(*transport).is_none() {
                errors.push(
                    ScenarioError::at(
                        key(&format!("transports[{n}]")),
                        format!("`{}` has no template for `{transport}`", server.name),
                    )
                    .found(format!("\"{transport}\""))
                    .accepted(one_of(templates.transports().iter().map(|t| t.name()))),
                );
            }
        }
    }
    source.locate_all(errors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_registry_reads_and_its_servers_are_reached() {
        let registry = Registry::embedded();
        assert!(!registry.servers().is_empty());
        for server in registry.servers() {
            assert!(server.folder.is_none());
            let endpoints = registry.endpoints(server);
            assert_eq!(endpoints.subscribe.transports(), server.transports);
            assert!(server.run.iter().any(|word| word.contains("{port}")));
        }
    }

    #[test]
    fn commands_are_filled_in() {
        let words = ["{pushmark}", "serve", "--port", "{port}"].map(str::to_owned);
        let command = Server::command(&words, Path::new("/opt/pushmark"), 9001);
        assert_eq!(command, ["/opt/pushmark", "serve", "--port", "9001"]);
    }

    #[test]
    fn a_folder_adds_to_what_is_embedded() {
        let row = "[[server]]\nname = \"other\"\nfolder = \"other\"\ntransports = [\"sse\"]\ncontract = true\nrun = [\"x\"]\n";
        let contract = &EMBEDDED[..EMBEDDED.find("[[server]]").unwrap()];
        let registry =
            Registry::parse(&format!("{contract}{row}"), "servers.toml", Some("/s".into())).unwrap();
        let names: Vec<_> = registry.servers().iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names.last(), Some(&"other"));
        assert_eq!(names.len(), Registry::embedded().servers().len() + 1);
        let folder = registry.folder_of(registry.find("other").unwrap());
        assert_eq!(folder, Some(PathBuf::from("/s/other")));
    }
}
