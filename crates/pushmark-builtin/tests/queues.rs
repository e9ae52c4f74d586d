//! Slow consumers: bounded queues, and one write for each client and turn.

mod common;

use common::{Client, Server, message, sequences, stamps};
use pushmark_builtin::{Options, QueuePolicy};

const MESSAGE: usize = 256 * 1024;

/// A client that reads nothing while much more is published than sockets can buffer.
fn overfill(queue_policy: QueuePolicy) -> (Server, Client) {
    let server = Server::start(Options { queue_max: 4, queue_policy, ..Options::default() });
    let mut sleeper = server.client();
    sleeper.subscribe("/stream?channel=a", &[]);
    for n in 0..64 {
        server.publish("a", &message(n, MESSAGE));
    }
    (server, sleeper)
}

#[test]
fn the_oldest_message_gives_way() {
    let (server, mut sleeper) = overfill(QueuePolicy::DropOldest);
    let stats = server.stats();
    let dropped = stats["dropped"].as_u64().unwrap();
    assert_eq!((&stats["disconnected"], &stats["queue_depth_max"]), (&0.into(), &4.into()));
    assert!(dropped > 0, "{stats:#}");
    // When it reads again, it receives the first and the last, complete and in order.
    let mut body = Vec::new();
    sleeper.stream_while(&mut body, |body| stamps(body).last().is_none_or(|s| s.sequence < 63));
    let seen = sequences(&stamps(&body));
    assert_eq!(seen.len() as u64, 64 - dropped);
    assert!(seen.is_sorted() && seen[0] == 0);
    assert_eq!(body.len(), seen.len() * (MESSAGE + 1), "no message is cut");
    assert_eq!(server.stats()["deliveries"], seen.len());
}

#[test]
fn a_subscriber_who_does_not_read_is_disconnected() {
    let (server, mut sleeper) = overfill(QueuePolicy::Disconnect);
    let stats = server.wait_until("it is gone", |stats| stats["transports"]["stream"] == 0);
    assert_eq!((&stats["dropped"], &stats["disconnected"]), (&0.into(), &1.into()));
    assert!(!sleeper.stream_while(&mut Vec::new(), |_| true));
}

#[test]
fn others_hear_while_one_sleeps() {
    let server = Server::start(Options { queue_max: 4, ..Options::default() });
    let (mut sleeper, mut awake) = (server.client(), server.client());
    sleeper.subscribe("/stream?channel=a", &[]);
    awake.upgrade("/ws?channel=a");
    for n in 0..64 {
        server.publish("a", &message(n, MESSAGE));
        assert_eq!(stamps(awake.messages(1)[0].as_ref().unwrap())[0].sequence, n);
    }
}

#[test]
fn what_is_due_together_goes_out_together() {
    let server = Server::plain();
    let mut client = server.client();
    client.subscribe("/stream?channel=a,b,c,d", &[]);
    server.emit(&["a", "b", "c", "d"], 20_000, r#","count":10"#);
    // The kernel may join two writes, but never splits a write this small. With one write for each tick, no
    // read ends inside a tick.
    let mut read = Vec::new();
    while stamps(&read).len() < 40 {
        assert!(client.read_more());
        read.append(&mut client.pending);
        assert_eq!(stamps(&read).len() % 4, 0, "a read ended inside a tick");
    }
}
