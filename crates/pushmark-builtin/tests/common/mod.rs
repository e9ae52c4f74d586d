//! A server on a free port, and a minimal client for it: blocking, with a deadline on every read.
#![allow(dead_code, unreachable_pub)] // each test file uses its part

pub mod bayeux;
pub mod truth;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use pushmark_builtin::{Options, Stop, Summary, serve};
use pushmark_model::stamp::{STAMP_LEN, Scanner, Stamp, write_payload};
use pushmark_proto::http1::{BodyDecoder, BodyEvent, ResponseHead};
use pushmark_proto::websocket::{self, Opcode, Role};
use serde_json::Value;

pub const DEADLINE: Duration = Duration::from_secs(10);

/// A running server; stopped and joined at the end of the test.
pub struct Server {
    pub address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<std::io::Result<Summary>>>,
}

impl Server {
    pub fn start(mut options: Options) -> Server {
        let stop = Stop::new().unwrap();
        options.stop = Some(stop.clone());
        let (tell, told) = mpsc::channel();
        let thread = std::thread::spawn(move || serve(options, |address| tell.send(address).unwrap()));
        let address = told.recv_timeout(DEADLINE).expect("it listens");
        Server { address, stop, thread: Some(thread) }
    }

    pub fn plain() -> Server {
        Server::start(Options::default())
    }

    pub fn client(&self) -> Client {
        Client::connect(self.address)
    }

    /// Sends one request on a new connection.
    pub fn ask(&self, method: &str, target: &str, body: &str) -> Answer {
        let mut client = self.client();
        client.request(method, target, &[], body.as_bytes());
        client.answer()
    }

    pub fn stats(&self) -> Value {
        self.ask("GET", "/stats", "").json()
    }

    /// Waits until the statistics satisfy the condition.
    pub fn wait_until(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let stats = self.stats();
            if holds(&stats) {
                return stats;
            }
            assert!(Instant::now() < deadline, "{what}: {stats:#}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    pub fn publish(&self, channel: &str, payload: &[u8]) -> Value {
        let mut client = self.client();
        client.request("POST", &format!("/publish?channel={channel}"), &[], payload);
        client.answer().json()
    }

    /// Sets an emitter with additional keys, such as `"count":5`.
    pub fn emit(&self, channels: &[&str], interval_us: u64, more: &str) -> Value {
        let channels = serde_json::to_string(channels).unwrap();
        let document =
            format!(r#"{{"interval_us":{interval_us},"size":64,"channels":{channels},"nonce":7{more}}}"#);
        let answer = self.ask("PUT", "/emitters/test", &document);
        assert_eq!(answer.status, 200, "{}", answer.text());
        answer.json()
    }

    pub fn stop(mut self) -> Summary {
        self.stop.request();
        self.thread.take().unwrap().join().unwrap().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.request();
        if let Some(thread) = self.thread.take() {
            let outcome = thread.join();
            if !std::thread::panicking() {
                outcome.unwrap().unwrap();
            }
        }
    }
}

/// A complete answer.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {}", self.text()))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub fn cursor(&self) -> &str {
        self.header("pushmark-cursor")
    }

    pub fn sequences(&self) -> Vec<u64> {
        stamps(&self.body).iter().map(|stamp| stamp.sequence).collect()
    }
}

/// One connection.
pub struct Client {
    pub socket: TcpStream,
    pub pending: Vec<u8>,
    body: Option<BodyDecoder>,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Client {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_read_timeout(Some(DEADLINE)).unwrap();
        socket.set_nodelay(true).unwrap();
        Client { socket, pending: Vec::new(), body: None }
    }

    pub fn request(&mut self, method: &str, target: &str, headers: &[&str], body: &[u8]) {
        let mut bytes = format!("{method} {target} HTTP/1.1\r\nHost: localhost\r\n").into_bytes();
        for header in headers {
            bytes.extend_from_slice(header.as_bytes());
            bytes.extend_from_slice(b"\r\n");
        }
        if !body.is_empty() || method == "POST" {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body);
        // A server that resets at once may do so before the last byte is written.
        let _ = self.socket.write_all(&bytes);
    }

    pub fn get(&mut self, target: &str) {
        self.request("GET", target, &[], b"");
    }

    /// Sends a request and reads the whole answer.
    pub fn ask(&mut self, target: &str) -> Answer {
        self.get(target);
        self.answer()
    }

    /// Reads more bytes. Returns false at the end of the connection.
    pub fn read_more(&mut self) -> bool {
        let mut buffer = [0; 65536];
        match self.socket.read(&mut buffer) {
            Ok(0) => false,
            Ok(n) => {
                self.pending.extend_from_slice(&buffer[..n]);
                true
            }
            Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                panic!("nothing within the deadline; pending {:?}", String::from_utf8_lossy(&self.pending))
            }
            Err(_) => false,
        }
    }

    /// Reads a head. The bytes after it stay pending.
    pub fn head(&mut self) -> Answer {
        loop {
            if let Some((head, len)) = ResponseHead::parse(&self.pending, 16 * 1024).unwrap() {
                let headers = head
                    .headers
                    .iter()
                    .map(|(name, value)| (name.to_lowercase(), String::from_utf8_lossy(value).into_owned()))
                    .collect();
                let answer = Answer { status: head.status, headers, body: Vec::new() };
                self.body = Some(BodyDecoder::new(head.body));
                self.pending.drain(..len);
                return answer;
            }
            assert!(self.read_more(), "the connection ended before a head");
        }
    }

    /// Reads a head and its whole body.
    pub fn answer(&mut self) -> Answer {
        let mut answer = self.head();
        let mut decoder = self.body.take().unwrap();
        loop {
            let (taken, ended) = decode(&mut decoder, &mut self.pending, &mut answer.body);
            self.pending.drain(..taken);
            if ended {
                return answer;
            }
            assert!(self.read_more(), "the connection ended within a body");
        }
    }

    /// Requests a stream or an event stream. Returns its head.
    pub fn subscribe(&mut self, target: &str, headers: &[&str]) -> Answer {
        self.request("GET", target, headers, b"");
        self.head()
    }

    /// Reads the decoded body of a stream until it contains this number of stamps.
    pub fn stream_until(&mut self, stamps_wanted: usize) -> (Vec<Stamp>, Vec<u8>) {
        let mut body = Vec::new();
        self.stream_while(&mut body, |body| stamps(body).len() < stamps_wanted);
        (stamps(&body), body)
    }

    /// Reads the decoded body of a stream while `more` is true. Returns false at the end of the body or
    /// connection.
    pub fn stream_while(&mut self, body: &mut Vec<u8>, more: impl Fn(&[u8]) -> bool) -> bool {
        let mut decoder = self.body.take().expect("a head was read");
        loop {
            let (taken, ended) = decode(&mut decoder, &mut self.pending, body);
            self.pending.drain(..taken);
            if ended || !more(body) {
                self.body = Some(decoder);
                return !ended;
            }
            if !self.read_more() {
                return false;
            }
        }
    }

    /// Upgrades to a WebSocket. Returns the head of the 101.
    pub fn upgrade(&mut self, target: &str) -> Answer {
        let headers = [
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        ];
        self.request("GET", target, &headers, b"");
        let head = self.head();
        assert_eq!(head.status, 101);
        assert_eq!(head.header("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        head
    }

    pub fn send_frame(&mut self, opcode: Opcode, payload: &[u8]) {
        let mut frame = Vec::new();
        websocket::encode::frame(&mut frame, opcode, payload, Some([1, 2, 3, 4]));
        self.socket.write_all(&frame).unwrap();
    }

    /// Reads the next `wanted` messages, with `None` for a Close.
    pub fn messages(&mut self, wanted: usize) -> Vec<Option<Vec<u8>>> {
        let mut decoder = websocket::Decoder::new(Role::Client, 1 << 24);
        let (mut whole, mut part) = (Vec::new(), Vec::new());
        loop {
            let mut bytes = std::mem::take(&mut self.pending);
            let mut input = &mut bytes[..];
            while whole.len() < wanted {
                match decoder.next(&mut input).unwrap() {
                    Some(websocket::Event::Data(data)) => part.extend_from_slice(data),
                    Some(websocket::Event::MessageEnd { .. }) => {
                        whole.push(Some(std::mem::take(&mut part)));
                    }
                    Some(websocket::Event::Pong(payload)) => whole.push(Some(payload.to_vec())),
                    Some(websocket::Event::Close { .. }) => whole.push(None),
                    Some(websocket::Event::Ping(_)) => {}
                    None => break,
                }
            }
            self.pending = input.to_vec();
            if whole.len() == wanted {
                return whole;
            }
            assert!(self.read_more(), "the connection ended after {} messages", whole.len());
        }
    }

    /// Returns whether the connection was reset or closed without another byte.
    pub fn is_lost(&mut self) -> bool {
        !self.read_more()
    }
}

fn decode(decoder: &mut BodyDecoder, pending: &mut [u8], body: &mut Vec<u8>) -> (usize, bool) {
    let before = pending.len();
    let mut input = pending;
    let mut ended = false;
    while let Some(event) = decoder.next(&mut input).unwrap() {
        match event {
            BodyEvent::Data(data) => body.extend_from_slice(data),
            BodyEvent::ChunkEnd => {}
            BodyEvent::End => {
                ended = true;
                break;
            }
        }
    }
    (before - input.len(), ended)
}

pub fn stamps(bytes: &[u8]) -> Vec<Stamp> {
    let mut found = Vec::new();
    Scanner::default().scan(bytes, |stamp| found.push(stamp));
    found
}

/// A payload of this size with a stamp of this sequence.
pub fn message(sequence: u64, size: usize) -> Vec<u8> {
    let stamp = Stamp { nonce: 7, publisher: 0, channel: 0, sequence, due_us: 5, sent_us: 6 };
    let mut payload = vec![0; size.max(STAMP_LEN)];
    write_payload(&stamp, &mut payload);
    payload
}

pub fn sequences(stamps: &[Stamp]) -> Vec<u64> {
    stamps.iter().map(|stamp| stamp.sequence).collect()
}
