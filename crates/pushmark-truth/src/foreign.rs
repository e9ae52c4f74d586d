//! A small handmade target: it takes publications by POST and relays them as events. A check decides what it
//! does with each publication.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use pushmark_model::stamp::{STAMP_LEN, Stamp};
use pushmark_net::Clock;

/// The data of the events that subscribers receive for publication `n`.
pub(super) type Relay = fn(n: u64, payload: &str) -> Vec<String>;

/// Longest publication it takes.
const BODY_MAX: usize = 64 << 10;
/// The last part of the wait before an answer is spent spinning.
const SPIN_NS: u64 = 300_000;

/// A target that lives as long as this.
#[derive(Debug)]
pub(super) struct Foreign {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Time from a publication's last byte to its answer.
    answer_after: Duration,
    relay: Relay,
    subscribers: Mutex<Vec<TcpStream>>,
    /// When each publication had arrived, ns.
    posts: Mutex<Vec<u64>>,
    over: AtomicBool,
}

impl Foreign {
    pub(super) fn start(answer_after: Duration, relay: Relay) -> std::io::Result<Foreign> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            answer_after,
            relay,
            subscribers: Mutex::default(),
            posts: Mutex::default(),
            over: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if accepting.over.load(Ordering::Relaxed) {
                    return;
                }
                let shared = Arc::clone(&accepting);
                // A connection that breaks ends its own thread, as a server's would.
                std::thread::spawn(move || shared.serve(stream));
            }
        });
        Ok(Foreign { address, shared })
    }

    /// Templates for subscribing over SSE, and for publishing.
    pub(super) fn urls(&self) -> (String, String) {
        (format!("http://{}/sse?channel={{channel}}", self.address), format!("http://{}/pub", self.address))
    }

    /// When publications had arrived, ns.
    pub(super) fn posts(&self) -> Vec<u64> {
        self.shared.posts.lock().expect("no thread panics with it").clone()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl Shared {
    fn serve(&self, stream: TcpStream) -> Option<()> {
        stream.set_nodelay(true).ok()?;
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        let mut writer = stream;
        loop {
            let (request, length) = read_head(&mut reader)?;
            if request.starts_with("GET ") {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
                writer.write_all(head.as_bytes()).ok()?;
                self.subscribers.lock().ok()?.push(writer);
                return Some(());
            }
            let mut body = vec![0; length.min(BODY_MAX)];
            reader.read_exact(&mut body).ok()?;
            let came_ns = Clock::now();
            self.publish(std::str::from_utf8(&body).ok()?, came_ns);
            let answer_ns = came_ns + self.answer_after.as_nanos() as u64;
            let left_ns = answer_ns.saturating_sub(Clock::now() + SPIN_NS);
            std::thread::sleep(Duration::from_nanos(left_ns));
            while Clock::now() < answer_ns {
                std::hint::spin_loop();
            }
            writer.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").ok()?;
        }
    }

    fn publish(&self, payload: &str, came_ns: u64) {
        let n = {
            let mut posts = self.posts.lock().expect("no thread panics with it");
            posts.push(came_ns);
            posts.len() as u64 - 1
        };
        let events: String =
            (self.relay)(n, payload).iter().map(|data| format!("data: {data}\n\n")).collect();
        let mut subscribers = self.subscribers.lock().expect("no thread panics with it");
        subscribers.retain_mut(|subscriber| subscriber.write_all(events.as_bytes()).is_ok());
    }
}

/// The request line and the length of the body.
fn read_head(reader: &mut impl BufRead) -> Option<(String, usize)> {
    let mut request = String::new();
    if reader.read_line(&mut request).ok()? == 0 {
        return None;
    }
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok()?
            }
            Some(_) => {}
            None => return Some((request, length)),
        }
    }
}

/// The stamp at the end of a payload.
pub(super) fn stamp_of(payload: &str) -> Option<Stamp> {
    let bytes = payload.as_bytes();
    Stamp::parse(bytes.last_chunk::<STAMP_LEN>()?)
}

/// A stamp as text.
pub(super) fn text_of(stamp: &Stamp) -> String {
    let mut bytes = [0; STAMP_LEN];
    stamp.write(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
