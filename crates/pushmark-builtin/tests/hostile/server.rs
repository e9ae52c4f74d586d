//! The server as a separate process, and a client that watches its health.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pushmark_builtin::{Options, serve};

use crate::wire::{DEADLINE, Peer, until};

/// The argument that makes this program the server.
pub(crate) const SERVE: &str = "--serve";

/// How long a request may take to become complete in these tests.
pub(crate) const REQUEST_MAX: Duration = Duration::from_millis(1500);

/// Serves until standard input ends, which happens when the parent process ends.
pub(crate) fn be_one() {
    std::thread::spawn(|| {
        let _ = std::io::stdin().read_to_end(&mut Vec::new());
        std::process::exit(0);
    });
    let options = Options { request_max_ns: REQUEST_MAX.as_nanos() as u64, ..Options::default() };
    serve(options, |address| {
        println!("{address}");
        let _ = std::io::stdout().flush();
    })
    .expect("it serves to its end");
}

/// A server. Dropping it ends it.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    child: std::cell::RefCell<Child>,
}

impl Server {
    pub(crate) fn start() -> Server {
        let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
        command.arg(SERVE).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().expect("piped")).read_line(&mut line).expect("a line");
        let address = line.trim().parse().expect("an address");
        Server { address, child: child.into() }
    }

    pub(crate) fn peer(&self) -> Peer {
        Peer::connect(self.address)
    }

    /// Returns its highest resident memory.
    pub(crate) fn peak_mib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.borrow().id());
        let status = std::fs::read_to_string(path).expect("it is our child, waited for or not");
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
        kib.unwrap_or(0) / 1024
    }

    /// Returns how long it takes to end by itself.
    pub(crate) fn ends_within(&self, max: Duration) -> Result<Duration, String> {
        let began = Instant::now();
        // The pipe ends with the process, because it has no other writer.
        let mut rest = Vec::new();
        let mut child = self.child.borrow_mut();
        let mut stdout = child.stdout.take().expect("piped");
        let (tell, told) = channel();
        std::thread::spawn(move || {
            let _ = stdout.read_to_end(&mut rest);
            let _ = tell.send(());
        });
        told.recv_timeout(max).map(|()| began.elapsed()).map_err(|_| format!("it still runs after {max:?}"))
    }

    pub(crate) fn ask(&self, method: &str, target: &str, body: &[u8]) -> (u16, Vec<u8>) {
        let mut peer = self.peer();
        peer.send_whole(&request(method, target, body));
        peer.answer().unwrap_or((0, Vec::new()))
    }

    /// Waits until one of these counters of `bounds` in `/stats` has counted: what was sent may not be read
    /// yet.
    pub(crate) fn meets(&self, bounds: &[&str]) -> Result<(), String> {
        let counted = |stats: &serde_json::Value| {
            bounds.iter().any(|bound| stats["bounds"][bound].as_u64().is_some_and(|n| n > 0))
        };
        until(self, &format!("{} has counted", bounds.join(" or ")), counted)
    }

    pub(crate) fn stats(&self) -> serde_json::Value {
        serde_json::from_slice(&self.ask("GET", "/stats", b"").1).unwrap_or_default()
    }

    pub(crate) fn publish(&self, channel: &str, len: usize) {
        let (status, _) = self.ask("POST", &format!("/publish?channel={channel}"), &vec![b'x'; len]);
        assert_eq!(status, 200, "a message is published");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let mut child = self.child.borrow_mut();
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A request with its length.
pub(crate) fn request(method: &str, target: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n").into_bytes();
    if method != "GET" {
        bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// Requests `/health` on new connections until stopped.
pub(crate) struct Watch {
    end: Sender<()>,
    thread: JoinHandle<Result<Duration, String>>,
}

impl Watch {
    pub(crate) fn begin(server: &Server) -> Watch {
        let (end, ended) = channel();
        let address = server.address;
        Watch { end, thread: std::thread::spawn(move || watch(address, &ended)) }
    }

    /// Returns the longest time of an answer. The last request follows the attack.
    pub(crate) fn end(self) -> Result<Duration, String> {
        let _ = self.end.send(());
        self.thread.join().unwrap_or_else(|_| Err("no answer to /health".to_owned()))
    }
}

fn watch(address: SocketAddr, ended: &Receiver<()>) -> Result<Duration, String> {
    let mut longest = Duration::ZERO;
    loop {
        let last = ended.recv_timeout(Duration::from_millis(20)).is_ok();
        let began = Instant::now();
        match Peer::try_connect(address).and_then(|mut peer| {
            peer.send(&request("GET", "/health", b""));
            peer.answer()
        }) {
            Some((200, body)) if body == b"ok" => longest = longest.max(began.elapsed()),
            // It was stopped.
            None if began.elapsed() < DEADLINE && !last && Peer::try_connect(address).is_none() => {
                return Ok(longest);
            }
            other => return Err(format!("/health: {other:?} after {:?}", began.elapsed())),
        }
        if last {
            return Ok(longest);
        }
    }
}
