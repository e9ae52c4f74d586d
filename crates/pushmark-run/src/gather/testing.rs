//! A plan for tests.

use pushmark_model::plan::ArmPlan;

/// An arm of four clients on one channel over SSE: ramp 1 s, warm-up 1 s, measure 10 s, drain 2 s.
pub(crate) fn arm() -> ArmPlan {
    const SECOND: u64 = 1_000_000_000;
    serde_json::from_value(serde_json::json!({
        "transport": "sse", "target": "test", "nonce": 77, "seed": 42,
        "subscribe": {
            "host": "127.0.0.1", "port": null, "tls": false, "path": "/", "headers": [], "subprotocol": "",
            "after_open": [], "ready": null, "every": [], "answer": [], "cursor": "none", "cookies": false,
            "resumes": false,
        },
        "publish": null, "connections": 4,
        "ramp": pushmark_model::schedule::Ramp::constant(4, 4.0),
        "phases": {
            "ramp_ns": SECOND, "settle_ns": 0, "warmup_ns": SECOND, "measure_ns": 10 * SECOND,
            "drain_ns": 2 * SECOND,
        },
        "deadline_ns": 2 * SECOND,
        "poll": {
            "interval_ns": SECOND, "jitter": 0.0, "after_answer": false, "random_phase": true,
            "conditional": false, "adaptive": null,
        },
        "hold_ns": SECOND, "keep_alive": true, "connect_timeout_ns": SECOND,
        "handshake_timeout_ns": SECOND, "idle_timeout_ns": null, "reconnect": "none",
        "subscriptions": { "channels": 1, "per_connection": 1, "room_size": null, "names": [] },
        "publisher": {
            "mode": "external", "interval_ns": 1e8, "arrivals": "constant", "aligned": true,
            "connections": 4, "size": { "fixed": 128 }, "check": false, "count": null,
            "timeout_ns": SECOND, "alone_ns": null,
        },
        "stamp_sample": 0, "sources": [], "latest_value": false,
    }))
    .expect("the plan above is one")
}
