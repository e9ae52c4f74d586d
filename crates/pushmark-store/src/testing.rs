//! A small run for the tests of this folder.

use std::collections::BTreeMap;

use pushmark_model::histogram::Distribution;
use pushmark_model::run::*;
use pushmark_model::transport::Transport;

/// A run of two arms: one that held, and one that lost two deliveries of a thousand.
pub fn run(id: &str) -> Run {
    let mut latencies = Distribution::default();
    (1..=1_000).for_each(|us| latencies.record_us(us));
    latencies.record_negative_us(3);
    let latency = latencies.summary_of_all();
    let arm = |transport, missing| Arm {
        transport,
        target: "builtin".into(),
        nonce: "a1".into(),
        outcome: if missing == 0 { Outcome::Held } else { Outcome::Degraded },
        verdict: VerdictState::Valid,
        error: None,
        observe: false,
        subscribed_by: "ready".into(),
        connections: Connections { asked: 10, opened: 10, ..Connections::default() },
        connect: None,
        delivery: Some(Delivery {
            intended: 1_000,
            expected: 1_000,
            delivered: 1_000 - missing,
            missing,
            latency: latency.clone(),
            ..Delivery::default()
        }),
        observed: None,
        poll: None,
        hybrid: None,
        long_poll: None,
        documents: None,
        bayeux: None,
        tls: None,
        published: Some(Published::default()),
        server: Some(Server { cpu_us: 40_000, ..Server::default() }),
        generator: Generator::default(),
        foreign: None,
        softirq_us: Some(9_000),
        kernel_memory_bytes: None,
        wire: Wire::default(),
        phases: vec![
            Phase { name: "ramp".into(), start_us: 0, end_us: 1_000_000 },
            Phase { name: "measure".into(), start_us: 1_000_000, end_us: 11_000_000 },
        ],
        server_says: None,
        ingest: None,
        last_words: None,
        browser: None,
        agents: Vec::new(),
        monitor: None,
        warmup: None,
        flood: None,
    };
    Run {
        schema: SCHEMA.into(),
        id: id.into(),
        name: "fan-out".into(),
        started_at: "2026-11-21T20:04:12Z".into(),
        seed: 42,
        command: "pushmark run".into(),
        pushmark_version: "0.1.0".into(),
        scenario: serde_json::json!({ "name": "fan-out" }),
        scenario_text: Some("name = \"fan-out\"\n".into()),
        plan: serde_json::json!({}),
        environment: Environment { settings: BTreeMap::new(), ..Environment::default() },
        phases: Vec::new(),
        verdict: Verdict { state: VerdictState::Valid, reasons: Vec::new() },
        thresholds: vec![Threshold {
            expression: "delivery.missing == 0".into(),
            arm: Transport::Sse,
            value: Some(2.0),
            ok: false,
        }],
        arms: vec![arm(Transport::Sse, 2), arm(Transport::WebSocket, 0)],
        selftest: None,
        calibration: None,
        case: None,
        sitting: None,
    }
}
