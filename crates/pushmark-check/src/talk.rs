//! The WebSocket of a target that its scenario describes: steps, and heartbeats that are answered.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use pushmark_model::message::Message;
use pushmark_model::plan::{ArmPlan, Since};
use pushmark_model::template::{Captures, Drawn, Values};
use pushmark_net::Clock;
use pushmark_proto::websocket::Opcode;

use super::outcome::{Outcome, Step, brief, failed, holds, shown};
use super::websocket::{Message as Came, Socket};

/// How long the client listens at a time, before it looks whether its time is over.
const LOOK: Duration = Duration::from_millis(50);

/// The source of `{uuid}` and `{seq}`.
static DRAWN: LazyLock<Drawn> = LazyLock::new(|| Drawn::new(Clock::realtime()));

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

/// A WebSocket of a target, with what its steps took.
pub(super) struct Talk {
    pub(super) socket: Socket,
    captures: Captures,
}

impl Talk {
    pub(super) fn new(socket: Socket, captures: Captures) -> Talk {
        Talk { socket, captures }
    }

    pub(super) fn say(
        &mut self,
        arm: &ArmPlan,
        port: u16,
        channel: &str,
        (text, what): (bool, &Message),
    ) -> Outcome {
        let mut said = Vec::new();
        let channels = [channel];
        let values = Values { captures: Some(&self.captures), ..values(arm, port, &channels) };
        what.render(&values, &mut said);
        self.socket.send(if text && what.is_text() { Opcode::Text } else { Opcode::Binary }, &said)
    }

    /// Returns the next message; answers the heartbeats in it.
    pub(super) fn hear(&mut self, arm: &ArmPlan, port: u16, channel: &str) -> Step<Vec<u8>> {
        let message = self.socket.message()?;
        let text = matches!(message, Came::Text(_));
        let heard = data(message)?;
        let kind = if text { "text" } else { "binary" };
        self.socket.wire.journal.came(|| format!("{kind} {} bytes {}", heard.len(), shown(&heard)));
        let mut parts: Vec<&[u8]> = match arm.subscribe.separator {
            Some(separator) => heard.split(|byte| *byte == separator).collect(),
            None => vec![&heard],
        };
        if arm.subscribe.separator == Some(b'\n') {
            parts.iter_mut().for_each(|part| *part = part.strip_suffix(b"\r").unwrap_or(part));
        }
        let asks = |on: &Message| parts.contains(&&on.rendered(&Values::default())[..]);
        for answer in arm.subscribe.answer.iter().filter(|answer| asks(&answer.on)) {
            self.say(arm, port, channel, (text, &answer.send))?;
        }
        Ok(heard)
    }

    /// Follows the steps of the subscription.
    pub(super) fn follow(&mut self, arm: &ArmPlan, port: u16, channel: &str) -> Outcome {
        for (n, step) in arm.subscribe.steps.iter().enumerate() {
            if let Some(send) = &step.send {
                self.say(arm, port, channel, (true, send))?;
            }
            let Some(wait) = &step.wait else { continue };
            let (started, mut since) = (Instant::now(), Since::default());
            loop {
                let left = Duration::from_nanos(wait.within_ns).saturating_sub(started.elapsed());
                holds(!left.is_zero(), || {
                    let came = shown(since.bytes());
                    format!("step {}: {} did not come in time; received {came}", n + 1, wait.in_words())
                })?;
                if self.socket.wire.is_quiet(left.min(LOOK)).is_ok() {
                    continue;
                }
                let message = self.hear(arm, port, channel)?;
                let channels = [channel];
                let values = Values { captures: Some(&self.captures), ..values(arm, port, &channels) };
                if let Some(captures) = since.matched(wait, &message, &values) {
                    let took = captures.iter().map(|(name, value)| brief(&format!(", {name} = {value:?}")));
                    let took: String = took.collect();
                    let step = format!("· step {}: that is {}{took}", n + 1, wait.in_words());
                    self.socket.wire.journal.remark(step);
                    self.captures.extend(captures);
                    break;
                }
            }
        }
        Ok(())
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
