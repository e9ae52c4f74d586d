//! The instructions for a page: where and how to subscribe, as a client of the crowd does.

use std::net::SocketAddr;

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::message::Message;
use pushmark_model::plan::{ArmPlan, Cursor, Tls};
use pushmark_model::template::{Template, Values};
use pushmark_model::transport::Transport;
use serde_json::{Value, json};

use super::chromium::Permissions;

/// Marks the place in a URL at which the page inserts its cursor.
const CURSOR: &str = "__cursor__";

/// Why a browser cannot be a client of this arm.
pub(super) fn refusal(plan: &ArmPlan) -> Option<String> {
    let fetched = matches!(plan.transport, Transport::Poll | Transport::LongPoll | Transport::Stream);
    if !plan.subscribe.headers.is_empty() && !fetched && plan.transport != Transport::Bayeux {
        return Some(format!("a page cannot send header fields over {}", plan.transport));
    }
    if plan.subscribe.bayeux.as_ref().is_some_and(|bayeux| bayeux.acknowledge) {
        return Some("the page's Bayeux client has no acknowledge extension".to_owned());
    }
    if plan.transport == Transport::Poll && (plan.poll.adaptive.is_some() || plan.poll.jitter > 0.0) {
        return Some("the page polls at a fixed interval".to_owned());
    }
    if secured_by(plan).is_some_and(|tls| tls.cert.is_some()) {
        return Some("a page would need the clients' certificate in its browser's own store".to_owned());
    }
    None
}

/// The TLS settings of a page's connection; `None` without TLS.
fn secured_by(plan: &ArmPlan) -> Option<&Tls> {
    plan.tls.as_ref().filter(|_| plan.subscribe.tls)
}

/// Permissions of this arm's pages that a user's pages do not have.
pub(super) fn leave(plan: &ArmPlan) -> Permissions {
    Permissions {
        // WebSockets may be opened to any origin; other requests need the target's permission (CORS), which
        // few grant.
        reads_any: !matches!(plan.transport, Transport::WebSocket | Transport::BayeuxWebSocket),
        // A browser has its own certificate authorities and takes no other from a command line. The crowd,
        // which connects to the same address, verifies the target.
        believes_any: secured_by(plan).is_some_and(|tls| tls.insecure || tls.ca.is_some()),
    }
}

/// Whether each answer needs a request: its path through the browser differs from a frame's.
pub(super) fn asks_again(transport: Transport) -> bool {
    matches!(transport, Transport::Poll | Transport::LongPoll | Transport::Bayeux)
}

/// The channels of probe `number`: those of a member of the crowd. The probes are spread over the crowd.
pub(super) fn channels(plan: &ArmPlan, number: usize) -> Vec<u32> {
    let member = plan.connections * number as u64 / u64::from(plan.browsers.max(1));
    plan.channels_of(member)
}

/// The whole instruction for probe `number`.
pub(super) fn subscribe(plan: &ArmPlan, number: usize, at: SocketAddr, port: u16) -> Value {
    let names: Vec<String> = channels(plan, number).iter().map(|&c| plan.channel_name(c)).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let of = &plan.subscribe;
    let values = Values {
        channels: &names,
        // After the numbers of the crowd, so that all clients differ.
        client: plan.connections + number as u64,
        fields: plan.clients.as_ref(),
        cursor: CURSOR,
        hold_ms: plan.hold_ns / 1_000_000,
        port,
        secrets: Some(&plan.secrets),
        ..Values::default()
    };
    let fill = |template: &Template| template.render_text(&values);
    let said = |message: &Message| message.render_text(&values);
    let socket = matches!(plan.transport, Transport::WebSocket | Transport::BayeuxWebSocket);
    let scheme = match (socket, of.tls) {
        (true, false) => "ws",
        (true, true) => "wss",
        (false, false) => "http",
        (false, true) => "https",
    };
    let host = if of.host.contains(':') { format!("[{}]", of.host) } else { of.host.clone() };
    let subprotocols: Vec<&str> =
        of.subprotocol.split(',').map(str::trim).filter(|s| !s.is_empty()).collect();
    let bayeux = |name: &&str| -> String {
        let values = Values { channels: std::slice::from_ref(name), ..values };
        of.bayeux.as_ref().map_or(String::new(), |bayeux| bayeux.channel.render_text(&values))
    };
    let phase = Draw::new(plan.seed, Purpose::PollPhase, values.client).unit();
    json!({
        "transport": plan.transport.name(),
        "url": format!("{scheme}://{host}:{}{}", at.port(), fill(&of.path)),
        "channels": names.iter().map(bayeux).collect::<Vec<_>>(),
        "headers": of.headers.iter().map(|(name, value)| (name.clone(), fill(value).into()))
            .collect::<serde_json::Map<String, Value>>(),
        "cookies": of.cookies && of.bayeux.is_none(),
        "subprotocols": subprotocols,
        "after_open": of.after_open.iter().map(said).collect::<Vec<_>>(),
        "ready": of.ready,
        "every": of.every.iter().map(|e| json!({ "after_ms": e.after_ns / 1_000_000, "send": said(&e.send) }))
            .collect::<Vec<_>>(),
        "answer": of.answer.iter().map(|a| json!({ "on": said(&a.on), "send": said(&a.send) })).collect::<Vec<_>>(),
        "cursor": match &of.cursor {
            Cursor::None => Value::Null,
            Cursor::Header(name) => json!({ "header": name }),
            Cursor::Json(pointer) => json!({ "json": pointer }),
        },
        "requests": asks_again(plan.transport),
        "poll": {
            "interval_ms": plan.poll.interval_ns as f64 / 1e6,
            "phase_ms": if plan.poll.random_phase { phase * plan.poll.interval_ns as f64 / 1e6 } else { 0.0 },
            "after_answer": plan.poll.after_answer,
            "conditional": plan.poll.conditional,
        },
    })
}
