//! From when a subscription stands, and how that is known.

use pushmark_model::record::SubscribedBy;
use pushmark_model::transport::Transport;

use crate::conn::{NEVER, Phase};
use crate::shard::Shard;
use crate::token::{self, Owner};

impl Shard {
    pub(super) fn opened(&mut self, index: u32, status: u16, acknowledged: Option<&str>) {
        let transport = self.transport();
        let conn = &mut self.crowd[index as usize];
        if transport.is_push() {
            conn.line.phase = Phase::Open;
            conn.line.give_up_ns =
                self.plan.arm.idle_timeout_ns.map_or(NEVER, |idle_ns| self.now_ns + idle_ns);
            conn.dismissed = transport == Transport::Sse && status == 204;
        }
        if transport.is_bayeux() {
            // A head says nothing: the reply to the subscription does.
            return;
        }
        if conn.line.stamps == 0 && !conn.subscribed {
            self.heads_seen = true;
        }
        if self.crowd[index as usize].subscribed {
            return;
        }
        if acknowledged.is_some() {
            self.stands(index, SubscribedBy::Acknowledged, acknowledged);
        } else if transport.is_push() && self.config.ready.is_none() && status != 204 {
            self.stands(index, SubscribedBy::Head, None);
        }
        if transport == Transport::WebSocket && status == 101 {
            self.after_open(index);
        }
    }

    /// Application messages of a fresh WebSocket, and its periodic ones.
    pub(super) fn after_open(&mut self, index: u32) {
        let arm = &self.plan.arm;
        let conn = &mut self.crowd[index as usize];
        if !arm.subscribe.after_open.is_empty() {
            let channels: Vec<u32> = self.accounting.channels_of(index).collect();
            let mut text = Vec::new();
            for template in &arm.subscribe.after_open {
                text.clear();
                self.requests.fill(arm, template, conn.number, &channels, &[], &mut text);
                conn.client.write_text(&text, &mut self.scratch);
            }
        }
        for (n, every) in arm.subscribe.every.iter().enumerate().take(8) {
            let token = token::pack(Owner::Every(n as u8), conn.line.generation, index);
            self.wheel.insert(self.now_ns + every.after_ns, token);
        }
    }

    /// The subscription stands.
    pub(super) fn stands(&mut self, index: u32, by: SubscribedBy, acknowledged: Option<&str>) {
        let conn = &mut self.crowd[index as usize];
        if conn.subscribed {
            return;
        }
        conn.subscribed = true;
        conn.attempts = 0;
        self.connected += 1;
        let record = &mut self.accounting.record;
        record.subscribed_by = record.subscribed_by.max(by);
        if conn.ever_subscribed {
            record.counts.reconnected += 1;
        } else {
            conn.ever_subscribed = true;
            record.counts.opened += 1;
            record.times.connect_subscribed.record_ns(conn.due_ns, self.now_ns);
        }
        match acknowledged {
            None => self.accounting.subscription_stands(index, |_| None),
            Some(text) => {
                let requests = &self.requests;
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
