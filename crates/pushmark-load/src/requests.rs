//! The requests of the crowd and of the publisher: the arm's templates, filled in.

use std::net::SocketAddr;

use pushmark_model::message::Message;
use pushmark_model::plan::{ArmPlan, Cursor, ShardPlan};
use pushmark_model::template::{Captures, Drawn, Template, Values};
use pushmark_model::transport::Transport;
use pushmark_proto::client::bayeux::write_channels;
use pushmark_proto::client::{self, Client, Config, CursorSource, Lane, Request};
use pushmark_proto::websocket::deflate::Offer;

/// A client's number, its channels, and what its steps took.
pub(crate) type Of<'o> = (u32, &'o [u32], Option<&'o Captures>);

/// Fills templates into buffers that are used again.
#[derive(Debug)]
pub(crate) struct Requests {
    names: Vec<String>,
    subscribe_authority: String,
    publish_authority: String,
    before_authorities: Vec<String>,
    hold_ms: u64,
    port: u16,
    drawn: Drawn,
    path: Vec<u8>,
    headers: Vec<u8>,
    body: Vec<u8>,
}

impl Requests {
    pub(crate) fn new(plan: &ShardPlan) -> Requests {
        let arm = &plan.arm;
        Requests {
            names: (0..arm.subscriptions.channels).map(|c| arm.channel_name(c)).collect(),
            subscribe_authority: authority(&arm.subscribe.host, plan.subscribe_to),
            publish_authority: match (&arm.publish, plan.publish_to) {
                (Some(publish), Some(to)) => authority(&publish.host, to),
                _ => String::new(),
            },
            before_authorities: arm
                .requests()
                .zip(&plan.before_to)
                .map(|(request, to)| authority(&request.host, *to))
                .collect(),
            hold_ms: arm.hold_ns / 1_000_000,
            port: plan.port,
            drawn: Drawn::new(u64::from(arm.nonce) << 32 | u64::from(plan.shard)),
            path: Vec::new(),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    /// Returns the channel with this name.
    pub(crate) fn channel_named(&self, name: &str) -> Option<u32> {
        // Almost always of the form `c12`. Other names are searched for.
        let number = name.strip_prefix('c').and_then(|n| n.parse::<usize>().ok());
        match number.filter(|&n| self.names.get(n).is_some_and(|have| have == name)) {
            Some(n) => Some(n as u32),
            None => self.names.iter().position(|have| have == name).map(|n| n as u32),
        }
    }

    /// Appends a client's next request.
    pub(crate) fn subscribe(
        &mut self,
        arm: &ArmPlan,
        config: &Config,
        client: &mut Client,
        lane: Lane,
        (number, channels, captures): Of<'_>,
        out: &mut Vec<u8>,
    ) {
        self.body.clear();
        if client.will_subscribe(lane) {
            let names: Vec<String> =
                channels.iter().map(|&channel| self.bayeux_channel(arm, number, channel)).collect();
            write_channels(names.iter().map(String::as_str), &mut self.body);
        }
        let names: Vec<&str> = channels.iter().map(|&c| self.names[c as usize].as_str()).collect();
        let values = Values {
            channels: &names,
            client: u64::from(number),
            fields: arm.clients.as_ref(),
            cursor: client.cursor(),
            hold_ms: self.hold_ms,
            port: self.port,
            secrets: Some(&arm.secrets),
            captures,
            drawn: Some(&self.drawn),
            ..Values::default()
        };
        self.path.clear();
        arm.subscribe.path.render(&values, &mut self.path);
        self.headers.clear();
        render_headers(&arm.subscribe.headers, &values, &mut self.headers);
        if !arm.keep_alive && !arm.transport.is_push() {
            self.headers.extend_from_slice(b"Connection: close\r\n");
        }
        if let Some(body) = &arm.subscribe.body {
            body.render(&values, &mut self.body);
        }
        let request = Request {
            method: &arm.subscribe.method,
            target: text(&self.path),
            authority: &self.subscribe_authority,
            headers: text(&self.headers),
            body: &self.body,
        };
        client.write_lane(config, lane, &request, out);
    }

    /// Returns the Bayeux channel of a channel, for one client.
    pub(crate) fn bayeux_channel(&self, arm: &ArmPlan, number: u32, channel: u32) -> String {
        let mut name = Vec::new();
        if let Some(bayeux) = &arm.subscribe.bayeux {
            let of = (number, &[channel][..], None);
            self.with_values(arm, of, |values| bayeux.channel.render(values, &mut name));
        }
        text(&name).to_owned()
    }

    /// Appends a message filled in for one client (one after open, a peer's publication).
    pub(crate) fn fill(&self, arm: &ArmPlan, what: &Message, of: Of<'_>, message: &[u8], out: &mut Vec<u8>) {
        self.with_values(arm, of, |values| what.render(&Values { message, ..*values }, out));
    }

    /// Calls `use_` with the values of one client.
    pub(crate) fn with_values<R>(&self, arm: &ArmPlan, of: Of<'_>, use_: impl FnOnce(&Values<'_>) -> R) -> R {
        let (number, channels, captures) = of;
        let names: Vec<&str> = channels.iter().map(|&c| self.names[c as usize].as_str()).collect();
        use_(&Values {
            channels: &names,
            client: u64::from(number),
            fields: arm.clients.as_ref(),
            hold_ms: self.hold_ms,
            port: self.port,
            secrets: Some(&arm.secrets),
            captures,
            drawn: Some(&self.drawn),
            ..Values::default()
        })
    }

    /// Appends a request before the subscription of a client, or beside it (a position in [`ArmPlan::requests`]).
    pub(crate) fn before(
        &mut self,
        arm: &ArmPlan,
        at: usize,
        of: Of<'_>,
        exchange: &mut client::Exchange,
        out: &mut Vec<u8>,
    ) {
        let Some(request) = arm.requests().nth(at) else { return };
        let (mut path, mut headers, mut body) = (Vec::new(), Vec::new(), Vec::new());
        self.with_values(arm, of, |values| {
            request.path.render(values, &mut path);
            render_headers(&request.headers, values, &mut headers);
            if let Some(template) = &request.body {
                template.render(values, &mut body);
            }
        });
        let filled = Request {
            method: &request.method,
            target: text(&path),
            authority: &self.before_authorities[at],
            headers: text(&headers),
            body: &body,
        };
        exchange.write_request(&filled, out);
    }

    /// Appends the request of a publication.
    pub(crate) fn publish(
        &mut self,
        arm: &ArmPlan,
        exchange: &mut client::Exchange,
        channel: u32,
        message: &[u8],
        out: &mut Vec<u8>,
    ) {
        let Some(publish) = &arm.publish else { return };
        let names = [self.names[channel as usize].as_str()];
        let values = publication(arm, (self.port, &self.drawn), &names, message);
        self.path.clear();
        publish.path.render(&values, &mut self.path);
        self.headers.clear();
        render_headers(&publish.headers, &values, &mut self.headers);
        self.body.clear();
        publish.body.render(&values, &mut self.body);
        let request = Request {
            method: &publish.method,
            target: text(&self.path),
            authority: &self.publish_authority,
            headers: text(&self.headers),
            body: &self.body,
        };
        exchange.write_request(&request, out);
    }
}

/// The texts of a feed. A publication allocates nothing here.
impl Requests {
    /// Appends the upgrade of a feed's connection, which has this number.
    pub(crate) fn feed_request(
        &mut self,
        arm: &ArmPlan,
        feed: u64,
        config: &Config,
        client: &mut Client,
        out: &mut Vec<u8>,
    ) {
        let Some(publish) = &arm.publish else { return };
        let values = Values { feed, ..publication(arm, (self.port, &self.drawn), &[], &[]) };
        self.path.clear();
        publish.path.render(&values, &mut self.path);
        self.headers.clear();
        render_headers(&publish.headers, &values, &mut self.headers);
        let request = Request {
            method: "GET",
            target: text(&self.path),
            authority: &self.publish_authority,
            headers: text(&self.headers),
            body: &[],
        };
        client.write_request(config, &request, out);
    }

    /// Returns the message that publishes one, and whether it is a text.
    pub(crate) fn feed_text(&mut self, arm: &ArmPlan, channel: u32, message: &[u8]) -> (bool, &[u8]) {
        self.body.clear();
        if let Some(publish) = &arm.publish {
            let names = [self.names[channel as usize].as_str()];
            let values = publication(arm, (self.port, &self.drawn), &names, message);
            publish.body.render(&values, &mut self.body);
        }
        (arm.publish.as_ref().is_none_or(|publish| publish.body.is_text()), &self.body)
    }

    /// Returns what a feed sends after it is open.
    pub(crate) fn feed_fill(&mut self, arm: &ArmPlan, feed: u64, what: &Message) -> &[u8] {
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let values = Values { feed, ..publication(arm, (self.port, &self.drawn), &names, &[]) };
        self.body.clear();
        what.render(&values, &mut self.body);
        &self.body
    }
}

/// Returns the protocol settings of this arm's clients.
pub(crate) fn config(arm: &ArmPlan) -> Config {
    let mut config = Config::new(match arm.transport {
        Transport::Poll => client::Transport::Poll,
        Transport::LongPoll => client::Transport::LongPoll,
        Transport::Stream => client::Transport::Stream,
        Transport::Sse => client::Transport::Sse,
        Transport::WebSocket => client::Transport::WebSocket,
        Transport::Bayeux => client::Transport::Bayeux,
        Transport::BayeuxWebSocket => client::Transport::BayeuxWebSocket,
    });
    config.cursor = match &arm.subscribe.cursor {
        Cursor::None => CursorSource::None,
        Cursor::Header(name) => CursorSource::Header(name.clone()),
        Cursor::Json(pointer) => CursorSource::Json(pointer.clone()),
    };
    config.ready = arm.subscribe.ready.as_ref().map(|text| text.clone().into_bytes());
    config.answers = arm
        .subscribe
        .answer
        .iter()
        .map(|a| {
            // A text that is the same for all clients is written where the message is parsed.
            let fixed = a.send.is_text() && a.send.places().next().is_none();
            let send = fixed.then(|| a.send.rendered(&Values::default()));
            (a.on.rendered(&Values::default()), send)
        })
        .collect();
    config.separator = arm.subscribe.separator;
    config.subprotocol = arm.subscribe.subprotocol.clone();
    config.deflate = arm.subscribe.deflate.map(|deflate| Offer {
        no_context_takeover: deflate.no_context_takeover,
        window_bits: deflate.window_bits,
    });
    config.conditional = arm.poll.conditional;
    config.cookies = arm.subscribe.cookies;
    config.bayeux.acknowledge = arm.subscribe.bayeux.as_ref().is_some_and(|b| b.acknowledge);
    // Servers older than the specification do not accept an array of channels. All accept one channel a
    // message.
    config.bayeux.subscribe_each = true;
    config
}

fn authority(host: &str, address: SocketAddr) -> String {
    if host.contains(':') {
        format!("[{host}]:{}", address.port())
    } else {
        format!("{host}:{}", address.port())
    }
}

/// Returns the values of a publication from outside. It has no client, so the client's values are absent.
fn publication<'v>(
    arm: &'v ArmPlan,
    (port, drawn): (u16, &'v Drawn),
    channels: &'v [&'v str],
    message: &'v [u8],
) -> Values<'v> {
    let secrets = Some(&arm.secrets);
    Values { channels, port, message, secrets, drawn: Some(drawn), ..Values::default() }
}

fn render_headers(headers: &[(String, Template)], values: &Values<'_>, out: &mut Vec<u8>) {
    for (name, value) in headers {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        value.render(values, out);
        out.extend_from_slice(b"\r\n");
    }
}

fn text(bytes: &[u8]) -> &str {
    // Templates and the values in paths and headers are text. Only a body takes raw bytes.
    std::str::from_utf8(bytes).expect("filled from text")
}
