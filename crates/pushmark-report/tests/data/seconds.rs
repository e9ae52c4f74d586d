//! A made-up suite with seconds, floods and distributions, for the figures that draw them.

use std::collections::BTreeMap;

use pushmark_model::histogram::Distribution;
use pushmark_model::run::*;
use pushmark_model::suite::{Figure, FigureKind, Published};

use super::suites::{Made, Values, clients, plausible, run, suite};

fn figure(id: &str, kind: FigureKind, y: &str, title: &str) -> Figure {
    let panel = Some("clients".to_string());
    Figure { id: id.into(), title: title.into(), kind, y: y.into(), panel, ..Figure::default() }
}

/// Returns a suite with two servers, two styles, three crowds. One server dies with its largest crowd, one
/// case is invalid, one refused.
pub fn over_time(repeat: u32) -> Made {
    use FigureKind::{Place, Rate, Time};
    let mut emit = figure("emit", Time, "emit_duration_max_us", "Emit duration");
    emit.published = vec![Published {
        only: BTreeMap::from([("server".into(), "tomcat".into()), ("clients".into(), "20000".into())]),
        y: Some(15_000_000.0),
        ..Published::default()
    }];
    let figures = vec![
        figure("cpu", Time, "server_cpu_us", "CPU of the server"),
        figure("memory", Time, "server_rss_bytes", "Memory of the server"),
        emit,
        figure("threads", Time, "server_threads", "Threads of the server"),
        figure("place", Place, "delivery.from_sent.p50", "Place in the queue"),
        figure("rate", Rate, "flood.established", "New connections each 4 s"),
    ];
    let axes: [(&str, &[&str]); 3] = [
        ("server", &["node", "tomcat"]),
        ("style", &["comet", "long-poll"]),
        ("clients", &["1000", "5000", "20000"]),
    ];
    let mut suite = suite("seconds", &axes, figures);
    for case in suite.cases.iter_mut().filter(|c| c.id == "node-long-poll-20000") {
        case.refused = Some("it needs 20 012 descriptors, 20 000 are allowed".into());
    }
    let mut runs = run(&mut suite, repeat, |axes, start, arm| {
        plausible(axes, start, arm);
        match (axes["server"].as_str(), axes["style"].as_str(), axes["clients"].as_str()) {
            ("node", "comet", "20000") => arm.verdict = VerdictState::Invalid,
            ("tomcat", "comet", "20000") => {
                arm.outcome = Outcome::Died;
                arm.error = Some("the server ended: signal 9".into());
            }
            _ => {}
        }
        arm.flood = Some(flood(axes, arm.outcome == Outcome::Died));
        let delivery = arm.delivery.as_mut().expect("a delivery");
        delivery.expected = 1_000;
        delivery.from_sent = queue(clients(axes));
    });
    for files in &mut runs {
        files.windows = windows(&files.run);
    }
    (suite, runs)
}

/// Returns the latencies of clients that are served one after the other.
fn queue(crowd: f64) -> Latency {
    let mut all = Distribution::default();
    (1..=1_000u32).for_each(|rank| all.record_many_us((f64::from(rank) * crowd / 200.0) as u64, 1));
    all.summary(1_000, 1_000, 1)
}

fn flood(axes: &Values, died: bool) -> Flood {
    let holds = if axes["server"] == "node" { 1_400 } else { 2_000 };
    let intervals: Vec<FloodInterval> = (0..12u64)
        .map(|n| FloodInterval {
            start_us: n * 4_000_000,
            length_us: if n == 11 { 1_000_000 } else { 4_000_000 },
            offered: 200,
            established: if n * 200 < holds { 200 } else { 200 - (n * 200 - holds) / 12 },
            ..FloodInterval::default()
        })
        .collect();
    let established = intervals.iter().map(|i| i.established).sum();
    Flood {
        rate_per_s: 50.0,
        interval_us: 4_000_000,
        limit: 20_000,
        cut_by: None,
        end: if died { FloodEnd::Died } else { FloodEnd::Limit },
        ended_us: 45_000_000,
        offered: 2_250,
        established,
        connected_max: established,
        served_max: Some(established - 10),
        counted_max: None,
        declined_from: Some(holds),
        limits: vec![FloodLimit { kind: "native_threads".into(), ours: false, seen: "said so".into() }],
        intervals,
    }
}

/// Returns a ramp of ten seconds and thirty measured seconds; a server that died has none from the 25th
/// on.
fn windows(run: &Run) -> Vec<Window> {
    let arm = &run.arms[0];
    let crowd = arm.connections.asked;
    let last = if arm.outcome == Outcome::Died { 25 } else { 40 };
    let wave = |second: u32, by: u64| u64::from(second * 7 % 5) * by;
    let window = |second: u32| {
        let measured = (10..40).contains(&second);
        Window {
            arm: arm.transport.name().into(),
            second,
            phase: if measured { "measure" } else { "ramp" }.into(),
            server_cpu_us: Some(if measured { crowd * 30 } else { 40_000 } + wave(second, 9_000)),
            host_cpu_us: Some(900_000 + wave(second, 100_000)),
            server_rss_bytes: Some((60 << 20) + crowd * 8_192 * u64::from(second.min(10)) / 10),
            host_used_bytes: Some((900 << 20) + (u64::from(second) << 20)),
            server_threads: Some(20 + crowd * u64::from(second.min(10)) / 500),
            emit_duration_max_us: (measured && second.is_multiple_of(10)).then_some((crowd * 12) as i64),
            ..Window::default()
        }
    };
    (0..last).map(window).collect()
}
