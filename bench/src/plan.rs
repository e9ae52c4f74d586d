//! The measured arms: one channel, one emitter, every connection receives its messages.

use std::net::{IpAddr, Ipv4Addr};

use pushmark_model::plan::*;
use pushmark_model::poller::Poller;
use pushmark_model::schedule::{Arrivals, Ramp};
use pushmark_model::template::Template;
use pushmark_model::transport::Transport;

const SECOND_NS: u64 = 1_000_000_000;
/// Pollers are there to be held, not to load the server.
const POLL_INTERVAL_NS: u64 = 20 * SECOND_NS;
/// Payload with its stamp.
const SIZE: u32 = 128;

/// What varies between the questions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask {
    pub(crate) transport: Transport,
    pub(crate) connections: u64,
    /// Connections begun a second.
    pub(crate) connect_rate: f64,
    /// Between two publications.
    pub(crate) interval_us: u64,
    /// The most publications.
    pub(crate) count: Option<u64>,
    pub(crate) settle_ns: u64,
    pub(crate) warmup_ns: u64,
    pub(crate) measure_ns: u64,
    /// One connection in this many carries kernel stamps; 0: no connection.
    pub(crate) stamp_sample: u32,
    /// How long arrivals gather; 0: not at all.
    pub(crate) batch_ns: u64,
    /// How the driver waits and reads.
    pub(crate) poller: Poller,
    /// Over TLS, to a terminator in front of the server.
    pub(crate) tls: bool,
    /// Publications that the server puts into one write to a client.
    pub(crate) per_write: u64,
}

impl Ask {
    /// The plainest: ten seconds after one of warm-up, by epoll, each arrival by itself.
    pub(crate) fn of(transport: Transport, connections: u64, interval_us: u64) -> Ask {
        Ask {
            transport,
            connections,
            connect_rate: 5_000.0,
            interval_us,
            count: None,
            settle_ns: 0,
            warmup_ns: SECOND_NS,
            measure_ns: 10 * SECOND_NS,
            stamp_sample: 0,
            batch_ns: 0,
            poller: Poller::Epoll,
            tls: false,
            per_write: 1,
        }
    }

    /// How long the server gathers what it has for a client, µs: a write leaves half an interval after
    /// its last publication.
    pub(crate) fn server_gathers_us(&self) -> u64 {
        match self.per_write {
            0 | 1 => 0,
            more => self.interval_us * (2 * more - 1) / 2,
        }
    }
}

/// The path of a subscription, as a template.
pub(crate) fn path(transport: Transport) -> &'static str {
    match transport {
        Transport::Poll => "/poll?channel=c0&since={cursor}",
        Transport::LongPoll => "/long-poll?channel=c0&hold={hold_ms}&since={cursor}",
        Transport::Stream => "/stream?channel=c0",
        Transport::Sse => "/sse?channel=c0",
        Transport::WebSocket => "/ws?channel=c0",
        Transport::Bayeux | Transport::BayeuxWebSocket => "/cometd",
    }
}

/// The arm; its phases are whole seconds, so that a record ends where measure does.
pub(crate) fn arm(ask: &Ask) -> ArmPlan {
    let polls = !ask.transport.is_push();
    let ramp = Ramp::constant(ask.connections, ask.connect_rate);
    ArmPlan {
        transport: ask.transport,
        target: "builtin".to_owned(),
        nonce: 0xB37C4,
        seed: 42,
        subscribe: Subscribe {
            host: "127.0.0.1".to_owned(),
            port: None,
            tls: ask.tls,
            method: "GET".to_owned(),
            path: Template::parse(path(ask.transport)).expect("a literal"),
            headers: Vec::new(),
            body: None,
            ends: false,
            subprotocol: String::new(),
            deflate: None,
            steps: Vec::new(),
            separator: None,
            after_open: Vec::new(),
            ready: None,
            every: Vec::new(),
            answer: Vec::new(),
            respond: Vec::new(),
            ignore: None,
            cursor: if polls { Cursor::Header("pushmark-cursor".to_owned()) } else { Cursor::None },
            cookies: ask.transport.is_bayeux(),
            resumes: polls,
            peer: None,
            bayeux: ask.transport.is_bayeux().then(|| Bayeux {
                channel: Template::parse("/{channel}").expect("a literal"),
                acknowledge: false,
            }),
        },
        publish: None,
        before: Vec::new(),
        // The terminator's certificate is its own.
        tls: ask.tls.then(|| Tls { insecure: true, ..Tls::default() }),
        connections: ask.connections,
        phases: Phases {
            ramp_ns: ramp.length_ns().div_ceil(SECOND_NS) * SECOND_NS,
            settle_ns: ask.settle_ns,
            warmup_ns: ask.warmup_ns,
            measure_ns: ask.measure_ns,
            drain_ns: SECOND_NS,
        },
        ramp,
        deadline_ns: SECOND_NS,
        poll: PollPlan {
            interval_ns: POLL_INTERVAL_NS,
            jitter: 0.0,
            after_answer: false,
            random_phase: true,
            conditional: false,
            adaptive: None,
        },
        hybrid: None,
        hold_ns: 120 * SECOND_NS,
        keep_alive: true,
        instrumented: false,
        connect_timeout_ns: 10 * SECOND_NS,
        handshake_timeout_ns: 10 * SECOND_NS,
        idle_timeout_ns: None,
        reconnect: Reconnect::None,
        subscriptions: Subscriptions { channels: 1, per_connection: 1, room_size: None, names: Vec::new() },
        publisher: Some(PublisherPlan {
            mode: Mode::Emitter,
            interval_ns: ask.interval_us as f64 * 1e3,
            arrivals: Arrivals::Constant,
            aligned: true,
            connections: 1,
            size: Size::Fixed(SIZE),
            count: ask.count,
            timeout_ns: SECOND_NS,
            alone_ns: None,
            check: false,
        }),
        stamp_sample: ask.stamp_sample,
        batch_ns: ask.batch_ns,
        poller: ask.poller,
        sources: sources(ask.connections),
        latest_value: false,
        clients: None,
        secrets: Default::default(),
        browsers: 0,
        flood: None,
        steady: None,
        target_stamp: None,
        decode: None,
    }
}

/// As `pushmark run` does: beyond 45 % of a source's ports the kernel searches long for one.
fn sources(connections: u64) -> Vec<IpAddr> {
    match connections {
        0..=12_000 => Vec::new(),
        _ => vec![Ipv4Addr::new(127, 0, 0, 1).into(), Ipv4Addr::new(127, 0, 0, 2).into()],
    }
}

/// The emitter that publishes on an arm's schedule.
pub(crate) fn emitter(arm: &ArmPlan, ask: &Ask, start_ns: u64) -> serde_json::Value {
    serde_json::json!({
        "interval_us": ask.interval_us,
        "size": SIZE,
        "channels": ["c0"],
        "nonce": arm.nonce,
        "start_us": (start_ns + arm.phases.warmup_start_ns()) / 1_000,
        "count": due_in(arm, arm.phases.measure_end_ns()),
    })
}

/// Publications due before an instant, ns from the arm's start.
pub(crate) fn due_in(arm: &ArmPlan, before_ns: u64) -> u64 {
    let mut schedule = arm.schedule(0);
    std::iter::from_fn(|| schedule.take_due(before_ns - 1)).count() as u64
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn ask() -> Ask {
        Ask { connect_rate: 10_000.0, ..Ask::of(Transport::Sse, 5_000, 100_000) }
    }

    #[test]
    fn a_write_leaves_between_two_publications() {
        let us = |per_write| Ask { per_write, ..ask() }.server_gathers_us();
        assert_eq!([1, 2, 4].map(us), [0, 150_000, 350_000]);
    }

    #[test]
    fn both_sides_agree_on_what_is_due() {
        let (ask, arm) = (ask(), arm(&ask()));
        assert_eq!(arm.phases.measure_end_ns(), 12 * SECOND_NS);
        assert_eq!(due_in(&arm, arm.phases.measure_end_ns()), 110);
        assert_eq!(due_in(&arm, arm.phases.measure_start_ns()), 10);
        let document = emitter(&arm, &ask, 5 * SECOND_NS);
        assert_eq!((document["start_us"].as_u64(), document["count"].as_u64()), (Some(6_000_000), Some(110)));
    }

    #[test]
    fn every_transport_has_a_path() {
        for transport in Transport::ALL {
            assert!(Template::parse(path(transport)).is_ok(), "{transport}");
        }
    }
}
