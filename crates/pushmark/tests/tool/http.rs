//! Small HTTP targets for tests: a thread for each connection, each request passed to a closure.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// A whole request.
#[derive(Clone, Debug)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: BTreeMap<String, String>,
    /// By name in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    /// Returns an argument of the query; empty if absent.
    pub fn argument(&self, name: &str) -> &str {
        self.query.get(name).map_or("", String::as_str)
    }

    /// Returns a header line; empty if absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// The connection on which a closure answers, and the state that all connections share.
pub struct Answer<'a> {
    pub stream: &'a mut TcpStream,
    pub hub: &'a Hub,
}

impl Answer<'_> {
    /// Sends a whole answer with a length.
    pub fn sized(&mut self, status: &str, headers: &str, body: &[u8]) -> io::Result<()> {
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
        self.stream.write_all(&[head.as_bytes(), body].concat())
    }

    /// Sends a head without a length: the body ends with the connection.
    pub fn head(&mut self, content_type: &str) -> io::Result<()> {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n\r\n");
        self.stream.write_all(head.as_bytes())
    }

    /// Takes a publication.
    pub fn publish(&mut self, request: &Request) -> io::Result<()> {
        self.hub.publish(&request.body);
        self.sized("204 No Content", "", b"")
    }
}

/// Everything published so far, with a way to wait for more.
#[derive(Debug, Default)]
pub struct Hub {
    messages: Mutex<Vec<Vec<u8>>>,
    news: Condvar,
    ended: AtomicBool,
    log: Mutex<Vec<Request>>,
}

impl Hub {
    pub fn publish(&self, message: &[u8]) {
        lock(&self.messages).push(message.to_vec());
        self.news.notify_all();
    }

    /// Returns how many messages were published.
    pub fn count(&self) -> usize {
        lock(&self.messages).len()
    }

    /// Waits for messages after the first `seen`, and returns them. `None` if there is none within the
    /// time, or if the test is over.
    pub fn after(&self, seen: usize, within: Duration) -> Option<Vec<Vec<u8>>> {
        let quiet =
            |messages: &mut Vec<Vec<u8>>| messages.len() <= seen && !self.ended.load(Ordering::Relaxed);
        let (messages, _) = self.news.wait_timeout_while(lock(&self.messages), within, quiet).ok()?;
        (messages.len() > seen).then(|| messages[seen..].to_vec())
    }

    /// Ends the test: all waits return.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.news.notify_all();
    }

    pub fn over(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    /// Returns every request, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.log).clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A listening target. Dropping it ends it.
#[derive(Debug)]
pub struct Target {
    pub address: SocketAddr,
    pub hub: Arc<Hub>,
}

impl Target {
    /// Starts on a free port of 127.0.0.1.
    pub fn start(
        handle: impl Fn(&Request, &mut Answer<'_>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Target {
        Target::on("127.0.0.1:0", handle)
    }

    pub fn on(
        address: &str,
        handle: impl Fn(&Request, &mut Answer<'_>) -> io::Result<()> + Send + Sync + 'static,
    ) -> Target {
        let listener = TcpListener::bind(address).expect("a port");
        let address = listener.local_addr().expect("its address");
        let hub = Arc::new(Hub::default());
        let (shared, handle) = (Arc::clone(&hub), Arc::new(handle));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if shared.over() {
                    break;
                }
                let (hub, handle) = (Arc::clone(&shared), Arc::clone(&handle));
                std::thread::spawn(move || converse(stream, &hub, &*handle));
            }
        });
        Target { address, hub }
    }

    /// Returns `http://host:port` and a path.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        self.hub.end();
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

fn converse(
    mut stream: TcpStream,
    hub: &Hub,
    handle: &dyn Fn(&Request, &mut Answer<'_>) -> io::Result<()>,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    loop {
        let request = read_request(&mut reader)?;
        lock(&hub.log).push(request.clone());
        handle(&request, &mut Answer { stream: &mut stream, hub }).ok()?;
        if request.header("connection") == "close" || hub.over() {
            return None;
        }
    }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let query = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|&n| n > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some(Request {
        method,
        path: path.to_owned(),
        query: query.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
        headers,
        body,
    })
}

/// Sends one request to a server. Returns the status and body of its answer.
pub fn ask(address: &str, method: &str, path: &str, body: &str) -> io::Result<(u16, String)> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(super::PATIENCE))?;
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )?;
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let status = text.split_whitespace().nth(1).and_then(|status| status.parse().ok());
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned();
    Ok((status.ok_or(io::ErrorKind::InvalidData)?, body))
}
