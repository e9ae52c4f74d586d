//! A kind of hostile target: its behaviour, and how a run against it must end.

use std::sync::Arc;

use serde_json::Value;

use crate::run::Serve;
use crate::wire::Wire;

/// The transports over plain HTTP, for targets that ignore the request.
pub(crate) const HTTP: &[&str] = &["sse", "stream", "long-poll", "poll"];

/// Judges the arm of a kept run.
type Judge = fn(&Value) -> Result<(), String>;

/// A row of a family's table.
pub(crate) struct Kind {
    pub(crate) name: &'static str,
    /// The kind runs over one of them, drawn by its name; over all in a long run.
    pub(crate) transports: &'static [&'static str],
    pub(crate) serve: Arc<Serve>,
    pub(crate) publish: Arc<Serve>,
    /// The scenario's URLs use TLS.
    pub(crate) secure: bool,
    /// Further keys of the subscription's table.
    pub(crate) subscribe: &'static str,
    /// Further keys of `[target]`, `[load]` and `[publisher]`.
    pub(crate) target: &'static str,
    pub(crate) load: String,
    pub(crate) publisher: &'static str,
    /// Publications go over WebSockets that stay open.
    pub(crate) feeds: bool,
    /// Nothing is published.
    pub(crate) observed: bool,
    /// An addition to the query of a subscription.
    pub(crate) query: &'static str,
    /// The highest accepted memory peak of the run, MiB.
    pub(crate) peak_max_mib: u64,
    /// Accepted exit codes.
    pub(crate) codes: &'static [i32],
    /// Texts that the terminal must show, all of them.
    pub(crate) says: Vec<&'static str>,
    pub(crate) judge: Option<Judge>,
    /// Every other client is served correctly: all its deliveries must have arrived.
    pub(crate) half: bool,
}

/// Returns a target that serves subscriptions with `serve`, and takes publications correctly.
pub(crate) fn kind(
    name: &'static str,
    transports: &'static [&'static str],
    serve: impl Fn(&mut Wire) -> Option<()> + Send + Sync + 'static,
) -> Kind {
    Kind {
        name,
        transports,
        serve: Arc::new(serve),
        publish: Arc::new(take_publications),
        secure: false,
        subscribe: "",
        target: "",
        load: String::new(),
        publisher: "",
        feeds: false,
        observed: false,
        query: "",
        peak_max_mib: PEAK_MAX_MIB,
        // Refused; or invalid, if this machine was too busy to see the refusal in time.
        codes: &[3, 6],
        says: Vec::new(),
        judge: None,
        half: false,
    }
}

impl Kind {
    pub(crate) fn ends(mut self, codes: &'static [i32]) -> Kind {
        self.codes = codes;
        self
    }

    pub(crate) fn says(mut self, text: &'static str) -> Kind {
        self.says.push(text);
        self
    }

    pub(crate) fn judged(mut self, judge: Judge) -> Kind {
        self.judge = Some(judge);
        self
    }

    pub(crate) fn subscribe(mut self, keys: &'static str) -> Kind {
        self.subscribe = keys;
        self
    }

    pub(crate) fn target(mut self, keys: &'static str) -> Kind {
        self.target = keys;
        self
    }

    pub(crate) fn load(mut self, keys: &'static str) -> Kind {
        self.load.push_str(keys);
        self.load.push('\n');
        self
    }

    /// Sends publications over WebSockets that stay open.
    pub(crate) fn feeds(mut self) -> Kind {
        self.feeds = true;
        self
    }

    /// Publishes nothing: the target is only observed.
    pub(crate) fn observed(mut self) -> Kind {
        self.observed = true;
        self
    }

    /// Adds to the query of a subscription.
    pub(crate) fn query(mut self, query: &'static str) -> Kind {
        self.query = query;
        self
    }

    /// Sets another memory bound; the caller comments the reason.
    pub(crate) fn peak_max_mib(mut self, mib: u64) -> Kind {
        self.peak_max_mib = mib;
        self
    }

    pub(crate) fn publisher(mut self, keys: &'static str) -> Kind {
        self.publisher = keys;
        self
    }

    pub(crate) fn secure(mut self) -> Kind {
        self.secure = true;
        self
    }

    /// Serves publications with this instead.
    pub(crate) fn publish(
        mut self,
        publish: impl Fn(&mut Wire) -> Option<()> + Send + Sync + 'static,
    ) -> Kind {
        self.publish = Arc::new(publish);
        self
    }

    /// Serves clients with an even number correctly: all their deliveries arrive.
    pub(crate) fn half(mut self) -> Kind {
        let hostile = self.serve;
        self.serve = Arc::new(move |wire: &mut Wire| {
            let asked = wire.request()?;
            wire.put_back(&asked);
            wire.pace();
            if asked.client() % 2 == 1 { hostile(wire) } else { serve_honestly(wire) }
        });
        self.half = true;
        self.patient().ends(&[5, 6, 99])
    }

    /// Holds on a busy machine too: all clients are connected before the first publication, and data that
    /// is unread behind a flood is read in the end.
    pub(crate) fn patient(self) -> Kind {
        self.load(PATIENT).publisher("timeout = \"10s\"")
    }

    /// Returns the scenario for the given addresses of subscriptions and publications.
    pub(crate) fn scenario(&self, transport: &str, subscribe_to: &str, publish_to: &str) -> String {
        let Kind { target, load, publisher, subscribe, query, .. } = self;
        let scheme = if transport.ends_with("websocket") { "ws" } else { "http" };
        let tls = if self.secure { "s" } else { "" };
        let url = format!("{scheme}{tls}://{subscribe_to}/hear?client={{client}}{query}");
        let channel = if transport.starts_with("bayeux") { ", channel = \"/{channel}\"" } else { "" };
        let mut text = format!(
            "[target]\n{target}\n[target.subscribe]\n{transport} = {{ url = \"{url}\"{channel}{subscribe} }}\n\
             [load]\nconnections = {CLIENTS}\n{}\n{load}\n",
            unless(load, LOAD),
        );
        if !self.observed {
            text += &format!("[target.publish]\nurl = \"http://{publish_to}/publish?channel={{channel}}\"\n");
            let feed = "websocket = { url = \"ws://@/feed\", text = \"publish {channel} {message}\" }\n";
            text += &if self.feeds { feed.replace('@', publish_to) } else { String::new() };
            text += &format!("[publisher]\n{}\n{publisher}\n", unless(publisher, PUBLISHER));
            text += if self.feeds { "over = \"websocket\"\n" } else { "" };
        }
        text
    }
}

/// Returns the lines whose keys are not given already.
fn unless(given: &str, lines: &str) -> String {
    let key = |line: &str| line.split(" =").next().map(str::to_owned);
    let kept = lines.lines().filter(|line| !given.lines().any(|other| key(other) == key(line)));
    kept.collect::<Vec<_>>().join("\n")
}

const PUBLISHER: &str = r#"rate = "20/s"
timeout = "500ms""#;

const PATIENT: &str = r#"settle = "2s"
drain = "4s"
connect_timeout = "10s"
handshake_timeout = "10s""#;

const LOAD: &str = r#"ramp = { rate = 400 }
settle = "100ms"
warmup = "0s"
duration = "500ms"
drain = "300ms"
connect_timeout = "500ms"
handshake_timeout = "700ms"
poll_interval = "100ms"
hold = "300ms""#;

/// A run against a correct target needs about 30 MiB; a client or a message may keep a few hundred KiB at
/// most.
const PEAK_MAX_MIB: u64 = 64;

pub(crate) const CLIENTS: u64 = 8;
/// Publications of the measure phase: 20 a second for half a second.
pub(crate) const PUBLISHED: f64 = 10.0;

/// Takes publications as a push server should.
pub(crate) fn take_publications(wire: &mut Wire) -> Option<()> {
    loop {
        let asked = wire.request()?;
        wire.hub.publish(&asked.body);
        wire.send("HTTP/1.1 204 No Content\r\n\r\n")?;
    }
}

/// Sends every published message, over the requested transport.
pub(crate) fn serve_honestly(wire: &mut Wire) -> Option<()> {
    let asked = wire.request()?;
    let head = String::from_utf8_lossy(&asked.head).to_lowercase();
    if head.contains("upgrade: websocket") {
        wire.put_back(&asked);
        wire.upgrade()?;
        return wire.relay(crate::websocket::text);
    }
    wire.send(EVENT_STREAM)?;
    wire.relay(|message| [b"data: ", message, b"\n\n"].concat())
}

/// The head of an event stream.
pub(crate) const EVENT_STREAM: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";

/// Checks a condition; the error is the reason.
pub(crate) fn holds(what: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if what { Ok(()) } else { Err(why()) }
}
