//! The built-in server behind a proxy, as a subject of the check: already running, or to be started.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use pushmark_check::{FirstLine, Instance, Launch, Row, Subject};
use pushmark_host::server::registry::Registry;
use pushmark_model::transport::Transport;
use pushmark_run::scenario_file::{self, Asked};

use crate::fault::Fault;
use crate::proxy::Proxy;
use crate::tool;

/// A server and its proxy; both end when this value is dropped.
pub struct Built {
    fault: Arc<Fault>,
    running: Started,
}

impl Built {
    pub fn new(fault: Arc<Fault>) -> Built {
        let running = Started::new(Arc::clone(&fault));
        Built { fault, running }
    }

    /// Offers everything.
    pub fn subject(&self) -> Subject {
        Subject {
            name: "broken".into(),
            endpoint: self.running.proxy.address.into(),
            transports: Transport::ALL.iter().map(|transport| transport.name().to_owned()).collect(),
            lacks: Vec::new(),
            row: Some(Row {
                clock: "monotonic".into(),
                grain_us: 1,
                emitter: Some("absolute".into()),
                nodelay: true,
            }),
            launch: Some(Box::new(Launcher(Arc::clone(&self.fault)))),
            foreign: None,
        }
    }
}

impl Built {
    /// Returns the same server as a target that promises no contract.
    pub fn foreign(&self) -> Subject {
        let address = self.running.proxy.address;
        let tool = tool::Tool::new();
        let text = TEMPLATES.replace("ADDRESS", &address.to_string());
        let path = tool.write("target.toml", &text);
        let registry = Registry::load(Some(&tool::servers())).expect("the registry");
        let loaded = scenario_file::load(&Asked::File(&path), &[], &registry);
        let loaded = loaded.unwrap_or_else(|report| panic!("{}", report.render(false, 100)));
        let plan = &loaded.plan;
        Subject::foreign("foreign", plan, 0, &[]).expect("an address")
    }
}

/// The built-in server, described by templates alone.
const TEMPLATES: &str = r#"
[target.subscribe]
poll = "http://ADDRESS/poll?channel={channel}"
long-poll = { url = "http://ADDRESS/long-poll?channel={channel}&since={cursor}", cursor = "header:pushmark-cursor" }
stream = "http://ADDRESS/stream?channel={channel}"
sse = "http://ADDRESS/sse?channel={channel}"
websocket = "ws://ADDRESS/ws?channel={channel}"
[target.publish]
url = "http://ADDRESS/publish?channel={channel}"
body = "{message}"
"#;

struct Launcher(Arc<Fault>);

impl Launch for Launcher {
    fn launch(&self) -> anyhow::Result<Box<dyn Instance>> {
        Ok(Box::new(Started::new(Arc::clone(&self.0))))
    }

    fn first_line(&self) -> anyhow::Result<FirstLine> {
        let started = Started::new(Arc::clone(&self.0));
        let line = self.0.first_line.map_or_else(|| started.line.clone(), str::to_owned);
        Ok(FirstLine { line, running: Box::new(started) })
    }
}

/// `pushmark serve` as a process, and a proxy in front of it.
struct Started {
    child: Child,
    line: String,
    proxy: Proxy,
    fault: Arc<Fault>,
    end: Option<String>,
    /// Kept open, so that the server can write to it.
    _stdout: BufReader<ChildStdout>,
}

impl Started {
    fn new(fault: Arc<Fault>) -> Started {
        let mut command = Command::new(tool::program());
        command.args(["serve", "--port", "0"]).stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut line = String::new();
        stdout.read_line(&mut line).expect("its first line");
        let address = line.rsplit("http://").next().and_then(|address| address.trim().parse().ok());
        let proxy = Proxy::start(address.expect("its address"), Arc::clone(&fault));
        Started { child, line, proxy, fault, end: None, _stdout: stdout }
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Instance for Started {
    fn address(&self) -> SocketAddr {
        self.proxy.address
    }

    fn terminate(&mut self) {
        let pid = rustix::process::Pid::from_raw(self.child.id() as i32).expect("a child's number");
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).expect("it is there");
    }

    fn ended(&mut self, within: Duration) -> Option<String> {
        let started = Instant::now();
        while self.end.is_none() && started.elapsed() < within {
            let ended = self.child.try_wait().expect("its state");
            self.end = ended.map(|status| format!("exit {}", status.code().unwrap_or(-1)));
            tool::pass(Duration::from_millis(2));
        }
        let how = &self.end;
        match &self.fault.ended {
            Some(break_it) => break_it(how.clone()),
            None => how.clone(),
        }
    }

    fn log(&self) -> String {
        match self.fault.logs {
            true => self.proxy.seen.lock().unwrap_or_else(PoisonError::into_inner).join("\n"),
            false => String::new(),
        }
    }
}
