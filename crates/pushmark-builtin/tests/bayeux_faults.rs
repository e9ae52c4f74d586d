//! Bayeux sessions under faults and full queues. The expected results are the same as for every transport
//! (CONTRACT 3.5).

mod common;

use std::collections::{BTreeSet, HashMap};

use common::bayeux::{Session, Socket, data, handshake, post};
use common::truth::{Truth, faulty};
use common::{Server, message, stamps};
use pushmark_builtin::{Faults, Options, QueuePolicy};
use pushmark_model::stamp::Stamp;
use serde_json::{Value, json};

/// What three sessions received of a hundred publications, answer by answer, and the truth log.
struct Outcome {
    heard: Vec<Vec<Vec<Stamp>>>,
    truth: Truth,
}

impl Outcome {
    /// Everything that one session received, in order.
    fn orders(&self) -> impl Iterator<Item = Vec<u64>> {
        self.heard.iter().map(|answers| answers.concat().iter().map(|stamp| stamp.sequence).collect())
    }

    fn count(&self) -> u64 {
        self.heard.iter().flatten().flatten().count() as u64
    }
}

fn stamps_of(messages: &[Value]) -> Vec<Stamp> {
    data(messages).iter().flat_map(|text| stamps(text.as_bytes())).collect()
}

fn all_emitted(stats: &Value) -> bool {
    stats["emits"]["count"] == 100
}

/// Over long polling: some answers to held connects, the others to connects that are not held.
fn three_polling(faults: Faults) -> Outcome {
    let faulty = faulty(faults);
    let mut sessions: Vec<Session> = (0..3).map(|_| Session::open(&faulty.server, &json!({}))).collect();
    sessions.iter_mut().for_each(|session| drop(session.subscribe(&json!("/a"))));
    faulty.server.emit(&["a"], 300, r#","count":100"#);
    let mut heard = vec![Vec::new(); 3];
    let mut hear = |sessions: &mut Vec<Session>, hold_ms: u64| {
        for session in sessions.iter_mut() {
            session.connect(&json!({"advice": {"timeout": hold_ms}}));
        }
        let answers: Vec<Vec<Stamp>> =
            sessions.iter_mut().map(|session| stamps_of(&session.connected())).collect();
        let silent = answers.iter().all(Vec::is_empty);
        heard.iter_mut().zip(answers).for_each(|(heard, answer)| heard.push(answer));
        silent
    };
    for _ in 0..10 {
        hear(&mut sessions, 1_000);
    }
    faulty.server.wait_until("all emitted", all_emitted);
    while !hear(&mut sessions, 0) {}
    Outcome { heard, truth: faulty.truth() }
}

/// Over WebSockets: pushed, until the server closes.
fn three_sockets(faults: Faults) -> Outcome {
    let faulty = faulty(faults);
    let mut sockets: Vec<Socket> = (0..3).map(|_| Socket::open(&faulty.server, &json!({}))).collect();
    for socket in &mut sockets {
        socket.tell("/meta/subscribe", &json!({"subscription": "/a"}));
        socket.heard(1);
    }
    faulty.server.emit(&["a"], 300, r#","count":100"#);
    faulty.server.wait_until("all emitted", all_emitted);
    let truth = faulty.truth();
    let hear = |mut socket: Socket| {
        let texts = std::iter::from_fn(|| socket.client.messages(1).remove(0));
        texts.map(|text| stamps_of(&serde_json::from_slice::<Vec<Value>>(&text).unwrap())).collect()
    };
    Outcome { heard: sockets.into_iter().map(hear).collect(), truth }
}

const BOTH: [fn(Faults) -> Outcome; 2] = [three_polling, three_sockets];

#[test]
fn without_faults_everything_comes_once_and_in_order() {
    for run in BOTH {
        let outcome = run(Faults::default());
        assert!(outcome.orders().all(|order| order == (0..100).collect::<Vec<_>>()));
        assert_eq!((outcome.truth.total("written"), outcome.truth.of("delivery").count()), (300, 300));
        assert_eq!(outcome.truth.of("connection").count(), 3);
    }
}

#[test]
fn one_in_n_deliveries_is_dropped() {
    for run in BOTH {
        let outcome = run(Faults { drop: "1/7".parse().ok(), ..Faults::default() });
        assert_eq!(
            (outcome.truth.total("dropped"), outcome.truth.total("written")),
            (300 / 7, 300 - 300 / 7)
        );
        assert_eq!(outcome.count(), 300 - 300 / 7);
    }
}

#[test]
fn one_in_n_deliveries_is_made_twice_and_never_in_one_answer() {
    for run in BOTH {
        let outcome = run(Faults { dup: "1/10".parse().ok(), ..Faults::default() });
        assert_eq!((outcome.truth.total("duplicated"), outcome.truth.total("written")), (30, 330));
        assert_eq!(outcome.count(), 330);
        for answer in outcome.heard.iter().flatten() {
            let once: BTreeSet<u64> = answer.iter().map(|stamp| stamp.sequence).collect();
            assert_eq!(once.len(), answer.len(), "two copies in one answer would count once");
        }
    }
}

#[test]
fn one_in_n_deliveries_changes_places_with_the_next() {
    for run in BOTH {
        let outcome = run(Faults { swap: "1/7".parse().ok(), ..Faults::default() });
        let swapped = outcome.orders().map(|order| order.windows(2).filter(|pair| pair[0] > pair[1]).count());
        assert_eq!(swapped.sum::<usize>() as u64, outcome.truth.total("swapped"));
        assert_eq!(outcome.count(), outcome.truth.total("written"));
    }
}

#[test]
fn deliveries_are_late_by_what_was_asked() {
    for run in BOTH {
        let outcome = run(Faults { delay: "5ms".parse().ok(), ..Faults::default() });
        let sent: HashMap<u64, u64> =
            outcome.heard[0].concat().iter().map(|stamp| (stamp.sequence, stamp.sent_us)).collect();
        let writes = outcome.truth.writes();
        assert_eq!(writes.len(), sent.len());
        for (sequence, instants) in writes {
            assert!(instants.iter().all(|&us| us >= sent[&sequence] + 5_000), "{sequence} left early");
        }
    }
}

#[test]
fn a_handshake_may_be_refused() {
    let faults = Faults { refuse: "1/2".parse().ok(), ..Faults::default() };
    let server = Server::start(Options { faults, ..Options::default() });
    Session::open(&server, &json!({}));
    let mut refused = server.client();
    post(&mut refused, &handshake(&json!({})));
    assert!(refused.is_lost());
    assert_eq!(server.stats()["faults"]["refused"], 1);
}

/// A session that receives none of ten publications, because it does not connect.
fn overfilled(queue_policy: QueuePolicy, more: &Value) -> (Server, Session) {
    let server = Server::start(Options { queue_max: 4, queue_policy, ..Options::default() });
    let mut session = Session::open(&server, more);
    session.subscribe(&json!("/a"));
    (0..10).for_each(|n| drop(server.publish("a", &message(n, 64))));
    (server, session)
}

#[test]
fn the_oldest_message_gives_way() {
    for more in [json!({}), json!({"ext": {"ack": true}})] {
        let (server, mut session) = overfilled(QueuePolicy::DropOldest, &more);
        let stats = server.stats();
        assert_eq!((&stats["dropped"], &stats["queue_depth_max"]), (&json!(6), &json!(4)));
        session.connect(&json!({}));
        let sequences: Vec<u64> =
            stamps_of(&session.connected()).iter().map(|stamp| stamp.sequence).collect();
        assert_eq!(sequences, [6, 7, 8, 9]);
        assert_eq!(server.stats()["deliveries"], 4);
    }
}

#[test]
fn a_session_that_does_not_listen_is_forgotten() {
    let (server, mut session) = overfilled(QueuePolicy::Disconnect, &json!({}));
    let stats = server.stats();
    assert_eq!((&stats["disconnected"], &stats["bayeux"]["sessions"]), (&json!(1), &json!(0)));
    session.connect(&json!({}));
    assert_eq!(session.connected()[0]["advice"]["reconnect"], "handshake");
}
