//! A minimal toy push server for one client: every transport, one channel.

use std::collections::VecDeque;

use pushmark_proto::http1::{RequestHead, write};
use pushmark_proto::sse::encode as sse;
use pushmark_proto::websocket::{Decoder, Event, Opcode, Role, encode, handshake::Upgrade};

/// How long a poll is held.
pub(crate) const HOLD_US: u64 = 1_000_000;

/// The server's side of the channel and of the open connection.
#[derive(Default)]
pub(crate) struct Toy {
    /// The planned publications and their instants.
    pub(crate) due: VecDeque<(u64, Say)>,
    /// Everything published; the cursor and the event id are indexes into it.
    pub(crate) log: Vec<String>,
    /// The client's WebSocket messages, with their instants of arrival.
    pub(crate) heard: Vec<(u64, String)>,
    /// The requested targets.
    pub(crate) requests: Vec<String>,
    connection: Connection,
    left: Vec<u8>,
    message: Vec<u8>,
}

/// Actions of the server that are not answers.
pub(crate) enum Say {
    Message(&'static str),
    Ping(&'static str),
    Close(u16),
}

#[derive(Default)]
enum Connection {
    #[default]
    Idle,
    Held {
        since: usize,
        until_us: u64,
    },
    Stream,
    Sse,
    WebSocket(Decoder),
}

impl Toy {
    pub(crate) fn next_us(&self) -> Option<u64> {
        let held = match self.connection {
            Connection::Held { until_us, .. } => Some(until_us),
            _ => None,
        };
        self.due.front().map(|(at_us, _)| *at_us).into_iter().chain(held).min()
    }

    pub(crate) fn connection_lost(&mut self) {
        self.connection = Connection::Idle;
        self.left.clear();
        self.message.clear();
    }

    pub(crate) fn handle_timeout(&mut self, now_us: u64, out: &mut Vec<u8>) {
        while let Some((_, say)) = self.due.pop_front_if(|(at_us, _)| *at_us <= now_us) {
            match say {
                Say::Message(text) => self.publish(text, out),
                Say::Ping(text) => encode::frame(out, Opcode::Ping, text.as_bytes(), None),
                Say::Close(code) => encode::close(out, code, "", None),
            }
        }
        if let Connection::Held { until_us, .. } = self.connection
            && until_us <= now_us
        {
            self.connection = Connection::Idle;
            write::status_line(out, 204);
            write::head_end(out);
        }
    }

    pub(crate) fn handle_input(&mut self, now_us: u64, bytes: &[u8], out: &mut Vec<u8>) {
        let mut buffer = std::mem::take(&mut self.left);
        buffer.extend_from_slice(bytes);
        let mut input = &mut buffer[..];
        if !matches!(self.connection, Connection::WebSocket(_)) {
            let Some((head, len)) = RequestHead::parse(input).expect("our client sends valid heads") else {
                self.left = buffer;
                return;
            };
            self.request(now_us, &head, out);
            input = &mut input[len..];
        }
        if let Connection::WebSocket(decoder) = &mut self.connection {
            while let Some(event) = decoder.next(&mut input).expect("our client sends valid frames") {
                match event {
                    Event::Data(data) => self.message.extend_from_slice(data),
                    Event::MessageEnd { .. } => {
                        self.heard
                            .push((now_us, String::from_utf8(std::mem::take(&mut self.message)).unwrap()));
                    }
                    Event::Pong(data) => self.heard.push((now_us, format!("pong {}", data.escape_ascii()))),
                    Event::Ping(data) => encode::frame(out, Opcode::Pong, data, None),
                    Event::Close { code, .. } => {
                        self.heard.push((now_us, format!("close {code:?}")));
                        encode::close(out, code.unwrap_or(1000), "", None);
                    }
                }
            }
        }
        self.left = input.to_vec();
    }

    fn request(&mut self, now_us: u64, head: &RequestHead<'_>, out: &mut Vec<u8>) {
        self.requests.push(head.target.to_owned());
        match head.path() {
            "/poll" => {
                let tag = format!("\"{}\"", self.log.len());
                if head.headers.text("if-none-match") == Some(&tag) {
                    write::status_line(out, 304);
                    write::head_end(out);
                } else {
                    let latest = self.log.last().cloned().unwrap_or_default();
                    answer(out, "ETag", &tag, &latest);
                }
            }
            "/lp" => {
                let since = head.query().trim_start_matches("since=").parse().unwrap_or(self.log.len());
                self.connection = Connection::Held { since, until_us: now_us + HOLD_US };
                self.answer_held(out);
            }
            "/stream" | "/sse" => {
                write::status_line(out, 200);
                write::header(out, "Content-Type", "text/event-stream");
                write::header(out, "Transfer-Encoding", "chunked");
                write::header(out, "pushmark-subscribed", "news=0");
                write::head_end(out);
                self.connection = if head.path() == "/sse" { Connection::Sse } else { Connection::Stream };
                let last = head.headers.text("last-event-id").and_then(|id| id.parse().ok());
                for id in last.unwrap_or(self.log.len())..self.log.len() {
                    self.event(id, out);
                }
            }
            "/ws" => {
                let upgrade = Upgrade::parse(head).expect("a valid upgrade").expect("an upgrade");
                upgrade.write_response(out, "", "pushmark-subscribed: news=0\r\n");
                self.connection = Connection::WebSocket(Decoder::new(Role::Server, 1 << 20));
            }
            path => panic!("nothing at {path}"),
        }
    }

    fn publish(&mut self, text: &str, out: &mut Vec<u8>) {
        self.log.push(text.to_owned());
        match &self.connection {
            Connection::Idle => {}
            Connection::Held { .. } => self.answer_held(out),
            Connection::Stream => write::chunk(out, text.as_bytes()),
            Connection::Sse => self.event(self.log.len() - 1, out),
            Connection::WebSocket(_) => encode::frame(out, Opcode::Text, text.as_bytes(), None),
        }
    }

    fn answer_held(&mut self, out: &mut Vec<u8>) {
        if let Connection::Held { since, .. } = self.connection
            && since < self.log.len()
        {
            self.connection = Connection::Idle;
            answer(out, "X-Cursor", &self.log.len().to_string(), &self.log[since..].join(","));
        }
    }

    fn event(&self, id: usize, out: &mut Vec<u8>) {
        let mut event = Vec::new();
        sse::id(&mut event, (id + 1).to_string().as_bytes());
        sse::data(&mut event, self.log[id].as_bytes());
        write::chunk(out, &event);
    }
}

fn answer(out: &mut Vec<u8>, name: &str, value: &str, body: &str) {
    write::status_line(out, 200);
    write::header(out, name, value);
    write::header_number(out, "Content-Length", body.len() as u64);
    write::head_end(out);
    out.extend_from_slice(body.as_bytes());
}
