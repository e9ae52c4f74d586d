//! The built-in server as a separate process on a separate core.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, bail};
use rustix::thread::{CpuSet, sched_setaffinity};
use serde_json::Value;

/// A running `pushmark serve`; ended when dropped.
pub(crate) struct Server {
    process: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    /// Starts one on a free port and waits until it is bound. `truth` is where it writes its log
    /// when it is finished; what it has for a client it gathers for `gathers_us`.
    pub(crate) fn start(
        pushmark: &Path,
        cpu: usize,
        truth: Option<&Path>,
        gathers_us: u64,
    ) -> anyhow::Result<Server> {
        let mut command = Command::new(pushmark);
        command
            .args(["serve", "--port", "0", "--batch", &format!("{gathers_us}us")])
            .args(truth.into_iter().flat_map(|path| ["--truth".as_ref(), path.as_os_str()]))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process =
            spawn_on(command, cpu).with_context(|| format!("starting {}", pushmark.display()))?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().expect("piped")).read_line(&mut line)?;
        let address = line.trim().rsplit('/').next().and_then(|a| a.parse().ok());
        let address = address.with_context(|| format!("no address in {line:?}"));
        match address {
            Ok(address) => Ok(Server { process, address }),
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                Err(error)
            }
        }
    }

    /// Sets an emitter from its document (clause 5.2 of the contract).
    pub(crate) fn emit(&self, document: &Value) -> anyhow::Result<()> {
        self.ask("PUT", "/emitters/bench", &document.to_string()).map(drop)
    }

    /// What it says of itself.
    pub(crate) fn stats(&self) -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&self.ask("GET", "/stats", "")?)?)
    }

    /// Ends it in order: its log is whole then.
    pub(crate) fn finish(mut self) -> anyhow::Result<()> {
        self.ask("POST", "/shutdown", "")?;
        self.process.wait()?;
        Ok(())
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> anyhow::Result<String> {
        let mut socket = TcpStream::connect(self.address)?;
        socket.set_read_timeout(Some(Duration::from_secs(10)))?;
        let length = body.len();
        write!(
            socket,
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}",
            self.address
        )?;
        let mut answer = String::new();
        socket.read_to_string(&mut answer)?;
        match answer.split_once("\r\n\r\n") {
            Some((head, body)) if head.starts_with("HTTP/1.1 200") => Ok(body.to_owned()),
            _ => bail!("{method} {path} was answered {answer:?}"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Killed, not asked: what it would still do for its connections is of no interest.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Starts a process kept to one CPU: it inherits the CPUs of the thread that starts it.
pub(crate) fn spawn_on(mut command: Command, cpu: usize) -> std::io::Result<Child> {
    let started = std::thread::spawn(move || {
        let mut set = CpuSet::new();
        set.set(cpu);
        sched_setaffinity(None, &set)?;
        command.spawn()
    });
    started.join().map_err(|_| std::io::Error::other("the starting thread failed"))?
}
