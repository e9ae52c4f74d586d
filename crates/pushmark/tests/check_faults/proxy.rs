//! A proxy in front of the real built-in server that breaks one thing: it parses the traffic, shows it to
//! the fault, and encodes it again.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use pushmark_proto::http1::{BodyDecoder, BodyEvent, BodyLength, RequestHead, ResponseHead};

use crate::fault::{Fault, Manner, Reply, Request};
use crate::frames;

const HEAD_MAX: usize = 64 * 1024;

/// A listening proxy. Dropping it ends it.
pub struct Proxy {
    pub address: SocketAddr,
    over: Arc<AtomicBool>,
    /// The target of every request, in order.
    pub seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    pub fn start(upstream: SocketAddr, fault: Arc<Fault>) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let (over, seen) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let (ended, log) = (Arc::clone(&over), Arc::clone(&seen));
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                if ended.load(Ordering::Relaxed) {
                    return;
                }
                // If the server is gone, the proxy accepts no connections either.
                let Ok(server) = TcpStream::connect(upstream) else { continue };
                let (fault, log) = (Arc::clone(&fault), Arc::clone(&log));
                std::thread::spawn(move || {
                    client.set_nodelay(true).ok()?;
                    server.set_nodelay(true).ok()?;
                    let mut line = Line { client, server, up: Vec::new(), down: Vec::new(), fault, log };
                    line.converse();
                    let _ = line.client.shutdown(Shutdown::Both);
                    let _ = line.server.shutdown(Shutdown::Both);
                    Some(())
                });
            }
        });
        Proxy { address, over, seen }
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        // Wakes the listener.
        let _ = TcpStream::connect(self.address);
    }
}

/// One connection of a client, and its connection to the server.
struct Line {
    client: TcpStream,
    server: TcpStream,
    /// Bytes from the client that are not yet parsed, and those from the server.
    up: Vec<u8>,
    down: Vec<u8>,
    fault: Arc<Fault>,
    log: Arc<Mutex<Vec<String>>>,
}

/// Reads more; `None` at the end.
fn more(from: &mut TcpStream, into: &mut Vec<u8>) -> Option<()> {
    let mut buffer = [0; 256 * 1024];
    let read = from.read(&mut buffer).ok().filter(|&read| read > 0)?;
    into.extend_from_slice(&buffer[..read]);
    Some(())
}

impl Line {
    fn converse(&mut self) -> Option<()> {
        loop {
            let Ok(first) = self.request()? else { return self.no_http() };
            // A pipelined request is there already, or a moment later.
            if self.fault.manner == Manner::Reverse && self.is_sent_ahead() {
                let Ok(second) = self.request()? else { return None };
                self.exchange(second)?;
            }
            self.exchange(first)?;
            if self.fault.manner == Manner::CloseEach {
                return None;
            }
        }
    }

    fn is_sent_ahead(&mut self) -> bool {
        let short = Some(Duration::from_millis(30));
        self.client.set_read_timeout(short).expect("a time-out");
        let more = !self.up.is_empty() || more(&mut self.client, &mut self.up).is_some();
        self.client.set_read_timeout(None).expect("no time-out");
        more
    }

    /// Reads the next whole request; an error if it is not valid HTTP.
    fn request(&mut self) -> Option<Result<Request, ()>> {
        let (mut request, length, len) = loop {
            match RequestHead::parse(&self.up) {
                Err(_) => return Some(Err(())),
                Ok(Some((head, len))) => {
                    let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
                    let headers = head.headers.iter().map(|(name, value)| (name.to_owned(), text(value)));
                    let request = Request {
                        method: head.method.to_owned(),
                        target: head.target.to_owned(),
                        headers: headers.collect(),
                        body: Vec::new(),
                        head_len: len,
                    };
                    break (request, head.body, len);
                }
                Ok(None) => more(&mut self.client, &mut self.up)?,
            }
        };
        self.up.drain(..len);
        self.log.lock().expect("a log").push(request.target.clone());
        let mut decoder = BodyDecoder::new(length);
        while !take(&mut decoder, &mut self.up, |data| request.body.extend_from_slice(data))? {
            more(&mut self.client, &mut self.up)?;
        }
        Some(Ok(request))
    }

    /// Forwards one request, and its answer back.
    fn exchange(&mut self, mut request: Request) -> Option<()> {
        if let Some(reply) = self.fault.request.as_ref().and_then(|break_it| break_it(&mut request)) {
            return self.client.write_all(&reply.bytes()).ok();
        }
        // A refusal may arrive before the last byte was taken.
        let _ = self.server.write_all(&request.bytes());
        let (mut reply, length) = self.head()?;
        let path = request.path().to_owned();
        let endless = reply.status == 200
            && length == BodyLength::Chunked
            && matches!(path.as_str(), "/stream" | "/sse" | "/request");
        let mut decoder = BodyDecoder::new(length);
        if reply.status != 101 && !endless {
            while !take(&mut decoder, &mut self.down, |data| reply.body.extend_from_slice(data))? {
                more(&mut self.server, &mut self.down)?;
            }
        }
        if let Some(break_it) = &self.fault.reply {
            break_it(&request, &mut reply);
        }
        if reply.dropped {
            return None;
        }
        if reply.status == 101 {
            self.client.write_all(&reply.head_bytes()).ok()?;
            return frames::relay(&self.client, &self.server, &self.up, &self.down, &self.fault);
        }
        if endless && reply.status == 200 {
            reply.set("Transfer-Encoding", "chunked");
            self.client.write_all(&reply.head_bytes()).ok()?;
            self.relay_chunks(&request, decoder);
            return None;
        }
        self.client.write_all(&reply.bytes()).ok()?;
        let closes =
            |(name, value): &(String, String)| name.eq_ignore_ascii_case("connection") && value == "close";
        (!reply.headers.iter().any(closes)).then_some(())
    }

    fn head(&mut self) -> Option<(Reply, BodyLength)> {
        loop {
            if let Some((head, len)) = ResponseHead::parse(&self.down, HEAD_MAX).ok()? {
                let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
                let headers = head.headers.iter().map(|(name, value)| (name.to_owned(), text(value)));
                let reply = Reply {
                    status: head.status,
                    // The length is written again later.
                    headers: headers
                        .filter(|(name, _)| {
                            !["content-length", "transfer-encoding"].contains(&&*name.to_ascii_lowercase())
                        })
                        .collect(),
                    body: Vec::new(),
                    dropped: false,
                };
                let length = head.body;
                self.down.drain(..len);
                return Some((reply, length));
            }
            more(&mut self.server, &mut self.down)?;
        }
    }

    /// Relays chunks as they arrive: the chunks of one read are sent in one write.
    fn relay_chunks(&mut self, request: &Request, mut decoder: BodyDecoder) -> Option<()> {
        watch(&self.client, &self.server);
        if self.fault.manner == Manner::Impatient {
            self.server.set_read_timeout(Some(Duration::from_secs(1))).ok()?;
        }
        let (tell, told) = mpsc::channel::<Vec<u8>>();
        let mut client = self.client.try_clone().ok()?;
        let unbounded = self.fault.manner == Manner::Unbounded;
        let writer = std::thread::spawn(move || {
            told.into_iter().try_for_each(|bytes| client.write_all(&bytes)).is_ok()
        });
        let mut chunk = Vec::new();
        loop {
            let mut out: Vec<Vec<u8>> = Vec::new();
            let mut ended = false;
            let mut input = &mut self.down[..];
            let before = input.len();
            while let Some(event) = decoder.next(&mut input).ok()? {
                match event {
                    BodyEvent::Data(data) => chunk.extend_from_slice(data),
                    BodyEvent::ChunkEnd => {
                        let whole = std::mem::take(&mut chunk);
                        match &self.fault.chunk {
                            Some(break_it) => out.extend(break_it(request, whole)),
                            None => out.push(whole),
                        }
                    }
                    BodyEvent::End => {
                        ended = true;
                        break;
                    }
                }
            }
            let taken = before - input.len();
            self.down.drain(..taken);
            let size = if self.fault.manner == Manner::Broken { "0x" } else { "" };
            let framed = out.iter().filter(|chunk| !chunk.is_empty());
            let framed = framed
                .map(|chunk| [format!("{size}{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat());
            let mut framed: Vec<Vec<u8>> = framed.collect();
            if ended && self.fault.manner != Manner::NoEnd {
                framed.push(b"0\r\n\r\n".to_vec());
            }
            if unbounded {
                framed.into_iter().try_for_each(|bytes| tell.send(bytes)).ok()?;
            } else if self.fault.manner == Manner::Apart {
                for bytes in framed {
                    self.client.write_all(&bytes).ok()?;
                    crate::tool::pass(Duration::from_millis(3));
                }
            } else {
                self.client.write_all(&framed.concat()).ok()?;
            }
            if ended || more(&mut self.server, &mut self.down).is_none() {
                drop(tell);
                let _ = writer.join();
                return None;
            }
        }
    }

    /// Leaves input that is not HTTP to the server.
    fn no_http(&mut self) -> Option<()> {
        if let Some(reply) = &self.fault.no_http {
            return self.client.write_all(&reply.bytes()).ok();
        }
        watch(&self.client, &self.server);
        self.server.write_all(&self.up).ok()?;
        loop {
            self.client.write_all(&std::mem::take(&mut self.down)).ok()?;
            more(&mut self.server, &mut self.down)?;
        }
    }
}

/// Ends the server's side when the client has gone.
pub fn watch(client: &TcpStream, server: &TcpStream) {
    let (Ok(client), Ok(server)) = (client.try_clone(), server.try_clone()) else { return };
    std::thread::spawn(move || {
        if !matches!(client.peek(&mut [0]), Ok(1..)) {
            let _ = server.shutdown(Shutdown::Both);
        }
    });
}

/// Takes content off the front. Returns whether the body has ended; `None` if its framing is broken.
fn take(decoder: &mut BodyDecoder, bytes: &mut Vec<u8>, mut on: impl FnMut(&[u8])) -> Option<bool> {
    let before = bytes.len();
    let mut input = &mut bytes[..];
    let mut ended = false;
    while let Some(event) = decoder.next(&mut input).ok()? {
        match event {
            BodyEvent::Data(data) => on(data),
            BodyEvent::ChunkEnd => {}
            BodyEvent::End => {
                ended = true;
                break;
            }
        }
    }
    let taken = before - input.len();
    bytes.drain(..taken);
    Some(ended)
}
