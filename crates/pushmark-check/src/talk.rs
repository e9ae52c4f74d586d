//! The WebSocket of a target that its scenario describes, with heartbeats that are answered.

use std::sync::LazyLock;

use pushmark_model::message::Message;
use pushmark_model::plan::ArmPlan;
use pushmark_model::template::{Captures, Drawn, Values};
use pushmark_net::Clock;
use pushmark_proto::websocket::Opcode;

use super::outcome::{Outcome, Step, failed, shown};
use super::websocket::{Message as Came, Socket};

/// The source of `{uuid}` and `{seq}`.
static DRAWN: LazyLock<Drawn> = LazyLock::new(|| Drawn::new(Clock::realtime()));

/// A client of a target: how it is reached, its channel, and what its requests and steps took.
#[derive(Clone, Copy)]
pub(super) struct Of<'o> {
    pub(super) arm: &'o ArmPlan,
    pub(super) port: u16,
    pub(super) channel: &'o str,
    pub(super) captures: &'o Captures,
}

impl<'o> Of<'o> {
    /// The values of templates for this client.
    pub(super) fn values<'v>(&self, channels: &'v [&'v str]) -> Values<'v>
    where
        'o: 'v,
    {
        Values { captures: Some(self.captures), ..values(self.arm, self.port, channels) }
    }
}

/// The values of templates for no client.
pub(super) fn values<'v>(arm: &'v ArmPlan, port: u16, channels: &'v [&'v str]) -> Values<'v> {
    Values {
        channels,
        port,
        fields: arm.clients.as_ref(),
        secrets: Some(&arm.secrets),
        drawn: Some(&DRAWN),
        ..Values::default()
    }
}

/// A WebSocket of a target.
pub(super) struct Talk {
    pub(super) socket: Socket,
}

impl Talk {
    /// Sends a message; a text may be sent as a binary message (`text` is false).
    pub(super) fn say(&mut self, of: Of<'_>, text: bool, what: &Message) -> Outcome {
        let said = what.rendered(&of.values(&[of.channel]));
        self.socket.send(if text && what.is_text() { Opcode::Text } else { Opcode::Binary }, &said)
    }

    /// Publishes a message, as a peer does.
    pub(super) fn publish(&mut self, of: Of<'_>, what: &Message, message: &[u8]) -> Outcome {
        let said = what.rendered(&Values { message, ..of.values(&[of.channel]) });
        self.socket.send(if what.is_text() { Opcode::Text } else { Opcode::Binary }, &said)
    }

    /// Returns the next message; answers the heartbeats in it.
    pub(super) fn hear(&mut self, of: Of<'_>) -> Step<Vec<u8>> {
        let message = self.socket.message()?;
        let text = matches!(message, Came::Text(_));
        let heard = data(message)?;
        let kind = if text { "text" } else { "binary" };
        self.socket.wire.journal.came(|| format!("{kind} {} bytes {}", heard.len(), shown(&heard)));
        let mut parts: Vec<&[u8]> = match of.arm.subscribe.separator {
            Some(separator) => heard.split(|byte| *byte == separator).collect(),
            None => vec![&heard],
        };
        if of.arm.subscribe.separator == Some(b'\n') {
            parts.iter_mut().for_each(|part| *part = part.strip_suffix(b"\r").unwrap_or(part));
        }
        let asks = |on: &Message| parts.contains(&&on.rendered(&Values::default())[..]);
        for answer in of.arm.subscribe.answer.iter().filter(|answer| asks(&answer.on)) {
            self.say(of, text, &answer.send)?;
        }
        Ok(heard)
    }
}

pub(super) fn data(message: Came) -> Step<Vec<u8>> {
    match message {
        Came::Text(data) | Came::Binary(data) => Ok(data),
        Came::Pong(_) => Ok(Vec::new()),
        Came::Close(Some(code)) => Err(failed(format!("it closed the WebSocket with {code}"))),
        Came::Close(None) => Err(failed("it closed the WebSocket without a code")),
    }
}
