//! Made-up runs of transports whose limits are known.

use std::collections::BTreeMap;

use pushmark_model::histogram::Distribution;
use pushmark_model::run::{CaseRef, Outcome, VerdictState};
use pushmark_model::suite::{Axis, Case, FigureKind, Suite};
use pushmark_model::transport::Transport;

use super::serve::End;
use super::*;
use pushmark_model::run::RunFiles;

#[path = "../../../tests/data/sample.rs"]
#[allow(unreachable_pub)]
mod sample;

const CROWDS: [u64; 5] = [500, 1_000, 2_000, 5_000, 10_000];

/// The behaviour of one way of a transport: all deliveries of a crowd take about this long.
struct Way {
    name: &'static str,
    transport: Transport,
    latency_us: fn(u64) -> u64,
}

const WAYS: [Way; 4] = [
    // Breaks above 2,000 at any accepted latency.
    Way {
        name: "long-poll",
        transport: Transport::LongPoll,
        latency_us: |crowd| if crowd > 2_000 { 60_000_000 } else { 90_000 },
    },
    // Always within its interval up to 1,000 clients; above that its server is late.
    Way {
        name: "poll-1s",
        transport: Transport::Poll,
        latency_us: |crowd| if crowd > 1_000 { 50_000_000 } else { 950_000 },
    },
    // Within 5 s for any crowd.
    Way { name: "poll-5s", transport: Transport::Poll, latency_us: |_| 4_950_000 },
    // Slower with the crowd: 50 µs a client.
    Way { name: "sse", transport: Transport::Sse, latency_us: |crowd| crowd * 50 },
];

fn run(id: &str, way: &Way, crowd: u64) -> RunFiles {
    let mut run = sample::five_arms(0).0;
    run.id = id.into();
    let mut latencies = Distribution::default();
    latencies.record_many_us((way.latency_us)(crowd), crowd);
    run.case = Some(CaseRef {
        suite: "made-up".into(),
        id: id.into(),
        axes: axes(way.name, crowd),
        repeat: 1,
        scale: 1.0,
        scale_time: 1.0,
    });
    run.arms.truncate(1);
    let arm = &mut run.arms[0];
    arm.transport = way.transport;
    arm.outcome = Outcome::Held;
    let delivery = arm.delivery.as_mut().unwrap();
    (delivery.intended, delivery.expected, delivery.delivered, delivery.missing) = (crowd, crowd, crowd, 0);
    delivery.latency = latencies.summary_of_all();
    RunFiles { run, windows: Vec::new() }
}

fn axes(way: &str, crowd: u64) -> BTreeMap<String, String> {
    BTreeMap::from([("style".into(), way.into()), ("clients".into(), crowd.to_string())])
}

fn made_up() -> (Suite, Vec<RunFiles>, Figure) {
    let mut suite = Suite { name: "made-up".into(), repeat: 1, ..Suite::default() };
    let axis = |name: &str, values: Vec<String>| Axis { name: name.into(), label: name.into(), values };
    suite.axes = vec![
        axis("style", WAYS.iter().map(|way| way.name.into()).collect()),
        axis("clients", CROWDS.iter().map(u64::to_string).collect()),
    ];
    let mut runs = Vec::new();
    for way in &WAYS {
        for crowd in CROWDS {
            let id = format!("{}-{crowd}", way.name);
            suite.cases.push(Case {
                id: id.clone(),
                axes: axes(way.name, crowd),
                clients: crowd,
                ..Case::default()
            });
            runs.push(run(&id, way, crowd));
        }
    }
    let figure = Figure {
        id: "crossover".into(),
        title: "The largest crowd".into(),
        kind: FigureKind::Crossover,
        x: "clients".into(),
        y: "delivery".into(),
        line: Some("style".into()),
        ..Figure::default()
    };
    (suite, runs, figure)
}

fn of(curves: &[Curve], name: &str, limit_us: u64) -> Served {
    let curve = curves.iter().find(|curve| curve.mark.name == name).unwrap();
    curve.at[LIMITS_US.iter().position(|us| *us == limit_us).unwrap()].clone()
}

#[test]
fn the_known_limits_are_found() {
    let (suite, runs, _) = made_up();
    let view = View::new(&suite, &runs);
    let curves = curves(&view.cells.iter().collect::<Vec<_>>(), "clients", Some("style"));
    let shown = |name, us| {
        let s = of(&curves, name, us);
        (s.kept, s.broke, s.with)
    };
    assert_eq!(shown("long-poll", 100_000), (Some(2_000), Some(5_000), "long-poll".into()));
    assert_eq!(shown("long-poll", 30_000_000), (Some(2_000), Some(5_000), "long-poll".into()));
    // 2,000 clients take 100 ms, 5,000 take 250 ms, 10,000 take 500 ms.
    assert_eq!(shown("sse", 100_000), (Some(2_000), Some(5_000), "sse".into()));
    assert_eq!(shown("sse", 300_000), (Some(5_000), Some(10_000), "sse".into()));
    assert_eq!(shown("sse", 500_000), (Some(10_000), None, "sse".into()));
    // The best of both intervals: no crowd, then the 1 s interval, then the 5 s interval.
    assert_eq!(shown("poll", 700_000).0, None);
    assert_eq!(shown("poll", 1_000_000), (Some(1_000), Some(2_000), "poll-1s".into()));
    assert_eq!(shown("poll", 5_000_000), (Some(10_000), None, "poll-5s".into()));
    assert_eq!(of(&curves, "poll", 5_000_000).end, End::Tried);
}

#[test]
fn a_crossing_lies_between_the_limits_that_enclose_it() {
    let (suite, runs, _) = made_up();
    let view = View::new(&suite, &runs);
    let curves = curves(&view.cells.iter().collect::<Vec<_>>(), "clients", Some("style"));
    let found: Vec<String> = crossings(&curves).iter().map(Crossing::words).collect();
    assert_eq!(found, ["poll overtakes long-poll between 3.00\u{a0}s and 5.00\u{a0}s"]);
}

#[test]
fn what_was_skipped_counts_against_a_poll() {
    let (suite, mut runs, _) = made_up();
    // Two in a hundred of its states were never shown: 99 % cannot be kept.
    for files in runs.iter_mut().filter(|f| f.run.arms[0].transport == Transport::Poll) {
        let delivery = files.run.arms[0].delivery.as_mut().unwrap();
        delivery.intended = delivery.intended * 102 / 100;
        delivery.superseded = delivery.intended - delivery.delivered;
    }
    let view = View::new(&suite, &runs);
    let curves = curves(&view.cells.iter().collect::<Vec<_>>(), "clients", Some("style"));
    assert!(curves.iter().find(|c| c.mark.name == "poll").unwrap().at.iter().all(|s| s.kept.is_none()));
}

#[test]
fn what_is_not_believed_or_was_refused_is_no_limit_of_the_server() {
    let (mut suite, mut runs, _) = made_up();
    let invalid = runs.iter_mut().find(|f| f.run.case.as_ref().unwrap().id == "sse-10000").unwrap();
    invalid.run.arms[0].verdict = VerdictState::Invalid;
    runs.retain(|f| f.run.case.as_ref().unwrap().id != "poll-5s-10000");
    suite.cases.iter_mut().find(|c| c.id == "poll-5s-10000").unwrap().refused = Some("too many".into());
    let died = runs.iter_mut().find(|f| f.run.case.as_ref().unwrap().id == "long-poll-2000").unwrap();
    died.run.arms[0].outcome = Outcome::Died;
    let view = View::new(&suite, &runs);
    let curves = curves(&view.cells.iter().collect::<Vec<_>>(), "clients", Some("style"));
    let end = |name| {
        let s = of(&curves, name, 30_000_000);
        (s.kept, s.broke, s.end)
    };
    assert_eq!(end("sse"), (Some(5_000), None, End::Unknown(super::super::cells::Fate::Invalid)));
    assert_eq!(end("poll"), (Some(5_000), None, End::Unknown(super::super::cells::Fate::Refused)));
    // A server that crashed served no client.
    assert_eq!(end("long-poll"), (Some(1_000), Some(2_000), End::Broke));
}

#[test]
fn the_figure_says_who_serves_the_most_and_draws_inside_its_box() {
    let (suite, runs, figure) = made_up();
    let view = View::new(&suite, &runs);
    let drawn = draw(&view, &figure).unwrap();
    assert_eq!(
        drawn.says,
        [
            "Within 100\u{a0}ms long-poll and sse serve the most: 2\u{202f}000.",
            "Within 30.0\u{a0}s poll and sse serve the most: 10\u{202f}000.",
            "Poll overtakes long-poll between 3.00\u{a0}s and 5.00\u{a0}s.",
        ]
    );
    let Body::Drawing { wide, narrow } = &drawn.body else { panic!("a drawing") };
    for drawing in [wide, narrow] {
        for text in &drawing.texts {
            let [left, top, right, bottom] = text.bounds;
            assert!(
                left >= 0.0 && top >= 0.0 && right <= drawing.width && bottom <= drawing.height,
                "{:?} lies outside",
                text.text
            );
        }
    }
    let texts = |drawing: &pushmark_chart::canvas::Drawing| -> Vec<String> {
        drawing.texts.iter().map(|t| t.text.clone()).collect()
    };
    let words = texts(wide);
    for expected in ["10\u{202f}000, the largest crowd tried", "poll: no crowd at all within 700\u{a0}ms"] {
        assert!(words.iter().any(|w| w == expected), "{expected:?} is not among {words:?}");
    }
    assert_eq!(drawn.table.rows.len(), 3 * LIMITS_US.len());
    insta::assert_snapshot!("crossover", wide.body.replace("><", ">\n<"));
}

#[test]
fn a_figure_without_a_crowd_says_why_it_is_not_drawn() {
    let (suite, runs, figure) = made_up();
    let view = View::new(&suite, &runs);
    let reason = |figure: &Figure| draw(&view, figure).err().unwrap();
    assert_eq!(
        reason(&Figure { x: "users".into(), ..figure.clone() }),
        "the suite has no axis `users`, over which the crowd grows"
    );
    let none = View::new(&suite, &[]);
    assert_eq!(draw(&none, &figure).err().unwrap(), "no crowd was measured");
}
