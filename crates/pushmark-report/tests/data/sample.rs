//! Plausible runs for the report's tests: five arms of a fan-out with a freeze at 30 s, and extreme runs
//! for drawings. All numbers are invented.
#![allow(dead_code)] // each test uses its part

use std::collections::BTreeMap;
use std::sync::OnceLock;

use pushmark_model::histogram::Distribution;
use pushmark_model::run::*;
use pushmark_model::transport::Transport;

/// A run and its `windows.csv`.
pub type Sample = (Run, Vec<Window>);

const CLIENTS: u64 = 1_000;
const RATE: u64 = 20;
const SECONDS: u64 = 60;
const PUBLICATIONS: u64 = RATE * SECONDS;
const MEASURE_US: u64 = 5_000_000;

/// The transports that are compared by default.
const FIVE: [Transport; 5] =
    [Transport::Poll, Transport::LongPoll, Transport::Stream, Transport::Sse, Transport::WebSocket];

/// Returns median and width (sigma of the logarithm) of an arm's latency, µs.
fn shape(transport: Transport) -> (f64, f64) {
    match transport {
        Transport::Poll => (25_000.0, 0.0),
        Transport::LongPoll => (620.0, 1.0),
        Transport::Stream => (310.0, 0.65),
        Transport::Sse => (350.0, 0.7),
        Transport::WebSocket => (270.0, 0.6),
        Transport::Bayeux => (810.0, 1.1),
        Transport::BayeuxWebSocket => (390.0, 0.75),
    }
}

/// Returns the normal quantile (Acklam's middle and tails, 1e-4 is enough here).
fn normal(u: f64) -> f64 {
    let u = u.clamp(1e-7, 1.0 - 1e-7);
    let t = (-2.0 * u.min(1.0 - u).ln()).sqrt();
    let z = t
        - (2.515_517 + 0.802_853 * t + 0.010_328 * t * t)
            / (1.0 + 1.432_788 * t + 0.189_269 * t * t + 0.001_308 * t * t * t);
    if u < 0.5 { -z } else { z }
}

fn lognormal(median: f64, sigma: f64, count: u64) -> Distribution {
    let mut d = Distribution::default();
    let steps = count.clamp(1, 2_000);
    for i in 0..steps {
        let value = median * (sigma * normal((i as f64 + 0.5) / steps as f64)).exp();
        let times = (i + 1) * count / steps - i * count / steps;
        if times > 0 {
            d.record_many_us(value.round() as u64, times);
        }
    }
    d
}

/// Returns one second of deliveries of an arm.
fn second(transport: Transport, at: u64, count: u64, factor: f64) -> Distribution {
    let (median, sigma) = shape(transport);
    if transport == Transport::Poll {
        let mut d = Distribution::default();
        for i in 0..count {
            d.record_us(((50_000.0 * (i as f64 + 0.5) / count as f64) * factor) as u64);
        }
        return d;
    }
    let drift = if transport == Transport::LongPoll { 1.0 + at as f64 / 120.0 } else { 1.0 };
    if at == 30 {
        // The freeze: three of twenty publications wait for its end.
        let mut d = lognormal(median * factor, sigma, count * 17 / 20);
        for (i, wait) in [110_000u64, 70_000, 20_000].into_iter().enumerate() {
            let share = count * (18 + i as u64) / 20 - count * (17 + i as u64) / 20;
            d.merge(&lognormal(wait as f64, 0.05, share));
        }
        return d;
    }
    lognormal(median * factor * drift, sigma, count)
}

fn heat_row(us: u64) -> usize {
    if us == 0 { 0 } else { ((us as f64).log10() * 3.0).floor() as usize + 1 }
}

fn per_cent(count: u64, share: f64) -> u64 {
    (count as f64 * share) as u64
}

/// Returns an arm and its windows. `factor` scales its times, so that starts differ.
pub fn arm(transport: Transport, factor: f64) -> (Arm, Vec<Window>) {
    let intended = PUBLICATIONS * CLIENTS;
    let (missing, late, unserved) = match transport {
        Transport::LongPoll => (53, 82, 0),
        Transport::WebSocket => (3, 0, 11_908),
        _ => (0, 0, 0),
    };
    let superseded = if transport == Transport::Poll { intended * 19 / 20 } else { 0 };
    let expected = intended - unserved - superseded;
    let delivered = expected - missing - late;

    let mut all = Distribution::default();
    let mut heat = Heat { first_second: 0, columns: Vec::new() };
    let mut windows = Vec::new();
    let mut left = delivered;
    for at in 0..SECONDS {
        let count = if at + 1 == SECONDS { left } else { left.min(delivered / SECONDS) };
        left -= count;
        let d = second(transport, at, count, factor);
        let mut column = vec![0u64; 30];
        for step in d.positive().iter_recorded() {
            column[heat_row(step.value_iterated_to())] += step.count_since_last_iteration();
        }
        heat.columns.push(column);
        let p = |q: f64| d.quantile(q);
        windows.push((count, p(0.5), p(0.99), d.extremes().map(|e| e.1)));
        all.merge(&d);
    }

    let lag = |median: f64, sigma: f64, count: u64| lognormal(median * factor, sigma, count).summary_of_all();
    let (lag_us, lag_sigma) = if transport == Transport::LongPoll { (90.0, 0.82) } else { (22.0, 0.7) };
    let (server, generator, softirq, rss, kernel, wire) = match transport {
        Transport::Poll => (21.4, 8.6, 12.4, 1.9, 1.4, 4_300),
        Transport::LongPoll => (33.8, 15.2, 19.4, 3.4, 2.6, 715),
        Transport::Stream => (3.42, 2.6, 2.1, 2.2, 1.7, 134),
        Transport::Sse => (3.71, 2.7, 2.1, 2.3, 1.7, 142),
        Transport::WebSocket => (2.94, 2.5, 1.9, 2.6, 1.9, 130),
        Transport::Bayeux => (41.2, 18.1, 20.3, 5.1, 3.0, 1_080),
        Transport::BayeuxWebSocket => (4.4, 3.3, 2.0, 3.9, 1.9, 190),
    };
    let cpu = |per_delivery: f64| (per_delivery * delivered as f64 * (3.0 * factor - 2.0).max(0.5)) as u64;
    let poll_age = if transport == Transport::Poll { 500_000.0 } else { 0.0 };
    let spread_of = |from: f64, width: f64| {
        let (median, _) = shape(transport);
        lognormal(median * from * factor, width, PUBLICATIONS).summary_of_all()
    };

    let arm = Arm {
        transport,
        target: "builtin".into(),
        nonce: "k3f9a1".into(),
        outcome: if transport == Transport::WebSocket { Outcome::Degraded } else { Outcome::Held },
        verdict: VerdictState::Valid,
        error: None,
        observe: false,
        subscribed_by: "acknowledged".into(),
        connections: Connections {
            asked: CLIENTS,
            opened: CLIENTS,
            lost: if unserved > 0 { 26 } else { 0 },
            lost_by: if unserved > 0 { BTreeMap::from([("reset".to_string(), 26)]) } else { BTreeMap::new() },
            ..Connections::default()
        },
        tls: None,
        connect: Some(Connect {
            count: CLIENTS,
            p50_us: (410.0 * factor) as u64,
            p99_us: (2_300.0 * factor) as u64,
            max_us: (8_100.0 * factor) as u64,
            tcp: Some(lag(60.0, 0.3, CLIENTS)),
            subscribed: Some(lag(520.0, 0.5, CLIENTS)),
            first_message: None,
            tls: None,
        }),
        delivery: Some(Delivery {
            intended,
            expected,
            delivered,
            missing,
            late,
            superseded,
            unserved,
            out_of_order: if transport == Transport::Bayeux { 41 } else { 0 },
            latency: all.summary(expected, PUBLICATIONS, 2_000_000),
            from_sent: all.summary(expected, PUBLICATIONS, 2_000_000),
            read_lag: lag(lag_us, lag_sigma, delivered),
            latency_stamped: None,
            loopback_share: None,
            read_lag_stamped: Some(lag(lag_us * 0.8, lag_sigma, delivered / 64)),
            stamps_unused: 212,
            spread: Some(Spread {
                broadcasts: PUBLICATIONS - missing,
                not_heard_by_all: missing,
                incomplete: 0,
                sampled: false,
                first: spread_of(0.38, 0.2),
                median: spread_of(1.0, 0.3),
                last: spread_of(3.6, 0.45),
            }),
            age_of_information: Some(AgeOfInformation {
                mean_us: 25_300.0 * factor + poll_age,
                p50_us: (25_000.0
                    + shape(transport).0 * factor * if poll_age > 0.0 { 0.0 } else { 1.0 }
                    + poll_age) as i64,
                p99_us: (50_300.0 + shape(transport).0 * factor + poll_age * 1.9) as i64,
                observed_s: (CLIENTS * SECONDS) as f64,
            }),
            heat,
            ..Delivery::default()
        }),
        observed: None,
        poll: (transport == Transport::Poll).then(|| Poll {
            interval_mean_us: None,
            requests: CLIENTS * SECONDS,
            redundant: 312,
            not_modified: 0,
            skipped_states: superseded,
            overruns: 4,
            age_at_receipt: lag(25_000.0, 0.5, CLIENTS * SECONDS),
        }),
        bayeux: transport.is_bayeux().then(|| Bayeux {
            order_promised: false,
            handshakes: CLIENTS + 3,
            unknown_client: 3,
            connects: delivered,
            connects_empty: (transport == Transport::Bayeux).then_some(22),
            advice: BayeuxAdvice {
                retry: delivered,
                handshake: 3,
                none: 0,
                multiple_clients: 0,
                interval_obeyed: 0,
            },
            hold_advised_us: Some(30_000_000),
            commands: 2 * CLIENTS,
            second_connections: if transport == Transport::Bayeux { CLIENTS } else { 0 },
            second_open_max: if transport == Transport::Bayeux { 212 } else { 0 },
            messages_per_reply: (transport == Transport::Bayeux).then_some(1.04),
        }),
        hybrid: None,
        long_poll: transport.is_held().then(|| LongPoll {
            answers: delivered,
            timeouts: 14,
            early: 0,
            other: 0,
            answers_per_s: delivered as f64 / SECONDS as f64,
            ceiling_per_s: CLIENTS as f64 / 45.0,
            hold_overshoot: lag(340.0, 0.3, 14),
            deaf: lag(180.0, 0.8, delivered),
            in_flight: lag(290.0, 0.6, delivered),
            missed_deaf: 41,
            messages_per_answer: Some(1.02),
            receivers_per_publication: Some(982.0),
            new_connections: 0,
        }),
        documents: None,
        agents: Vec::new(),
        monitor: None,
        published: Some(Published {
            due: PUBLICATIONS,
            sent: PUBLICATIONS,
            lag: lag(38.0, 0.5, PUBLICATIONS),
            accept: Some(lag(240.0, 0.5, PUBLICATIONS)),
            asked_per_s: RATE as f64,
            achieved_per_s: RATE as f64 * 0.9997,
            ..Published::default()
        }),
        server: Some(Server {
            cpu_us: cpu(server),
            window_us: SECONDS * 1_000_000,
            rss_bytes_peak: 21 << 20,
            ready_us: Some(1_234),
            rss_bytes_start: Some(6 << 20),
            rss_bytes_per_connection: Some(rss * 1024.0 * (3.0 * factor - 2.0).clamp(0.5, 2.0)),
            kernel_bytes_per_connection: Some(kernel * 1024.0),
            pss_bytes_full: Some(19 << 20),
            threads_max: 3,
            run_queue_wait_us: 310_000,
            ended: None,
            ended_us: None,
            heap: None,
        }),
        generator: Generator {
            cpu_us: cpu(generator),
            window_us: SECONDS * 1_000_000,
            busiest_core: if transport == Transport::LongPoll { 0.62 } else { 0.21 },
            rss_bytes_peak: 34 << 20,
            run_queue_wait_us: 420_000,
            loop_lag: lag(40.0, 0.6, 90_000),
            steal: 0.001,
            shards: 1,
        },
        foreign: None,
        softirq_us: Some(cpu(softirq)),
        kernel_memory_bytes: Some(1_700 * 1024),
        wire: Wire {
            inflating: None,
            inflated_bytes: None,
            inflate_us: None,
            bytes_in: delivered * wire,
            bytes_out: delivered * wire / 8,
            measure_bytes_in: delivered * wire,
            measure_bytes_out: delivered * wire / 9,
            segments_in: Some(delivered),
            segments_out: Some(delivered / 2),
            retransmits: Some(0),
            listener_drops: Some(0),
            listen_overflows: Some(0),
            time_wait_per_s: Some(if transport == Transport::Poll { 2.0 } else { 0.0 }),
        },
        phases: phases(),
        server_says: Some(
            serde_json::json!({"published": PUBLICATIONS, "clock": "monotonic", "grain_us": 1}),
        ),
        ingest: None,
        last_words: None,
        browser: None,
        warmup: None,
        flood: None,
    };
    let windows = windows_of(&arm, &windows);
    (arm, windows)
}

fn phases() -> Vec<Phase> {
    let at = |name: &str, from: u64, to: u64| Phase { name: name.into(), start_us: from, end_us: to };
    vec![
        at("ramp", 0, 2_000_000),
        at("settle", 2_000_000, 3_000_000),
        at("warmup", 3_000_000, MEASURE_US),
        at("measure", MEASURE_US, MEASURE_US + SECONDS * 1_000_000),
        at("drain", MEASURE_US + SECONDS * 1_000_000, MEASURE_US + (SECONDS + 2) * 1_000_000),
    ]
}

type SecondOfMeasure = (u64, Option<i64>, Option<i64>, Option<i64>);

fn windows_of(arm: &Arm, measured: &[SecondOfMeasure]) -> Vec<Window> {
    let share = |total: u64| Some(total / SECONDS);
    let server = arm.server.as_ref();
    (0..SECONDS + 7)
        .map(|second| {
            let at_us = second * 1_000_000;
            let phase = arm.phases.iter().rfind(|p| p.start_us <= at_us).expect("a phase");
            let of = |second: u64| measured.get(second as usize).copied().unwrap_or_default();
            let measure = if at_us >= MEASURE_US { of(second - 5) } else { (0, None, None, None) };
            let publishing = (3..SECONDS + 5).contains(&second);
            let lost = if arm.connections.lost > 0 && second == 47 { arm.connections.lost } else { 0 };
            let gone = if second >= 47 { arm.connections.lost } else { 0 };
            let wobble = 1 + second * 7 % 5;
            Window {
                arm: arm.transport.name().into(),
                second: second as u32,
                phase: phase.name.clone(),
                asked: (500 * (second + 1)).min(CLIENTS),
                connected: (460 * (second + 1)).min(CLIENTS) - gone,
                lost,
                failed: 0,
                due: if publishing { RATE } else { 0 },
                sent: if publishing { RATE } else { 0 },
                delivered: if publishing && second < 5 { measured[0].0 } else { measure.0 },
                requests: measure.0 / 20,
                bytes_in: arm.wire.measure_bytes_in / SECONDS,
                bytes_out: arm.wire.measure_bytes_out / SECONDS,
                p50_us: measure.1,
                p99_us: measure.2,
                max_us: measure.3,
                read_lag_p99_us: publishing
                    .then_some(90 + 11 * wobble as i64 + if second == 35 { 900 } else { 0 }),
                server_cpu_us: server
                    .and_then(|s| share(s.cpu_us))
                    .map(|c| if publishing { c + c * wobble / 40 } else { 9_000 }),
                generator_cpu_us: share(arm.generator.cpu_us)
                    .map(|c| if publishing { c + c * wobble / 60 } else { 5_000 }),
                softirq_us: arm.softirq_us.and_then(share),
                server_rss_bytes: server
                    .map(|s| (s.rss_bytes_peak - (6 << 20)) * (second + 1).min(3) / 3 + (6 << 20)),
                generator_rss_bytes: Some(arm.generator.rss_bytes_peak),
                run_queue_wait_us: Some(4_000 * wobble),
                steal_us: Some(if second % 9 == 0 { 2_000 } else { 0 }),
                ..Window::default()
            }
        })
        .collect()
}

/// Returns one start of the five-arm scenario; start 0 is the plain one. Made once, then copied.
pub fn five_arms(start: usize) -> Sample {
    static MADE: [OnceLock<Sample>; 5] = [const { OnceLock::new() }; 5];
    MADE[start].get_or_init(|| make_five_arms(start)).clone()
}

fn make_five_arms(start: usize) -> Sample {
    let factor = 1.0 + 0.02 * ((start * 7 % 5) as f64 - 2.0) * f64::from(u8::from(start > 0));
    of_arms(FIVE.iter().map(|t| arm(*t, factor)).collect(), start)
}

/// Returns one start with every transport.
pub fn all_arms(start: usize) -> Sample {
    let factor = 1.0 + 0.02 * (start % 5) as f64;
    of_arms(Transport::ALL.iter().map(|t| arm(*t, factor)).collect(), start)
}

/// Returns a run of these arms.
pub fn of_arms(arms: Vec<(Arm, Vec<Window>)>, start: usize) -> Sample {
    let transports: Vec<&str> = arms.iter().map(|a| a.0.transport.name()).collect();
    let scenario = serde_json::json!({
        "name": "fan-out", "transports": transports,
        "target": {"server": "builtin"},
        "load": {"connections": CLIENTS, "duration": "60s"},
        "publisher": {"mode": "external", "rate": "20/s", "size": "128B"},
    });
    let id = format!("20261121T20041{}Z-fan-out-k3f{}", start % 10, 9 - start % 10);
    let windows = arms.iter().flat_map(|a| a.1.clone()).collect();
    let thresholds = arms
        .iter()
        .flat_map(|(a, _)| {
            let p99 = a.delivery.as_ref().and_then(|d| d.latency.p99_us).map(|v| v as f64);
            let missing = a.delivery.as_ref().map(|d| d.missing as f64);
            [
                Threshold {
                    expression: "delivery.p99 < 50ms".into(),
                    arm: a.transport,
                    value: p99,
                    ok: p99.is_some_and(|v| v < 50_000.0),
                },
                Threshold {
                    expression: "delivery.missing == 0".into(),
                    arm: a.transport,
                    value: missing,
                    ok: missing == Some(0.0),
                },
            ]
        })
        .collect();
    let run = Run {
        schema: SCHEMA.into(),
        id,
        name: "fan-out".into(),
        started_at: format!("2026-11-21T20:04:1{}Z", start % 10),
        seed: 42 + start as u64,
        command: "pushmark run scenarios/fan-out.toml -c 1000 -r 20/s -d 60s".into(),
        pushmark_version: "0.1.0".into(),
        scenario,
        scenario_text: Some(
            "name = \"fan-out\"\nanalysis = \"One publisher, every subscriber hears it: the cost of one write per connection.\"\n\n\
             [target]\nserver = \"builtin\"\n\n[load]\nconnections = 1000\nduration = \"60s\"\n\n\
             [publisher]\nrate = \"20/s\"  # < the knee\nsize = \"128B\"\n"
                .into(),
        ),
        plan: serde_json::json!({"arms": [{"connections": CLIENTS, "subscriptions": {"channels": 1}}]}),
        environment: Environment {
            kernel: "6.8.0-45-generic".into(),
            cpu: "AMD EPYC 7B13".into(),
            cpus: 2,
            memory_bytes: 24 << 30,
            generator_cpus: Some(vec![1]),
            server_cpus: Some(vec![0]),
            cpu_accounting: "schedstat".into(),
            same_host: true,
            open_files: 1_048_576,
            ephemeral_ports: (32_768, 60_999),
            server: None,
            settings: BTreeMap::from([("net.core.somaxconn".to_string(), "4096".to_string())]),
        },
        phases: phases(),
        verdict: Verdict { state: VerdictState::Valid, reasons: Vec::new() },
        thresholds,
        arms: arms.into_iter().map(|a| a.0).collect(),
        selftest: None,
        calibration: None,
        case: None,
        sitting: None,
    };
    (run, windows)
}

/// Sets the verdict of an arm, and adds its reason to the run.
pub fn doubt(sample: &mut Sample, transport: Transport, state: VerdictState, code: &str, seen: &str) {
    let run = &mut sample.0;
    for arm in run.arms.iter_mut().filter(|a| a.transport == transport) {
        arm.verdict = state;
    }
    run.verdict.state = run.verdict.state.max(state);
    run.verdict.reasons.push(Reason {
        code: code.into(),
        state,
        arm: Some(transport),
        concerns: Vec::new(),
        seen: seen.into(),
        why: "pushmark, not the server, may have caused the slowest deliveries".into(),
        try_: "--set load.connections=800".into(),
    });
}

/// Returns a run in which the server of the sse arm dies ten times with all its clients, which are back
/// two seconds later.
pub fn storms() -> Sample {
    let (mut run, mut windows) = five_arms(0);
    let arm = run.arms.iter_mut().find(|a| a.transport == Transport::Sse).expect("an arm");
    (arm.connections.lost, arm.connections.reconnected) = (10 * CLIENTS, 10 * CLIENTS);
    arm.connections.lost_by = BTreeMap::from([("reset".to_string(), 10 * CLIENTS)]);
    for window in windows.iter_mut().filter(|w| w.arm == Transport::Sse.name() && w.phase == "measure") {
        match window.second % 6 {
            0 => (window.lost, window.connected) = (CLIENTS, 0),
            1 => window.connected = CLIENTS / 3,
            _ => window.connected = CLIENTS,
        }
    }
    (run, windows)
}

/// Returns a run with long-poll near the generator's limit.
pub fn suspect(start: usize) -> Sample {
    let mut sample = five_arms(start);
    doubt(
        &mut sample,
        Transport::LongPoll,
        VerdictState::Suspect,
        "generator_busy",
        "generator core 84 % busy in long-poll (suspect from 80 %)",
    );
    sample
}

/// Returns extreme runs, each with a name that describes it.
pub fn extremes() -> Vec<(&'static str, Vec<Sample>)> {
    let edit = |change: fn(&mut Sample)| {
        let mut sample = five_arms(0);
        change(&mut sample);
        vec![sample]
    };
    vec![
        ("five arms, n = 1", vec![five_arms(0)]),
        ("five arms, n = 3", (0..3).map(suspect).collect()),
        ("five arms, n = 5", (0..5).map(suspect).collect()),
        ("all seven arms, n = 1", vec![all_arms(0)]),
        (
            "a long reason in a long name",
            edit(|s| {
                *s = all_arms(0);
                let seen =
                    "publisher lag p99 91.3 ms is 93 % of the delivery p99 97.8 ms in bayeux-websocket";
                doubt(s, Transport::BayeuxWebSocket, VerdictState::Invalid, "publisher_lag", seen);
            }),
        ),
        ("all seven arms, n = 5", (0..5).map(all_arms).collect()),
        ("one arm", vec![of_arms(vec![arm(Transport::Sse, 1.0)], 0)]),
        ("ten storms", vec![storms()]),
        ("everything missing", edit(|s| s.0.arms.iter_mut().for_each(lose_everything))),
        (
            "0 publications",
            edit(|s| {
                s.0.arms.iter_mut().for_each(|a| {
                    a.delivery = Some(Delivery::default());
                    a.published = Some(Published::default());
                });
            }),
        ),
        ("p50 = 0", edit(|s| set_latency(&mut s.0.arms[3], &[(0, 900_000), (40, 300_000)]))),
        ("negative values", edit(|s| set_latency(&mut s.0.arms[4], &[(-30, 700_000), (40, 400_000)]))),
        (
            "one arm 100 × slower",
            vec![of_arms(
                vec![arm(Transport::Stream, 1.0), arm(Transport::Sse, 100.0), arm(Transport::WebSocket, 1.0)],
                0,
            )],
        ),
        (
            "a name of 60 characters",
            edit(|s| s.0.name = "a-scenario-whose-name-has-exactly-sixty-characters-in-it-all".into()),
        ),
        (
            "an invalid arm",
            edit(|s| {
                let seen = "generator core 97 % busy in long-poll (invalid from 95 %)";
                doubt(s, Transport::LongPoll, VerdictState::Invalid, "generator_busy", seen);
            }),
        ),
        (
            "all arms invalid",
            edit(|s| {
                for transport in FIVE {
                    doubt(s, transport, VerdictState::Invalid, "listen_overflow", "31 listen overflows");
                }
            }),
        ),
        (
            "an incomplete arm",
            edit(|s| {
                doubt(s, Transport::Sse, VerdictState::Incomplete, "stopped", "stopped by Ctrl-C at 21 s")
            }),
        ),
        (
            "an arm that died",
            edit(|s| {
                let arm = &mut s.0.arms[4];
                arm.outcome = Outcome::Died;
                arm.error = Some("the server ended: signal 9".into());
                arm.server.as_mut().expect("a server").ended = Some("signal 9".into());
                let d = arm.delivery.as_mut().expect("a delivery");
                (d.unserved, d.delivered, d.missing) = (d.unserved + 400_000, d.delivered - 600_000, 203);
                d.unpublished = 199_800;
            }),
        ),
        (
            "an unstable arm",
            edit(|s| {
                let d = s.0.arms[1].delivery.as_mut().expect("a delivery");
                (d.unstable, d.backlog_per_s) = (true, Some(1_240.0));
            }),
        ),
        (
            "no optional field",
            edit(|s| {
                s.1.clear();
                s.0.scenario_text = None;
                s.0.arms.iter_mut().for_each(|a| {
                    (a.connect, a.server, a.softirq_us, a.kernel_memory_bytes) = (None, None, None, None);
                    (a.poll, a.long_poll, a.server_says) = (None, None, None);
                    let d = a.delivery.as_mut().expect("a delivery");
                    (d.spread, d.age_of_information, d.read_lag_stamped) = (None, None, None);
                    d.heat = Heat::default();
                });
            }),
        ),
        ("few publications", edit(|s| s.0.arms.iter_mut().for_each(few_publications))),
        ("observe", edit(|s| s.0.arms.iter_mut().for_each(observe))),
        ("browsers and a feed", vec![with_browsers_and_feed()]),
        ("over other machines", vec![over_machines()]),
    ]
}

/// Returns a run with browsers that agree, that disagree, that received nothing and that are refused; and
/// the cost of a feed alone.
pub fn with_browsers_and_feed() -> Sample {
    let mut sample = five_arms(0);
    let browser = |median: f64, bound_us: u64, ok: bool| {
        let heard = lognormal(median, 0.5, 3 * PUBLICATIONS);
        Browser {
            asked: 3,
            opened: 3,
            intended: 3 * PUBLICATIONS,
            deliveries: 3 * PUBLICATIONS,
            latency: heard.summary(3 * PUBLICATIONS, PUBLICATIONS, 2_000_000),
            agreement: Some(Agreement {
                bound_us,
                p50_difference_us: median as i64 - 310,
                ok,
                ..Agreement::default()
            }),
            ..Browser::default()
        }
    };
    let refused = "a browser shows no state of a poll that carries no stamp of its own";
    let arms = &mut sample.0.arms;
    arms[0].browser = Some(Browser { refused: Some(refused.into()), ..Browser::default() });
    arms[1].browser = Some(Browser { asked: 3, opened: 3, ..Browser::default() });
    arms[2].browser = Some(browser(900.0, 1_400, true));
    arms[3].browser = Some(browser(9_000.0, 2_000, false));
    for (arm, server_cpu_us) in arms[2..].iter_mut().zip([400_000, 1, 9_000_000_000]) {
        let published = PUBLICATIONS / 20;
        arm.ingest =
            Some(Ingest { published, server_cpu_us, generator_cpu_us: 90_000, window_us: 3_000_000 });
    }
    sample
}

/// Returns a run over two agents, of which one is lost, with a monitor beside the server.
pub fn over_machines() -> Sample {
    let mut sample = five_arms(0);
    for arm in &mut sample.0.arms {
        let agent = |name: &str, lost: Option<&str>| AgentPart {
            name: name.into(),
            host: format!("host-of-{name}"),
            connections: 500,
            shards: 2,
            clock: Some(AgentClock { low_us: -31.5, high_us: 47.25, offset_us: -8_400.0 }),
            lost: lost.map(str::to_owned),
            ..AgentPart::default()
        };
        arm.agents = vec![agent("load-1", None), agent("load-2", Some("nothing heard for 9 s"))];
        arm.monitor =
            Some(MonitorPart { name: "beside".into(), host: "the-server".into(), ..MonitorPart::default() });
        if let Some(delivery) = &mut arm.delivery {
            delivery.loopback_share = Some(lognormal(412.0, 0.4, 900).summary_of_all());
        }
    }
    sample
}

fn lose_everything(arm: &mut Arm) {
    let d = arm.delivery.as_mut().expect("a delivery");
    *d = Delivery {
        intended: d.intended,
        expected: d.intended,
        missing: d.intended,
        latency: Distribution::default().summary(d.intended, PUBLICATIONS, 2_000_000),
        ..Delivery::default()
    };
    arm.outcome = Outcome::Degraded;
}

fn set_latency(arm: &mut Arm, values: &[(i64, u64)]) {
    let mut all = Distribution::default();
    for (value, times) in values {
        if *value < 0 {
            (0..*times).for_each(|_| all.record_negative_us(value.unsigned_abs()));
        } else {
            all.record_many_us(*value as u64, *times);
        }
    }
    let d = arm.delivery.as_mut().expect("a delivery");
    (d.missing, d.late, d.unserved) = (0, 0, 0);
    d.intended = all.count();
    d.expected = all.count();
    d.delivered = all.count();
    d.latency = all.summary(d.expected, PUBLICATIONS, 2_000_000);
}

fn few_publications(arm: &mut Arm) {
    let d = arm.delivery.as_mut().expect("a delivery");
    let strip = |l: &mut Latency| {
        (l.p99_us, l.p999_us, l.p99_at_least_us, l.p999_at_least_us) = (None, None, None, None)
    };
    strip(&mut d.latency);
    strip(&mut d.from_sent);
    let published = arm.published.as_mut().expect("published");
    (published.due, published.sent) = (60, 60);
}

fn observe(arm: &mut Arm) {
    arm.delivery = None;
    arm.published = None;
    arm.poll = None;
    arm.long_poll = None;
    arm.observe = true;
    arm.target = "https://example.org/events".into();
    arm.server = None;
    arm.observed = Some(Observed {
        messages: 48_210,
        payload_bytes: 48_210 * 310,
        gap: lognormal(49_000.0, 0.4, 48_210).summary_of_all(),
        latency: None,
    });
}
