//! Each machine as a closure that reports its output to a [`Transcript`].

use super::transcript::{Pull, Transcript};
use crate::client::{Client, Config, CursorSource, Event, Exchange, ExchangeEvent, Request, Transport};
use crate::http1::{BodyDecoder, BodyEvent, BodyLength, RequestHead};
use crate::sse;
use crate::websocket::{self, Role};

/// One request with its body.
pub fn request() -> impl Pull {
    let mut body = None;
    move |input, transcript| {
        let Some(input) = input else { return Ok(false) };
        match &mut body {
            Some(body) => told_body(BodyDecoder::next(body, input)?, transcript),
            None => {
                let Some((head, len)) = RequestHead::parse(input)? else { return Ok(false) };
                transcript.mark(format!("{} {} 1.{}", head.method, head.target, head.minor));
                for (name, value) in head.headers.iter() {
                    transcript.mark(format!("{name}: {}", value.escape_ascii()));
                }
                body = Some(BodyDecoder::new(head.body));
                crate::input::take(input, len);
                Ok(true)
            }
        }
    }
}

/// One response with its body, until its end or the end of the connection.
pub fn response() -> impl Pull {
    let mut exchange = Exchange::default();
    exchange.write_request(&Request::get("/", "host"), &mut Vec::new());
    let mut ended = false;
    move |input, transcript| {
        let event = match input {
            _ if ended => None,
            Some(input) => exchange.handle_input(input)?,
            None => exchange.handle_eof()?,
        };
        match event {
            None => return Ok(false),
            Some(ExchangeEvent::Head(head)) => transcript.mark(format!("status {}", head.status)),
            Some(ExchangeEvent::Data(data)) => transcript.bytes("data", data),
            Some(ExchangeEvent::End { .. }) => {
                ended = true;
                transcript.mark(if exchange.reusable() { "end, reusable" } else { "end" });
            }
        }
        Ok(true)
    }
}

/// One chunked body.
pub fn chunked() -> impl Pull {
    let mut body = BodyDecoder::new(BodyLength::Chunked);
    move |input, transcript| match input {
        Some(input) => told_body(body.next(input)?, transcript),
        None => told_body(body.handle_eof()?, transcript),
    }
}

fn told_body(event: Option<BodyEvent<'_>>, transcript: &mut Transcript) -> Result<bool, crate::Failure> {
    match event {
        None => return Ok(false),
        Some(BodyEvent::Data(data)) => transcript.bytes("data", data),
        Some(BodyEvent::ChunkEnd) => transcript.mark("chunk end"),
        Some(BodyEvent::End) => transcript.mark("end"),
    }
    Ok(true)
}

/// One event stream. At its end it reports the id that would resume it.
pub fn sse() -> impl Pull {
    let mut decoder = sse::Decoder::default();
    let mut ended = false;
    move |input, transcript| {
        let Some(input) = input else {
            if !std::mem::replace(&mut ended, true) && !decoder.last_event_id().is_empty() {
                transcript.mark(format!("last id {}", decoder.last_event_id().escape_debug()));
            }
            return Ok(false);
        };
        let mut bytes = &*std::mem::take(input);
        while let Some(event) = decoder.next(&mut bytes)? {
            match event {
                sse::Event::Data(data) => transcript.bytes("data", data),
                sse::Event::Name(name) => transcript.bytes("name", name),
                sse::Event::MessageEnd => transcript.mark("end"),
                sse::Event::Comment => transcript.mark("comment"),
                sse::Event::Retry(ms) => transcript.mark(format!("retry {ms}")),
            }
        }
        Ok(false)
    }
}

/// The frames that one role receives, with messages of at most 1 MiB.
pub fn websocket(role: Role) -> impl Pull {
    let mut decoder = websocket::Decoder::new(role, 1 << 20);
    move |input, transcript| {
        let Some(input) = input else { return Ok(false) };
        match decoder.next(input)? {
            None => {
                assert!(input.len() <= websocket::frame::LEFT_MAX);
                return Ok(false);
            }
            Some(websocket::Event::Data(data)) => transcript.bytes("data", data),
            Some(websocket::Event::MessageEnd { text: true }) => transcript.mark("text"),
            Some(websocket::Event::MessageEnd { text: false }) => transcript.mark("binary"),
            Some(websocket::Event::Ping(data)) => transcript.mark(format!("ping {}", data.escape_ascii())),
            Some(websocket::Event::Pong(data)) => transcript.mark(format!("pong {}", data.escape_ascii())),
            Some(websocket::Event::Close { code, reason }) => {
                transcript.mark(format!("close {code:?} {reason:?}"));
            }
        }
        Ok(true)
    }
}

/// A configuration with every feature of the conversations switched on.
pub fn busy_config(transport: Transport) -> Config {
    Config {
        cursor: match transport {
            Transport::LongPoll => CursorSource::Json("/cursor".into()),
            _ => CursorSource::Header("cursor".into()),
        },
        ready: Some(b"aab".to_vec()),
        answers: vec![(b"2".to_vec(), Some(b"3".to_vec())), (b"ping".to_vec(), None)],
        conditional: true,
        cookies: true,
        message_max: 4096,
        ..Config::new(transport)
    }
}

/// A conversation from its first request to the end of its connection. Bytes after a complete response to a
/// poll answer the next request. A WebSocket is past its handshake.
pub fn client(config: &Config) -> impl Pull {
    let mut client = Client::new(config, 1);
    let request = Request::get("/", "host");
    let mut out = Vec::new();
    client.write_request(config, &request, &mut out);
    if config.transport == Transport::WebSocket {
        let mut answer = upgrade_answer(&out);
        let opened = client.handle_input(config, &mut &mut answer[..], &mut out);
        assert!(matches!(opened, Ok(Some(Event::Opened { status: 101, .. }))));
    }
    out.clear();
    let mut answered = false;
    move |input, transcript| {
        let event = match input {
            Some(input) => {
                // If the request were written earlier, the end of the connection would find it unanswered.
                if answered && !input.is_empty() && client.reusable() {
                    answered = false;
                    client.write_request(config, &request, &mut out);
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

/// Returns the 101 response to a handshake request.
pub(super) fn upgrade_answer(request: &[u8]) -> Vec<u8> {
    let mut answer = Vec::new();
    let (head, _) = RequestHead::parse(request).ok().flatten().expect("we wrote a whole head");
    let upgrade = websocket::handshake::Upgrade::parse(&head).ok().flatten().expect("it is an upgrade");
    upgrade.write_response(&mut answer, "", "");
    answer
}
