//! One run of the program against a hostile target, with its duration, its memory and its output.

use std::io::Read as _;
use std::net::TcpListener;
use std::process::{ChildStderr, ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::tool::Tool;
use crate::tool::http::Hub;
use crate::wire::{Port, Wire};

/// The longest accepted duration of a run. It is planned for one or two seconds, or about six if it is
/// patient; the rest is for machines that others use too.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often its memory is read.
const LOOK: Duration = Duration::from_millis(3);

/// Serves one connection of a target.
pub(crate) type Serve = dyn Fn(&mut Wire) -> Option<()> + Send + Sync;

/// A port with a thread for each connection. Dropping it ends it.
pub(crate) struct Target {
    pub(crate) port: Port,
    hub: Arc<Hub>,
}

impl Target {
    pub(crate) fn start(hub: Arc<Hub>, serve: Arc<Serve>) -> Target {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let port = Port { address, closed: Arc::default() };
        let (shared, own) = (hub.clone(), port.clone());
        std::thread::spawn(move || {
            for socket in listener.incoming().map_while(Result::ok) {
                if own.is_closed() {
                    break;
                }
                let (hub, port, serve) = (shared.clone(), own.clone(), serve.clone());
                std::thread::spawn(move || serve(&mut Wire::new(socket, hub, port)?));
            }
        });
        Target { port, hub }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.hub.end();
        self.port.close();
    }
}

/// How a run ended.
pub(crate) struct Ended {
    /// The exit code; 128 and more: a signal.
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
    /// The highest resident memory that was read.
    pub(crate) peak_kib: u64,
    pub(crate) took: Duration,
    /// The kept run, if any.
    pub(crate) run: Option<Value>,
}

/// Runs the program with a scenario until it ends by itself.
///
/// # Errors
/// If the run takes too long.
pub(crate) fn run(scenario: &str, poller: &str) -> Result<Ended, String> {
    let tool = Tool::new();
    tool.write("scenario.toml", scenario);
    let mut command = tool.command(&["run", "scenario.toml", "-o", "out", "--poller", poller]);
    let began = Instant::now();
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    let out = collect(child.stdout.take().map(Stream::Out).expect("piped"));
    let err = collect(child.stderr.take().map(Stream::Err).expect("piped"));
    let id = child.id();
    let status = format!("/proc/{id}/status");
    let (tell, told) = channel();
    let waiter = std::thread::spawn(move || {
        let _ = tell.send(child.wait());
    });
    let mut peak_kib = 0;
    let ended = loop {
        match told.recv_timeout(LOOK) {
            Ok(ended) => break ended.expect("it is our child"),
            Err(_) if began.elapsed() <= PATIENCE => peak_kib = peak_kib.max(high_water_kib(&status)),
            Err(_) => {
                let pid = Pid::from_raw(id as i32).expect("a child's number");
                let _ = kill_process(pid, Signal::KILL);
                let (out, err) = (out.join().expect("read"), err.join().expect("read"));
                return Err(format!("it went on after {PATIENCE:?}\n{out}\n{err}"));
            }
        }
    };
    waiter.join().expect("it only waits");
    let kept = std::fs::read_to_string(tool.path("out/run.json")).ok();
    let run = kept.map(|text| serde_json::from_str(&text).expect("a kept run is JSON"));
    let (out, err) = (out.join().expect("read"), err.join().expect("read"));
    Ok(Ended { code: crate::tool::code(ended), out, err, peak_kib, took: began.elapsed(), run })
}

enum Stream {
    Out(ChildStdout),
    Err(ChildStderr),
}

fn collect(stream: Stream) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = match stream {
            Stream::Out(mut out) => out.read_to_end(&mut bytes),
            Stream::Err(mut err) => err.read_to_end(&mut bytes),
        };
        String::from_utf8(bytes).expect("what it says is UTF-8")
    })
}

/// Returns the kernel's record of a process's highest resident memory; 0 once the process has ended.
fn high_water_kib(path: &str) -> u64 {
    let status = std::fs::read_to_string(path).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}
