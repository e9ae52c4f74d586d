//! Batching: messages for a subscriber within the batch time leave in one write, in order.

mod common;

use common::{Client, Server, sequences, stamps};
use pushmark_builtin::Options;
use pushmark_net::Clock;

const BATCH_US: u64 = 20_000;
const INTERVAL_US: u64 = 1_000;
const COUNT: u64 = 400;

fn batching() -> Server {
    Server::start(Options { batch_ns: BATCH_US * 1_000, ..Options::default() })
}

/// One subscriber's view of [`COUNT`] publications, one each ms.
struct Heard {
    reads: u64,
    /// For each message, the time from due to read, µs.
    waits_us: Vec<u64>,
}

/// Reads until all were received. If the reader keeps up, a read contains what one write sent.
fn hear(server: &Server, client: &mut Client) -> Heard {
    server.emit(&["a"], INTERVAL_US, &format!(r#","count":{COUNT}"#));
    let (mut heard, mut seen) = (Heard { reads: 0, waits_us: Vec::new() }, Vec::new());
    while heard.waits_us.len() < COUNT as usize {
        assert!(client.read_more());
        let now_us = Clock::now() / 1_000;
        heard.reads += 1;
        seen.append(&mut client.pending);
        let stamps = stamps(&seen);
        let news = &stamps[heard.waits_us.len()..];
        heard.waits_us.extend(news.iter().map(|stamp| now_us.saturating_sub(stamp.due_us)));
    }
    assert_eq!(sequences(&stamps(&seen)), (0..COUNT).collect::<Vec<_>>(), "in order, each once");
    heard
}

/// The expected result: a batch begins with a message and lasts 20 ms. One message a ms makes 21 a batch,
/// which have waited 20, 19, … 0 ms: uniform over the batch time.
fn is_batched(heard: &Heard) {
    let batches = COUNT / (BATCH_US / INTERVAL_US + 1);
    assert!(heard.reads <= 2 * batches, "{} reads where {batches} were due", heard.reads);
    let mut waits: Vec<u64> = heard.waits_us.clone();
    waits.sort_unstable();
    let quantile = |share: usize| waits[waits.len() * share / 100];
    // A busy machine only adds to the waits.
    assert!(quantile(90) >= BATCH_US * 8 / 10, "p90 {} µs", quantile(90));
    assert!(quantile(50) >= BATCH_US * 4 / 10, "p50 {} µs", quantile(50));
    assert!(quantile(5) <= BATCH_US / 2, "p5 {} µs: the last ones waited least", quantile(5));
}

#[test]
fn a_stream_is_written_once_a_batch() {
    let server = batching();
    let mut client = server.client();
    client.subscribe("/stream?channel=a", &[]);
    is_batched(&hear(&server, &mut client));
}

#[test]
fn an_event_stream_is_written_once_a_batch() {
    let server = batching();
    let mut client = server.client();
    client.subscribe("/sse?channel=a", &[]);
    is_batched(&hear(&server, &mut client));
}

#[test]
fn a_websocket_is_written_once_a_batch() {
    let server = batching();
    let mut client = server.client();
    client.upgrade("/ws?channel=a");
    is_batched(&hear(&server, &mut client));
}

#[test]
fn without_a_batch_time_each_message_leaves_alone() {
    let server = Server::plain();
    let mut client = server.client();
    client.subscribe("/stream?channel=a", &[]);
    let heard = hear(&server, &mut client);
    assert!(heard.reads > COUNT / 4, "{} reads", heard.reads);
}

#[test]
fn one_message_waits_the_whole_batch_time() {
    let server = batching();
    let mut client = server.client();
    client.subscribe("/stream?channel=a", &[]);
    let published_us = Clock::now() / 1_000;
    server.publish("a", &common::message(0, 64));
    client.stream_until(1);
    let waited_us = Clock::now() / 1_000 - published_us;
    assert!(waited_us >= BATCH_US, "{waited_us} µs");
}

#[test]
fn a_long_poll_is_answered_once_a_batch() {
    let server = batching();
    let mut client = server.client();
    let mut cursor = client.ask("/long-poll?channel=a&since=").cursor().to_owned();
    server.emit(&["a"], INTERVAL_US, &format!(r#","count":{COUNT}"#));
    let (mut seen, mut answers) = (Vec::new(), 0);
    while seen.len() < COUNT as usize {
        let answer = client.ask(&format!("/long-poll?channel=a&since={cursor}"));
        answer.cursor().clone_into(&mut cursor);
        seen.extend(answer.sequences());
        answers += 1;
    }
    assert_eq!(seen, (0..COUNT).collect::<Vec<_>>(), "in order, each once");
    // Messages between an answer and the next request are answered at once: two answers a batch.
    let batches = COUNT / (BATCH_US / INTERVAL_US + 1);
    assert!(answers <= 4 * batches, "{answers} answers where about {} were due", 2 * batches);
}

#[test]
fn an_answer_of_a_batch_tells_what_was_published_before_the_request() {
    let server = batching();
    let mut client = server.client();
    server.publish("a", &common::message(7, 64));
    client.get("/long-poll?channel=a");
    server.wait_until("it is held", |stats| stats["transports"]["long-poll"] == 1);
    server.publish("a", &common::message(8, 64));
    let answer = client.answer();
    assert_eq!((answer.sequences(), answer.header("pushmark-subscribed")), (vec![8], "a=7"));
}

#[test]
fn a_hold_that_ends_within_a_batch_is_answered_with_it() {
    let server = Server::start(Options { batch_ns: 3_600_000_000_000, ..Options::default() });
    let mut client = server.client();
    let cursor = client.ask("/long-poll?channel=a&since=").cursor().to_owned();
    client.get(&format!("/long-poll?channel=a&since={cursor}&hold=300"));
    server.wait_until("it is held", |stats| stats["transports"]["long-poll"] == 1);
    server.publish("a", &common::message(0, 64));
    assert_eq!(client.answer().sequences(), [0]);
}

#[test]
fn a_batch_that_fills_the_queue_leaves_early() {
    let options = Options { batch_ns: 3_600_000_000_000, queue_max: 8, ..Options::default() };
    let server = Server::start(options);
    let mut client = server.client();
    client.upgrade("/ws?channel=a");
    (0..9).for_each(|n| drop(server.publish("a", &common::message(n, 64))));
    let heard = client.messages(8);
    let first: Vec<u64> = heard.iter().map(|m| stamps(m.as_ref().unwrap())[0].sequence).collect();
    assert_eq!(first, [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(server.stats()["dropped"], 0);
}

#[test]
fn what_a_batch_holds_leaves_before_the_server_does() {
    let server = Server::start(Options { batch_ns: 3_600_000_000_000, ..Options::default() });
    let (mut stream, mut poll) = (server.client(), server.client());
    stream.subscribe("/stream?channel=a", &[]);
    let cursor = poll.ask("/long-poll?channel=a&since=").cursor().to_owned();
    poll.get(&format!("/long-poll?channel=a&since={cursor}"));
    server.wait_until("it is held", |stats| stats["transports"]["long-poll"] == 1);
    server.publish("a", &common::message(0, 64));
    server.stop();
    assert_eq!(poll.answer().sequences(), [0]);
    assert_eq!(sequences(&stream.stream_until(1).0), [0]);
}
