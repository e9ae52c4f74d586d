//! A blocking HTTP/1.1 client for control requests: ready probes, `/stats`, emitters.
//!
//! Never on the measured path, never reused: one connection a request, with one deadline for
//! everything. What is measured goes through the driver.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use pushmark_proto::http1::{BodyDecoder, BodyEvent, HEAD_MAX, ResponseHead, write};

/// Longest body taken.
const BODY_MAX: usize = 16 << 20;

/// A control request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `GET`, `POST`, `PUT`, `DELETE`.
    pub method: &'a str,
    /// `http://host:port/path?query`.
    pub url: &'a str,
    /// Header fields besides Host, Content-Length and Connection.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body; empty for none.
    pub body: &'a [u8],
    /// For all of it: resolve, connect, write, read.
    pub timeout: Duration,
}

/// What was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The header fields, names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl Answer {
    /// 2xx.
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// The body as text, for messages and JSON.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Why there was no answer. Each says what was asked of whom.
#[derive(Debug)]
pub enum HttpError {
    /// The URL is not one this client speaks.
    Url(String),
    /// Nobody listens, the name is unknown, the connection broke, or the deadline passed.
    Io(String, std::io::Error),
    /// The answer is not HTTP/1.x, is cut off, or is too long.
    Answer(String, String),
}

impl std::fmt::Display for HttpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HttpError::Url(url) => write!(f, "{url} is not a URL like http://host:port/path"),
            HttpError::Io(url, error) if is_timeout(error) => write!(f, "{url} did not answer in time"),
            HttpError::Io(url, error) => write!(f, "{url} cannot be reached: {error}"),
            HttpError::Answer(url, what) => write!(f, "{url} gave an answer that cannot be read: {what}"),
        }
    }
}

impl std::error::Error for HttpError {}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::TimedOut | std::io::ErrorKind::WouldBlock)
}

/// GET with a deadline.
pub fn get(url: &str, timeout: Duration) -> Result<Answer, HttpError> {
    send(&Request { method: "GET", url, headers: &[], body: &[], timeout })
}

/// Sends a request and reads the whole answer.
pub fn send(request: &Request<'_>) -> Result<Answer, HttpError> {
    let deadline = Instant::now() + request.timeout;
    let (authority, target) = split(request.url).ok_or_else(|| HttpError::Url(request.url.to_string()))?;
    let io = |error| HttpError::Io(request.url.to_string(), error);
    let mut stream = connect(authority, deadline).map_err(io)?;
    stream.set_nodelay(true).map_err(io)?;
    stream.write_all(&head_and_body(request, authority, target)).map_err(io)?;
    let mut bytes = Vec::new();
    loop {
        match read_answer(&mut bytes.clone(), false) {
            Ok(Some(answer)) => return Ok(answer),
            Ok(None) => {}
            Err(what) => return Err(HttpError::Answer(request.url.to_string(), what)),
        }
        if bytes.len() > BODY_MAX + HEAD_MAX {
            return Err(HttpError::Answer(request.url.to_string(), "it is longer than 16 MiB".into()));
        }
        let mut piece = [0u8; 16 * 1024];
        stream.set_read_timeout(Some(left(deadline).map_err(io)?)).map_err(io)?;
        match stream.read(&mut piece).map_err(io)? {
            0 => break,
            read => bytes.extend_from_slice(&piece[..read]),
        }
    }
    match read_answer(&mut bytes, true) {
        Ok(Some(answer)) => Ok(answer),
        Ok(None) => Err(HttpError::Answer(request.url.to_string(), "it is cut off".into())),
        Err(what) => Err(HttpError::Answer(request.url.to_string(), what)),
    }
}

fn connect(authority: &str, deadline: Instant) -> std::io::Result<TcpStream> {
    let with_port;
    let has_port =
        authority.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|b| b.is_ascii_digit()));
    let address = if has_port {
        authority
    } else {
        with_port = format!("{authority}:80");
        &with_port
    };
    let mut last = std::io::Error::from(std::io::ErrorKind::NotFound);
    for address in address.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(deadline)?) {
            Ok(stream) => {
                stream.set_write_timeout(Some(left(deadline)?))?;
                return Ok(stream);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// What is left until a deadline; an error once it has passed.
fn left(deadline: Instant) -> std::io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(std::io::ErrorKind::TimedOut.into()) } else { Ok(left) }
}

/// `(authority, path and query)`. A line end or a space would forge a request.
fn split(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("http://")?;
    if rest.bytes().any(|b| b <= b' ' || b == 0x7f) {
        return None;
    }
    let rest = rest.split('#').next().unwrap_or(rest);
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, target) = rest.split_at(end);
    (!authority.is_empty() && !authority.contains('@')).then_some((authority, target))
}

fn head_and_body(request: &Request<'_>, authority: &str, target: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(256 + request.body.len());
    let target = match target.as_bytes().first() {
        Some(b'/') => target.to_string(),
        _ => format!("/{target}"),
    };
    write::request_line(&mut out, request.method, &target);
    write::header(&mut out, "Host", authority);
    for (name, value) in request.headers {
        write::header(&mut out, name, value);
    }
    write::header(&mut out, "Accept-Encoding", "identity");
    if !request.body.is_empty() || request.method != "GET" {
        write::header_number(&mut out, "Content-Length", request.body.len() as u64);
    }
    write::header(&mut out, "Connection", "close");
    write::head_end(&mut out);
    out.extend_from_slice(request.body);
    out
}

/// An answer from the bytes so far; `None` if there must be more. Interim answers (1xx) are
/// passed over.
fn read_answer(bytes: &mut [u8], is_eof: bool) -> Result<Option<Answer>, String> {
    let mut input = bytes;
    let head = loop {
        match ResponseHead::take(&mut input, HEAD_MAX).map_err(|f| f.kind().to_string())? {
            None => return Ok(None),
            Some(head) if head.status < 200 => continue,
            Some(head) => break head,
        }
    };
    let headers = head
        .headers
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), String::from_utf8_lossy(value).into_owned()))
        .collect();
    let mut answer = Answer { status: head.status, headers, body: Vec::new() };
    let mut decoder = BodyDecoder::new(head.body);
    loop {
        let event = decoder.next(&mut input).map_err(|f| f.kind().to_string())?;
        let event = match event {
            None if is_eof => decoder.handle_eof().map_err(|f| f.kind().to_string())?,
            event => event,
        };
        match event {
            Some(BodyEvent::Data(data)) => answer.body.extend_from_slice(data),
            Some(BodyEvent::ChunkEnd) => {}
            Some(BodyEvent::End) => return Ok(Some(answer)),
            None => return Ok(None),
        }
    }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
