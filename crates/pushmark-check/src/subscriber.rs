//! A subscriber of any transport, for the clauses that hold for all of them.

use super::chance::list;
use super::outcome::{Outcome, Step, failed, same_bytes};
use super::sse::Events;
use super::trial::Trial;
use super::websocket::{Message, Socket};
use super::wire::{Answer, Wire};

/// The transports that push or hold; a poll has no subscriber.
pub(super) const PUSHED: [&str; 4] = ["long-poll", "stream", "sse", "websocket"];

/// A subscriber.
#[derive(Debug)]
pub(super) enum Subscriber {
    LongPoll { wire: Wire, list: String, cursor: String },
    Stream(Wire),
    Sse(Events),
    WebSocket(Socket),
}

impl Subscriber {
    /// Subscribes; the answer acknowledges it.
    pub(super) fn open(
        trial: &mut Trial<'_>,
        transport: &str,
        channels: &[String],
    ) -> Step<(Subscriber, Answer)> {
        let list = list(channels);
        match transport {
            "long-poll" => {
                let mut wire = trial.connect()?;
                let target = format!("/long-poll?channel={list}&since=");
                let answer = wire.ask("GET", &target, &[], b"")?.is(200)?;
                let cursor = answer.cursor()?;
                Ok((Subscriber::LongPoll { wire, list, cursor }, answer))
            }
            "stream" => {
                let (wire, head) = trial.subscribe(&format!("/stream?channel={list}"), &[])?;
                Ok((Subscriber::Stream(wire), head))
            }
            "sse" => {
                let (wire, head) = trial.subscribe(&format!("/sse?channel={list}"), &[])?;
                Ok((Subscriber::Sse(Events::new(wire)), head))
            }
            _ => {
                let wire = trial.connect()?;
                let (socket, head) = Socket::open(wire, &format!("/ws?channel={list}"), &[])?;
                Ok((Subscriber::WebSocket(socket), head))
            }
        }
    }

    /// Returns the next message, or all messages of one answer, separated by line ends.
    pub(super) fn hear(&mut self) -> Step<Vec<u8>> {
        match self {
            Subscriber::LongPoll { wire, list, cursor } => {
                let target = format!("/long-poll?channel={list}&hold=4000&since={cursor}");
                let answer = wire.ask("GET", &target, &[], b"")?.is(200)?;
                *cursor = answer.cursor()?;
                if answer.header("content-type").is_some_and(|media| media.starts_with("application/json"))
                    && answer.json().is_ok_and(|document| document["timeout"] == true)
                {
                    return Err(failed(format!("nothing but a time-out: {}", answer.words())));
                }
                Ok(answer.body)
            }
            Subscriber::Stream(wire) => {
                let mut chunk = wire.chunk()?;
                while chunk.last() != Some(&b'\n') {
                    chunk.extend(wire.chunk()?);
                }
                chunk.pop();
                Ok(chunk)
            }
            Subscriber::Sse(events) => Ok(events.event()?.data),
            Subscriber::WebSocket(socket) => match socket.message()? {
                Message::Text(data) | Message::Binary(data) => Ok(data),
                other => Err(failed(format!("{other:?} where a message is wanted"))),
            },
        }
    }

    /// Fails unless the next message is `message`, byte for byte.
    pub(super) fn hears(&mut self, what: &str, message: &[u8]) -> Outcome {
        same_bytes(what, &self.hear()?, message)
    }

    /// The connection of this subscriber.
    pub(super) fn wire(&mut self) -> &mut Wire {
        match self {
            Subscriber::LongPoll { wire, .. } | Subscriber::Stream(wire) => wire,
            Subscriber::Sse(events) => &mut events.wire,
            Subscriber::WebSocket(socket) => &mut socket.wire,
        }
    }
}
