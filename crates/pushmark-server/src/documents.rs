//! The JSON documents of the contract, as this server writes them (CONTRACT 2, 4 and 5).

use std::sync::atomic::Ordering::Relaxed;

use pushmark_net::Clock;
use serde_json::{Map, Value, json};

use crate::hub::Accepted;
use crate::serve::Shared;
use crate::stats::{self, Counter};

/// Most channels `/stats` lists; the number of all is given beside them.
const CHANNELS_LISTED_MAX: usize = 4096;

/// CONTRACT 2.2: the client's time as it said it, and the server's.
pub(crate) fn time(client: &str) -> Value {
    // A number where it is one, so that it comes back as it was sent.
    let client = client.parse::<u64>().map_or_else(|_| json!(client), |us| json!(us));
    json!({
        "client": client,
        "monotonic_us": Clock::now() / 1000,
        "realtime_us": Clock::realtime() / 1000,
    })
}

/// CONTRACT 2.3: everything the server counts.
pub(crate) fn stats(shared: &Shared) -> Value {
    let threads = shared.counters.iter().map(|counters| &**counters);
    let sum = |counter| stats::sum(threads.clone(), counter);
    let (publications, listings, channels_total) = shared.hub.listings(CHANNELS_LISTED_MAX);
    let channels: Map<String, Value> = listings
        .iter()
        .map(|listing| {
            let facts = json!({
                "published": listing.published,
                "last": listing.last.map(|stamp| stamp.sequence),
                "subscribers": listing.subscribers.load(Relaxed),
            });
            (listing.name.to_string(), facts)
        })
        .collect();
    let passes = sum(Counter::Passes);
    let buckets: Vec<Value> =
        stats::passes(threads.clone()).map(|(bound_us, n)| json!([bound_us, n])).collect();
    json!({
        "clock": "monotonic",
        "grain_us": 1,
        "nodelay": true,
        "emitter": "absolute",
        "threads": shared.counters.len(),
        "logging": shared.logging.load(Relaxed),
        "connections": sum(Counter::Open),
        "accepted": sum(Counter::Accepted),
        "accept_failed": sum(Counter::AcceptFailed),
        "transports": {
            "long-poll": sum(Counter::LongPoll),
            "stream": sum(Counter::Stream),
            "sse": sum(Counter::Sse),
            "websocket": sum(Counter::WebSocket),
            "bayeux": sum(Counter::Bayeux),
            "bayeux-websocket": sum(Counter::BayeuxWebSocket),
        },
        "bayeux": {
            "sessions": sum(Counter::BayeuxSessions),
            "handshakes": sum(Counter::BayeuxHandshakes),
            "connects": sum(Counter::BayeuxConnects),
            "unknown_clients": sum(Counter::BayeuxUnknown),
            "expired": sum(Counter::BayeuxExpired),
        },
        "requests": sum(Counter::Requests),
        "bad_requests": sum(Counter::BadRequests),
        "polls": sum(Counter::Polls),
        "long_poll_answers": sum(Counter::LongPollAnswers),
        "long_poll_timeouts": sum(Counter::LongPollTimeouts),
        "history_gaps": sum(Counter::HistoryGaps),
        "publications": publications,
        "publish_refused": sum(Counter::PublishRefused),
        "channels": channels,
        "channels_total": channels_total,
        "deliveries": sum(Counter::Deliveries),
        "dropped": sum(Counter::Dropped),
        "disconnected": sum(Counter::Disconnected),
        "queue_depth_max": stats::max(threads.clone(), Counter::QueueDepthMax),
        "emitters": shared.emitters().len(),
        "emits": {
            "count": sum(Counter::Emits),
            "skipped": sum(Counter::EmitsSkipped),
            "passes": passes,
            "duration_us": {
                "mean": (passes > 0).then(|| sum(Counter::PassNs) / passes / 1000),
                "max": (passes > 0).then(|| stats::max(threads.clone(), Counter::PassNsMax) / 1000),
                "buckets": buckets,
            },
        },
        "faults": {
            "refused": sum(Counter::Refused),
            "half_open": sum(Counter::HalfOpen),
            "reset": sum(Counter::Reset),
        },
    })
}

/// CONTRACT 4.2: what a publisher is told.
pub(crate) fn published(channel: &str, accepted: Accepted) -> Value {
    json!({
        "channel": channel,
        "subscribers": accepted.subscribers,
        "queued": accepted.queued,
    })
}

/// CONTRACT 6.3: a long poll that heard nothing.
pub(crate) fn timed_out(hold_ms: u64, held_us: u64) -> Value {
    json!({ "timeout": true, "hold_ms": hold_ms, "held_us": held_us })
}
