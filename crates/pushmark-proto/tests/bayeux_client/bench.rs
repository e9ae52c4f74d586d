//! A Bayeux client driven by hand: its requests as short text, its events as words.

use pushmark_proto::bayeux::Value;
use pushmark_proto::client::bayeux::{Counts, Session, write_channels};
use pushmark_proto::client::{Client, Config, Event, Lane, Request, Transport};
use pushmark_proto::http1::RequestHead;
use pushmark_proto::websocket::handshake::Upgrade;
use pushmark_proto::websocket::{Decoder, Event as Frame, Opcode, Role, encode};

pub(crate) const GREETING: &str = r#"{"channel":"/meta/handshake","id":"1","successful":true,"clientId":"k7",
    "version":"1.0","supportedConnectionTypes":["websocket","long-polling"],
    "advice":{"reconnect":"retry","interval":0,"timeout":30000}}"#;
pub(crate) const CONNECTED: &str = r#"{"channel":"/meta/connect","successful":true}"#;
pub(crate) const SUBSCRIBED: &str = r#"{"channel":"/meta/subscribe","successful":true,"subscription":"/c0"}"#;
pub(crate) const UNKNOWN: &str = r#"{"channel":"/meta/connect","successful":false,"error":"402:k7:Unknown client",
    "advice":{"reconnect":"handshake"}}"#;

/// A client and its simulated server.
pub(crate) struct Bench {
    pub(crate) client: Client,
    pub(crate) config: Config,
    pub(crate) channels: Vec<u8>,
    /// Additional header lines for the next answer, such as cookies.
    pub(crate) headers: &'static str,
}

impl Bench {
    pub(crate) fn new(config: Config) -> Bench {
        let mut channels = Vec::new();
        write_channels(["/c0"], &mut channels);
        Bench { client: Client::new(&config, 7), config, channels, headers: "" }
    }

    pub(crate) fn of(transport: Transport) -> Bench {
        Bench::new(Config::new(transport))
    }

    /// A client past its subscription, with a connect held.
    pub(crate) fn subscribed(transport: Transport) -> Bench {
        let mut bench = Bench::of(transport);
        bench.open();
        bench.asks(Lane::Connect);
        bench.told(GREETING);
        bench.asks(Lane::Connect);
        bench.told(CONNECTED);
        bench.asks(Lane::Connect);
        if transport == Transport::Bayeux {
            assert_eq!(bench.told(SUBSCRIBED), ["opened 200", "ready", "answered"]);
            bench.asks(Lane::Connect);
        } else {
            assert_eq!(bench.told(SUBSCRIBED), ["ready"]);
        }
        bench.session().take_counts();
        bench
    }

    pub(crate) fn session(&mut self) -> &mut Session {
        self.client.bayeux_mut().expect("a Bayeux client")
    }

    pub(crate) fn counts(&mut self) -> Counts {
        self.session().take_counts()
    }

    pub(crate) fn write(&mut self, lane: Lane) -> Vec<u8> {
        let request = Request { body: &self.channels, ..Request::get("/cometd", "h:1") };
        let mut out = Vec::new();
        self.client.write_lane(&self.config, lane, &request, &mut out);
        out
    }

    /// Over a WebSocket: requests and grants the upgrade. Over HTTP there is nothing to open.
    pub(crate) fn open(&mut self) {
        if self.config.transport == Transport::BayeuxWebSocket {
            assert!(self.client.wants(Lane::Connect));
            let asked = self.write(Lane::Connect);
            let (head, len) = RequestHead::parse(&asked).unwrap().expect("a whole head");
            assert_eq!((head.method, head.target, len), ("GET", "/cometd", asked.len()));
            assert!(!self.client.wants(Lane::Connect), "not before the 101");
            let mut answer = Vec::new();
            Upgrade::parse(&head).unwrap().expect("an upgrade").write_response(&mut answer, "", "");
            assert_eq!(self.hear(Lane::Connect, answer), ["opened 101"]);
        }
    }

    /// Returns the client's present request on a lane, as JSON without the client's ids.
    pub(crate) fn asks(&mut self, lane: Lane) -> Vec<String> {
        assert!(self.client.wants(lane), "there is no request on {lane:?}");
        let out = self.write(lane);
        let bodies = match self.config.transport {
            Transport::Bayeux => {
                let (head, len) = RequestHead::parse(&out).unwrap().expect("a whole head");
                assert_eq!((head.method, head.target), ("POST", "/cometd"));
                assert_eq!(head.headers.text("content-type"), Some("application/json;charset=UTF-8"));
                assert_eq!(head.headers.text("content-length"), Some(&(out.len() - len).to_string()[..]));
                vec![out[len..].to_vec()]
            }
            _ => texts(out),
        };
        assert!(!self.client.wants(lane), "it sends one request");
        bodies.iter().map(|body| without_ids(body)).collect()
    }

    /// Feeds these messages of the server on the connect lane, in one body or text.
    pub(crate) fn told(&mut self, messages: &str) -> Vec<String> {
        self.told_on(Lane::Connect, messages)
    }

    pub(crate) fn told_on(&mut self, lane: Lane, messages: &str) -> Vec<String> {
        self.told_body(lane, &format!("[{messages}]"))
    }

    pub(crate) fn told_body(&mut self, lane: Lane, body: &str) -> Vec<String> {
        let mut bytes = Vec::new();
        if self.config.transport == Transport::Bayeux {
            let headers = std::mem::take(&mut self.headers);
            let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
            bytes.extend_from_slice(head.as_bytes());
            bytes.extend_from_slice(body.as_bytes());
        } else {
            encode::frame(&mut bytes, Opcode::Text, body.as_bytes(), None);
        }
        self.hear(lane, bytes)
    }

    pub(crate) fn hear(&mut self, lane: Lane, mut bytes: Vec<u8>) -> Vec<String> {
        let mut input = &mut bytes[..];
        let (mut heard, mut out) = (Vec::new(), Vec::new());
        loop {
            match self.client.handle_lane(&self.config, lane, &mut input, &mut out) {
                Ok(None) => break,
                Ok(Some(event)) => heard.push(match event {
                    Event::Opened { status, .. } => format!("opened {status}"),
                    Event::Data(data) => {
                        format!("data {}", data.escape_ascii().to_string().replace("\\\"", "\""))
                    }
                    Event::MessageEnd => "end".into(),
                    Event::Ready => "ready".into(),
                    Event::Forgotten => "forgotten".into(),
                    Event::Answered { .. } => "answered".into(),
                    Event::Closed { .. } => "closed".into(),
                    event => format!("{event:?}"),
                }),
                Err(failure) => {
                    heard.push(format!("failure {}: {failure}", failure.kind()));
                    return heard;
                }
            }
        }
        assert!(input.is_empty());
        heard
    }
}

/// Returns the texts of a client's frames.
fn texts(mut bytes: Vec<u8>) -> Vec<Vec<u8>> {
    let (mut decoder, mut input) = (Decoder::new(Role::Server, 1 << 20), &mut bytes[..]);
    let (mut texts, mut text) = (Vec::new(), Vec::new());
    while let Some(event) = decoder.next(&mut input).expect("valid frames") {
        match event {
            Frame::Data(data) => text.extend_from_slice(data),
            Frame::MessageEnd { text: true } => texts.push(std::mem::take(&mut text)),
            other => panic!("{other:?}"),
        }
    }
    texts
}

/// Returns the messages with shortened channels and without their `id`, which must be present.
fn without_ids(body: &[u8]) -> String {
    let messages = Value::parse(body).expect("the client writes JSON").items().map(|message| {
        let members = message.members().filter_map(|(key, value)| match &*key {
            "id" => None,
            "channel" => Some(value.as_str().unwrap().into_owned()),
            key => Some(format!("{key}={}", value.text())),
        });
        assert!(message.get("id").is_some());
        members.collect::<Vec<_>>().join(" ")
    });
    messages.collect::<Vec<_>>().join("; ")
}

pub(crate) const HANDSHAKE: &str =
    r#"/meta/handshake version="1.0" minimumVersion="1.0" supportedConnectionTypes=["long-polling"]"#;
pub(crate) const FIRST_CONNECT: &str =
    r#"/meta/connect clientId="k7" connectionType="long-polling" advice={"timeout":0}"#;
pub(crate) const CONNECT: &str = r#"/meta/connect clientId="k7" connectionType="long-polling""#;
pub(crate) const SUBSCRIBE: &str = r#"/meta/subscribe clientId="k7" subscription="/c0""#;
