//! The JSON documents of the contract, as this server writes them (CONTRACT 2, 4 and 5).

use std::sync::atomic::Ordering::Relaxed;

use pushmark_net::Clock;
use pushmark_proto::http1::write;
use serde_json::{Value, json};

use crate::hub::Accepted;
use crate::shared::Shared;
use crate::stats::{self, Counter};

/// The most channels that `/stats` lists. It also contains the number of all channels.
const CHANNELS_LISTED_MAX: usize = 4096;

/// CONTRACT 2.2: the client's time as sent, and the server's.
pub(crate) fn time(client: &str) -> Value {
    // A number stays a number, so that it is returned as it was sent.
    let client = client.parse::<u64>().map_or_else(|_| json!(client), |us| json!(us));
    json!({
        "client": client,
        "monotonic_us": Clock::now() / 1000,
        "realtime_us": Clock::realtime() / 1000,
    })
}

/// CONTRACT 2.3: all counters, as text. The channels are written directly: there may be thousands, and
/// frequent requests must not delay other clients.
pub(crate) fn stats(shared: &Shared) -> Vec<u8> {
    let (publications, listings, channels_total) = shared.hub.listings(CHANNELS_LISTED_MAX);
    let rest = counted(shared, publications, channels_total).to_string();
    let mut out = Vec::with_capacity(rest.len() + 96 * listings.len());
    out.extend_from_slice(b"{\"channels\":{");
    for (n, listing) in listings.iter().enumerate() {
        // A name contains no character that JSON escapes.
        out.extend_from_slice(if n == 0 { b"\"" } else { b",\"" });
        out.extend_from_slice(listing.name.as_bytes());
        out.extend_from_slice(b"\":{\"published\":");
        write::decimal(&mut out, listing.published);
        out.extend_from_slice(b",\"last\":");
        match listing.last {
            Some(stamp) => write::decimal(&mut out, stamp.sequence),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"subscribers\":");
        write::decimal(&mut out, listing.subscribers.load(Relaxed));
        out.push(b'}');
    }
    out.extend_from_slice(b"},");
    out.extend_from_slice(&rest.as_bytes()[1..]);
    out
}

/// Returns everything except the channels.
fn counted(shared: &Shared, publications: u64, channels_total: usize) -> Value {
    let threads = shared.counters.iter().map(|counters| &**counters);
    let sum = |counter| stats::sum(threads.clone(), counter);
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
        "bounds": {
            "host_refused": sum(Counter::HostRefused),
            "origin_refused": sum(Counter::OriginRefused),
            "token_refused": sum(Counter::TokenRefused),
            "stalls": sum(Counter::Stalls),
            "pongs_skipped": sum(Counter::PongsSkipped),
            "too_slow": sum(Counter::TooSlow),
            "untaken": sum(Counter::Untaken),
            "kept_full": sum(Counter::KeptFull),
            "queues_full": sum(Counter::QueuesFull),
            "states_forgotten": sum(Counter::StatesForgotten),
            "subscriptions_refused": sum(Counter::SubscriptionsRefused),
        },
        "faults": {
            "refused": sum(Counter::Refused),
            "half_open": sum(Counter::HalfOpen),
            "reset": sum(Counter::Reset),
        },
    })
}

/// CONTRACT 4.2: the answer to a publisher.
pub(crate) fn published(channel: &str, accepted: Accepted) -> Value {
    json!({
        "channel": channel,
        "subscribers": accepted.subscribers,
        "queued": accepted.queued,
    })
}

/// CONTRACT 6.3: a long poll whose hold elapsed without a message.
pub(crate) fn timed_out(hold_ms: u64, held_us: u64) -> Value {
    json!({ "timeout": true, "hold_ms": hold_ms, "held_us": held_us })
}
