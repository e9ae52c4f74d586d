//! A blocking HTTP/1.1 client for control requests: ready probes, `/stats`, emitters.
//!
//! It is never on the measured path. Each request has its own connection and one deadline for everything.
//! The driver makes the measured requests.

use std::io::{Error, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use pushmark_model::plan::Tls;
use pushmark_net::{Blocking, tls};
use pushmark_proto::Failure;
use pushmark_proto::client::{self, Exchange, ExchangeEvent};
use pushmark_proto::http1::write;

use crate::secure;
use pushmark_console::stop;

/// Longest accepted body.
const BODY_MAX: usize = 16 << 20;

/// The target of control requests.
#[derive(Clone, Debug)]
pub struct Control {
    /// `http://host:port/path?query`, or `https://…`.
    pub url: String,
    /// Its TLS settings.
    pub tls: Tls,
    /// Sent as `Authorization: Bearer TOKEN` to a server that was started with it.
    pub token: Option<String>,
}

/// A URL with the trust settings of this machine.
impl<T: Into<String>> From<T> for Control {
    fn from(url: T) -> Control {
        Control { url: url.into(), tls: Tls::default(), token: None }
    }
}

impl Control {
    /// The same with more path segments.
    pub fn below(&self, path: &str) -> Control {
        Control { url: format!("{}{path}", self.url), ..self.clone() }
    }
}

/// A control request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// `GET`, `POST`, `PUT`, `DELETE`.
    pub method: &'a str,
    /// The target of the request.
    pub to: &'a Control,
    /// Header fields other than Host, Content-Length and Connection.
    pub headers: &'a [(&'a str, &'a str)],
    /// The body; empty for none.
    pub body: &'a [u8],
    /// Time limit for everything: resolve, connect, handshake, write, read.
    pub timeout: Duration,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The header fields, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The whole body.
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

/// The reason for a missing answer. Each has the URL.
#[derive(Debug)]
pub enum HttpError {
    /// The URL is not supported by this client.
    Url(String),
    /// The port is closed, the name is unknown, the connection broke, or the deadline passed.
    Io(String, Error),
    /// The answer is not HTTP/1.x, is cut off, or is too long.
    Answer(String, String),
}

impl std::fmt::Display for HttpError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            HttpError::Url(url) => write!(f, "{url} is not a URL like http://host:port/path, or https://"),
            HttpError::Io(url, error) if is_timeout(error) => write!(f, "{url} did not answer in time"),
            HttpError::Io(url, error) => write!(f, "{url} cannot be reached: {error}"),
            HttpError::Answer(url, what) => write!(f, "{url} sent an invalid answer: {what}"),
        }
    }
}

impl std::error::Error for HttpError {}

impl HttpError {
    /// Returns whether the certificate is not trusted.
    pub fn is_of_certificate(&self) -> bool {
        let HttpError::Io(_, error) = self else { return false };
        tls::Trouble::of(error).is_some_and(tls::Trouble::is_of_certificate)
    }
}

fn is_timeout(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock)
}

/// GET with a deadline.
pub fn get(to: &Control, timeout: Duration) -> Result<Answer, HttpError> {
    send(&Request { method: "GET", to, headers: &[], body: &[], timeout })
}

/// Sends a request and reads the whole answer. A stop signal during the wait ends it.
pub fn send(request: &Request<'_>) -> Result<Answer, HttpError> {
    let own = |text: &str| text.to_owned();
    let (method, to, timeout) = (own(request.method), request.to.clone(), request.timeout);
    let headers: Vec<_> = request.headers.iter().map(|(name, value)| (own(name), own(value))).collect();
    let body = request.body.to_vec();
    let exchanged = stop::unless_told(move || {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (&name[..], &value[..])).collect();
        exchange(&Request { method: &method, to: &to, headers: &headers, body: &body, timeout })
    });
    let stopped = || Error::other("stopped by a signal before it answered");
    exchanged.unwrap_or_else(|| Err(HttpError::Io(request.to.url.clone(), stopped())))
}

/// Waits until the deadline at most, whatever the server sends.
fn exchange(request: &Request<'_>) -> Result<Answer, HttpError> {
    let deadline = Instant::now() + request.timeout;
    let url = &request.to.url;
    let place = Place::of(url).ok_or_else(|| HttpError::Url(url.clone()))?;
    let io = |error| HttpError::Io(url.clone(), error);
    let unread = |what| HttpError::Answer(url.clone(), what);
    let mut stream = place.connect(&request.to.tls, deadline).map_err(io)?;
    let mut exchange = Exchange::default();
    let mut out = Vec::new();
    place.write(&mut exchange, request, &mut out);
    stream.write_all(&out).and_then(|()| stream.flush()).map_err(io)?;
    let mut reader = Reader { exchange, answer: Answer::default(), kept: Vec::new() };
    loop {
        let mut piece = [0u8; 16 * 1024];
        left(deadline).and_then(|left| stream.set_read_timeout(left)).map_err(io)?;
        let read = stream.read(&mut piece).map_err(io)?;
        if reader.take(&piece[..read]).map_err(unread)? {
            return Ok(reader.answer);
        }
    }
}

/// An answer as far as it has arrived.
struct Reader {
    exchange: Exchange,
    answer: Answer,
    /// An incomplete head or chunk line, which is parsed again in front of the next bytes.
    kept: Vec<u8>,
}

impl Reader {
    /// Takes the next bytes; none: the server has ended the connection. Returns whether the answer is whole.
    fn take(&mut self, bytes: &[u8]) -> Result<bool, String> {
        self.kept.extend_from_slice(bytes);
        let mut rest = &mut self.kept[..];
        while let Some(event) = self.exchange.handle_input(&mut rest).map_err(told)? {
            match event {
                ExchangeEvent::Head(head) => {
                    self.answer.status = head.status;
                    let text = |value| String::from_utf8_lossy(value).into_owned();
                    let headers = head.headers.iter();
                    self.answer.headers =
                        headers.map(|(name, value)| (name.to_ascii_lowercase(), text(value))).collect();
                }
                ExchangeEvent::Data(data) => self.answer.body.extend_from_slice(data),
                ExchangeEvent::End { .. } => return Ok(true),
            }
        }
        if self.answer.body.len() > BODY_MAX {
            return Err("it is longer than 16 MiB".into());
        }
        let left = rest.len();
        self.kept.drain(..self.kept.len() - left);
        match bytes.is_empty() {
            true => self.exchange.handle_eof().map_err(told).map(|_| true),
            false => Ok(false),
        }
    }
}

fn told(failure: Failure) -> String {
    match failure {
        Failure::ClosedEarly => "it is cut off".to_owned(),
        other => other.kind().to_owned(),
    }
}

/// The parts of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place<'u> {
    tls: bool,
    authority: &'u str,
    /// Path and query.
    target: &'u str,
}

impl<'u> Place<'u> {
    /// Parses a URL. Refuses line ends and spaces, which would forge a request.
    fn of(url: &'u str) -> Option<Place<'u>> {
        let (scheme, rest) = url.split_once("://")?;
        let tls = scheme.eq_ignore_ascii_case("https");
        if !tls && !scheme.eq_ignore_ascii_case("http") || rest.bytes().any(|b| b <= b' ' || b == 0x7f) {
            return None;
        }
        let rest = rest.split('#').next().unwrap_or(rest);
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(end);
        (!authority.is_empty() && !authority.contains('@')).then_some(Place { tls, authority, target })
    }

    /// Host, IPv6 without brackets, and port.
    fn host(&self) -> std::io::Result<(&'u str, u16)> {
        let digits = |port: &str| port.bytes().all(|b| b.is_ascii_digit());
        let (host, port) = match self.authority.rsplit_once(':').filter(|(_, port)| digits(port)) {
            Some((host, port)) => (host, port.parse().map_err(Error::other)?),
            None => (self.authority, if self.tls { 443 } else { 80 }),
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        Ok((bare.unwrap_or(host), port))
    }

    fn write(&self, exchange: &mut Exchange, request: &Request<'_>, out: &mut Vec<u8>) {
        let mut headers = Vec::new();
        for (name, value) in request.headers {
            write::header(&mut headers, name, value);
        }
        if let Some(token) = &request.to.token {
            write::header(&mut headers, "Authorization", &format!("Bearer {token}"));
        }
        write::header(&mut headers, "Connection", "close");
        let target = if self.target.starts_with('/') { "" } else { "/" }.to_owned() + self.target;
        let written = client::Request {
            method: request.method,
            target: &target,
            authority: self.authority,
            headers: &String::from_utf8_lossy(&headers),
            body: request.body,
        };
        exchange.write_request(&written, out);
    }

    fn connect(&self, tls: &Tls, deadline: Instant) -> std::io::Result<Blocking> {
        let (host, port) = self.host()?;
        let mut last = Error::from(ErrorKind::NotFound);
        for address in (host, port).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, left(deadline)?) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    stream.set_write_timeout(Some(left(deadline)?))?;
                    if !self.tls {
                        return Ok(Blocking::Tcp(stream));
                    }
                    let client = secure::client(tls, host).map_err(Error::other)?;
                    return Blocking::over_tls(stream, &client, left(deadline)?);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// The time left until a deadline; an error once it has passed.
fn left(deadline: Instant) -> std::io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
#[path = "http_tests.rs"]
mod tests;
