//! A client conversation and a toy server in virtual time, with a latency and segments.
//!
//! No sockets and no waiting: the clock jumps to the next event, so every instant is exact.

mod link;
mod toy;

use link::Link;
use pushmark_proto::Failure;
use pushmark_proto::client::{Client, Config, CursorSource, Event, Request, Transport};
use toy::{HOLD_US, Say, Toy};

const LATENCY_US: u64 = 10_000;
const ROUND_TRIP_US: u64 = 2 * LATENCY_US;

struct Pair {
    now_us: u64,
    config: Config,
    client: Client,
    toy: Toy,
    to_toy: Link,
    to_client: Link,
    left: Vec<u8>,
    message: Vec<u8>,
    /// The messages that the client received, with their instants.
    heard: Vec<(u64, String)>,
}

impl Pair {
    fn new(config: Config, segment_max: usize) -> Pair {
        Pair {
            now_us: 0,
            client: Client::new(&config, 7),
            config,
            toy: Toy::default(),
            to_toy: Link::new(LATENCY_US, segment_max),
            to_client: Link::new(LATENCY_US, segment_max),
            left: Vec::new(),
            message: Vec::new(),
            heard: Vec::new(),
        }
    }

    /// Ethernet segments.
    fn of(transport: Transport) -> Pair {
        let cursor = CursorSource::Header("x-cursor".into());
        Pair::new(Config { cursor, conditional: true, ..Config::new(transport) }, 1460)
    }

    fn publish(&mut self, at_us: u64, text: &'static str) {
        self.toy.due.push_back((at_us, Say::Message(text)));
    }

    /// The client sends the request of its transport.
    fn ask(&mut self) {
        let target = match self.config.transport {
            Transport::Poll => "/poll".to_owned(),
            Transport::LongPoll => format!("/lp?since={}", self.client.cursor()),
            Transport::Stream => "/stream".to_owned(),
            Transport::Sse => "/sse".to_owned(),
            Transport::WebSocket => "/ws".to_owned(),
            Transport::Bayeux | Transport::BayeuxWebSocket => "/cometd".to_owned(),
        };
        let mut out = Vec::new();
        self.client.write_request(&self.config, &Request::get(&target, "toy"), &mut out);
        self.to_toy.send(self.now_us, &mut out);
    }

    /// Lets the client write something itself.
    fn say(&mut self, write: impl FnOnce(&mut Client, &mut Vec<u8>) -> bool) {
        let mut out = Vec::new();
        assert!(write(&mut self.client, &mut out));
        self.to_toy.send(self.now_us, &mut out);
    }

    /// Breaks the connection. Bytes on their way are lost on both sides.
    fn cut(&mut self) {
        self.to_client.cut();
        self.to_toy.cut();
        self.toy.connection_lost();
        self.client.connection_lost();
        self.left.clear();
        self.message.clear();
    }

    /// Runs everything up to an instant.
    fn drive(&mut self, until_us: u64) {
        loop {
            let next = [self.to_toy.next_us(), self.to_client.next_us(), self.toy.next_us()];
            let Some(at_us) = next.into_iter().flatten().min().filter(|&at_us| at_us <= until_us) else {
                self.now_us = until_us;
                return;
            };
            self.now_us = at_us.max(self.now_us);
            let mut out = Vec::new();
            while let Some(bytes) = self.to_toy.receive(self.now_us) {
                self.toy.handle_input(self.now_us, &bytes, &mut out);
            }
            self.toy.handle_timeout(self.now_us, &mut out);
            self.to_client.send(self.now_us, &mut out);
            while let Some(bytes) = self.to_client.receive(self.now_us) {
                self.client_readable(&bytes).expect("the toy follows the protocol");
            }
        }
    }

    fn client_readable(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let mut buffer = std::mem::take(&mut self.left);
        buffer.extend_from_slice(bytes);
        let mut input = &mut buffer[..];
        let mut out = Vec::new();
        while let Some(event) = self.client.handle_input(&self.config, &mut input, &mut out)? {
            let heard = match event {
                Event::Data(data) if self.config.transport == Transport::Stream => {
                    String::from_utf8_lossy(data).into_owned()
                }
                Event::Data(data) => {
                    self.message.extend_from_slice(data);
                    continue;
                }
                Event::MessageEnd => String::from_utf8(std::mem::take(&mut self.message)).unwrap(),
                Event::Opened { status, .. } => format!("opened {status}"),
                Event::Answered { .. } if self.config.transport == Transport::LongPoll => {
                    assert!(self.client.reusable());
                    self.ask();
                    continue;
                }
                Event::Answered { status, .. } => format!("answered {status}"),
                event => format!("{event:?}"),
            };
            self.heard.push((self.now_us, heard));
        }
        self.left = input.to_vec();
        self.to_toy.send(self.now_us, &mut out);
        Ok(())
    }

    /// Returns the received messages, without their instants.
    fn messages(&self) -> Vec<&str> {
        let told = |text: &&str| !text.starts_with("opened") && !text.starts_with("answered");
        self.heard.iter().map(|(_, text)| &text[..]).filter(told).collect()
    }

    fn heard_at(&self, text: &str) -> Option<u64> {
        self.heard.iter().find(|(_, heard)| heard == text).map(|(at_us, _)| *at_us)
    }
}

#[test]
fn a_subscription_is_open_one_round_trip_after_it_was_asked_for() {
    for transport in [Transport::Stream, Transport::Sse] {
        let mut pair = Pair::of(transport);
        pair.ask();
        pair.drive(1_000_000);
        assert_eq!(pair.heard, [(ROUND_TRIP_US, "opened 200".to_owned())]);
    }
    let mut pair = Pair::of(Transport::WebSocket);
    pair.ask();
    pair.drive(1_000_000);
    assert_eq!(pair.heard, [(ROUND_TRIP_US, "opened 101".to_owned())]);
}

#[test]
fn a_pushed_message_is_heard_one_latency_after_it_is_due() {
    for transport in [Transport::LongPoll, Transport::Stream, Transport::Sse, Transport::WebSocket] {
        let mut pair = Pair::of(transport);
        pair.publish(100_000, "tick");
        pair.ask();
        pair.drive(500_000);
        assert_eq!(pair.heard_at("tick"), Some(100_000 + LATENCY_US), "{transport:?}");
    }
}

#[test]
fn a_message_is_handed_over_with_its_last_segment_and_not_before() {
    for (transport, framing) in
        [(Transport::WebSocket, 2), (Transport::Sse, "15\r\nid: 1\ndata: \n\n".len() as u64)]
    {
        let mut pair = Pair::new(Config::new(transport), 1);
        pair.publish(500_000, "abcd");
        pair.ask();
        pair.drive(1_000_000);
        // One byte a segment, one µs a segment. The end of the chunk follows the blank line.
        let last_us = 500_000 + LATENCY_US + framing + 4 - 1;
        assert_eq!(pair.heard_at("abcd"), Some(last_us), "{transport:?}");
    }
}

#[test]
fn segments_of_one_byte_carry_the_same_messages() {
    for transport in [Transport::LongPoll, Transport::Sse, Transport::WebSocket] {
        let config = Pair::of(transport).config;
        let mut pair = Pair::new(config, 1);
        pair.publish(500_000, "one");
        pair.publish(600_000, "zwei, drei");
        pair.ask();
        pair.drive(2_000_000);
        assert_eq!(pair.messages(), ["one", "zwei, drei"], "{transport:?}");
    }
}

#[test]
fn a_long_poll_resumes_with_its_cursor() {
    let mut pair = Pair::of(Transport::LongPoll);
    pair.publish(100_000, "one");
    // Published while the client is deaf: the answer with `one` or the next request is on its way.
    pair.publish(105_000, "two");
    pair.publish(115_000, "three");
    pair.ask();
    pair.drive(500_000);
    assert_eq!(pair.messages(), ["one", "two,three"]);
    assert_eq!(pair.heard_at("two,three"), Some(100_000 + LATENCY_US + ROUND_TRIP_US));
    assert_eq!(pair.toy.requests, ["/lp?since=", "/lp?since=1", "/lp?since=3"]);
}

#[test]
fn a_long_poll_without_a_cursor_misses_what_comes_while_it_is_deaf() {
    let mut pair = Pair::new(Config::new(Transport::LongPoll), 1460);
    pair.publish(100_000, "one");
    pair.publish(105_000, "two");
    pair.publish(300_000, "three");
    pair.ask();
    pair.drive(500_000);
    assert_eq!(pair.messages(), ["one", "three"]);
}

#[test]
fn a_long_poll_that_times_out_is_asked_again() {
    let mut pair = Pair::of(Transport::LongPoll);
    pair.publish(HOLD_US + 100_000, "late");
    pair.ask();
    pair.drive(HOLD_US + 500_000);
    assert_eq!(pair.heard_at("opened 204"), Some(HOLD_US + ROUND_TRIP_US));
    assert_eq!(pair.messages(), ["late"]);
}

#[test]
fn a_long_poll_keeps_its_cursor_over_a_lost_connection() {
    let mut pair = Pair::of(Transport::LongPoll);
    pair.publish(100_000, "one");
    pair.publish(200_000, "two");
    pair.ask();
    pair.drive(150_000);
    pair.cut();
    pair.drive(300_000);
    pair.ask();
    pair.drive(400_000);
    assert_eq!(pair.messages(), ["one", "two"]);
}

#[test]
fn an_event_stream_reconnects_with_its_last_event_id() {
    let mut pair = Pair::new(Config::new(Transport::Sse), 1);
    for (at_us, text) in [(100_000, "one"), (200_000, "two"), (300_000, "three"), (500_000, "four")] {
        pair.publish(at_us, text);
    }
    pair.ask();
    // In the middle of `two`, after its id was read.
    pair.drive(200_000 + LATENCY_US + 12);
    pair.cut();
    assert_eq!(pair.client.last_event_id(), "1", "an event counts from its blank line");
    pair.drive(400_000);
    pair.ask();
    pair.drive(600_000);
    assert_eq!(pair.messages(), ["one", "two", "three", "four"]);
    assert_eq!(pair.client.last_event_id(), "4");
}

#[test]
fn a_poll_hears_the_latest_and_nothing_twice() {
    let mut pair = Pair::of(Transport::Poll);
    pair.publish(100_000, "one");
    pair.publish(150_000, "two");
    for at_us in [200_000, 300_000] {
        pair.drive(at_us);
        pair.ask();
    }
    pair.drive(500_000);
    let heard: Vec<_> = pair.heard.iter().map(|(_, text)| &text[..]).collect();
    assert_eq!(heard, ["opened 200", "two", "answered 200", "opened 304", "answered 304"]);
}

#[test]
fn a_ping_is_answered_at_once() {
    let mut pair = Pair::of(Transport::WebSocket);
    pair.toy.due.push_back((100_000, Say::Ping("are you there")));
    pair.ask();
    pair.drive(500_000);
    assert_eq!(pair.toy.heard, [(100_000 + ROUND_TRIP_US, "pong are you there".to_owned())]);
}

#[test]
fn a_ping_of_ours_is_told_when_its_pong_comes() {
    let mut pair = Pair::of(Transport::WebSocket);
    pair.ask();
    pair.drive(100_000);
    pair.say(|client, out| client.write_ping(b"", out));
    pair.drive(500_000);
    assert_eq!(pair.heard_at("Pong"), Some(100_000 + ROUND_TRIP_US));
}

#[test]
fn what_a_client_says_arrives_unmasked() {
    let mut pair = Pair::new(Config::new(Transport::WebSocket), 3);
    pair.ask();
    pair.drive(100_000);
    pair.say(|client, out| client.write_text(b"{\"subscribe\":\"news\"}", out));
    pair.drive(500_000);
    let heard: Vec<_> = pair.toy.heard.iter().map(|(_, text)| &text[..]).collect();
    assert_eq!(heard, ["{\"subscribe\":\"news\"}"]);
}

#[test]
fn a_close_is_answered_by_either_side() {
    let mut pair = Pair::of(Transport::WebSocket);
    pair.toy.due.push_back((100_000, Say::Close(1001)));
    pair.ask();
    pair.drive(500_000);
    assert_eq!(pair.heard_at("Closed { code: Some(1001), reason: \"\" }"), Some(100_000 + LATENCY_US));
    assert_eq!(pair.toy.heard, [(100_000 + ROUND_TRIP_US, "close Some(1001)".to_owned())]);

    let mut pair = Pair::of(Transport::WebSocket);
    pair.ask();
    pair.drive(100_000);
    pair.say(|client, out| {
        client.write_close(1000, out);
        true
    });
    pair.drive(500_000);
    assert_eq!(pair.heard_at("Closed { code: Some(1000), reason: \"\" }"), Some(100_000 + ROUND_TRIP_US));
}
