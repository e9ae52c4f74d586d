//! The subscriptions and the publications of a session.

use std::borrow::Cow;
use std::collections::HashSet;

use pushmark_proto::bayeux::{Message, channel};

use super::{Carrier, Exchange, Shard};
use crate::bayeux::patterns::is_pattern_id;
use crate::bayeux::{SESSION, SUBSCRIPTIONS_MAX, contract_channel, is_pattern};
use crate::channel::Subscriber;
use crate::connection::Subscription;
use crate::hub::Full;
use crate::publication::{self, MESSAGE_MAX};
use crate::stats::Counter;

impl Shard {
    /// Subscribes to all of the channels, or to none.
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
        if !self.channels.has_room_for(names.len()) {
            self.ledger.count(Counter::SubscriptionsRefused);
            return exchange.refuse(message, 503, "", "Too many subscriptions");
        }
        let Ok(channels) = self.channels_of(&names) else {
            return exchange.refuse(message, 503, "", "Too many channels");
        };
        // Before the subscriptions take effect: everything published from now on is delivered.
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

    /// Returns the numbers of the names that are channels of the contract.
    fn channels_of(&mut self, names: &[Cow<'_, str>]) -> Result<Vec<u32>, Full> {
        let channels = names.iter().filter(|name| !channel::is_service(name));
        let channels = channels.filter_map(|name| contract_channel(name));
        channels.map(|name| self.channels.id(name, &self.shared.hub)).collect()
    }

    fn join_all(&mut self, session: u64, names: &[Cow<'_, str>]) -> Result<(), Full> {
        let before = self.sessions.get(session).map_or(0, |state| state.subscriptions.len());
        // Services are not subscribed to: they answer single clients.
        let mut names = names.iter().filter(|name| !channel::is_service(name));
        let held = self.sessions.get(session).into_iter().flat_map(|state| &state.subscriptions);
        let mut heard: HashSet<u32> = held.map(|subscription| subscription.channel).collect();
        let outcome = names.try_for_each(|name| self.join(session, name, &mut heard));
        if outcome.is_err() {
            while self.sessions.get(session).is_some_and(|state| state.subscriptions.len() > before) {
                self.leave(session, before);
            }
        }
        self.recount(session);
        outcome
    }

    /// Adds a session to the list of a channel or pattern, once. `heard` contains its subscriptions.
    fn join(&mut self, session: u64, name: &str, heard: &mut HashSet<u32>) -> Result<(), Full> {
        let id = match contract_channel(name) {
            Some(channel) => self.channels.id(channel, &self.shared.hub)?,
            None => self.patterns.id(name)?,
        };
        let Some(state) = self.sessions.get_mut(session) else { return Ok(()) };
        if !heard.insert(id) {
            return Ok(());
        }
        let subscriber = Subscriber { token: session | SESSION, nth: state.subscriptions.len() as u32 };
        let position = match is_pattern_id(id) {
            true => {
                self.channels.count_pattern(true);
                self.patterns.subscribe(id, subscriber)
            }
            false => self.channels.subscribe(id, subscriber),
        };
        self.several_channels -= usize::from(state.hears_several());
        state.subscriptions.push(Subscription { channel: id, position });
        self.several_channels += usize::from(state.hears_several());
        Ok(())
    }

    /// Removes a session from the list of its nth subscription.
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
            true => {
                self.channels.count_pattern(false);
                self.patterns.unsubscribe(id, position)
            }
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
        let known = |name: Cow<'_, str>| match contract_channel(&name) {
            Some(channel) => self.channels.known(channel),
            None => self.patterns.known(&name),
        };
        let unwanted: HashSet<u32> = message.subscriptions().filter_map(known).collect();
        let held = self.sessions.get(session).map_or(0, |state| state.subscriptions.len());
        // From the last to the first, because the last takes the place of a removed one.
        for nth in (0..held).rev() {
            let Some(state) = self.sessions.get(session) else { return };
            if unwanted.contains(&state.subscriptions[nth].channel) {
                self.leave(session, nth);
            }
        }
        self.forget_unheard(session);
        self.recount(session);
        exchange.reply(message, true).end();
    }

    /// Drops waiting events on channels that the session is not subscribed to any more.
    fn forget_unheard(&mut self, session: u64) {
        let Some(state) = self.sessions.get_mut(session) else { return };
        let heard: HashSet<u32> =
            state.subscriptions.iter().map(|subscription| subscription.channel).collect();
        let wide: Vec<&str> =
            heard.iter().filter(|id| is_pattern_id(**id)).map(|id| self.patterns.name(*id)).collect();
        let channels = &mut self.channels;
        state.retain_waiting(|id| {
            let name = format!("/{}", channels.at(id).name);
            heard.contains(&id) || wide.iter().any(|pattern| channel::matches(pattern, &name))
        });
    }

    /// CONTRACT 6.7: a publish on `/c` publishes on channel `c`, for the subscribers of all transports.
    pub(super) fn bayeux_publish(
        &mut self,
        message: &Message<'_>,
        carrier: &Carrier,
        exchange: &mut Exchange,
    ) {
        if !carrier.trusted {
            self.ledger.count(Counter::TokenRefused);
            return exchange.refuse(message, 401, "", "This needs the server's token");
        }
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
        let publication =
            publication::Message { payload: payload.as_bytes().into(), json: text.is_none(), stamp: None };
        let id = self.channels.id(name, &self.shared.hub);
        match id.and_then(|id| self.publish(id, publication)) {
            Ok(_) => exchange.reply(message, true).end(),
            Err(Full) => exchange.refuse(message, 503, "", "Too many channels or publications waiting"),
        }
    }

    /// Updates the session's counter in `/stats`.
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
