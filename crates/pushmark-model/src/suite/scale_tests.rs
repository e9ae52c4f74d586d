//! What scaling changes in a case, and what it never changes.

use super::*;
use crate::scenario::{Context, Endpoints, resolve};

const TARGET: &str = "[target.subscribe]\nlong-poll = \"http://h:1/{channel}\"\nsse = \"http://h:1/{channel}\"\npoll = \"http://h:1/{channel}\"\n\
    [target.publish]\nurl = \"http://h:1/{channel}\"\n";

fn changes(text: &str, all: f64, time: f64) -> Vec<(String, String)> {
    let text = format!("{text}\n{TARGET}");
    let (scenario, _) = Scenario::parse(&text, &[]).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let endpoints = Endpoints::of_target(&scenario.target).unwrap();
    let plan =
        resolve(&scenario, &Context { endpoints: &endpoints, clients: None, tls: None, secrets: None })
            .unwrap();
    let changes = Scale { all, time }.changes(&scenario, &plan);
    changes.into_iter().map(|(key, value)| (key.to_owned(), value.to_string())).collect()
}

fn is(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

const EMIT: &str = "transports = [\"long-poll\"]\nload = { connections = 5000, duration = \"600s\", hold = \"180s\" }\n\
    publisher = { rate = \"6/m\", count = 60 }";

#[test]
fn crowds_and_cycles_shrink_together() {
    let expected = [("load.connections", "500"), ("publisher.count", "6"), ("load.duration", "\"1m\"")];
    assert_eq!(changes(EMIT, 0.1, 1.0), is(&expected));
    assert_eq!(changes(EMIT, 1.0, 0.5), is(&[("publisher.count", "30"), ("load.duration", "\"5m\"")]));
    assert_eq!(changes(EMIT, 0.5, 0.5)[1..], is(&[("publisher.count", "15"), ("load.duration", "\"150s\"")]));
    assert_eq!(changes(EMIT, 1.0, 1.0), is(&[]));
}

#[test]
fn three_intervals_are_left_however_small_the_scale() {
    let expected = [("load.connections", "1"), ("publisher.count", "3"), ("load.duration", "\"30s\"")];
    assert_eq!(changes(EMIT, 0.0001, 1.0), is(&expected));
    // If nothing is published, a held request is the cycle; a poll always is.
    let held = "transports = [\"long-poll\"]\nload = { duration = \"600s\", hold = \"30s\" }\npublisher = { mode = \"none\" }";
    assert_eq!(changes(held, 1.0, 0.001), is(&[("load.duration", "\"90s\"")]));
    let polled = "transports = [\"poll\", \"sse\"]\nload = { duration = \"600s\", poll_interval = \"15s\" }\npublisher = { rate = \"1/s\" }";
    assert_eq!(changes(polled, 1.0, 0.001), is(&[("load.duration", "\"45s\"")]));
}

#[test]
fn what_is_short_already_is_not_made_longer() {
    let short =
        "transports = [\"sse\"]\nload = { duration = \"5s\" }\npublisher = { rate = \"6/m\", count = 2 }";
    assert_eq!(changes(short, 1.0, 0.1), is(&[]));
    let quick = "transports = [\"sse\"]\nload = { duration = \"5s\" }\npublisher = { rate = \"10/s\" }";
    assert_eq!(changes(quick, 1.0, 0.01), is(&[("load.duration", "\"1s\"")]), "a window is a second");
}

#[test]
fn rooms_stay_whole() {
    let rooms = "load = { connections = 1000 }\nsubscriptions = { rooms = { size = 30 } }";
    assert_eq!(changes(rooms, 0.1, 1.0)[0], is(&[("load.connections", "120")])[0]);
    assert_eq!(changes(rooms, 0.001, 1.0)[0], is(&[("load.connections", "30")])[0]);
}

#[test]
fn a_ramp_keeps_its_rate() {
    let steps = "load = { connections = 1000, ramp = { steps = [{ to = 200, over = \"1s\" }, { to = 1000, over = \"10s\" }] } }";
    let expected = "[{ over = \"100ms\", to = 20 }, { over = \"1s\", to = 100 }]";
    assert_eq!(changes(steps, 0.1, 1.0)[1], is(&[("load.ramp.steps", expected)])[0]);
    // A crowd that connects during measure must still fit.
    let during = "load = { connections = 1000, duration = \"60s\", ramp = { rate = 20, during = true } }";
    assert_eq!(changes(during, 1.0, 0.1), is(&[("load.duration", "\"50.001s\"")]));
}

#[test]
fn a_scale_is_a_share() {
    assert_eq!(["0.1", "10%", "1", "0.25"].map(Scale::share), [Some(0.1), Some(0.1), Some(1.0), Some(0.25)]);
    assert_eq!(["0", "1.5", "-1", "a", ""].map(Scale::share), [None; 5]);
}

#[test]
fn a_flood_is_of_fewer_at_its_own_rate() {
    let flood =
        "transports = [\"sse\"]\nflood = { rate = \"50/s\", limit = 20000 }\npublisher = { rate = \"1/s\" }";
    let of = |all, time| -> Vec<(String, String)> {
        changes(flood, all, time).into_iter().filter(|(key, _)| key.starts_with("flood")).collect()
    };
    assert_eq!(of(0.01, 1.0), is(&[("flood.limit", "200")]));
    assert_eq!(of(1.0, 0.01), is(&[]), "cycles are not clients");
}
