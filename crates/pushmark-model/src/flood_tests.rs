//! Floods of simulated servers with known limits.

use super::*;

const MS: i64 = 1_000;

fn plan(rate_per_s: f64) -> FloodPlan {
    FloodPlan {
        rate_per_s,
        interval_ns: 100_000_000_000,
        collapse_ns: 10_000_000_000,
        publish_ns: Some(10_000_000_000),
        cut_by: None,
    }
}

/// A server that holds this many connections, and changes its behaviour beyond them.
struct Server {
    holds: u64,
    beyond: fn(&mut FloodSecond, over: u64),
}

/// Floods the server for at most an hour. Returns the second of the end, the reason, and the last second.
fn flood(rate: f64, limit: u64, server: &Server) -> (u64, FloodEnd, FloodSecond) {
    let mut watch = FloodWatch::new(plan(rate), limit);
    let mut established = 0;
    for second in 1..=36_000u64 {
        let offered = ((second as f64 * rate) as u64).min(limit);
        let came = offered.min(server.holds);
        let heard = second % 10 == 0 && came > 0;
        let mut now = FloodSecond {
            offered,
            established: came,
            connected: came,
            received: if heard { came } else { 0 },
            latency_us: heard.then_some(20 * MS),
            ..FloodSecond::default()
        };
        if offered > server.holds {
            (server.beyond)(&mut now, offered - server.holds);
        }
        established = established.max(now.established);
        if let Some(end) = watch.see(now) {
            return (second, end, now);
        }
    }
    panic!("no end; {established} established");
}

#[test]
fn a_server_that_dies_ends_it_at_once() {
    let server = Server { holds: 6_860, beyond: |now, _| now.ended = true };
    let (second, end, now) = flood(2.0, 20_000, &server);
    assert_eq!((second, end, now.offered), (3_431, FloodEnd::Died, 6_862));
}

#[test]
fn a_server_that_refuses_ends_it_when_half_of_those_who_come_are_refused() {
    let server = Server {
        holds: 1_000,
        beyond: |now, over| {
            now.failed = over.min(50);
        },
    };
    let (second, end, _) = flood(50.0, 20_000, &server);
    assert_eq!(end, FloodEnd::Refused);
    // 20 s of acceptance; the failures of a window must outweigh what it accepted.
    assert!((21..=30).contains(&second), "{second}");
}

#[test]
fn single_failures_are_no_end() {
    let server = Server { holds: 100, beyond: |now, _| now.failed = 1 };
    // One in fifty fails, and the others receive an answer.
    let mut watch = FloodWatch::new(plan(50.0), 5_000);
    for second in 1..=99u64 {
        let n = 50 * second;
        let heard = second % 10 == 0;
        let mut now = FloodSecond { offered: n, established: n, connected: n, ..FloodSecond::default() };
        (now.received, now.latency_us) = if heard { (n, Some(MS)) } else { (0, None) };
        (server.beyond)(&mut now, 1);
        assert_eq!(watch.see(now), None, "second {second}");
    }
}

#[test]
fn a_server_that_answers_nobody_new_has_stalled() {
    let server = Server { holds: 2_500, beyond: |_, _| {} };
    let (second, end, _) = flood(50.0, 20_000, &server);
    assert_eq!((second, end), (50 + 15, FloodEnd::Stalled));
    // At two per second a trend would be ten seconds of clients, which is below the shortest.
    assert_eq!((plan(2.0).window_s(), plan(0.5).window_s(), plan(500.0).window_s()), (15, 40, 15));
}

#[test]
fn a_pause_is_not_a_stall() {
    let mut watch = FloodWatch::new(plan(50.0), 100_000);
    for second in 1..=120u64 {
        // A garbage collection of twelve seconds, and everything at once after it.
        let pause = (60..72).contains(&second);
        let n = 50 * if pause { 60 } else { second };
        let heard = second % 10 == 0 && !pause;
        let now = FloodSecond {
            offered: 50 * second,
            established: n,
            connected: n,
            received: if heard { n } else { 0 },
            latency_us: heard.then_some(MS),
            ..FloodSecond::default()
        };
        assert_eq!(watch.see(now), None, "second {second}");
    }
}

#[test]
fn late_news_ends_it() {
    let server = Server {
        holds: 3_000,
        beyond: |now, over| {
            now.established += over;
            now.connected += over;
            now.received = 1;
            now.latency_us = Some(over as i64 * 20 * MS);
        },
    };
    let (second, end, now) = flood(50.0, 20_000, &server);
    assert_eq!((second, end), (71, FloodEnd::Collapsed));
    assert!(now.latency_us.unwrap() > 10_000 * MS);
}

#[test]
fn an_emitter_that_died_is_told_by_silence() {
    let server = Server {
        holds: 1_000,
        beyond: |now, over| {
            now.established += over;
            now.connected += over;
            (now.received, now.latency_us) = (0, None);
        },
    };
    let (second, end, _) = flood(50.0, 20_000, &server);
    // The last publication arrived in second 20; two cycles and the bound later the next is overdue.
    assert_eq!((second, end), (20 + 30 + 1, FloodEnd::Silent));
}

#[test]
fn a_server_that_lets_go_of_its_clients_has_shed_them() {
    let server = Server { holds: 1_000, beyond: |now, _| now.lost = 600 };
    assert_eq!(flood(50.0, 20_000, &server).1, FloodEnd::Shed);
}

#[test]
fn our_own_limits_are_said_as_ours() {
    let short = Server { holds: 900, beyond: |now, _| now.failed_ours = 1 };
    assert_eq!(flood(50.0, 20_000, &short).1, FloodEnd::Ours);
    assert!(!FloodEnd::Ours.is_the_servers() && !FloodEnd::Limit.is_the_servers());
    let enough = Server { holds: u64::MAX, beyond: |_, _| {} };
    let (second, end, now) = flood(50.0, 2_000, &enough);
    assert_eq!((end, now.offered), (FloodEnd::Limit, 2_000));
    assert_eq!(second, 40 + 15, "a window after the last");
}

#[test]
fn nothing_published_is_not_silence() {
    let mut watch = FloodWatch::new(FloodPlan { publish_ns: None, ..plan(50.0) }, 100_000);
    for second in 1..=500u64 {
        let n = 50 * second;
        let now = FloodSecond { offered: n, established: n, connected: n, ..FloodSecond::default() };
        assert_eq!(watch.see(now), None, "second {second}");
    }
}
