//! CONTRACT 6.6: the WebSocket of a check, and its cases.

use std::time::Instant;

use pushmark_proto::websocket::{Decoder, Event, Opcode, Role, encode, handshake};

use super::chance::encoded;
use super::outcome::{Outcome, Step, failed, holds, same, same_bytes, shown};
use super::patience::PATIENCE;
use super::wire::{Answer, Wire};
use super::{Case, With};

/// Longest message taken.
const MESSAGE_MAX: u64 = 2 << 20;

/// A message received through a WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Message {
    Text(Vec<u8>),
    Binary(Vec<u8>),
    Pong(Vec<u8>),
    Close(Option<u16>),
}

/// An established WebSocket.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) wire: Wire,
    decoder: Decoder,
    data: Vec<u8>,
}

/// The lines that ask for the upgrade.
fn upgrade_lines(key: &handshake::Key) -> Vec<String> {
    let mut lines = Vec::new();
    handshake::write_request_headers(&mut lines, key, "");
    String::from_utf8_lossy(&lines).lines().map(str::to_owned).collect()
}

impl Socket {
    /// Upgrades, and checks the answer by RFC 6455 4.1.
    pub(super) fn open(mut wire: Wire, target: &str, more: &[&str]) -> Step<(Socket, Answer)> {
        let nonce: [u8; 16] = std::array::from_fn(|_| wire.chance.between(0, 255) as u8);
        let key = handshake::key(nonce);
        let lines = upgrade_lines(&key);
        let headers: Vec<&str> = lines.iter().map(String::as_str).chain(more.iter().copied()).collect();
        wire.send("GET", target, &headers, b"")?;
        let head = wire.head()?.is(101)?;
        let is = |name: &str, value: &str| {
            let came = head.wants_header(name)?.to_ascii_lowercase();
            holds(came.split(',').any(|token| token.trim() == value), || format!("{name}: {came}"))
        };
        is("upgrade", "websocket")?;
        is("connection", "upgrade")?;
        let wanted = handshake::accept(&key);
        same_bytes("sec-websocket-accept", head.wants_header("sec-websocket-accept")?.as_bytes(), &wanted)?;
        // 3.4, wherever it happens.
        if let Some(extensions) = head.header("sec-websocket-extensions") {
            return Err(failed(format!("an extension: {extensions}")));
        }
        Ok((Socket { wire, decoder: Decoder::new(Role::Client, MESSAGE_MAX), data: Vec::new() }, head))
    }

    /// Returns the next complete message or control frame; answers and skips pings.
    pub(super) fn message(&mut self) -> Step<Message> {
        loop {
            let mut ping = None;
            let mut message = None;
            let before = self.wire.pending.len();
            let mut input = &mut self.wire.pending[..];
            while message.is_none() && ping.is_none() {
                let event = self.decoder.next(&mut input);
                match event.map_err(|failure| failed(format!("a broken WebSocket: {failure}")))? {
                    Some(Event::Data(data)) => self.data.extend_from_slice(data),
                    Some(Event::MessageEnd { text }) => {
                        let data = std::mem::take(&mut self.data);
                        message = Some(if text { Message::Text(data) } else { Message::Binary(data) });
                    }
                    Some(Event::Ping(payload)) => ping = Some(payload.to_vec()),
                    Some(Event::Pong(payload)) => message = Some(Message::Pong(payload.to_vec())),
                    Some(Event::Close { code, .. }) => message = Some(Message::Close(code)),
                    None => break,
                }
            }
            let taken = before - input.len();
            self.wire.pending.drain(..taken);
            if let Some(payload) = ping {
                self.send(Opcode::Pong, &payload)?;
            } else if let Some(message) = message {
                return Ok(message);
            } else {
                self.wire.more_bytes("another message")?;
            }
        }
    }

    /// Sends one frame.
    pub(super) fn send(&mut self, opcode: Opcode, payload: &[u8]) -> Outcome {
        self.send_part(opcode, payload, true)
    }

    /// Sends a frame that is, or is not, the last of its message.
    pub(super) fn send_part(&mut self, opcode: Opcode, payload: &[u8], fin: bool) -> Outcome {
        let key: [u8; 4] = std::array::from_fn(|_| self.wire.chance.between(0, 255) as u8);
        let mut frame = Vec::new();
        encode::header(&mut frame, opcode, fin, payload.len() as u64, Some(key));
        frame.extend(payload.iter().enumerate().map(|(i, byte)| byte ^ key[i % 4]));
        // Masked bytes say nothing to a reader.
        let kind = format!("{opcode:?}").to_lowercase();
        let more = if fin { "" } else { ", and more follows" };
        self.wire.send_told(format!("{kind} {} bytes {}{more}", payload.len(), shown(payload)), &frame)
    }

    /// A text that publishes.
    pub(super) fn publish(&mut self, channel: &str, message: &[u8]) -> Outcome {
        self.send(Opcode::Text, &published(channel, message))
    }

    /// Fails unless the next message or frame is this one.
    pub(super) fn hears(&mut self, what: &str, wanted: &Message) -> Outcome {
        let came = self.message()?;
        match (&came, wanted) {
            (Message::Text(came), Message::Text(wanted))
            | (Message::Binary(came), Message::Binary(wanted)) => same_bytes(what, came, wanted),
            _ => same(what, &came, wanted),
        }
    }
}

fn published(channel: &str, message: &[u8]) -> Vec<u8> {
    [format!("publish {channel}\n").as_bytes(), message].concat()
}

pub(super) const CASES: &[Case] = &[
    Case {
        id: "6.6/1",
        with: With::Others,
        wants: "a UTF-8 message is sent as one text message",
        run: |t| {
            let channel = t.chance.odd_channel();
            let wire = t.connect()?;
            let (mut socket, _) = Socket::open(wire, &format!("/ws?channel={}", encoded(&channel)), &[])?;
            for _ in 0..8 {
                let message = t.chance.text_message();
                t.publish(&channel, &message)?;
                socket.hears("a text message", &Message::Text(message))?;
            }
            Ok(())
        },
    },
    Case {
        id: "6.6/2",
        with: With::Others,
        wants: "a message that is not UTF-8 is sent as one binary message, whatever its size",
        run: |t| {
            let channel = t.chance.channel();
            let wire = t.connect()?;
            let (mut socket, _) = Socket::open(wire, &format!("/ws?channel={channel}"), &[])?;
            // Around the three lengths of a frame's header (RFC 6455 5.2).
            for len in [1, 125, 126, 127, 65_535, 65_536, t.chance.between(2, 200_000)] {
                let message = t.chance.bytes(len);
                t.publish(&channel, &message)?;
                socket.hears("a binary message", &Message::Binary(message))?;
            }
            Ok(())
        },
    },
    Case {
        id: "6.6/3",
        with: With::Others,
        wants: "a Ping is answered by a Pong with its payload, also between the frames of a message",
        run: |t| {
            let channel = t.chance.channel();
            let wire = t.connect()?;
            let (mut socket, _) = Socket::open(wire, "/ws", &[])?;
            for len in [0, 1, 125] {
                let payload = if len == 0 { Vec::new() } else { t.chance.bytes(len) };
                socket.send(Opcode::Ping, &payload)?;
                socket.hears("a Pong", &Message::Pong(payload))?;
            }
            let text = published(&channel, b"in two");
            socket.send_part(Opcode::Text, &text[..9], false)?;
            socket.send(Opcode::Ping, b"between")?;
            socket.hears("a Pong between frames", &Message::Pong(b"between".to_vec()))?;
            socket.send_part(Opcode::Continuation, &text[9..], true)
        },
    },
    Case {
        id: "6.6/4",
        with: With::Others,
        wants: "a text `publish CHANNEL`, LF, message publishes, in one frame or many; `channel` is optional",
        run: |t| {
            let channel = t.chance.channel();
            let wire = t.connect()?;
            let (mut hearing, _) = Socket::open(wire, &format!("/ws?channel={channel}"), &[])?;
            let wire = t.connect()?;
            let (mut peer, _) = Socket::open(wire, "/ws", &[])?;
            let first = t.chance.text_message();
            peer.publish(&channel, &first)?;
            hearing.hears("what a peer published", &Message::Text(first))?;
            let second = t.chance.line_of(2_000);
            let text = published(&channel, &second);
            let mut parts = text.chunks(t.chance.between(1, 900) as usize).peekable();
            let mut opcode = Opcode::Text;
            while let Some(part) = parts.next() {
                peer.send_part(opcode, part, parts.peek().is_none())?;
                opcode = Opcode::Continuation;
            }
            hearing.hears("what a peer published in many frames", &Message::Text(second))?;
            // A subscriber may publish too, and receives its own message.
            let third = t.chance.line();
            hearing.publish(&channel, &third)?;
            hearing.hears("what the subscriber published", &Message::Text(third))
        },
    },
    Case {
        id: "6.6/5",
        with: With::Others,
        wants: "other texts are ignored",
        run: |t| {
            let channel = t.chance.channel();
            let wire = t.connect()?;
            let (mut socket, _) = Socket::open(wire, &format!("/ws?channel={channel}"), &[])?;
            let line = t.chance.line();
            for text in [&line[..], b"publish", b"publish \nx", b"", b"publish a,b\nx"] {
                socket.send(Opcode::Text, text)?;
            }
            let message = t.chance.line();
            socket.publish(&channel, &message)?;
            socket.hears("the first thing after texts that mean nothing", &Message::Text(message))
        },
    },
    Case {
        id: "6.6/6",
        with: With::Others,
        wants: "a Close is answered by a Close, and the connection ends",
        run: |t| {
            let channel = t.chance.channel();
            let wire = t.connect()?;
            let (mut socket, _) = Socket::open(wire, &format!("/ws?channel={channel}"), &[])?;
            socket.send(Opcode::Close, &1000u16.to_be_bytes())?;
            match socket.message()? {
                Message::Close(_) => socket.wire.ends()?,
                other => return Err(failed(format!("{other:?} where a Close is wanted"))),
            }
            if t.has("2.3") {
                let gone = move |stats: &serde_json::Value| {
                    stats["channels"][&channel]["subscribers"].as_u64().unwrap_or(0) == 0
                };
                t.until_stats("that the subscriber left", gone)?;
            }
            Ok(())
        },
    },
    Case {
        id: "6.6/7",
        with: With::Others,
        wants: "an invalid handshake is refused with 400 or 426 and creates no subscription",
        run: |t| {
            let channel = t.chance.channel();
            let target = format!("/ws?channel={channel}");
            t.get(&target)?.refuses(&[400, 426])?;
            let key = handshake::key([7; 16]);
            let lines = upgrade_lines(&key);
            for (change, to) in [
                ("Sec-WebSocket-Version: 13", "Sec-WebSocket-Version: 8"),
                ("Sec-WebSocket-Key", "Sec-WebSocket-Keys"),
            ] {
                let lines: Vec<String> = lines.iter().map(|line| line.replace(change, to)).collect();
                let headers: Vec<&str> = lines.iter().map(String::as_str).collect();
                let answer = t.connect()?.ask("GET", &target, &headers, b"")?;
                holds(matches!(answer.status, 400 | 426), || {
                    format!("{} where 400 or 426 is wanted, for {to}", answer.words())
                })?;
            }
            if !t.has("4.2") {
                return Ok(());
            }
            let told = t.publish(&channel, b"x")?;
            same("subscribers", &told["subscribers"], &serde_json::json!(0))
        },
    },
    Case {
        id: "6.6/8",
        with: With::Others,
        wants: "an unmasked frame or one with a reserved bit fails the connection (RFC 6455 5.1, 5.2)",
        run: |t| {
            for bytes in [&[0x81, 1, b'x'][..], &[0xC1, 0x81, 0, 0, 0, 0, b'x'], &[0x83, 0x80, 0, 0, 0, 0]] {
                let wire = t.connect()?;
                let (mut socket, _) = Socket::open(wire, "/ws", &[])?;
                socket.wire.send_raw("a frame", bytes)?;
                let refused = match socket.wire.read_more(Instant::now() + PATIENCE) {
                    Ok(true) => socket.wire.pending.first() == Some(&0x88),
                    other => !other?,
                };
                holds(refused, || format!("{} came back", shown(&socket.wire.pending)))?;
            }
            Ok(())
        },
    },
];
