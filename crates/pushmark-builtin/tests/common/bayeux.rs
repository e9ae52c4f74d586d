//! A minimal Bayeux client: it sends exactly what a test specifies, and returns what it received.

use std::io::Write as _;

use pushmark_proto::websocket::Opcode;
use serde_json::{Value, json};

use super::{Answer, Client, Server};

/// One session over long polling: one connection for connects, another for other requests.
pub struct Session {
    pub id: String,
    pub polling: Client,
    pub asking: Client,
}

/// Posts a body unchanged.
pub fn post(client: &mut Client, body: &Value) {
    client.request("POST", "/cometd", &["Content-Type: application/json"], body.to_string().as_bytes());
}

/// The messages of an answer.
pub fn messages(answer: &Answer) -> Vec<Value> {
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), "application/json;charset=UTF-8");
    answer.json().as_array().expect("an array").clone()
}

/// A handshake with additional members.
pub fn handshake(more: &Value) -> Value {
    let mut message = json!({
        "channel": "/meta/handshake", "version": "1.0", "id": "h",
        "supportedConnectionTypes": ["long-polling", "websocket"],
    });
    message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    message
}

/// Returns the data of the events.
pub fn data(messages: &[Value]) -> Vec<&str> {
    let events = messages.iter().filter(|message| message["successful"].is_null());
    events.map(|event| event["data"].as_str().expect("a text")).collect()
}

impl Session {
    /// Sends a handshake and one connect.
    pub fn open(server: &Server, more: &Value) -> Session {
        let (mut polling, asking) = (server.client(), server.client());
        post(&mut polling, &handshake(more));
        let reply = &messages(&polling.answer())[0];
        assert_eq!(reply["successful"], true, "{reply}");
        let id = reply["clientId"].as_str().unwrap().to_owned();
        let mut session = Session { id, polling, asking };
        session.connect(&json!({}));
        let reply = session.connected();
        assert_eq!(reply.len(), 1, "{reply:?}");
        assert_eq!(reply[0]["successful"], true);
        session
    }

    /// Builds a message of this client.
    pub fn message(&self, channel: &str, more: &Value) -> Value {
        let mut message = json!({"channel": channel, "clientId": self.id});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message
    }

    /// Sends the next connect, with additional members.
    pub fn connect(&mut self, more: &Value) {
        let mut message =
            self.message("/meta/connect", &json!({"connectionType": "long-polling", "id": "c"}));
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        post(&mut self.polling, &json!([message]));
    }

    /// Reads the answer to the connect.
    pub fn connected(&mut self) -> Vec<Value> {
        messages(&self.polling.answer())
    }

    /// Sends a message over the other connection. Returns the replies.
    pub fn ask(&mut self, channel: &str, more: &Value) -> Vec<Value> {
        let message = self.message(channel, more);
        post(&mut self.asking, &json!([message]));
        messages(&self.asking.answer())
    }

    pub fn subscribe(&mut self, subscription: &Value) -> Value {
        let reply = self.ask("/meta/subscribe", &json!({"subscription": subscription})).remove(0);
        assert_eq!(reply["successful"], true, "{reply}");
        reply
    }
}

/// One session over a WebSocket.
pub struct Socket {
    pub client: Client,
    pub id: String,
}

impl Socket {
    pub fn open(server: &Server, more: &Value) -> Socket {
        let mut client = server.client();
        client.upgrade("/cometd");
        let mut socket = Socket { client, id: String::new() };
        socket.say(&handshake(more));
        let reply = &socket.heard(1)[0];
        assert_eq!(reply["successful"], true, "{reply}");
        socket.id = reply["clientId"].as_str().unwrap().to_owned();
        socket.tell("/meta/connect", &json!({"connectionType": "websocket"}));
        assert_eq!(socket.heard(1)[0]["channel"], "/meta/connect");
        socket
    }

    /// Sends a message or an array of messages.
    pub fn say(&mut self, body: &Value) {
        self.client.send_frame(Opcode::Text, body.to_string().as_bytes());
    }

    /// Sends one message of this client.
    pub fn tell(&mut self, channel: &str, more: &Value) {
        let mut message = json!({"channel": channel, "clientId": self.id});
        message.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.say(&json!([message]));
    }

    /// Reads the messages of the next `texts` texts.
    pub fn heard(&mut self, texts: usize) -> Vec<Value> {
        let texts = self.client.messages(texts);
        let arrays = texts.into_iter().map(|text| serde_json::from_slice(&text.expect("no Close")).unwrap());
        arrays.flat_map(|array: Value| array.as_array().expect("an array").clone()).collect()
    }
}

/// Writes a request byte by byte.
pub fn post_slowly(client: &mut Client, body: &Value) {
    let body = body.to_string();
    let head = format!("POST /cometd HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    for byte in head.bytes().chain(body.bytes()) {
        client.socket.write_all(&[byte]).unwrap();
    }
}
