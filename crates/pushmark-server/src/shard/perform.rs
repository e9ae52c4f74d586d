//! A request is whole: what it asks for is done.

use std::sync::atomic::Ordering::Relaxed;

use pushmark_net::Clock;
use pushmark_proto::http1::RequestHead;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Shard;
use super::bayeux::Carrier;
use crate::documents;
use crate::emitter::{Emitter, EmitterSpec};
use crate::emitters::EMITTERS_MAX;
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

impl Shard {
    /// Does what was asked. `head` is there unless the request had a body.
    pub(super) fn perform(
        &mut self,
        token: u64,
        intent: Intent,
        keep_alive: bool,
        head: Option<&RequestHead<'_>>,
        body: Vec<u8>,
    ) {
        if let Some(transport) = intent.transport() {
            let head = head.expect("subscriptions with a body were refused");
            return self.subscription_asked(token, intent, transport, keep_alive, head);
        }
        if intent == Intent::Health {
            let reply = Reply { status: 200, content_type: "text/plain", extra: "", body: b"ok", keep_alive };
            return self.answer(token, &reply);
        }
        if let Intent::Bayeux { cookie } = intent {
            return self.bayeux_arrived(&Carrier { token, socket: false, keep_alive, cookie }, body);
        }
        if intent == Intent::Register {
            return self.register_asked(token, keep_alive, &body);
        }
        let stopping = intent == Intent::Shutdown;
        match self.control(intent, body) {
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

    /// Requests that are answered with a document.
    fn control(&mut self, intent: Intent, body: Vec<u8>) -> Result<Value, Refusal> {
        match intent {
            Intent::Time { client } => Ok(documents::time(&client)),
            Intent::Stats => Ok(documents::stats(&self.shared)),
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

    /// CONTRACT 4: a message from outside, relayed byte for byte.
    fn publish_asked(&mut self, channel: &str, body: Vec<u8>) -> Result<Value, Refusal> {
        if !(1..=MESSAGE_MAX).contains(&body.len()) {
            return Err(Refusal::new(413, "a message has 1 byte to 1 MiB"));
        }
        let full = |_| Refusal::new(503, "no room: too many channels or publications waiting");
        let id = self.channels.id(channel, &self.shared.hub).map_err(full)?;
        let accepted = self.publish(id, body.into_boxed_slice()).map_err(full)?;
        Ok(documents::published(channel, accepted))
    }

    /// CONTRACT 5: sets or changes an emitter.
    fn set_emitter(&mut self, name: &str, spec: &EmitterSpec) -> Result<Value, Refusal> {
        if let Some(channel) = spec.channels.iter().find(|channel| !is_channel_name(channel)) {
            return Err(Refusal::new(400, format!("channels: no such name: {channel:?}")));
        }
        let now_us = Clock::now() / 1000;
        let follow = |ids: &[u32]| Emitter::new(spec, ids, now_us).map_err(|why| Refusal::new(400, why));
        // Looked at before its channels are mentioned: a refusal registers none (2.0).
        follow(&vec![0; spec.channels.len()])?;
        let full = |_| Refusal::new(503, "too many channels");
        let mut ids = Vec::with_capacity(spec.channels.len());
        for channel in &spec.channels {
            ids.push(self.channels.id(channel, &self.shared.hub).map_err(full)?);
        }
        let emitter = follow(&ids)?;
        let start_us = emitter.start_us();
        let Some(changed) = self.shared.emitters().set(name, emitter) else {
            return Err(Refusal::new(503, format!("there are {EMITTERS_MAX} emitters already")));
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

/// Reads a JSON body; the error says where it is wrong and what is accepted.
pub(super) fn document<'a, T: Deserialize<'a>>(body: &'a [u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| Refusal::new(400, error.to_string()))
}
