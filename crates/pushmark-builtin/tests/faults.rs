//! Faults with known results: each does exactly what it specifies, and the truth log agrees.

mod common;

use std::collections::{BTreeSet, HashMap};

use common::truth::{Faulty, Truth, faulty};
use common::{Client, Server, message, sequences, stamps};
use pushmark_builtin::{Faults, Options};
use pushmark_model::stamp::Stamp;
use pushmark_net::Clock;
use serde_json::Value;

/// What five streams received, the server's statistics, and the truth log.
struct Outcome {
    seen: Vec<Vec<Stamp>>,
    stats: Value,
    truth: Truth,
}

/// Emits `count` messages to five streams. Stops the server when its statistics satisfy `done`, so that each
/// stream can be read to its end.
fn five_streams(faulty: Faulty, interval_us: u64, count: u64, done: impl Fn(&Value) -> bool) -> Outcome {
    let mut crowd: Vec<_> = (0..5).map(|_| faulty.server.client()).collect();
    for client in &mut crowd {
        client.subscribe("/stream?channel=a", &[]);
    }
    faulty.server.emit(&["a"], interval_us, &format!(r#","count":{count}"#));
    let stats = faulty.server.wait_until("it is done", done);
    let truth = faulty.truth();
    let read = |mut client: Client| {
        let mut body = Vec::new();
        client.stream_while(&mut body, |_| true);
        stamps(&body)
    };
    Outcome { seen: crowd.into_iter().map(read).collect(), stats, truth }
}

/// All of these ticks were emitted, and their passes are over.
fn emitted(count: u64) -> impl Fn(&Value) -> bool {
    move |stats| stats["emits"]["count"] == count
}

fn in_all(seen: &[Vec<Stamp>]) -> usize {
    seen.iter().map(Vec::len).sum()
}

#[test]
fn one_in_n_deliveries_is_dropped() {
    let faulty = faulty(Faults { drop: "1/7".parse().ok(), ..Faults::default() });
    let Outcome { seen, truth, .. } = five_streams(faulty, 300, 100, emitted(100));
    assert_eq!((truth.total("dropped"), truth.total("written")), (500 / 7, 500 - 500 / 7));
    assert_eq!(in_all(&seen), 500 - 500 / 7);
    assert_eq!(truth.of("delivery").count(), 500 - 500 / 7);
    assert_eq!(truth.of("connection").count(), 5);
}

#[test]
fn one_in_n_deliveries_is_made_twice() {
    let faulty = faulty(Faults { dup: "1/10".parse().ok(), ..Faults::default() });
    let Outcome { seen, truth, .. } = five_streams(faulty, 300, 100, emitted(100));
    assert_eq!((truth.total("duplicated"), truth.total("written")), (50, 550));
    assert_eq!(in_all(&seen), 550);
}

#[test]
fn one_in_n_deliveries_changes_places_with_the_next() {
    let faulty = faulty(Faults { swap: "1/7".parse().ok(), ..Faults::default() });
    let Outcome { seen, truth, .. } = five_streams(faulty, 300, 100, emitted(100));
    let mut swapped = 0;
    for stamps in &seen {
        let order = sequences(stamps);
        swapped += order.windows(2).filter(|pair| pair[0] > pair[1]).count() as u64;
        let once: BTreeSet<u64> = order.iter().copied().collect();
        assert_eq!(once.len(), order.len(), "no message arrives twice");
    }
    assert_eq!(swapped, truth.total("swapped"));
    // Of 71 held back, those without a following message were not written.
    assert_eq!(truth.total("written") + (500 / 7 - swapped), 500);
    assert_eq!(in_all(&seen) as u64, truth.total("written"));
}

#[test]
fn one_in_n_deliveries_lacks_its_stamp() {
    let faulty = faulty(Faults { truncate: "1/4".parse().ok(), ..Faults::default() });
    let mut client = faulty.server.client();
    client.subscribe("/stream?channel=a", &[]);
    for n in 0..9 {
        faulty.server.publish("a", &message(n, 64));
    }
    let (seen, body) = client.stream_until(7);
    assert_eq!(sequences(&seen), [0, 1, 2, 4, 5, 6, 8]);
    assert_eq!(body.iter().filter(|&&byte| byte == b'\n').count(), 9, "all nine came");
    assert_eq!(faulty.truth().total("truncated"), 2);
}

#[test]
fn one_in_n_deliveries_is_not_what_was_published() {
    let faulty = faulty(Faults { corrupt: "1/4".parse().ok(), ..Faults::default() });
    let mut client = faulty.server.client();
    client.subscribe("/stream?channel=a", &[]);
    for n in 0..9 {
        faulty.server.publish("a", &message(n, 64));
    }
    let (seen, body) = client.stream_until(9);
    assert_eq!(sequences(&seen), (0..9).collect::<Vec<_>>(), "every stamp is whole");
    let body = String::from_utf8(body).expect("text");
    let whole = (0..9).filter(|&n| body.contains(std::str::from_utf8(&message(n, 64)).unwrap())).count();
    assert_eq!(whole, 7);
    assert_eq!(faulty.truth().total("corrupted"), 2);
}

#[test]
fn a_long_polls_duplicate_comes_in_its_next_answer() {
    let faulty = faulty(Faults { dup: "1/2".parse().ok(), ..Faults::default() });
    let mut client = faulty.server.client();
    let mut cursor = client.ask("/long-poll?channel=a&since=").cursor().to_owned();
    let mut answers = Vec::new();
    // The fifth request receives no new message, but a duplicate.
    for n in 0..5 {
        if n < 4 {
            faulty.server.publish("a", &message(n, 64));
        }
        let answer = client.ask(&format!("/long-poll?channel=a&since={cursor}"));
        cursor = answer.cursor().to_owned();
        answers.push(answer.sequences());
    }
    assert_eq!(answers, [vec![0], vec![1], vec![1, 2], vec![3], vec![3]]);
    assert_eq!(faulty.truth().total("duplicated"), 2);
}

#[test]
fn deliveries_are_late_by_exactly_what_was_asked() {
    for spec in ["3ms", "table:1ms,2ms,5ms", "bimodal:1ms,6ms,10"] {
        let delay: pushmark_builtin::faults::Delay = spec.parse().unwrap();
        let faulty = faulty(Faults { delay: Some(delay.clone()), ..Faults::default() });
        let all = |stats: &Value| stats["deliveries"] == 100;
        let Outcome { seen, truth, .. } = five_streams(faulty, 10_000, 20, all);
        let sent: HashMap<u64, u64> = seen[0].iter().map(|stamp| (stamp.sequence, stamp.sent_us)).collect();
        let mut errors: Vec<u64> = truth
            .writes()
            .into_iter()
            .map(|(sequence, writes)| {
                let wanted_us = sent[&sequence] + delay.of(sequence) / 1000;
                let first_us = *writes.iter().min().unwrap();
                assert!(first_us >= wanted_us, "{spec}: {sequence} left early");
                first_us - wanted_us
            })
            .collect();
        errors.sort_unstable();
        assert_eq!(errors.len(), 20);
        // The machine may be busy with other tests. Half are exact even then.
        assert!(errors[10] < 200, "{spec}: errors in us {errors:?}");
    }
}

#[test]
fn a_freeze_is_made_up_for_with_the_original_dues() {
    let freeze = "60ms@50ms".parse().ok();
    let faulty = faulty(Faults { freeze, ..Faults::default() });
    let Outcome { seen, stats, .. } = five_streams(faulty, 5_000, 40, emitted(40));
    let stamps = &seen[0];
    let start_us = stamps[0].due_us;
    for (n, stamp) in stamps.iter().enumerate() {
        assert_eq!((stamp.sequence, stamp.due_us), (n as u64, start_us + 5_000 * n as u64));
    }
    // Ticks 11 to 21 fall into the freeze of 60 ms that begins 50 ms after the first write.
    let thaw_us = stamps[0].sent_us + 110_000;
    let late: Vec<&Stamp> = stamps.iter().filter(|s| s.sent_us > s.due_us + 5_000).collect();
    assert!(late.len() >= 10, "{} were late", late.len());
    assert!(stamps[12].sent_us >= thaw_us, "nothing is sent in the freeze");
    assert_eq!(stats["emits"]["skipped"], 0);
}

#[test]
fn late_ticks_are_skipped_only_when_asked() {
    let faults = Faults { freeze: "60ms@20ms".parse().ok(), ..Faults::default() };
    let server = Server::start(Options { faults, skip_late: true, ..Options::default() });
    let mut client = server.client();
    client.subscribe("/stream?channel=a", &[]);
    server.emit(&["a"], 5_000, r#","count":30"#);
    let mut body = Vec::new();
    client.stream_while(&mut body, |body| stamps(body).iter().all(|stamp| stamp.sequence < 29));
    let skipped = server.stats()["emits"]["skipped"].as_u64().unwrap();
    assert!(skipped >= 8, "{skipped}");
    assert_eq!(stamps(&body).len() as u64 + skipped, 30, "every tick is emitted or counted");
}

#[test]
fn emitters_fall_silent_without_a_word() {
    let faulty = faulty(Faults { stop_emitters_after: Some(5), ..Faults::default() });
    let Outcome { seen, stats, .. } = five_streams(faulty, 1_000, 1_000, emitted(5));
    assert_eq!(sequences(&seen[0]), [0, 1, 2, 3, 4]);
    assert_eq!((&stats["emitters"], &stats["emits"]["count"]), (&1.into(), &5.into()));
}

#[test]
fn one_in_n_connections_is_refused_or_ignored() {
    let faulty =
        faulty(Faults { refuse: "1/3".parse().ok(), half_open: "1/4".parse().ok(), ..Faults::default() });
    let mut crowd: Vec<_> = (1..=12)
        .map(|asked| {
            let mut client = faulty.server.client();
            client.get("/stream?channel=a");
            // One after the other, so that their order is known.
            faulty.server.wait_until("it was decided", |stats| {
                [&stats["transports"]["stream"], &stats["faults"]["refused"], &stats["faults"]["half_open"]]
                    .map(|count| count.as_u64().unwrap())
                    .iter()
                    .sum::<u64>()
                    == asked
            });
            client
        })
        .collect();
    let outcomes: Vec<&str> = crowd
        .iter_mut()
        .zip(1..)
        .map(|(client, asked)| match asked {
            // Both faults apply to the twelfth: it is refused, and the ignoring is owed to a later one.
            4 | 8 => "ignored",
            _ if client.read_more() => "served",
            _ => "refused",
        })
        .collect();
    let expected = [
        "served", "served", "refused", "ignored", "served", "refused", "served", "ignored", "refused",
        "served", "served", "refused",
    ];
    assert_eq!(outcomes, expected);
    for ignored in [3, 7] {
        let socket = &mut crowd[ignored].socket;
        socket.set_nonblocking(true).unwrap();
        let error = std::io::Read::read(socket, &mut [0; 8]).unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "open and silent");
    }
    assert_eq!(faulty.server.stats()["faults"]["half_open"], 2);
}

#[test]
fn connections_are_reset_between_publications() {
    let faulty = faulty(Faults { reset: "1/2@30ms".parse().ok(), ..Faults::default() });
    let mut crowd: Vec<_> = (0..6).map(|_| faulty.server.client()).collect();
    for client in &mut crowd {
        client.subscribe("/stream?channel=a", &[]);
    }
    faulty.server.emit(&["a"], 10_000, r#","count":10"#);
    for (n, client) in crowd.iter_mut().enumerate() {
        let mut body = Vec::new();
        let survives = client.stream_while(&mut body, |body| stamps(body).len() < 10);
        // Connections 2, 4 and 6.
        assert_eq!(survives, n % 2 == 0, "client {n}");
        let seen = stamps(&body).len();
        assert!(if survives { seen == 10 } else { (3..=5).contains(&seen) }, "{n} saw {seen}");
    }
    assert_eq!(faulty.server.stats()["faults"]["reset"], 3);
}

#[test]
fn slow_writes_take_their_time() {
    let faults = Faults { slow_write: "100".parse().ok(), ..Faults::default() };
    let server = Server::start(Options { faults, ..Options::default() });
    let (mut stream, mut poll) = (server.client(), server.client());
    stream.subscribe("/stream?channel=a", &[]);
    poll.get("/long-poll?channel=a");
    server.wait_until("held", |stats| stats["transports"]["long-poll"] == 1);
    let before_ns = Clock::now();
    server.publish("a", &message(0, 2_000));
    assert_eq!(sequences(&stream.stream_until(1).0), [0]);
    // 2,000 bytes and their framing: 21 pieces, so 20 pauses of a millisecond.
    let took_ns = Clock::now() - before_ns;
    assert!(took_ns >= 20_000_000, "{took_ns} ns");
    assert_eq!(poll.answer().sequences(), [0]);
}

#[test]
fn the_truth_log_knows_who_was_listening() {
    let faulty = faulty(Faults::default());
    let server = &faulty.server;
    let (mut deaf, mut careful) = (server.client(), server.client());
    let cursor = careful.ask("/long-poll?channel=a&since=").cursor().to_owned();
    careful.get(&format!("/long-poll?channel=a&since={cursor}"));
    deaf.get("/long-poll?channel=a");
    server.wait_until("both are held", |stats| stats["transports"]["long-poll"] == 2);
    server.publish("a", &message(0, 64)); // both hear it
    assert_eq!((deaf.answer().sequences(), careful.answer().sequences()), (vec![0], vec![0]));
    server.publish("a", &message(1, 64)); // both are away
    let truth = faulty.truth();
    let columns: Vec<&[String]> = truth.of("publication").map(|line| &line[line.len() - 4..]).collect();
    assert_eq!(
        columns,
        [["2", "0", "0", "0"], ["0", "1", "1", "0"]],
        "listening, in flight, deaf, corrupted"
    );
    assert_eq!(truth.total("missed_deaf"), 1);
}
