//! Performs a complete request.

use std::sync::atomic::Ordering::Relaxed;

use pushmark_net::Clock;
use pushmark_proto::http1::RequestHead;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Shard;
use super::bayeux::Carrier;
use super::ending::Ending;
use crate::documents;
use crate::emitter::{Emitter, EmitterSpec};
use crate::faults::fate::Reception;
use crate::hub::is_channel_name;
use crate::publication::MESSAGE_MAX;
use crate::reply::Reply;
use crate::request::{Intent, Refusal};

/// The document of `POST /log` (CONTRACT 2.4).
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Log {
    on: bool,
}

/// A request's connection and properties.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestContext {
    pub(super) token: u64,
    pub(super) keep_alive: bool,
    /// The request contains the token that changes require.
    pub(super) trusted: bool,
}

impl Shard {
    /// Performs a request. `head` is present unless the request had a body.
    pub(super) fn perform(
        &mut self,
        asked: RequestContext,
        intent: Intent,
        head: Option<&RequestHead<'_>>,
        body: Vec<u8>,
    ) {
        let RequestContext { token, keep_alive, trusted } = asked;
        if let Some(transport) = intent.transport() {
            let head = head.expect("subscriptions with a body were refused");
            return self.subscription_asked(token, intent, transport, keep_alive, head);
        }
        if intent == Intent::Health {
            let reply = Reply { status: 200, content_type: "text/plain", extra: "", body: b"ok", keep_alive };
            return self.answer(token, &reply);
        }
        if intent == Intent::Stats {
            let body = documents::stats(&self.shared);
            return self.answer(token, &Reply::json(200, &body, keep_alive));
        }
        if let Intent::Bayeux { cookie } = intent {
            return self.bayeux_arrived(&Carrier { token, socket: false, keep_alive, trusted, cookie }, body);
        }
        if intent == Intent::Register {
            return self.register_asked(token, keep_alive, &body);
        }
        let stopping = intent == Intent::Shutdown;
        let reception = match intent {
            Intent::Publish { .. } => self.shared.fates.of_publication(),
            _ => Reception::Taken,
        };
        let done = match reception {
            Reception::Refused => Err(Refusal::new(503, "refused by fault, and not published")),
            _ => self.control(intent, body),
        };
        let done = match reception {
            Reception::HungUp if done.is_ok() => return self.doom(token, Ending::Reset),
            Reception::Denied if done.is_ok() => {
                Err(Refusal::new(503, "refused by fault, though it was published"))
            }
            _ => done,
        };
        match done {
            Ok(document) => {
                let body = document.to_string();
                self.answer(token, &Reply::json(200, body.as_bytes(), keep_alive));
            }
            Err(refusal) => self.refuse(token, &refusal, keep_alive),
        }
        if stopping {
            self.shared.stop.request();
        }
    }

    /// Performs requests that are answered with a document.
    fn control(&mut self, intent: Intent, body: Vec<u8>) -> Result<Value, Refusal> {
        match intent {
            Intent::Time { client } => Ok(documents::time(&client)),
            Intent::Log => {
                let Log { on } = document(&body)?;
                self.shared.logging.store(on, Relaxed);
                Ok(json!({ "on": on }))
            }
            Intent::Shutdown => Ok(json!({ "stopping": true })),
            Intent::Publish { channel } => self.publish_asked(&channel, body),
            Intent::SetEmitter { name } => self.set_emitter(&name, &document(&body)?),
            Intent::ClearEmitter { name } => match self.shared.emitters().clear(&name) {
                true => Ok(json!({ "cleared": 1 })),
                false => Err(Refusal::new(404, "no emitter of that name")),
            },
            Intent::ClearEmitters => Ok(json!({ "cleared": self.shared.emitters().clear_all() })),
            Intent::Health
            | Intent::Stats
            | Intent::Register
            | Intent::Bayeux { .. }
            | Intent::BayeuxSocket
            | Intent::Poll { .. }
            | Intent::LongPoll { .. }
            | Intent::Stream { .. }
            | Intent::Sse { .. }
            | Intent::WebSocket { .. } => unreachable!("performed elsewhere"),
        }
    }

    /// CONTRACT 4: publishes a message from outside, byte for byte.
    fn publish_asked(&mut self, channel: &str, body: Vec<u8>) -> Result<Value, Refusal> {
        if !(1..=MESSAGE_MAX).contains(&body.len()) {
            return Err(Refusal::new(413, "a message has 1 byte to 1 MiB"));
        }
        let full = |_| Refusal::new(503, "no room: too many channels or publications waiting");
        let id = self.channels.id(channel, &self.shared.hub).map_err(full)?;
        let accepted = self.publish(id, body.into_boxed_slice()).map_err(full)?;
        Ok(documents::published(channel, accepted))
    }

    /// CONTRACT 5: sets or replaces an emitter.
    fn set_emitter(&mut self, name: &str, spec: &EmitterSpec) -> Result<Value, Refusal> {
        if let Some(channel) = spec.channels.iter().find(|channel| !is_channel_name(channel)) {
            return Err(Refusal::new(400, format!("channels: no such name: {channel:?}")));
        }
        let now_us = Clock::now() / 1000;
        let follow = |ids: &[u32]| Emitter::new(spec, ids, now_us).map_err(|why| Refusal::new(400, why));
        // Checked before its channels are registered, because a refusal must register none (2.0).
        let dry = follow(&vec![0; spec.channels.len()])?;
        self.shared.emitters().accept(name, &dry)?;
        let full = |_| Refusal::new(503, "too many channels");
        let mut ids = Vec::with_capacity(spec.channels.len());
        for channel in &spec.channels {
            ids.push(self.channels.id(channel, &self.shared.hub).map_err(full)?);
        }
        let emitter = follow(&ids)?;
        let start_us = emitter.start_us();
        let changed = {
            let mut emitters = self.shared.emitters();
            emitters.accept(name, &emitter)?; // another thread may have set one meanwhile
            emitters.set(name, emitter)
        };
        self.shared.emitter_bell.ring();
        Ok(json!({
            "name": name,
            "start_us": start_us,
            "channels": ids.len(),
            "changed": changed,
        }))
    }
}

/// Parses a JSON body. The error contains the position and what is accepted.
pub(super) fn document<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::new(400, error.to_string()))
}
