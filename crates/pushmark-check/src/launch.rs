//! Starts fresh servers of a row for the cases.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use rustix::process::{Pid, Signal, kill_process};

use super::{FirstLine, Instance, Launch};
use pushmark_host::server::logs::Logs;
use pushmark_host::server::paths;
use pushmark_host::server::port::free_port;
use pushmark_host::server::process::{Process, Start};
use pushmark_host::server::registry::{Filling, Registry, Server};

/// How long a server may take until it is ready.
const READY_WITHIN: Duration = Duration::from_secs(60);
/// How long a server may take until its first line.
const LINE_WITHIN: Duration = Duration::from_secs(30);
/// Time between two polls of a process.
const LOOK: Duration = Duration::from_millis(5);

/// Starts servers of a row.
#[derive(Clone, Debug)]
pub struct RowLaunch {
    name: String,
    /// The command but for `{port}` and `{log}`.
    registry: Registry,
    server: Server,
    flags: BTreeMap<String, String>,
    pushmark: PathBuf,
}

impl RowLaunch {
    /// Prepares the start of one row, with flags that override those of the row.
    ///
    /// # Errors
    /// Fails if the path of this program is unknown.
    pub fn new(
        registry: &Registry,
        server: &Server,
        flags: BTreeMap<String, String>,
    ) -> anyhow::Result<RowLaunch> {
        let pushmark = std::env::current_exe().context("the path of this program")?;
        Ok(RowLaunch {
            name: server.name.clone(),
            registry: registry.clone(),
            server: server.clone(),
            flags,
            pushmark,
        })
    }

    fn start(&self, port: u16, wrap: &[&str]) -> anyhow::Result<Process> {
        let logs = Logs::new(&self.name).context("cannot write a log to the temporary folder")?;
        let filling = Filling {
            pushmark: &self.pushmark,
            port: Some(port),
            log: Some(logs.folder()),
            flags: &self.flags,
        };
        let mut command: Vec<String> = wrap.iter().map(|word| (*word).to_owned()).collect();
        command.extend(self.registry.command(&self.server, &self.server.run, &filling)?);
        let start = Start {
            name: self.name.clone(),
            command,
            folder: self.registry.folder_of(&self.server),
            variables: vec![("PATH".into(), paths::search_path())],
            ..Start::default()
        };
        Process::start(&start, logs)
    }
}

impl Launch for RowLaunch {
    fn launch(&self) -> anyhow::Result<Box<dyn Instance>> {
        let port = free_port().context("a port for the server")?;
        let mut process = self.start(port, &[])?;
        match self.registry.ready_url(&self.server) {
            Some(url) => {
                process.wait_ready(&url.replace("{port}", &port.to_string()).into(), READY_WITHIN)?
            }
            None => process.wait_accepting(port, READY_WITHIN)?,
        };
        process.owns(port, false, true)?;
        Ok(Box::new(Started { process, address: SocketAddr::from(([127, 0, 0, 1], port)) }))
    }

    fn first_line(&self) -> anyhow::Result<FirstLine> {
        // The contract does not cover stderr.
        let mut process = self.start(0, &["sh", "-c", "exec \"$@\" 2>/dev/null", "sh"])?;
        let started = Instant::now();
        loop {
            let log = process.log_tail();
            let first = log.lines().next().unwrap_or_default().trim().to_owned();
            if first.contains("://") {
                return Ok(FirstLine { line: first, running: Box::new(process) });
            }
            if let Some(how) = process.ended() {
                bail!("it ended ({how}), and its first line is {first:?}");
            }
            if started.elapsed() > LINE_WITHIN {
                bail!("no address in its first line for {LINE_WITHIN:?}: {first:?}");
            }
            std::thread::sleep(LOOK);
        }
    }
}

struct Started {
    process: Process,
    address: SocketAddr,
}

impl Instance for Started {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn terminate(&mut self) {
        if let Some(pid) = Pid::from_raw(self.process.pid()) {
            // The process has ended already; its end is checked next.
            let _ = kill_process(pid, Signal::TERM);
        }
    }

    fn ended(&mut self, within: Duration) -> Option<String> {
        let started = Instant::now();
        loop {
            let ended = self.process.ended();
            if ended.is_some() || started.elapsed() >= within {
                return ended;
            }
            std::thread::sleep(LOOK);
        }
    }

    fn log(&self) -> String {
        self.process.log_tail()
    }
}
