//! Runs one machine over N messages, so that callgrind can count its instructions. `cargo xtask instructions`
//! runs it with N and with 2 N and takes the difference, which removes the one-time cost.
//!
//! A message is 128 bytes including its stamp and arrives in one read: the usual case of the driver.

use std::hint::black_box;

use pushmark_model::histogram::Distribution;
use pushmark_model::stamp::{Scanner, Stamp, write_payload};
use pushmark_proto::client::{Client, Config, CursorSource, Request, Transport};
use pushmark_proto::http1::{RequestHead, write};
use pushmark_proto::sse;
use pushmark_proto::websocket::handshake::accept;
use pushmark_proto::websocket::{Decoder, Opcode, Role, encode};

/// A machine's name, and the function that runs it a given number of times.
type Machine = (&'static str, fn(u64));

const MACHINES: [Machine; 13] = [
    ("client_bayeux", client_bayeux),
    ("client_sse", |n| lasting(n, Transport::Sse, "text/event-stream", &sse_chunk())),
    ("client_stream", |n| lasting(n, Transport::Stream, "text/plain", &chunk(&payload()))),
    ("client_websocket", client_websocket),
    ("client_websocket_whole", |n| talking(n, &Config::new(Transport::WebSocket))),
    ("client_websocket_answers", client_websocket_answers),
    ("client_long_poll", |n| polling(n, Transport::LongPoll, &answer("200 OK"))),
    ("client_poll_unchanged", |n| {
        polling(n, Transport::Poll, "HTTP/1.1 304 Not Modified\r\nETag: \"7\"\r\n\r\n")
    }),
    ("server_request", server_request),
    ("server_websocket", server_websocket),
    ("server_encode_sse", server_encode_sse),
    ("stamp_scan", stamp_scan),
    ("latency_record", latency_record),
];

fn main() {
    let mut arguments = std::env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    if name == "--list" {
        MACHINES.iter().for_each(|(name, _)| println!("{name}"));
        return;
    }
    let count = arguments.next().and_then(|count| count.parse().ok());
    let machine = MACHINES.iter().find(|(known, _)| *known == name);
    let (Some(count), Some((_, run))) = (count, machine) else {
        eprintln!("usage: instructions --list | MACHINE COUNT");
        std::process::exit(2);
    };
    run(count);
}

fn payload() -> Vec<u8> {
    let stamp =
        Stamp { nonce: 1, publisher: 0, channel: 3, sequence: 77, due_us: 1_000_000, sent_us: 1_000_050 };
    let mut payload = vec![b'.'; 128];
    write_payload(&stamp, &mut payload);
    payload
}

fn chunk(content: &[u8]) -> Vec<u8> {
    let mut chunk = Vec::new();
    write::chunk(&mut chunk, content);
    chunk
}

fn sse_chunk() -> Vec<u8> {
    let mut event = Vec::new();
    sse::encode::id(&mut event, b"1234567");
    sse::encode::data(&mut event, &payload());
    chunk(&event)
}

fn answer(status: &str) -> String {
    let body = String::from_utf8(payload()).expect("a stamp is ASCII");
    format!(
        "HTTP/1.1 {status}\r\npushmark-cursor: 1234567\r\npushmark-subscribed: a=77\r\n\
         Content-Type: text/plain\r\nCache-Control: no-store\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Pulls every event out of a copy of `bytes`.
fn pull(client: &mut Client, config: &Config, bytes: &[u8], scratch: &mut [u8], out: &mut Vec<u8>) {
    let scratch = &mut scratch[..bytes.len()];
    scratch.copy_from_slice(bytes);
    let mut input = scratch;
    while let Some(event) = client.handle_input(config, &mut input, out).expect("a valid message") {
        black_box(event);
    }
    assert!(input.is_empty(), "a whole message is consumed");
}

fn lasting(count: u64, transport: Transport, content_type: &str, message: &[u8]) {
    let config = Config::new(transport);
    let mut client = Client::new(&config, 1);
    let (mut scratch, mut out) = (vec![0; 4096], Vec::new());
    client.write_request(&config, &Request::get("/", "a"), &mut out);
    let head =
        format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nTransfer-Encoding: chunked\r\n\r\n");
    pull(&mut client, &config, head.as_bytes(), &mut scratch, &mut out);
    for _ in 0..count {
        pull(&mut client, &config, message, &mut scratch, &mut out);
    }
}

fn client_websocket(count: u64) {
    // A full conversation would need a response to its key. Only the decoder runs for each message.
    let mut decoder = Decoder::new(Role::Client, 1 << 20);
    let mut frame = Vec::new();
    encode::frame(&mut frame, Opcode::Text, &payload(), None);
    frames(&mut decoder, &frame, count);
}

/// A conversation that divides each message into lines and knows a heartbeat. Beside `client_websocket_whole` it says
/// what that costs.
fn client_websocket_answers(count: u64) {
    let mut config = Config::new(Transport::WebSocket);
    config.separator = Some(b'\n');
    config.answers = vec![(b"{}".to_vec(), Some(b"{}".to_vec()))];
    talking(count, &config);
}

/// A client that has opened a WebSocket, and hears messages.
fn talking(count: u64, config: &Config) {
    let mut client = Client::new(config, 1);
    let (mut scratch, mut out) = (vec![0; 4096], Vec::new());
    client.write_request(config, &Request::get("/", "a"), &mut out);
    let request = String::from_utf8(out.clone()).expect("a head is ASCII");
    let (_, key) = request.split_once("Sec-WebSocket-Key: ").expect("a key");
    let accept = accept(key.lines().next().unwrap_or_default().as_bytes());
    let accept = std::str::from_utf8(&accept).expect("base64");
    let head = format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Accept: {accept}\r\n\r\n"
    );
    pull(&mut client, config, head.as_bytes(), &mut scratch, &mut out);
    let mut frame = Vec::new();
    encode::frame(&mut frame, Opcode::Text, &payload(), None);
    for _ in 0..count {
        pull(&mut client, config, &frame, &mut scratch, &mut out);
    }
}

fn server_websocket(count: u64) {
    let mut decoder = Decoder::new(Role::Server, 1 << 20);
    let mut frame = Vec::new();
    encode::frame(&mut frame, Opcode::Text, &payload(), Some([1, 2, 3, 4]));
    frames(&mut decoder, &frame, count);
}

fn frames(decoder: &mut Decoder, frame: &[u8], count: u64) {
    let mut scratch = frame.to_vec();
    for _ in 0..count {
        scratch.copy_from_slice(frame);
        let mut input = &mut scratch[..];
        while let Some(event) = decoder.next(&mut input).expect("a valid frame") {
            black_box(event);
        }
    }
}

fn polling(count: u64, transport: Transport, answer: &str) {
    let mut config = Config::new(transport);
    config.cursor = CursorSource::Header("pushmark-cursor".into());
    config.conditional = true;
    let mut client = Client::new(&config, 1);
    let (mut scratch, mut out) = (vec![0; 4096], Vec::new());
    for _ in 0..count {
        out.clear();
        client.write_request(&config, &Request::get("/poll?channel=a", "127.0.0.1:9001"), &mut out);
        pull(&mut client, &config, answer.as_bytes(), &mut scratch, &mut out);
    }
}

/// A connect, and the event that arrives with its reply.
fn client_bayeux(count: u64) {
    let config = Config::new(Transport::Bayeux);
    let mut client = Client::new(&config, 1);
    let (mut scratch, mut out) = (vec![0; 4096], Vec::new());
    let mut round = |answer: &str| {
        let request = Request { body: br#"["/a"]"#, ..Request::get("/cometd", "127.0.0.1:9001") };
        out.clear();
        client.write_request(&config, &request, &mut out);
        pull(&mut client, &config, answer.as_bytes(), &mut scratch, &mut out);
    };
    let answer = |messages: &str| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json;charset=utf-8\r\nContent-Length: ";
        format!("{head}{}\r\n\r\n{messages}", messages.len())
    };
    round(&answer(r#"[{"channel":"/meta/handshake","successful":true,"clientId":"0123456789abcdef"}]"#));
    round(&answer(r#"[{"channel":"/meta/connect","successful":true}]"#));
    round(&answer(r#"[{"channel":"/meta/subscribe","successful":true}]"#));
    let data = String::from_utf8(payload()).expect("a stamp is ASCII");
    let reply = answer(&format!(
        r#"[{{"channel":"/a","data":"{data}"}},{{"channel":"/meta/connect","id":"77","successful":true}}]"#
    ));
    for _ in 0..count {
        round(&reply);
    }
}

fn server_request(count: u64) {
    let config = Config::new(Transport::LongPoll);
    let mut request = Vec::new();
    let target = Request::get("/long-poll?channel=a&hold=45000&since=1234567", "127.0.0.1:9001");
    Client::new(&config, 1).write_request(&config, &target, &mut request);
    for _ in 0..count {
        let (head, len) = RequestHead::parse(black_box(&request)).expect("a request").expect("whole");
        black_box((head, len));
    }
}

fn server_encode_sse(count: u64) {
    let payload = payload();
    let mut out = Vec::with_capacity(4096);
    for _ in 0..count {
        out.clear();
        sse::encode::id(&mut out, b"1234567");
        sse::encode::data(&mut out, black_box(&payload));
        black_box(&out);
    }
}

fn stamp_scan(count: u64) {
    let payload = payload();
    let mut scanner = Scanner::default();
    for _ in 0..count {
        scanner.scan(black_box(&payload), |stamp| {
            black_box(stamp);
        });
    }
}

fn latency_record(count: u64) {
    let mut latencies = Distribution::default();
    for number in 0..count {
        latencies.record_ns(1_000_000, 1_000_000 + black_box(number % 512) * 1_000);
    }
    black_box(&latencies);
}
