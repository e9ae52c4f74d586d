//! Requests are accepted during a slow emit (CONTRACT 3.7), also by a server with a single event loop and
//! more subscribers than one turn of the loop should write to.

use crate::tool;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use crate::tool::{Running, Tool, have, http, until};
use pushmark_host::server::registry::Registry;
use serde_json::Value;

/// A server whose emit can be cut into slices, and the flag that sets their size.
const SERVER: &str = "node";

const SUBSCRIBERS: usize = 400;

/// The server, and its address.
struct Sliced {
    address: String,
    streams: Vec<TcpStream>,
    _running: Running,
}

impl Sliced {
    /// Starts the server with `slice` writes between two polls of its sockets; 0: no poll before all
    /// writes are done.
    fn start(tool: &Tool, slice: u32) -> Sliced {
        let flag = format!("slice={slice}");
        let mut running = tool.start(&["servers", "start", SERVER, "--flag", &flag]);
        let line = running.wait_for(" on port ");
        let port: u16 = line.split([' ', ';']).find_map(|word| word.parse().ok()).expect("a port");
        let address = format!("127.0.0.1:{port}");
        let up = || http::ask(&address, "GET", "/health", "").is_ok_and(|(status, _)| status == 200);
        until("the server answers", up);
        let streams = (0..SUBSCRIBERS).map(|_| stream(&address)).collect();
        Sliced { address, streams, _running: running }
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        let (status, text) = http::ask(&self.address, method, path, body).expect("an answer");
        assert_eq!(status, 200, "{method} {path}: {text}");
        serde_json::from_str(&text).expect("a document")
    }

    /// Publishes to all and asks for the statistics at once. Returns whether the emit was still going on
    /// at that answer.
    fn answers_during_emit(&mut self) -> bool {
        let before = self.ask("GET", "/stats", "")["deliveries"].as_u64();
        self.ask("POST", "/publish?channel=c", "news");
        let during = self.ask("GET", "/stats", "");
        for stream in &mut self.streams {
            let mut chunk = [0; b"5\r\nnews\n\r\n".len()];
            stream.read_exact(&mut chunk).expect("the message");
            assert_eq!(&chunk, b"5\r\nnews\n\r\n");
        }
        let written = during["deliveries"].as_u64().zip(before).map(|(now, before)| now - before);
        during["publications_waiting"] == 1 && written.is_some_and(|written| written < SUBSCRIBERS as u64)
    }
}

/// Returns a stream whose head was read.
fn stream(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(tool::PATIENCE)).expect("a time-out");
    write!(stream, "GET /stream?channel=c HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a request");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    stream
}

#[test]
fn requests_are_accepted_during_a_slow_emit() {
    let registry = Registry::load(Some(&tool::servers())).expect("servers.toml can be read");
    let server = registry.find(SERVER).expect("the server");
    if !have(registry.missing(server).is_empty(), SERVER) {
        return;
    }
    let tool = Tool::new();
    let mut cut = Sliced::start(&tool, 1);
    until("a request answered between two writes", || cut.answers_during_emit());
    // If the emit is one turn of the loop, the same request never arrives during the emit.
    let mut whole = Sliced::start(&tool, 0);
    for _ in 0..20 {
        assert!(!whole.answers_during_emit(), "an emit that is not cut lets nobody in");
    }
}
