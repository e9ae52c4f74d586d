//! Made-up suites for the report's tests: small ones with every kind of figure, and extreme ones. All
//! numbers are invented.
#![allow(dead_code)] // each test uses its part

use std::collections::BTreeMap;

use pushmark_model::run::RunFiles;
use pushmark_model::run::*;
use pushmark_model::suite::{Axis, Case, Figure, FigureKind, Published, SCHEMA, Study, Suite};
use pushmark_model::transport::Transport;

use super::sample;

/// A suite and its runs.
pub type Made = (Suite, Vec<RunFiles>);

/// Axis → value of one case.
pub type Values = BTreeMap<String, String>;

/// Returns a suite with every combination of these axes, without runs.
pub fn suite(name: &str, axes: &[(&str, &[&str])], figures: Vec<Figure>) -> Suite {
    let mut cases: Vec<Values> = vec![Values::new()];
    for (axis, values) in axes {
        let with = |case: &Values, value: &&str| {
            let mut case = case.clone();
            case.insert((*axis).to_string(), (*value).to_string());
            case
        };
        cases = cases.iter().flat_map(|c| values.iter().map(|v| with(c, v)).collect::<Vec<_>>()).collect();
    }
    let case = |values: Values| {
        let parts: Vec<&str> = axes.iter().map(|(axis, _)| values[*axis].as_str()).collect();
        let clients = values.get("clients").and_then(|c| c.parse().ok()).unwrap_or(1_000);
        Case { id: parts.join("-").to_lowercase(), axes: values, planned_s: 60.0, clients, refused: None }
    };
    let axis = |(name, values): &(&str, &[&str])| Axis {
        name: (*name).into(),
        label: (*name).into(),
        values: values.iter().map(|v| (*v).to_string()).collect(),
    };
    Suite {
        schema: SCHEMA.into(),
        name: name.into(),
        analysis: "What a made-up suite shows.".into(),
        seed: 42,
        repeat: 1,
        scale: 1.0,
        scale_time: 1.0,
        axes: axes.iter().map(axis).collect(),
        cases: cases.into_iter().map(case).collect(),
        figures,
        text: format!("name = \"{name}\"\n"),
        ..Suite::default()
    }
}

/// Runs every case that is not refused `repeat` times; `shape` adapts an arm to its axis values.
pub fn run(suite: &mut Suite, repeat: u32, shape: impl Fn(&Values, u32, &mut Arm)) -> Vec<RunFiles> {
    suite.repeat = repeat;
    let mut out = Vec::new();
    for case in suite.cases.iter().filter(|c| c.refused.is_none()) {
        for start in 1..=repeat {
            out.push(one(suite, case, start, &shape));
        }
    }
    out
}

/// Returns one start of a case.
fn one(suite: &Suite, case: &Case, start: u32, shape: &impl Fn(&Values, u32, &mut Arm)) -> RunFiles {
    let (mut run, mut windows) = sample::five_arms(0);
    let transport = transport_of(&case.axes);
    run.arms.retain(|a| a.transport == transport);
    windows.retain(|w| w.arm == transport.name());
    windows.truncate(0);
    let arm = &mut run.arms[0];
    arm.target = case.axes.get("server").cloned().unwrap_or_else(|| "builtin".into());
    arm.connections.asked = case.clients;
    arm.connections.opened = case.clients;
    // The page of a suite does not use histograms, and they are most of a run's size.
    let delivery = arm.delivery.as_mut().expect("a delivery");
    (delivery.latency.histogram, delivery.from_sent.histogram) = (String::new(), String::new());
    shape(&case.axes, start, arm);
    run.id = format!("20261121T200412Z-{}-60s-k3f{start}", case.id);
    run.name = case.id.clone();
    run.thresholds.clear();
    run.verdict = Verdict { state: run.arms[0].verdict, reasons: Vec::new() };
    run.case = Some(CaseRef {
        suite: suite.name.clone(),
        id: case.id.clone(),
        axes: case.axes.clone(),
        repeat: start,
        scale: suite.scale,
        scale_time: suite.scale_time,
    });
    if run.verdict.state != VerdictState::Valid {
        run.verdict.reasons.push(reason(run.verdict.state, transport));
    }
    RunFiles { run, windows }
}

fn reason(state: VerdictState, arm: Transport) -> Reason {
    let (code, seen) = match state {
        VerdictState::Invalid => ("generator_busy", "generator core 97 % busy (invalid from 95 %)"),
        VerdictState::Incomplete => ("stopped", "stopped by Ctrl-C at 21 s"),
        _ => ("generator_busy", "generator core 84 % busy (suspect from 80 %)"),
    };
    let (seen, why, try_) = (seen.into(), "some of it may be ours".into(), "fewer clients".into());
    Reason { code: code.into(), state, arm: Some(arm), concerns: Vec::new(), seen, why, try_ }
}

fn transport_of(axes: &Values) -> Transport {
    match axes.get("style").map(String::as_str) {
        Some("long-poll") => Transport::LongPoll,
        Some("poll" | "pull") => Transport::Poll,
        Some("websocket") => Transport::WebSocket,
        Some("comet" | "stream") => Transport::Stream,
        _ => Transport::Sse,
    }
}

/// Returns the crowd of a case.
pub fn clients(axes: &Values) -> f64 {
    axes.get("clients").and_then(|c| c.parse().ok()).unwrap_or(1_000.0)
}

/// Sets median and tail of an arm, µs, as if nothing were missing.
pub fn latency(arm: &mut Arm, p50_us: f64) {
    let all = |l: &mut Latency| {
        let at = |factor: f64| Some((p50_us * factor) as i64);
        (l.p50_us, l.p90_us, l.p99_us, l.p999_us) = (at(1.0), at(2.1), at(4.0), at(7.0));
        (l.p50_at_least_us, l.p90_at_least_us, l.p99_at_least_us, l.p999_at_least_us) =
            (None, None, None, None);
        l.delivered_only = None;
    };
    let d = arm.delivery.as_mut().expect("a delivery");
    (d.missing, d.late) = (0, 0);
    all(&mut d.latency);
    all(&mut d.from_sent);
}

/// Sets the CPU of the server, in cores.
pub fn cores(arm: &mut Arm, cores: f64) {
    let server = arm.server.as_mut().expect("a server");
    server.cpu_us = (server.window_us as f64 * cores) as u64;
}

/// Sets a latency that grows with the crowd, bends at 10 000, and differs by style, server and start.
pub fn plausible(axes: &Values, start: u32, arm: &mut Arm) {
    let crowd = clients(axes) / 1_000.0;
    let style = if arm.transport == Transport::LongPoll { 1.6 } else { 1.0 };
    let servers = ["node", "tomcat-6", "tomcat-7"];
    let server =
        axes.get("server").and_then(|s| servers.iter().position(|n| n == s)).map_or(1.0, |i| 1.0 + i as f64);
    let bend = if crowd > 10.0 { 1.0 + (crowd - 10.0) * 0.8 } else { 1.0 };
    let draw = 1.0 + 0.03 * f64::from(start * 7 % 5) - 0.06;
    latency(arm, 300.0 * crowd.powf(0.4) * style * server * bend * draw);
    cores(arm, (0.04 * crowd * style).min(0.99));
    let memory = (30.0 + 2.5 * crowd * style) * server;
    arm.server.as_mut().expect("a server").rss_bytes_peak = (memory * 1_048_576.0) as u64;
}

fn figure(id: &str, x: &str, y: &str) -> Figure {
    Figure { id: id.into(), title: format!("{y} against {x}"), x: x.into(), y: y.into(), ..Figure::default() }
}

fn printed(values: &[(&str, &str)], y: Option<f64>, words: Option<&str>) -> Published {
    let only = values.iter().map(|(k, v)| ((*k).to_string(), (*v).to_string())).collect();
    Published { only, x: None, y, words: words.map(String::from) }
}

const CROWDS: [&str; 5] = ["1000", "5000", "10000", "15000", "20000"];

/// Returns a suite with two styles, five crowds, one server, and several kinds of figures.
pub fn chat(repeat: u32) -> Made {
    let mut against = figure("latency", "clients", "delivery.p50");
    against.number = Some("fig. 2".into());
    against.panel = Some("server".into());
    against.published = [("node", 1.0), ("tomcat-6", 2.2)]
        .iter()
        .flat_map(|(server, factor)| {
            CROWDS.iter().enumerate().map(move |(i, c)| {
                let y = 800.0 * factor * [1.0, 1.9, 2.6, 9.0, 21.0][i];
                printed(&[("server", server), ("clients", c), ("style", "comet")], Some(y), None)
            })
        })
        .collect();
    against.published.push(printed(
        &[("server", "tomcat-7"), ("clients", "20000"), ("style", "comet")],
        None,
        Some("crashed"),
    ));
    let mut joint = figure("joint", "clients", "delivery.p50");
    joint.joint = vec!["server.cpu_cores".into(), "server.rss_bytes_peak".into()];
    joint.panel = Some("server".into());
    let mut offered = figure("offered", "published.achieved_per_s", "delivery.p99");
    offered.offered = Some("published.asked_per_s".into());
    offered.only = [("server".to_string(), vec!["node".to_string()])].into();
    let names = figure("servers", "server", "server.rss_bytes_peak");
    let matrix = Figure {
        id: "tails".into(),
        title: "p99 of every case".into(),
        kind: FigureKind::Matrix,
        y: "delivery.p99".into(),
        ..Figure::default()
    };
    let axes: [(&str, &[&str]); 3] = [
        ("server", &["node", "tomcat-6", "tomcat-7"]),
        ("style", &["comet", "long-poll"]),
        ("clients", &CROWDS),
    ];
    let mut suite = suite("chat", &axes, vec![joint, against, offered, names, matrix]);
    suite.study = Some(Study {
        number: 2,
        title: "chat".into(),
        then: vec!["A made-up machine.".into()],
        differs: vec!["Nothing of it is the same.".into()],
        ..Study::default()
    });
    suite.scale = 0.5;
    for case in suite.cases.iter_mut().filter(|c| c.axes["server"] == "tomcat-6" && c.clients == 20_000) {
        case.refused = Some("it needs 20 012 descriptors, 20 000 are allowed".into());
    }
    let runs = run(&mut suite, repeat, |axes, start, arm| {
        plausible(axes, start, arm);
        let published = arm.published.as_mut().expect("published");
        published.asked_per_s = clients(axes) / 50.0;
        published.achieved_per_s = published.asked_per_s * if clients(axes) > 10_000.0 { 0.8 } else { 1.0 };
        match (axes["server"].as_str(), axes["style"].as_str(), axes["clients"].as_str()) {
            ("node", "long-poll", "15000") => arm.verdict = VerdictState::Suspect,
            ("node", _, "20000") => arm.verdict = VerdictState::Invalid,
            ("tomcat-6", "comet", "15000") => arm.verdict = VerdictState::Incomplete,
            ("tomcat-7", "long-poll", "20000") => {
                arm.outcome = Outcome::Died;
                arm.error = Some("the server ended: signal 9".into());
                arm.last_words = Some(LastWords {
                    how: "signal 9".into(),
                    by_itself: true,
                    out_of_memory: true,
                    ..LastWords::default()
                });
            }
            _ => {}
        }
    });
    (suite, runs)
}

/// Returns the first study's 195 cells: 39 refused, the others with one start.
pub fn comet() -> Made {
    let servers: &[&str] = &["node", "tomcat-6", "tomcat-7"];
    let mut suite = suite(
        "comet-195",
        &[
            ("server", servers),
            ("style", &["comet", "long-poll"]),
            ("emit", &["1s", "5s", "10s", "30s"]),
            ("clients", &CROWDS),
        ],
        Vec::new(),
    );
    suite.axes.push(Axis {
        name: "hold".into(),
        label: "hold".into(),
        values: ["1s", "5s", "10s", "30s"].map(String::from).into(),
    });
    for server in servers {
        for clients in CROWDS {
            for (style, hold) in [
                ("comet", None),
                ("long-poll", Some("1s")),
                ("long-poll", Some("5s")),
                ("long-poll", Some("10s")),
                ("long-poll", Some("30s")),
            ] {
                let mut axes: Values = [("server", *server), ("style", style), ("clients", clients)]
                    .map(|(k, v)| (k.to_string(), v.to_string()))
                    .into();
                axes.extend(hold.map(|h| ("hold".to_string(), h.to_string())));
                let id = format!(
                    "{server}-{style}-{}-{clients}",
                    hold.map_or_else(|| "none".to_string(), |h| format!("hold-{h}"))
                );
                suite.cases.push(Case {
                    id,
                    axes,
                    planned_s: 60.0,
                    clients: clients.parse().expect("a number"),
                    refused: None,
                });
            }
        }
    }
    for case in suite.cases.iter_mut().filter(|c| c.clients == 20_000) {
        case.refused = Some("it needs 20 012 descriptors, 20 000 are allowed".into());
    }
    let mut memory = figure("memory", "clients", "server.rss_bytes_peak");
    (memory.number, memory.panel) = (Some("fig. 28".into()), Some("emit".into()));
    let mut latency = figure("latency", "emit", "delivery.p50");
    (latency.number, latency.panel, latency.line) =
        (Some("fig. 9".into()), Some("clients".into()), Some("server".into()));
    suite.figures = vec![memory, latency];
    let runs = run(&mut suite, 1, plausible);
    (suite, runs)
}

/// Returns extreme suites, each with a name that describes it.
pub fn extremes() -> Vec<(&'static str, Made)> {
    let refuse = |mut made: Made| {
        made.0.cases.iter_mut().for_each(|c| c.refused = Some("it needs more memory than there is".into()));
        made.1.clear();
        made
    };
    let states = |state: VerdictState| {
        let (mut suite, _) = chat(1);
        let runs = run(&mut suite, 1, |axes, start, arm| {
            plausible(axes, start, arm);
            arm.verdict = state;
        });
        (suite, runs)
    };
    let lone = |repeat| {
        let mut suite = suite(
            "one",
            &[("server", &["node"]), ("clients", &["1000"])],
            vec![figure("one", "clients", "delivery.p50")],
        );
        let runs = run(&mut suite, repeat, plausible);
        (suite, runs)
    };
    vec![
        ("n = 1", chat(1)),
        ("n = 3", chat(3)),
        ("n = 10", chat(10)),
        ("195 cells", comet()),
        ("all refused", refuse(chat(1))),
        ("nothing run", {
            let mut made = chat(1);
            made.1.clear();
            made
        }),
        ("invalid everywhere", states(VerdictState::Invalid)),
        ("suspect everywhere", states(VerdictState::Suspect)),
        ("one cell", lone(1)),
        ("one cell, ten starts", lone(10)),
        ("names of 60 characters", long_names()),
        ("many lines of one transport", many_lines()),
        (
            "no case at all",
            (suite("none", &[("server", &[])], vec![figure("none", "server", "delivery.p50")]), Vec::new()),
        ),
        ("everything missing", {
            let (mut suite, _) = chat(1);
            let runs = run(&mut suite, 1, |axes, start, arm| {
                plausible(axes, start, arm);
                let d = arm.delivery.as_mut().expect("a delivery");
                (d.missing, d.delivered) = (d.expected, 0);
                (d.latency.p50_us, d.latency.p50_at_least_us) = (None, Some(2_000_000));
                (d.latency.p99_us, d.latency.p99_at_least_us) = (None, Some(2_000_000));
            });
            (suite, runs)
        }),
        ("unstable everywhere", {
            let (mut suite, _) = chat(1);
            let runs = run(&mut suite, 1, |_, _, arm| {
                let d = arm.delivery.as_mut().expect("a delivery");
                (d.unstable, d.backlog_per_s) = (true, Some(1_240.0));
            });
            (suite, runs)
        }),
        ("a figure that names no metric", {
            let (mut suite, runs) = chat(1);
            suite.figures.push(figure("wrong", "clients", "delivery.p9o"));
            (suite, runs)
        }),
    ]
}

const SIXTY: [&str; 3] = [
    "a-server-whose-name-has-exactly-sixty-characters-in-it-all-1",
    "a-server-whose-name-has-exactly-sixty-characters-in-it-all-2",
    "a-server-whose-name-has-exactly-sixty-characters-in-it-all-3",
];

fn long_names() -> Made {
    let mut panels = figure("panels", "clients", "delivery.p50");
    panels.panel = Some("server".into());
    let lines = figure("lines", "clients", "delivery.p50");
    let names = figure("names", "server", "delivery.p50");
    let mut suite = suite(
        "a-suite-whose-name-has-exactly-sixty-characters-in-it-all-xx",
        &[("server", &SIXTY), ("clients", &CROWDS)],
        vec![panels, lines, names],
    );
    suite.axes[1].label = "a label of the axis that is also rather long for its place".into();
    let runs = run(&mut suite, 3, plausible);
    (suite, runs)
}

fn many_lines() -> Made {
    let mut by_batch = figure("batch", "clients", "delivery.p50");
    by_batch.line = Some("batch".into());
    let mut suite = suite(
        "batch",
        &[("batch", &["0", "1ms", "5ms", "10ms", "50ms", "100ms", "500ms", "1s"]), ("clients", &CROWDS)],
        vec![by_batch],
    );
    let runs = run(&mut suite, 5, |axes, start, arm| {
        plausible(axes, start, arm);
        let batch = ["0", "1ms", "5ms", "10ms", "50ms", "100ms", "500ms", "1s"]
            .iter()
            .position(|b| *b == axes["batch"]);
        // Lines that end together, and one that ends early.
        let p50 = 300.0 * (1.0 + 0.02 * batch.expect("a batch") as f64) * clients(axes).sqrt();
        latency(arm, p50 * (1.0 + 0.01 * f64::from(start)));
        if axes["batch"] == "5ms" && clients(axes) > 10_000.0 {
            arm.verdict = VerdictState::Invalid;
        }
    });
    (suite, runs)
}
