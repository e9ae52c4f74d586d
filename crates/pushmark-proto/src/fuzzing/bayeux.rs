//! Bayeux: bodies as both roles read them, and their effect on a session.

use super::machines::upgrade_answer;
use super::transcript::{Pull, Transcript};
use crate::bayeux::{ConnectionType, Message, Value, messages};
use crate::client::bayeux::{Part, Reader, ReplyFields};
use crate::client::{Bayeux, Client, Config, Event, Lane, Request, Transport};
use crate::http1::write;
use crate::websocket::{Opcode, encode};

/// The replies that a session has received when a machine begins.
const SO_FAR: [&str; 3] = [
    r#"[{"channel":"/meta/handshake","successful":true,"clientId":"k","ext":{"ack":true}}]"#,
    r#"[{"channel":"/meta/connect","successful":true,"ext":{"ack":0}}]"#,
    r#"[{"channel":"/meta/subscribe","successful":true}]"#,
];

/// A configuration with every option on.
pub fn config(transport: Transport) -> Config {
    let bayeux = Bayeux { acknowledge: true, time_sync: true, subscribe_each: false };
    Config { bayeux, message_max: 4096, ..Config::new(transport) }
}

/// Returns one body or text as the server's response.
pub fn answer(transport: Transport, body: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    if transport == Transport::Bayeux {
        write::status_line(&mut out, 200);
        write::header_number(&mut out, "Content-Length", body.len() as u64);
        write::head_end(&mut out);
        out.extend_from_slice(body);
    } else {
        encode::frame(&mut out, Opcode::Text, body, None);
    }
    out
}

fn ask(client: &mut Client, config: &Config, out: &mut Vec<u8>) {
    let request = Request { body: br#"["/c0"]"#, ..Request::get("/cometd", "host") };
    client.write_request(config, &request, out);
}

/// Returns a client that has received the first `heard` replies of handshake, connect and subscription and
/// has sent its next request.
pub fn begun(config: &Config, heard: usize) -> Client {
    let mut client = Client::new(config, 1);
    let mut out = Vec::new();
    ask(&mut client, config, &mut out);
    let hear = |client: &mut Client, mut bytes: Vec<u8>| {
        let mut input = &mut bytes[..];
        while client.handle_input(config, &mut input, &mut Vec::new()).expect("valid").is_some() {}
        if client.wants(Lane::Connect) {
            ask(client, config, &mut Vec::new());
        }
    };
    if config.transport == Transport::BayeuxWebSocket {
        hear(&mut client, upgrade_answer(&out));
    }
    for body in &SO_FAR[..heard] {
        hear(&mut client, answer(config.transport, body.as_bytes()));
    }
    client
}

/// Such a client, fed with the server's further bytes. Over HTTP, bytes after a complete response answer the
/// client's next request.
pub fn session(config: &Config, heard: usize) -> impl Pull {
    let mut client = begun(config, heard);
    let mut out = Vec::new();
    let mut answered = false;
    move |input, transcript| {
        let event = match input {
            Some(input) => {
                // If the request were written earlier, the end of the connection would find it unanswered.
                if answered && !input.is_empty() && client.reusable() {
                    answered = false;
                    ask(&mut client, config, &mut out);
                }
                client.handle_input(config, input, &mut out)
            }
            None => client.handle_eof(config),
        };
        answered |= matches!(event, Ok(Some(Event::Answered { .. })));
        transcript.out.append(&mut out);
        match event? {
            None => return Ok(false),
            Some(Event::Data(data)) => transcript.bytes("data", data),
            Some(Event::MessageEnd) => transcript.mark("end"),
            Some(Event::Ready) => transcript.mark("ready"),
            Some(event) => transcript.mark(format!("{event:?}")),
        }
        Ok(true)
    }
}

/// The payloads of one body, as a client receives them.
fn payloads() -> impl Pull {
    let mut reader = Reader::default();
    let look =
        ReplyFields { connection_type: ConnectionType::LongPolling, data_max: u64::MAX, client_id: true };
    let mut ended = false;
    move |input, transcript: &mut Transcript| {
        let Some(input) = input else {
            if !std::mem::replace(&mut ended, true) {
                reader.body_ends()?;
            }
            return Ok(false);
        };
        if input.is_empty() {
            return Ok(false);
        }
        let taken = reader.next(input, &look);
        let bytes = crate::input::take(input, taken.len);
        match taken.part {
            Some(Part::Data { from }) => transcript.bytes("data", &bytes[from..]),
            Some(Part::End) => transcript.mark("end"),
            Some(Part::Wrong(failure)) => return Err(failure),
            None => {}
        }
        Ok(true)
    }
}

/// Feeds a body to both readers. The streaming reader must accept every body that the strict one accepts,
/// with the same payloads in the same messages.
pub fn body(bytes: &[u8]) {
    let heard = super::agree(bytes, payloads);
    let Ok(messages) = messages(bytes) else { return };
    let values: Vec<_> = Value::parse(bytes).expect("it was checked").items().collect();
    assert_eq!(
        messages.collect::<Vec<_>>(),
        values.iter().filter_map(|&v| Message::read(v)).collect::<Vec<_>>()
    );
    let odd = |value: &Value<'_>| value.members().filter(|(key, _)| key == "data").count() > 1;
    // A key may contain escapes or be repeated. The strict reader resolves that; the streaming reader does
    // not. A field may be longer than a client keeps.
    if bytes.contains(&b'\\') || values.iter().any(odd) || bytes.len() > 1024 {
        return;
    }
    let mut want = Transcript::default();
    for value in values {
        if let Some(data) = value.get("data") {
            want.bytes("data", data.text().as_bytes());
        }
        want.mark("end");
    }
    assert_eq!(heard.lines(), want.lines());
}

/// The first byte selects the transport, the stage, and whether the rest is raw input or a body.
pub fn conversation(bytes: &[u8]) {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let transport = if first & 1 == 0 { Transport::Bayeux } else { Transport::BayeuxWebSocket };
    let heard = usize::from(first >> 1) % (SO_FAR.len() + 1);
    let config = config(transport);
    let whole = if first & 8 == 0 { bytes.to_vec() } else { answer(transport, bytes) };
    super::agree(&whole, || session(&config, heard));
}
