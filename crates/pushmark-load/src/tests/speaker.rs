//! A target's side of one connection, for every transport. It sends messages of all sizes in bursts, and
//! writes them in pieces cut anywhere.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};

use pushmark_model::draw::Draw;
use pushmark_proto::http1::{RequestHead, write};
use pushmark_proto::websocket::{Decoder, Event, Opcode, Role, encode, handshake::Upgrade};

use super::words::{self, Told};

/// How a target sends its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Speech {
    Stream { chunked: bool },
    Sse { chunked: bool },
    WebSocket,
    LongPoll,
    Poll,
    Bayeux,
    BayeuxWebSocket,
}

/// The ping behind the last message of a WebSocket. Its pong shows that everything before it was
/// received.
const LAST: &[u8] = b"the last ping";

#[derive(Debug)]
pub(super) struct Speaker {
    stream: TcpStream,
    speech: Speech,
    draw: Draw,
    input: Vec<u8>,
    out: Vec<u8>,
    frames: Option<Decoder>,
    text: Vec<u8>,
    /// The client may be sent a message now.
    asked: bool,
    /// The id of the connect that is held (Bayeux).
    connect_id: serde_json::Value,
    subscribed: bool,
    /// Messages still to send.
    left: u64,
    sequence: u64,
    ending: bool,
    /// The client has received everything, or is gone.
    pub(super) done: bool,
    /// The target has ended the stream.
    pub(super) ended: bool,
    pub(super) told: Told,
    pub(super) written: u64,
}

impl Speaker {
    pub(super) fn new(stream: TcpStream, speech: Speech, mut draw: Draw) -> Speaker {
        stream.set_nonblocking(true).unwrap();
        stream.set_nodelay(true).unwrap();
        let left = 1 + draw.below(40);
        Speaker {
            stream,
            speech,
            draw,
            input: Vec::new(),
            out: Vec::new(),
            frames: None,
            text: Vec::new(),
            asked: false,
            connect_id: serde_json::Value::Null,
            subscribed: false,
            left,
            sequence: 0,
            ending: false,
            done: false,
            ended: false,
            told: Told::default(),
            written: 0,
        }
    }

    /// Reads what the client sends, and appends a burst of messages of random length if the client may
    /// receive one.
    pub(super) fn act(&mut self) {
        let mut buffer = [0; 16 << 10];
        loop {
            match self.stream.read(&mut buffer) {
                Ok(0) => self.done = true,
                Ok(n) => {
                    self.input.extend_from_slice(&buffer[..n]);
                    continue;
                }
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {}
                Err(_) => self.done = true,
            }
            break;
        }
        let input = std::mem::take(&mut self.input);
        self.input = match self.frames {
            Some(_) => self.hear_frames(input),
            None => self.hear_request(input),
        };
        if self.asked && self.left > 0 && self.out.len() < 100_000 {
            let burst = 1 + self.draw.below(self.left.min(30));
            self.left -= burst;
            self.say(burst);
        }
        if self.asked && self.left == 0 && !std::mem::replace(&mut self.ending, true) {
            match self.speech {
                Speech::Stream { chunked: true } | Speech::Sse { chunked: true } => {
                    write::last_chunk(&mut self.out);
                }
                Speech::WebSocket => encode::frame(&mut self.out, Opcode::Ping, LAST, None),
                _ => {}
            }
        }
    }

    /// Writes the next piece of the appended bytes. Returns whether there was one.
    pub(super) fn write(&mut self) -> bool {
        let most = [1, 9, 200, 1_500, 1 << 20][self.draw.below(5) as usize];
        let piece = self.out.len().min(1 + self.draw.below(most) as usize);
        if self.done || piece == 0 {
            return false;
        }
        match self.stream.write(&self.out[..piece]) {
            Ok(n) => {
                self.out.drain(..n);
                self.written += n as u64;
            }
            Err(error) => self.done |= error.kind() != std::io::ErrorKind::WouldBlock,
        }
        let endless = matches!(self.speech, Speech::Stream { .. } | Speech::Sse { .. });
        if self.out.is_empty() && self.ending && endless {
            self.ended = true;
            self.stream.shutdown(Shutdown::Write).unwrap();
        }
        true
    }

    fn say(&mut self, burst: u64) {
        let Speaker { draw, out, told, sequence, .. } = self;
        let mut body = Vec::new();
        for _ in 0..burst {
            let payload = words::payload(words::size(draw), sequence, told);
            match self.speech {
                Speech::Stream { chunked: true } => words::chunked(draw, &payload, false, out),
                Speech::Stream { chunked: false } => out.extend(payload),
                Speech::Sse { chunked } => {
                    let event = words::event(draw, &payload, told);
                    match chunked {
                        true => words::chunked(draw, &event, false, out),
                        false => out.extend(event),
                    }
                    told.messages += 1;
                }
                Speech::WebSocket => {
                    words::text(draw, &payload, out);
                    told.messages += 1;
                }
                Speech::LongPoll | Speech::Poll => body.extend(payload),
                Speech::Bayeux | Speech::BayeuxWebSocket => {
                    body.extend_from_slice(b"{\"channel\":\"/c0\",\"data\":\"");
                    body.extend(payload);
                    body.extend_from_slice(b"\"},");
                    told.messages += 1;
                    // The payload is a JSON string: its quotes count.
                    told.payload_bytes += 2;
                }
            }
        }
        // The messages of a stream are its stamps.
        told.messages += match self.speech {
            Speech::Stream { .. } => 0,
            Speech::LongPoll | Speech::Poll => 1,
            _ => 0,
        };
        match self.speech {
            Speech::LongPoll | Speech::Poll => words::answer(draw, &body, out),
            Speech::Bayeux | Speech::BayeuxWebSocket => {
                let id = std::mem::take(&mut self.connect_id);
                body.extend(
                    format!("{{\"channel\":\"/meta/connect\",\"id\":{id},\"successful\":true}}").bytes(),
                );
                self.reply(&body);
            }
            _ => return,
        }
        self.asked = false;
    }

    /// Bayeux: sends messages in an array.
    fn reply(&mut self, messages: &[u8]) {
        let array = [b"[", messages, b"]"].concat();
        match self.speech {
            Speech::BayeuxWebSocket => words::text(&mut self.draw, &array, &mut self.out),
            _ => words::answer(&mut self.draw, &array, &mut self.out),
        }
    }

    fn hear_request(&mut self, input: Vec<u8>) -> Vec<u8> {
        let Some((head, len)) = RequestHead::parse(&input).expect("a request") else { return input };
        let body_len = head.headers.text("content-length").map_or(0, |n| n.parse().unwrap());
        if input.len() < len + body_len {
            return input;
        }
        let body = &input[len..len + body_len];
        match self.speech {
            Speech::WebSocket | Speech::BayeuxWebSocket => {
                let upgrade = Upgrade::parse(&head).unwrap().expect("an upgrade");
                upgrade.write_response(&mut self.out, "", "");
                self.frames = Some(Decoder::new(Role::Server, 1 << 20));
                self.asked = self.speech == Speech::WebSocket;
            }
            Speech::Stream { chunked } | Speech::Sse { chunked } => {
                write::status_line(&mut self.out, 200);
                write::header(&mut self.out, "Content-Type", "text/event-stream");
                if chunked {
                    write::header(&mut self.out, "Transfer-Encoding", "chunked");
                }
                write::head_end(&mut self.out);
                self.asked = true;
            }
            Speech::LongPoll | Speech::Poll => self.asks(),
            Speech::Bayeux => self.hear_bayeux(body),
        }
        input[len + body_len..].to_vec()
    }

    /// The client asks for the next messages, so it has received all earlier ones.
    fn asks(&mut self) {
        self.asked = true;
        self.done |= self.left == 0 && self.out.is_empty();
    }

    fn hear_bayeux(&mut self, body: &[u8]) {
        let messages: Vec<serde_json::Value> = serde_json::from_slice(body).expect("JSON");
        let mut replies = Vec::new();
        for message in messages {
            let channel = message["channel"].as_str().expect("a channel");
            let mut reply =
                serde_json::json!({ "channel": channel, "id": message["id"], "successful": true });
            match channel {
                "/meta/handshake" => {
                    reply["version"] = "1.0".into();
                    reply["clientId"] = "k7".into();
                    reply["supportedConnectionTypes"] = serde_json::json!(["long-polling", "websocket"]);
                    reply["advice"] =
                        serde_json::json!({ "reconnect": "retry", "interval": 0, "timeout": 9_000 });
                }
                "/meta/subscribe" => {
                    reply["subscription"] = message["subscription"].clone();
                    self.subscribed = true;
                }
                "/meta/connect" if message["advice"]["timeout"] != 0 => {
                    self.connect_id = message["id"].clone();
                    self.asks();
                    continue;
                }
                _ => {}
            }
            replies.push(reply.to_string());
        }
        if !replies.is_empty() {
            self.reply(replies.join(",").as_bytes());
        }
    }

    fn hear_frames(&mut self, mut input: Vec<u8>) -> Vec<u8> {
        let mut frames = self.frames.take().expect("upgraded");
        let mut rest = &mut input[..];
        let mut texts = Vec::new();
        while let Some(event) = frames.next(&mut rest).expect("frames") {
            match event {
                Event::Data(data) => self.text.extend_from_slice(data),
                Event::MessageEnd { .. } => texts.push(std::mem::take(&mut self.text)),
                Event::Pong(said) => self.done |= said == LAST,
                Event::Ping(_) => {}
                Event::Close { .. } => self.done = true,
            }
        }
        let rest = rest.to_vec();
        self.frames = Some(frames);
        texts.iter().for_each(|text| self.hear_bayeux(text));
        rest
    }
}
