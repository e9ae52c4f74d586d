//! A small server that serves the probes' pages and talks to them. Loopback only, a few
//! connections, blocking threads: only the clock exchange is on a measured path, and its instants are taken
//! where bytes are read.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use pushmark_net::Clock;
use pushmark_proto::http1::{RequestHead, write};
use pushmark_proto::websocket::handshake::Upgrade;
use pushmark_proto::websocket::{Decoder, Event, Role};
use serde_json::Value;

/// Longest message of a page: the messages it received in a tenth of a second.
const MESSAGE_MAX: u64 = 8 << 20;
/// Longest head.
const HEAD_MAX: usize = 16 << 10;
/// Longest wait for the rest of a request.
const REQUEST_WITHIN: Duration = Duration::from_secs(10);
/// The connection to a page that does not read is dropped.
const WRITE_WITHIN: Duration = Duration::from_secs(5);

/// An event of a page.
#[derive(Debug)]
pub(super) enum PageEvent {
    /// It opened its connection: this end writes to it.
    Up(TcpStream),
    /// A message, with the instant of pushmark's clock at which it was read.
    Said(u64, Value),
}

/// A file that is served, at one path.
#[derive(Clone, Debug)]
pub(super) struct File {
    pub(super) path: &'static str,
    pub(super) kind: &'static str,
    pub(super) text: String,
}

/// A listener with its thread. Dropping it ends both.
#[derive(Debug)]
pub(super) struct PageServer {
    listener: Arc<TcpListener>,
    address: SocketAddr,
}

impl PageServer {
    /// Listens on a loopback address and sends the events of page `number` to `told`.
    pub(super) fn open(
        address: SocketAddr,
        number: usize,
        files: Vec<File>,
        told: SyncSender<(usize, PageEvent)>,
    ) -> std::io::Result<PageServer> {
        let listener = Arc::new(TcpListener::bind(address)?);
        let address = listener.local_addr()?;
        let (accepting, files) = (Arc::clone(&listener), Arc::new(files));
        std::thread::Builder::new().name("pages".into()).spawn(move || {
            while let Ok((stream, _)) = accepting.accept() {
                let (files, told) = (Arc::clone(&files), told.clone());
                let serve = move || {
                    // A page that disconnects is detected by its silence.
                    let _ = serve(stream, number, &files, &told);
                };
                if std::thread::Builder::new().name("page".into()).spawn(serve).is_err() {
                    break;
                }
            }
        })?;
        Ok(PageServer { listener, address })
    }

    /// The URL of its page.
    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        // Linux ends a blocked accept this way.
        let _ = rustix::net::shutdown(&*self.listener, rustix::net::Shutdown::Both);
    }
}

fn serve(
    mut stream: TcpStream,
    number: usize,
    files: &[File],
    told: &SyncSender<(usize, PageEvent)>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(REQUEST_WITHIN))?;
    stream.set_write_timeout(Some(WRITE_WITHIN))?;
    let mut bytes = Vec::new();
    loop {
        let bad = |_| std::io::Error::from(std::io::ErrorKind::InvalidData);
        if let Some((head, taken)) = RequestHead::parse(&bytes).map_err(bad)? {
            let mut out = Vec::new();
            if let Some(upgrade) = Upgrade::parse(&head).map_err(bad)? {
                upgrade.write_response(&mut out, "", "");
                stream.write_all(&out)?;
                bytes.drain(..taken);
                return converse(stream, number, bytes, told);
            }
            let file = files.iter().find(|file| file.path == head.path());
            answer(&mut out, file);
            bytes.drain(..taken);
            stream.write_all(&out)?;
            continue;
        }
        if bytes.len() > HEAD_MAX || read(&mut stream, &mut bytes)? == 0 {
            return Ok(());
        }
    }
}

fn answer(out: &mut Vec<u8>, file: Option<&File>) {
    let (kind, text) = file.map_or(("text/plain", "no such page"), |file| (file.kind, &file.text));
    write::status_line(out, if file.is_some() { 200 } else { 404 });
    write::header(out, "Content-Type", kind);
    write::header(out, "Cache-Control", "no-store");
    // Together these give a page a finer clock, if its browser isolates sites.
    write::header(out, "Cross-Origin-Opener-Policy", "same-origin");
    write::header(out, "Cross-Origin-Embedder-Policy", "require-corp");
    write::header_number(out, "Content-Length", text.len() as u64);
    write::head_end(out);
    out.extend_from_slice(text.as_bytes());
}

/// Receives a page's messages until it closes.
fn converse(
    mut stream: TcpStream,
    number: usize,
    mut bytes: Vec<u8>,
    told: &SyncSender<(usize, PageEvent)>,
) -> std::io::Result<()> {
    stream.set_read_timeout(None)?;
    if told.send((number, PageEvent::Up(stream.try_clone()?))).is_err() {
        return Ok(());
    }
    let mut decoder = Decoder::new(Role::Server, MESSAGE_MAX);
    let mut message = Vec::new();
    loop {
        let at_ns = Clock::now();
        let mut rest = &mut bytes[..];
        loop {
            match decoder.next(&mut rest) {
                Ok(Some(Event::Data(data))) => message.extend_from_slice(data),
                Ok(Some(Event::MessageEnd { .. })) => {
                    let said = serde_json::from_slice(&message).unwrap_or_default();
                    message.clear();
                    if told.send((number, PageEvent::Said(at_ns, said))).is_err() {
                        return Ok(());
                    }
                }
                Ok(Some(Event::Ping(_) | Event::Pong(_))) => {}
                Ok(None) => break,
                Ok(Some(Event::Close { .. })) | Err(_) => return Ok(()),
            }
        }
        let left = rest.len();
        bytes.drain(..bytes.len() - left);
        if read(&mut stream, &mut bytes)? == 0 {
            return Ok(());
        }
    }
}

fn read(stream: &mut TcpStream, bytes: &mut Vec<u8>) -> std::io::Result<usize> {
    let mut piece = [0; 16 << 10];
    let read = stream.read(&mut piece)?;
    bytes.extend_from_slice(&piece[..read]);
    Ok(read)
}
