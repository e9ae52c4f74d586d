//! Plans and a target for tests.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use pushmark_model::plan::*;
use pushmark_model::schedule::{Arrivals, Ramp};
use pushmark_model::template::Template;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;

const SECOND: u64 = 1_000_000_000;

/// An arm on one channel: ramp 1 s, settle 0, warm-up 1 s, measure 10 s, drain 2 s; 10/s.
pub(crate) fn arm(transport: Transport, connections: u64) -> ArmPlan {
    let plan = serde_json::json!({
        "transport": transport, "target": "test", "nonce": 77, "seed": 42,
        "subscribe": {
            "host": "127.0.0.1", "port": null, "tls": false, "path": "/", "headers": [], "subprotocol": "",
            "after_open": [], "ready": null, "every": [], "answer": [], "cursor": "none", "cookies": false,
            "resumes": false,
        },
        "publish": null, "connections": connections,
        "ramp": Ramp::constant(connections, connections as f64),
        "phases": Phases { ramp_ns: SECOND, settle_ns: 0, warmup_ns: SECOND, measure_ns: 10 * SECOND, drain_ns: 2 * SECOND },
        "deadline_ns": 2 * SECOND,
        "poll": PollPlan { interval_ns: SECOND, jitter: 0.0, after_answer: false, random_phase: true, conditional: false, adaptive: None },
        "hold_ns": SECOND, "keep_alive": true, "connect_timeout_ns": SECOND, "handshake_timeout_ns": SECOND,
        "idle_timeout_ns": null, "reconnect": "none",
        "subscriptions": { "channels": 1, "per_connection": 1, "room_size": null, "names": [] },
        "publisher": PublisherPlan {
            mode: Mode::External, interval_ns: 1e8, arrivals: Arrivals::Constant, aligned: true, connections: 4,
            size: Size::Fixed(128), check: false, count: None, timeout_ns: SECOND, alone_ns: None,
        },
        "stamp_sample": 0, "sources": [], "latest_value": false,
    });
    let arm: ArmPlan = serde_json::from_value(plan).expect("the plan above is one");
    debug_assert_eq!(arm.subscribe.path, Template::parse("/").expect("a literal"));
    arm
}

/// A target that runs inside the loop under test, so nothing else happens while it acts.
pub(crate) struct Target {
    listener: TcpListener,
    pub(crate) clients: Vec<TcpStream>,
    /// Requests received.
    pub(crate) requests: usize,
}

impl Target {
    /// Returns a target, and the plan of one shard that connects to it and starts now.
    pub(crate) fn of(arm: ArmPlan) -> (Target, ShardPlan) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let plan = ShardPlan {
            arm,
            shard: 0,
            shards: 1,
            start_ns: Clock::now(),
            subscribe_to: listener.local_addr().unwrap(),
            half: None,
            publish_to: None,
            before_to: Vec::new(),
            port: 0,
            clock_ahead_us: 0,
            machine_shards: Vec::new(),
        };
        (Target { listener, clients: Vec::new(), requests: 0 }, plan)
    }

    /// Accepts clients, and reads what they have sent.
    pub(crate) fn look(&mut self) {
        while let Ok((client, _)) = self.listener.accept() {
            client.set_nonblocking(true).unwrap();
            self.clients.push(client);
        }
        let mut buffer = [0; 4_096];
        for client in &mut self.clients {
            while let Ok(n @ 1..) = client.read(&mut buffer) {
                self.requests += buffer[..n].windows(4).filter(|end| end == b"\r\n\r\n").count();
            }
        }
    }

    /// As [`Target::writes_all`], for the clients that are still connected.
    pub(crate) fn says_all(&mut self, bytes: &[u8]) {
        self.clients.iter_mut().for_each(|client| drop(client.write_all(bytes)));
    }

    pub(crate) fn writes_all(&mut self, bytes: &[u8]) {
        self.clients.iter_mut().for_each(|client| client.write_all(bytes).unwrap());
    }
}
