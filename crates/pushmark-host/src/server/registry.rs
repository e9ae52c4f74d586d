//! `servers.toml`: reference servers as data. No code here depends on the name of one.
//!
//! Found by `--servers DIR`, `PUSHMARK_SERVERS`, else in the nearest parent folder that has
//! `servers/servers.toml`. Rows that need no folder are embedded in the program too.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pushmark_model::scenario::{self, Endpoints, ScenarioError, SubscribeSet, nearest, one_of};

use super::check::check;
use super::needs::is_met;
use super::{jdk, words};
use pushmark_console::file_errors::{FileErrors, read_text};
use pushmark_model::server::File;
pub use pushmark_model::server::{Architecture, Contract, Emitter, Generation, Jvm, Need, Server};

const EMBEDDED: &str = include_str!("../../../../servers/servers.toml");

/// The variable that names the folder of `servers.toml`.
pub const VARIABLE: &str = "PUSHMARK_SERVERS";

/// All servers.
#[derive(Clone, Debug)]
pub struct Registry {
    contract: Contract,
    jvm: Jvm,
    needs: BTreeMap<String, Need>,
    servers: Vec<Server>,
    folder: Option<PathBuf>,
}

/// The values of the command variables that the row does not define.
#[derive(Clone, Copy, Debug)]
pub struct Filling<'a> {
    /// This program.
    pub pushmark: &'a Path,
    /// The port the server is given; absent: `{port}` stays.
    pub port: Option<u16>,
    /// The folder of its logs; absent: `{log}` stays.
    pub log: Option<&'a Path>,
    /// Flags that were set, in addition to the defaults of the row.
    pub flags: &'a BTreeMap<String, String>,
}

impl Registry {
    /// Loads the servers of `folder`, else of `PUSHMARK_SERVERS`, else of the nearest parent of the working
    /// folder; and the embedded ones.
    ///
    /// # Errors
    /// Fails if a named folder has no `servers.toml`, or if the file has errors.
    pub fn load(folder: Option<&Path>) -> Result<Registry, FileErrors> {
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

    pub(super) fn parse(text: &str, file: &str, folder: Option<PathBuf>) -> Result<Registry, FileErrors> {
        let report = |errors| FileErrors::new(file, text, errors);
        let (parsed, source) = scenario::read::<File>(text, &[]).map_err(report)?;
        let errors = check(&parsed, &source);
        if !errors.is_empty() {
            return Err(report(errors));
        }
        let mut registry = Registry {
            contract: parsed.contract,
            jvm: parsed.jvm,
            needs: parsed.need,
            servers: parsed.server,
            folder,
        };
        if registry.folder.is_some() {
            // Embedded servers are present whatever the folder lists.
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

    /// The error for an unknown server, with the known ones.
    pub fn unknown(&self, key: &str, name: &str) -> ScenarioError {
        let names = || self.servers.iter().map(|server| server.name.as_str());
        ScenarioError::at(key, format!("there is no server `{name}`"))
            .found(format!("{name:?}"))
            .accepted(one_of(names()))
            .nearest(nearest(name, names()))
    }

    /// The URLs of servers that keep the contract.
    pub fn contract(&self) -> &Contract {
        &self.contract
    }

    /// The arguments that fix a JVM's configuration.
    pub fn jvm(&self) -> &Jvm {
        &self.jvm
    }

    /// The folder of `servers.toml`; absent: embedded.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The folder of a server; `None` if it needs no folder.
    pub fn folder_of(&self, server: &Server) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(server.folder.as_ref()?))
    }

    /// The endpoints of a server; its templates name `{port}`.
    pub fn endpoints(&self, server: &Server) -> Endpoints {
        let templates = match &server.subscribe {
            Some(own) => own,
            None => &self.contract.subscribe,
        };
        let offered = |templates: &SubscribeSet| {
            let mut offered = SubscribeSet::default();
            for transport in &server.transports {
                *offered.of_mut(*transport) = templates.of(*transport).cloned();
            }
            offered
        };
        let subscribe = offered(templates);
        let instrumented = server.contract && !server.lacks.iter().any(|clause| clause == "7");
        let contract = || {
            let mut publish = server.contract.then(|| self.contract.publish.clone())?;
            publish.websocket = publish.websocket.filter(|_| subscribe.websocket.is_some());
            Some(publish)
        };
        let publish = server.publish.clone().or_else(contract);
        Endpoints {
            name: server.name.clone(),
            subscribe,
            instrumented: instrumented.then(|| offered(&self.contract.instrumented)),
            publish,
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

    /// Its needs that are not met on this machine: name and description.
    pub fn missing<'r>(&'r self, server: &Server) -> Vec<(&'r str, &'r Need)> {
        let needs = server.needs.iter().filter_map(|name| self.needs.get_key_value(name));
        needs.filter(|(_, need)| !is_met(need)).map(|(name, need)| (&**name, need)).collect()
    }

    /// The flags of a server with those that were set. Each is a variable of its commands.
    pub fn flags(&self, server: &Server, set: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut flags = server.flags.clone();
        flags.extend(set.clone());
        flags
    }

    /// Tables of open files over which a server spreads its connections, by its flags; one if its row does
    /// not declare it.
    pub fn tables(&self, server: &Server, set: &BTreeMap<String, String>) -> u64 {
        let flags = self.flags(server, set);
        let of = |flag: &String| flags.get(flag)?.parse().ok();
        server.spreads_by.as_ref().and_then(of).unwrap_or(1).max(1)
    }

    /// The error for a flag that the server does not have.
    pub fn unknown_flag(&self, key: &str, server: &Server, flag: &str) -> ScenarioError {
        let names = || server.flags.keys().map(String::as_str);
        let error = ScenarioError::at(key, format!("`{}` has no flag `{flag}`", server.name)).on_key();
        let accepted =
            if server.flags.is_empty() { "none: it has no flags".to_owned() } else { one_of(names()) };
        error.found(format!("`{flag}`")).accepted(accepted).nearest(nearest(flag, names()))
    }

    /// A command of a server with its variables filled in.
    ///
    /// # Errors
    /// Fails if it names a JDK that is not on this machine.
    pub fn command(
        &self,
        server: &Server,
        command: &[String],
        filling: &Filling<'_>,
    ) -> anyhow::Result<Vec<String>> {
        let mut values = self.flags(server, filling.flags);
        values.insert("pushmark".to_owned(), filling.pushmark.display().to_string());
        values.extend(filling.port.map(|port| ("port".to_owned(), port.to_string())));
        values.extend(filling.log.map(|log| ("log".to_owned(), log.display().to_string())));
        let command = words::splice(command, &self.jvm.arguments);
        for name in command.iter().flat_map(|word| words::names(word)) {
            let Some(feature) = self.needs.get(name).and_then(|need| need.jdk) else { continue };
            if !values.contains_key(name) {
                let home = jdk::find(feature)
                    .with_context(|| format!("{}: no JDK {feature} is on this machine", server.name))?;
                values.insert(name.to_owned(), home.display().to_string());
            }
        }
        Ok(command.iter().map(|word| words::fill(word, |name| values.get(name).cloned())).collect())
    }
}

/// The nearest parent (the folder itself first) with `servers/servers.toml`.
fn nearest_folder(from: &Path) -> Option<PathBuf> {
    from.ancestors().map(|parent| parent.join("servers")).find(|folder| folder.join("servers.toml").is_file())
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
            let mut transports = server.transports.clone();
            transports.sort_unstable();
            assert_eq!(endpoints.subscribe.transports(), transports);
            assert!(server.run.iter().any(|word| word.contains("{port}")));
        }
    }

    #[test]
    fn commands_are_filled_in_from_flags_defaults_and_the_jvm_arguments() {
        let contract = &EMBEDDED[..EMBEDDED.find("[[server]]").unwrap()];
        let contract = &contract[..=contract.find("\n[jvm]\n").unwrap()];
        let rest = "[jvm]\narguments = [\"-Xmx{heap}\", \"-Xss{stack}\", \"-log:{log}/gc.log\"]\n\
                    [[server]]\nname = \"a\"\ntransports = [\"sse\"]\ncontract = true\n\
                    run = [\"java\", \"{jvm}\", \"--port\", \"{port}\"]\n\
                    flags = { heap = \"512m\", stack = \"512k\" }\n";
        let registry = Registry::parse(&format!("{contract}{rest}"), "servers.toml", None).unwrap();
        let server = registry.find("a").unwrap();
        let flags = BTreeMap::from([("heap".to_owned(), "2g".to_owned())]);
        let filling = Filling {
            pushmark: Path::new("/p"),
            port: Some(9001),
            log: Some(Path::new("/l")),
            flags: &flags,
        };
        let command = registry.command(server, &server.run, &filling).unwrap();
        assert_eq!(command, ["java", "-Xmx2g", "-Xss512k", "-log:/l/gc.log", "--port", "9001"]);
    }

    #[test]
    fn the_rows_of_the_tree_say_all_that_is_asked() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../servers");
        let registry = Registry::load(Some(&path)).unwrap();
        for server in registry.servers() {
            let name = &server.name;
            assert!(!server.stands_for.is_empty(), "{name}: stands_for");
            assert!(server.architecture.is_some() && server.family.is_some(), "{name}: architecture, family");
            assert!(!server.version.is_empty(), "{name}: version");
            if let Some(folder) = registry.folder_of(server) {
                assert!(folder.join("README.md").is_file(), "{name}: README.md");
            }
        }
        assert!(registry.needs.values().all(|need| need.install.is_some()), "how each need is installed");
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
