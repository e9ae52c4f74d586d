//! Sends one request and reads its response, with the same machine that publishes.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use pushmark_proto::client::{Exchange, ExchangeEvent, Request};

use crate::PATIENCE;

/// A complete response.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The status as sent.
    pub status: u16,
    /// Name and value, as sent.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// Returns the first value of a header field.
    pub fn header(&self, name: &str) -> Option<&str> {
        let named = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        named.map(|(_, value)| &value[..])
    }

    /// Returns the body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Sends a GET request.
pub fn get(address: SocketAddr, target: &str) -> Answer {
    ask(address, "GET", target, "", &[])
}

/// Sends a POST request with plain text.
pub fn post(address: SocketAddr, target: &str, body: &[u8]) -> Answer {
    ask(address, "POST", target, "Content-Type: text/plain\r\n", body)
}

/// Sends a request on a new connection.
///
/// # Panics
/// If no complete response arrives.
pub fn ask(address: SocketAddr, method: &str, target: &str, headers: &str, body: &[u8]) -> Answer {
    let authority = address.to_string();
    let headers = format!("{headers}Connection: close\r\n");
    let request = Request { method, target, authority: &authority, headers: &headers, body };
    let mut exchange = Exchange::default();
    let mut out = Vec::new();
    exchange.write_request(&request, &mut out);
    let mut stream = TcpStream::connect(address).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    stream.write_all(&out).expect("a request can be written");

    let mut answer = Answer::default();
    let mut input = Vec::new();
    loop {
        let mut rest = &mut input[..];
        while let Some(event) = exchange.handle_input(&mut rest).expect("an answer in HTTP/1.1") {
            match event {
                ExchangeEvent::Head(head) => {
                    answer.status = head.status;
                    let text = |value| String::from_utf8_lossy(value).into_owned();
                    answer.headers =
                        head.headers.iter().map(|(name, value)| (name.to_owned(), text(value))).collect();
                }
                ExchangeEvent::Data(data) => answer.body.extend_from_slice(data),
                ExchangeEvent::End { .. } => return answer,
            }
        }
        let left = rest.len();
        input.drain(..input.len() - left);
        let mut buffer = [0; 16 * 1024];
        match stream.read(&mut buffer).expect("an answer within the timeout") {
            0 => {
                exchange.handle_eof().expect("a whole answer");
                return answer;
            }
            n => input.extend_from_slice(&buffer[..n]),
        }
    }
}
