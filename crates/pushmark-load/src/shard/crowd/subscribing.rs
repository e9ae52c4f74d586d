//! When a subscription is established, and how that is known.

use pushmark_model::message::Message;
use pushmark_model::plan::Subscribe;
use pushmark_model::record::SubscribedBy;
use pushmark_model::transport::Transport;

use crate::conn::{Assumed, Phase};
use crate::never::NEVER;
use crate::shard::Shard;
use crate::token::{self, Owner};

impl Shard {
    pub(super) fn opened(&mut self, index: u32, status: u16, acknowledged: Option<&str>) {
        let transport = self.transport();
        let conn = &mut self.crowd[index];
        if transport.is_push() {
            conn.first.phase = Phase::Open;
            // A head only shows that the target responds. If a text is awaited, the time-out runs on
            // until it arrives.
            conn.first.give_up_ns = match conn.subscribed {
                true => self.plan.arm.idle_timeout_ns.map_or(NEVER, |idle_ns| self.time.now_ns + idle_ns),
                false => conn.asked_ns + self.plan.arm.handshake_timeout_ns,
            };
            conn.dismissed = transport == Transport::Sse && status == 204;
        }
        if transport.is_bayeux() {
            // A head does not acknowledge: the reply to the subscription does.
            return;
        }
        if conn.first.stamps == 0 && !conn.subscribed {
            self.seen.heads = true;
        }
        let conn = &mut self.crowd[index];
        if conn.subscribed {
            if conn.assumed.take().is_some() {
                conn.attempts = 0;
            }
            return;
        }
        if acknowledged.is_some() {
            self.stands(index, SubscribedBy::Acknowledged, acknowledged);
        } else if transport.is_push()
            && self.asking.config.ready.is_none()
            && self.plan.arm.subscribe.steps.is_empty()
            && status != 204
        {
            self.stands(index, SubscribedBy::Head, None);
        }
        if transport == Transport::WebSocket && status == 101 {
            self.accounting.record.counts.inflating += u64::from(self.crowd[index].client.inflates());
            self.after_open(index);
        }
        let upgraded = transport != Transport::WebSocket || status == 101;
        if transport.is_push() && upgraded && status != 204 && !self.plan.arm.subscribe.steps.is_empty() {
            self.begin_steps(index);
        }
    }

    /// Sends the application messages of a new WebSocket, and schedules the periodic ones.
    pub(super) fn after_open(&mut self, index: u32) {
        let arm = &self.plan.arm;
        let generation = self.crowd[index].first.generation;
        for n in 0..arm.subscribe.after_open.len() {
            self.say(index, true, |subscribe| subscribe.after_open.get(n));
        }
        for (n, every) in self.plan.arm.subscribe.every.iter().enumerate().take(8) {
            let token = token::pack(Owner::Every(n as u8), generation, index);
            self.io.wheel.insert(self.time.now_ns + every.after_ns, token);
        }
    }

    /// Appends a WebSocket message, filled in for this client, to the bytes to be written. A text may be sent as a
    /// binary message (`text` is false).
    pub(super) fn say(&mut self, index: u32, text: bool, what: impl Fn(&Subscribe) -> Option<&Message>) {
        let arm = &self.plan.arm;
        let conn = &mut self.crowd[index];
        let channels: Vec<u32> = self.accounting.channels_of(index).collect();
        let captures = conn.steps.as_ref().map(|steps| &steps.captures);
        let Some(message) = what(&arm.subscribe) else { return };
        let mut filled = Vec::new();
        let of = (conn.number, &channels[..], captures);
        self.asking.requests.fill(arm, message, of, &[], &mut filled);
        conn.client.write_message(text && message.is_text(), &filled, &mut self.io.scratch);
    }

    /// The subscription is established.
    pub(super) fn stands(&mut self, index: u32, by: SubscribedBy, acknowledged: Option<&str>) {
        let conn = &mut self.crowd[index];
        if conn.subscribed {
            return;
        }
        conn.subscribed = true;
        self.crowd.connected += 1;
        let conn = &mut self.crowd[index];
        let record = &mut self.accounting.record;
        record.subscribed_by = record.subscribed_by.max(by);
        let counted = if conn.ever_subscribed { Assumed::Reconnected } else { Assumed::Opened };
        match counted {
            Assumed::Reconnected => record.counts.reconnected += 1,
            Assumed::Opened => record.counts.opened += 1,
        }
        if by == SubscribedBy::Settle {
            conn.assumed = Some(counted);
        } else {
            conn.attempts = 0;
            if counted == Assumed::Opened {
                record.times.connect_subscribed.record_ns(conn.due_ns, self.time.now_ns);
            }
            if conn.first.phase == Phase::Open && self.plan.arm.transport.is_push() {
                conn.first.give_up_ns =
                    self.plan.arm.idle_timeout_ns.map_or(NEVER, |idle_ns| self.time.now_ns + idle_ns);
            }
        }
        conn.ever_subscribed = true;
        match acknowledged {
            None => self.accounting.subscription_stands(index, |_| None),
            Some(text) => {
                let requests = &self.asking.requests;
                let lasts: Vec<(u32, Option<u64>)> = text
                    .split(',')
                    .filter_map(|pair| {
                        let (name, last) = pair.trim().rsplit_once('=')?;
                        Some((requests.channel_named(name)?, last.parse().ok()))
                    })
                    .collect();
                self.accounting.subscription_stands(index, |channel| {
                    lasts.iter().find(|(c, _)| *c == channel).map(|(_, last)| *last)
                });
            }
        }
    }
}
