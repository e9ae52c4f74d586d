//! A Bayeux client of a check: its messages, and a session over long polling.

use std::time::{Duration, Instant};

use pushmark_proto::websocket::Opcode;
use serde_json::{Value, json};

use super::outcome::{Outcome, Step, brief, failed, holds, same};
use super::trial::Trial;
use super::websocket::{Message, Socket};
use super::wire::{Answer, Wire};

/// Most that an answer "at once" may take on a busy machine.
pub(super) const AT_ONCE: Duration = Duration::from_millis(1_500);

/// A client over long polling: one connection for its connects, one for the rest.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) cookie: Option<String>,
    pub(super) commands: Wire,
    pub(super) connects: Wire,
    count: u64,
}

pub(super) fn handshake() -> Value {
    json!({
        "channel": "/meta/handshake", "id": "h", "version": "1.0", "minimumVersion": "1.0",
        "supportedConnectionTypes": ["long-polling", "websocket"],
    })
}

/// Bayeux has fewer characters for names than 1.1.
pub(super) fn channel(t: &mut Trial<'_>) -> String {
    t.chance.channel().replace('.', "_")
}

/// The messages of an answer. Servers of 2008 call their type `text/json`.
pub(super) fn messages(answer: &Answer) -> Step<Vec<Value>> {
    match serde_json::from_slice(&answer.body).unwrap_or_default() {
        Value::Array(messages) => Ok(messages),
        _ => Err(failed(format!("no array of messages: {}", answer.words()))),
    }
}

/// The data of these messages on a channel that is not a meta channel.
pub(super) fn data<'m>(messages: &'m [Value], channel: &str) -> Vec<&'m str> {
    let heard =
        messages.iter().filter(|message| message["channel"] == channel && message.get("data").is_some());
    heard.filter_map(|message| message["data"].as_str()).collect()
}

pub(super) fn reply<'m>(messages: &'m [Value], channel: &str, id: &str) -> Step<&'m Value> {
    let is_it = |message: &&Value| message["channel"] == channel && message["id"] == id;
    let found = messages.iter().find(is_it);
    found.ok_or_else(|| {
        failed(format!("no reply on {channel} with id {id}: {}", brief(&json!(messages).to_string())))
    })
}

pub(super) fn successful(reply: &Value) -> Outcome {
    holds(reply["successful"] == true, || format!("not successful: {}", brief(&reply.to_string())))
}

pub(super) fn unknown(reply: &Value) -> Outcome {
    same("successful, of an unknown client", &reply["successful"], &json!(false))?;
    let error = reply["error"].as_str().unwrap_or_default();
    holds(error.starts_with("402"), || format!("error: {error:?} where 402 is wanted"))?;
    match reply["channel"].as_str() {
        Some("/meta/connect") => same("advice.reconnect", &reply["advice"]["reconnect"], &json!("handshake")),
        _ => Ok(()),
    }
}

pub(super) fn post(wire: &mut Wire, cookie: Option<&str>, document: &Value) -> Outcome {
    let mut headers = vec!["Content-Type: application/json;charset=UTF-8"];
    let line = cookie.map(|cookie| format!("Cookie: {cookie}"));
    headers.extend(line.as_deref());
    wire.send("POST", "/cometd", &headers, document.to_string().as_bytes())
}

impl Session {
    /// Performs the handshake and the first connect.
    pub(super) fn open(t: &mut Trial<'_>) -> Step<Session> {
        let mut commands = t.connect()?;
        post(&mut commands, None, &json!([handshake()]))?;
        let answer = commands.answer()?.is(200)?;
        let shaken = messages(&answer)?;
        let shaken = reply(&shaken, "/meta/handshake", "h")?;
        successful(shaken)?;
        let id = shaken["clientId"].as_str().ok_or_else(|| failed("no clientId"))?.to_owned();
        let cookie = answer.header("set-cookie").and_then(|line| line.split(';').next());
        let cookie = cookie.map(str::to_owned);
        let connects = t.connect()?;
        let mut session = Session { id, cookie, commands, connects, count: 0 };
        let started = Instant::now();
        session.connect(&json!({}))?;
        session.connected()?;
        holds(started.elapsed() < AT_ONCE, || format!("the first connect took {:?}", started.elapsed()))?;
        Ok(session)
    }

    pub(super) fn message(&mut self, channel: &str, more: &Value) -> (Value, String) {
        self.count += 1;
        let id = self.count.to_string();
        let mut message = json!({"channel": channel, "id": id, "clientId": self.id});
        for (key, value) in more.as_object().into_iter().flatten() {
            message[key] = value.clone();
        }
        (message, id)
    }

    /// Sends one message. Returns its reply and all messages of the answer.
    pub(super) fn ask(&mut self, channel: &str, more: &Value) -> Step<(Value, Vec<Value>)> {
        let (message, id) = self.message(channel, more);
        post(&mut self.commands, self.cookie.as_deref(), &json!([message]))?;
        let all = messages(&self.commands.answer()?.is(200)?)?;
        Ok((reply(&all, channel, &id)?.clone(), all))
    }

    pub(super) fn subscribe(&mut self, subscription: Value) -> Step<Value> {
        let (reply, _) = self.ask("/meta/subscribe", &json!({ "subscription": subscription }))?;
        successful(&reply)?;
        Ok(reply)
    }

    /// Sends a connect, which may be held.
    pub(super) fn connect(&mut self, more: &Value) -> Outcome {
        let (mut message, _) = self.message("/meta/connect", more);
        message["connectionType"] = json!("long-polling");
        post(&mut self.connects, self.cookie.as_deref(), &json!([message]))
    }

    /// The answer of a connect.
    pub(super) fn connected(&mut self) -> Step<Vec<Value>> {
        let all = messages(&self.connects.answer()?.is(200)?)?;
        let reply = all.iter().find(|message| message["channel"] == "/meta/connect");
        successful(reply.ok_or_else(|| failed("no reply to the connect"))?)?;
        Ok(all)
    }

    /// Connects until `count` messages of a channel have arrived.
    pub(super) fn hear(&mut self, channel: &str, count: usize) -> Step<Vec<String>> {
        let started = Instant::now();
        let mut heard: Vec<String> = Vec::new();
        while heard.len() < count && started.elapsed() < super::patience::PATIENCE {
            self.connect(&json!({"advice": {"timeout": 1_000}}))?;
            heard.extend(data(&self.connected()?, channel).into_iter().map(str::to_owned));
        }
        holds(heard.len() == count, || {
            format!("{} messages where {count} are wanted: {heard:?}", heard.len())
        })?;
        Ok(heard)
    }

    /// Connects for a moment. Fails if a message of the channel arrives.
    pub(super) fn hears_nothing(&mut self, channel: &str) -> Outcome {
        self.connect(&json!({"advice": {"timeout": 80}}))?;
        let all = self.connected()?;
        same(format!("what came of {channel}"), &data(&all, channel), &Vec::new())
    }
}

/// The messages of the next text.
pub(super) fn texts(socket: &mut Socket) -> Step<Vec<Value>> {
    match socket.message()? {
        Message::Text(text) => serde_json::from_slice(&text)
            .map_err(|_| failed(format!("no array of messages: {}", text.escape_ascii()))),
        other => Err(failed(format!("{other:?} where a text is wanted"))),
    }
}

/// Sends messages over a WebSocket and reads until a channel is answered.
pub(super) fn exchange(socket: &mut Socket, document: &Value, channel: &str) -> Step<Vec<Value>> {
    socket.send(Opcode::Text, document.to_string().as_bytes())?;
    let mut all = Vec::new();
    while !all.iter().any(|message: &Value| message["channel"] == channel) {
        all.extend(texts(socket)?);
    }
    Ok(all)
}
