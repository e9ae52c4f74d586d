//! Counts allocations to show that messages cause none.
//!
//! Each thread counts its own, because the test harness allocates at any time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use pushmark_proto::client::{Client, Config, CursorSource, Event, Request, Transport};
use pushmark_proto::fuzzing::bayeux;
use pushmark_proto::http1::{RequestHead, write};
use pushmark_proto::websocket::{Decoder, Opcode, Role, encode, handshake};

struct Counting;

thread_local! {
    /// It has no destructor and does not allocate.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.with(|n| n.set(n.get() + 1));
}

// SAFETY: every call is passed to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's guarantees are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(ptr, layout, size) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Returns the allocations of a thousand rounds, after a few warm-up rounds that may grow buffers.
fn allocations(mut round: impl FnMut()) -> u64 {
    (0..3).for_each(|_| round());
    let before = ALLOCATIONS.get();
    (0..1000).for_each(|_| round());
    ALLOCATIONS.get() - before
}

/// Feeds `bytes` completely; `scratch` is the driver's read buffer.
fn hear(client: &mut Client, config: &Config, bytes: &[u8], scratch: &mut [u8], out: &mut Vec<u8>) -> usize {
    let mut input = &mut scratch[..bytes.len()];
    input.copy_from_slice(bytes);
    let mut messages = 0;
    while let Some(event) = client.handle_input(config, &mut input, out).expect("the bytes are valid") {
        messages += usize::from(matches!(event, Event::MessageEnd | Event::Heartbeat));
    }
    assert!(input.is_empty());
    messages
}

/// Returns the allocations of a conversation past `opening` that receives `round` repeatedly.
fn of_stream(config: &Config, opening: &[u8], round: &[u8]) -> u64 {
    let mut client = Client::new(config, 1);
    let (mut out, mut scratch) = (Vec::with_capacity(1 << 10), vec![0; 1 << 14]);
    client.write_request(config, &Request::get("/", "h"), &mut out);
    let answer = if opening.is_empty() { upgrade_answer(&out) } else { opening.to_vec() };
    hear(&mut client, config, &answer, &mut scratch, &mut out);
    allocations(|| {
        out.clear();
        hear(&mut client, config, round, &mut scratch, &mut out);
    })
}

/// Returns the allocations of a polling conversation that repeats its request and receives the same answer.
fn of_polls(config: &Config, answer: &[u8]) -> u64 {
    let mut client = Client::new(config, 1);
    let (mut out, mut scratch) = (Vec::with_capacity(1 << 10), vec![0; 1 << 14]);
    allocations(|| {
        out.clear();
        client.write_request(config, &Request::get("/", "h"), &mut out);
        assert_eq!(hear(&mut client, config, answer, &mut scratch, &mut out), 1);
        assert!(client.reusable());
    })
}

/// Returns the allocations of a Bayeux session that receives the same reply to each connect.
fn of_connects(config: &Config, reply: &str) -> u64 {
    let mut client = bayeux::begun(config, 3);
    let (mut out, mut scratch) = (Vec::with_capacity(1 << 10), vec![0; 1 << 14]);
    let answer = bayeux::answer(config.transport, reply.as_bytes());
    let held = |client: &Client| client.bayeux().is_some_and(|session| session.is_held());
    allocations(|| {
        assert!(held(&client), "a connect is held");
        out.clear();
        assert_eq!(hear(&mut client, config, &answer, &mut scratch, &mut out), 2);
        client.write_request(config, &Request::get("/cometd", "h"), &mut out);
    })
}

fn upgrade_answer(request: &[u8]) -> Vec<u8> {
    let (head, _) = RequestHead::parse(request).unwrap().unwrap();
    let mut answer = Vec::new();
    handshake::Upgrade::parse(&head).unwrap().unwrap().write_response(&mut answer, "", "");
    answer
}

fn chunk(data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    write::chunk(&mut out, data);
    out
}

#[test]
fn a_message_costs_no_allocation() {
    let chunked = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

    let config = Config { ready: Some(b"never said".to_vec()), ..Config::new(Transport::Stream) };
    assert_eq!(of_stream(&config, chunked, &chunk(&[b'x'; 500])), 0, "stream");

    let config = Config::new(Transport::Sse);
    let event = chunk(b": ping\r\nid: 1234567\r\nevent: tick\r\ndata: one\r\ndata: two\r\nretry: 5\r\n\r\n");
    assert_eq!(of_stream(&config, chunked, &event), 0, "sse, an id with every event");

    let config =
        Config { answers: vec![(b"2".to_vec(), Some(b"3".to_vec()))], ..Config::new(Transport::WebSocket) };
    let mut frames = Vec::new();
    encode::frame(&mut frames, Opcode::Text, "é".repeat(100).as_bytes(), None);
    encode::frame(&mut frames, Opcode::Ping, b"?", None);
    encode::frame(&mut frames, Opcode::Text, b"2", None);
    assert_eq!(of_stream(&config, b"", &frames), 0, "websocket, a ping and a heartbeat answered");

    let config = Config { cursor: CursorSource::Header("Cursor".into()), ..Config::new(Transport::LongPoll) };
    let answer = b"HTTP/1.1 200 OK\r\nCursor: 17\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(of_polls(&config, answer), 0, "long poll, cursor in a header");

    let config = Config { cursor: CursorSource::Json("/cursor".into()), ..Config::new(Transport::LongPoll) };
    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 29\r\n\r\n{\"messages\":[],\"cursor\":\"17\"}";
    assert_eq!(of_polls(&config, answer), 0, "long poll, cursor in the body");

    let config = Config { conditional: true, ..Config::new(Transport::Poll) };
    let answer = b"HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 5\r\n\r\nhello";
    assert_eq!(of_polls(&config, answer), 0, "poll");

    let reply = r#"[{"channel":"/c0","data":"one \"two\""},{"data":{"three":[3]},"channel":"/c0","id":"9"},
        {"clientId":"k","advice":{"interval":0,"reconnect":"retry","timeout":30000},
        "successful":true,"id":"7","ext":{"ack":17},"channel":"/meta/connect"}]"#;
    for transport in [Transport::Bayeux, Transport::BayeuxWebSocket] {
        assert_eq!(of_connects(&bayeux::config(transport), reply), 0, "{transport:?}");
    }

    let mut frame = Vec::new();
    encode::frame(&mut frame, Opcode::Binary, &[7; 300], Some([1, 2, 3, 4]));
    let (mut decoder, mut scratch) = (Decoder::new(Role::Server, 1 << 20), frame.clone());
    let server = allocations(|| {
        scratch.copy_from_slice(&frame);
        let mut input = &mut scratch[..];
        while decoder.next(&mut input).expect("the frame is valid").is_some() {}
    });
    assert_eq!(server, 0, "websocket, as a server");
}
