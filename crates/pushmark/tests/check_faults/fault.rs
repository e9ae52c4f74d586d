//! The possible faults in the traffic through the proxy.

use serde_json::Value;

use crate::frames::{Frame, Way};

/// A request on its way to the server.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Length of its head in bytes.
    pub head_len: usize,
}

/// An answer on its way to the client; the body of an endless answer is empty.
#[derive(Clone, Debug, Default)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Nothing of the answer is passed on, and the connection ends.
    pub dropped: bool,
}

type OnRequest = Box<dyn Fn(&mut Request) -> Option<Reply> + Send + Sync>;
type OnReply = Box<dyn Fn(&Request, &mut Reply) + Send + Sync>;
type OnChunk = Box<dyn Fn(&Request, Vec<u8>) -> Vec<Vec<u8>> + Send + Sync>;
type OnFrame = Box<dyn Fn(Way, Frame) -> Vec<Frame> + Send + Sync>;
type OnEnd = Box<dyn Fn(Option<String>) -> Option<String> + Send + Sync>;

/// How the connection itself is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Manner {
    /// As the server does.
    #[default]
    Plain,
    /// Of two pipelined requests the second is handled first.
    Reverse,
    /// The connection ends after each answer.
    CloseEach,
    /// Everything is kept for a client that does not read.
    Unbounded,
    /// Each chunk is sent in a separate write.
    Apart,
    /// An endless answer ends without its last chunk.
    NoEnd,
    /// An endless answer ends if the server sends nothing for a second.
    Impatient,
    /// The sizes of chunks are not hexadecimal digits.
    Broken,
}

/// One fault. Everything absent is as the server does it.
#[derive(Default)]
pub struct Fault {
    /// Sees each request; may change it, or answer in the server's place.
    pub request: Option<OnRequest>,
    /// Sees each answer, and each head of an endless answer.
    pub reply: Option<OnReply>,
    /// Sees each chunk of an endless answer.
    pub chunk: Option<OnChunk>,
    /// Sees each frame of a WebSocket.
    pub frame: Option<OnFrame>,
    /// Frames of a client that come back unmasked are answers, not passed on.
    pub answers_frames: bool,
    /// The answer to input that is not HTTP.
    pub no_http: Option<Reply>,
    pub manner: Manner,
    /// How the process seems to end.
    pub ended: Option<OnEnd>,
    /// Every request seems to be in the log.
    pub logs: bool,
    /// The first line that the server seems to write.
    pub first_line: Option<&'static str>,
}

impl Fault {
    pub fn request(break_it: impl Fn(&mut Request) -> Option<Reply> + Send + Sync + 'static) -> Fault {
        Fault { request: Some(Box::new(break_it)), ..Fault::default() }
    }

    pub fn reply(break_it: impl Fn(&Request, &mut Reply) + Send + Sync + 'static) -> Fault {
        Fault { reply: Some(Box::new(break_it)), ..Fault::default() }
    }

    pub fn chunk(break_it: impl Fn(&Request, Vec<u8>) -> Vec<Vec<u8>> + Send + Sync + 'static) -> Fault {
        Fault { chunk: Some(Box::new(break_it)), ..Fault::default() }
    }

    pub fn frame(break_it: impl Fn(Way, Frame) -> Vec<Frame> + Send + Sync + 'static) -> Fault {
        Fault { frame: Some(Box::new(break_it)), ..Fault::default() }
    }

    pub fn manner(manner: Manner) -> Fault {
        Fault { manner, ..Fault::default() }
    }

    pub fn ended(break_it: impl Fn(Option<String>) -> Option<String> + Send + Sync + 'static) -> Fault {
        Fault { ended: Some(Box::new(break_it)), ..Fault::default() }
    }
}

impl Request {
    pub fn path(&self) -> &str {
        self.target.split('?').next().unwrap_or_default()
    }

    /// Returns an argument of the query without decoding; empty if absent.
    pub fn argument(&self, name: &str) -> &str {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        pairs.find(|(key, _)| *key == name).map_or("", |(_, value)| value)
    }

    pub fn has(&self, name: &str) -> bool {
        self.target.contains(&format!("{name}="))
    }

    pub fn is(&self, method: &str, path: &str) -> bool {
        self.method == method && self.path() == path
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn remove(&mut self, name: &str) {
        self.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    }

    /// Returns its body as a JSON document; null if it is not valid JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn set_json(&mut self, document: &Value) {
        self.body = document.to_string().into_bytes();
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = format!("{} {} HTTP/1.1\r\n", self.method, self.target).into_bytes();
        let sized = self.header("transfer-encoding").is_some() || !self.body.is_empty();
        for (name, value) in &self.headers {
            let is_length = name.eq_ignore_ascii_case("content-length") && sized;
            if !is_length && !name.eq_ignore_ascii_case("transfer-encoding") {
                bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
            }
        }
        if sized {
            bytes.extend_from_slice(format!("Content-Length: {}\r\n", self.body.len()).as_bytes());
        }
        [&bytes[..], b"\r\n", &self.body].concat()
    }
}

impl Reply {
    /// Builds a whole answer with a JSON document.
    pub fn json(status: u16, document: &Value) -> Reply {
        let headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        Reply { status, headers, body: document.to_string().into_bytes(), dropped: false }
    }

    pub fn text(status: u16, body: &str) -> Reply {
        let headers = vec![("Content-Type".to_owned(), "text/plain".to_owned())];
        Reply { status, headers, body: body.as_bytes().to_vec(), dropped: false }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub fn set(&mut self, name: &str, value: &str) {
        self.remove(name);
        self.headers.push((name.to_owned(), value.to_owned()));
    }

    pub fn remove(&mut self, name: &str) {
        self.headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    }

    pub fn document(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Changes the JSON document of the answer, if there is one.
    pub fn change(&mut self, break_it: impl FnOnce(&mut Value)) {
        let mut document = self.document();
        if !document.is_null() {
            break_it(&mut document);
            self.body = document.to_string().into_bytes();
        }
    }

    pub fn head_bytes(&self) -> Vec<u8> {
        let mut bytes = format!("HTTP/1.1 {} Anything\r\n", self.status).into_bytes();
        for (name, value) in &self.headers {
            bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
        }
        [&bytes[..], b"\r\n"].concat()
    }

    pub fn bytes(&self) -> Vec<u8> {
        let mut whole = self.clone();
        if self.status != 304 {
            whole.set("Content-Length", &self.body.len().to_string());
        }
        [&whole.head_bytes()[..], &self.body].concat()
    }
}
