//! What a session wishes to hear, and what it says.

use std::borrow::Cow;

use pushmark_proto::bayeux::{Message, channel};

use super::{Exchange, Shard};
use crate::bayeux::patterns::is_pattern_id;
use crate::bayeux::{SESSION, SUBSCRIPTIONS_MAX, contract_channel, is_pattern};
use crate::channel::Subscriber;
use crate::connection::Subscription;
use crate::hub::Full;
use crate::publication::{self, MESSAGE_MAX};
use crate::stats::Counter;

impl Shard {
    /// All of the channels, or none.
    pub(super) fn bayeux_subscribe(&mut self, session: u64, message: &Message<'_>, exchange: &mut Exchange) {
        let names: Vec<Cow<'_, str>> = message.subscriptions().collect();
        if names.is_empty() {
            return exchange.refuse(message, 400, "", "A subscription names its channels");
        }
        let possible =
            |name: &str| channel::is_service(name) || contract_channel(name).is_some() || is_pattern(name);
        if let Some(name) = names.iter().find(|name| channel::is_meta(name) || !possible(name)) {
            return exchange.refuse(message, 403, name, "This cannot be subscribed to");
        }
        let held = self.sessions.get(session).map_or(0, |state| state.subscriptions.len());
        if held + names.len() > SUBSCRIPTIONS_MAX {
            return exchange.refuse(message, 403, "", "A client has at most 4,096 subscriptions");
        }
        let Ok(channels) = self.channels_of(&names) else {
            return exchange.refuse(message, 503, "", "Too many channels");
        };
        // Before they hold: what is published from now on comes.
        let acknowledged = self.acknowledged(&channels);
        if self.join_all(session, &names).is_err() {
            return exchange.refuse(message, 503, "", "Too many channels");
        }
        let mut reply = exchange.reply(message, true);
        if !acknowledged.is_empty() {
            reply = reply.with("ext", |out| {
                out.extend_from_slice(b"{\"pushmark\":{\"subscribed\":\"");
                out.extend_from_slice(acknowledged.as_bytes());
                out.extend_from_slice(b"\"}}");
            });
        }
        reply.end();
    }

    /// The numbers of those that are channels of the contract.
    fn channels_of(&mut self, names: &[Cow<'_, str>]) -> Result<Vec<u32>, Full> {
        let channels = names.iter().filter(|name| !channel::is_service(name));
        let channels = channels.filter_map(|name| contract_channel(name));
        channels.map(|name| self.channels.id(name, &self.shared.hub)).collect()
    }

    fn join_all(&mut self, session: u64, names: &[Cow<'_, str>]) -> Result<(), Full> {
        let before = self.sessions.get(session).map_or(0, |state| state.subscriptions.len());
        // A service answers whom it likes; there is nothing to subscribe to.
        let names = names.iter().filter(|name| !channel::is_service(name));
        let outcome = names.into_iter().try_for_each(|name| self.join(session, name));
        if outcome.is_err() {
            while self.sessions.get(session).is_some_and(|state| state.subscriptions.len() > before) {
                self.leave(session, before);
            }
        }
        self.recount(session);
        outcome
    }

    /// Enters a session into the list of a channel or pattern, once.
    fn join(&mut self, session: u64, name: &str) -> Result<(), Full> {
        let id = match contract_channel(name) {
            Some(channel) => self.channels.id(channel, &self.shared.hub)?,
            None => self.patterns.id(name)?,
        };
        let Some(state) = self.sessions.get_mut(session) else { return Ok(()) };
        if state.subscriptions.iter().any(|subscription| subscription.channel == id) {
            return Ok(());
        }
        let subscriber = Subscriber { token: session | SESSION, nth: state.subscriptions.len() as u32 };
        let position = match is_pattern_id(id) {
            true => self.patterns.subscribe(id, subscriber),
            false => self.channels.subscribe(id, subscriber),
        };
        self.several_channels -= usize::from(state.hears_several());
        state.subscriptions.push(Subscription { channel: id, position });
        self.several_channels += usize::from(state.hears_several());
        Ok(())
    }

    /// Takes a session out of the list of its nth subscription.
    pub(super) fn leave(&mut self, session: u64, nth: usize) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        self.several_channels -= usize::from(state.hears_several());
        let Subscription { channel: id, position } = state.subscriptions.swap_remove(nth);
        self.several_channels += usize::from(state.hears_several());
        if let Some(last) = state.subscriptions.get(nth).copied() {
            let at = match is_pattern_id(last.channel) {
                true => self.patterns.at(last.channel, last.position),
                false => &mut self.channels.at(last.channel).subscribers[last.position as usize],
            };
            at.nth = nth as u32;
        }
        let moved = match is_pattern_id(id) {
            true => self.patterns.unsubscribe(id, position),
            false => self.channels.unsubscribe(id, position),
        };
        if let Some(moved) = moved {
            self.has_moved(moved, position);
        }
    }

    pub(super) fn bayeux_unsubscribe(
        &mut self,
        session: u64,
        message: &Message<'_>,
        exchange: &mut Exchange,
    ) {
        for name in message.subscriptions() {
            let id = match contract_channel(&name) {
                Some(channel) => self.channels.known(channel),
                None => self.patterns.known(&name),
            };
            let Some(state) = self.sessions.get(session) else { return };
            let nth = state.subscriptions.iter().position(|subscription| Some(subscription.channel) == id);
            if let Some(nth) = nth {
                self.leave(session, nth);
            }
        }
        self.forget_unheard(session);
        self.recount(session);
        exchange.reply(message, true).end();
    }

    /// What waits on channels that the session does not hear any more is not for it any more.
    fn forget_unheard(&mut self, session: u64) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let heard: Vec<u32> = state.subscriptions.iter().map(|subscription| subscription.channel).collect();
        let wide: Vec<&str> =
            heard.iter().filter(|id| is_pattern_id(**id)).map(|id| self.patterns.name(*id)).collect();
        let channels = &mut self.channels;
        state.retain_waiting(|id| {
            let name = format!("/{}", channels.at(id).name);
            heard.contains(&id) || wide.iter().any(|pattern| channel::matches(pattern, &name))
        });
    }

    /// CONTRACT 6.7: a publish on `/c` is one on channel `c`, for the subscribers of all transports.
    pub(super) fn bayeux_publish(&mut self, message: &Message<'_>, exchange: &mut Exchange) {
        let Some(data) = message.data else {
            return exchange.refuse(message, 400, "", "A publication has data");
        };
        if channel::is_service(&message.channel) {
            return exchange.reply(message, true).end();
        }
        let Some(name) = contract_channel(&message.channel) else {
            return exchange.refuse(message, 400, &message.channel, "No such channel");
        };
        let text = data.as_str();
        let payload = text.as_deref().unwrap_or(data.text());
        if !(1..=MESSAGE_MAX).contains(&payload.len()) {
            return exchange.refuse(message, 413, "", "A message has 1 byte to 1 MiB");
        }
        let publication = publication::Message { payload: payload.as_bytes().into(), json: text.is_none() };
        let id = self.channels.id(name, &self.shared.hub);
        match id.and_then(|id| self.publish(id, publication)) {
            Ok(_) => exchange.reply(message, true).end(),
            Err(Full) => exchange.refuse(message, 503, "", "Too many channels or publications waiting"),
        }
    }

    /// Has `/stats` count the session as what it is now.
    pub(super) fn recount(&mut self, session: u64) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let gauge = if state.by_socket { Counter::BayeuxWebSocket } else { Counter::Bayeux };
        let now = (!state.subscriptions.is_empty()).then_some(gauge);
        let before = std::mem::replace(&mut state.counted, now);
        if before != now {
            before.into_iter().for_each(|gauge| self.ledger.counters.fall(gauge));
            now.into_iter().for_each(|gauge| self.ledger.count(gauge));
        }
    }
}
