//! Messages and answers: stamps go to the accounts.

use pushmark_model::plan::Cursor;
use pushmark_model::record::SubscribedBy;
use pushmark_model::stamp::Stamp;
use pushmark_model::transport::Transport;

use crate::accounting::Receipt;
use crate::conn::{NEVER, Phase};
use crate::shard::Shard;

/// Stamps of one message that are told apart; a repetition of a later one counts as a duplicate.
const STAMPS_TOLD_APART: usize = 256;

/// Servers with clocks of whole ms end a hold so much early.
const HOLD_GRAIN_NS: u64 = 2_000_000;

impl Shard {
    #[inline]
    pub(super) fn data(&mut self, index: u32, bytes: &[u8]) {
        let told_nothing = self.hold_is_over(index);
        let Shard { crowd, accounting, now_ns, unread_since_ns, plan, in_measure, .. } = self;
        let conn = &mut crowd[index as usize];
        // A poll for the latest shows a state again.
        let shows_again = plan.arm.transport == Transport::Poll && !plan.arm.subscribe.resumes;
        let streamed = plan.arm.transport == Transport::Stream;
        let counts = &mut accounting.record.counts;
        let told = if told_nothing { 0 } else { bytes.len() as u64 };
        counts.payload_bytes += told;
        counts.measure_payload_bytes += if *in_measure { told } else { 0 };
        if let Some(own) = &plan.arm.target_stamp {
            conn.line.own_stamp.get_or_insert_default().look(&own.json, bytes);
        }
        let (mut stamps, mut news, mut newest_sent_us) =
            (conn.line.stamps, conn.line.news, conn.line.newest_sent_us);
        // Seldom any, and then few: no allocation where there is none.
        let mut repeated = Vec::new();
        let (first_stamp, more_stamps) = (&mut conn.line.first_stamp, &mut conn.line.more_stamps);
        conn.line.scanner.scan(bytes, |stamp: Stamp| {
            let id = (stamp.channel, stamp.sequence as u32);
            // One stamp is one delivery; each stands alone in a stream.
            let told = !streamed && !shows_again;
            let here = told && stamps > 0 && (*first_stamp == id || more_stamps.contains(&id));
            if stamps == 0 {
                *first_stamp = id;
            } else if told && !here && more_stamps.len() < STAMPS_TOLD_APART {
                more_stamps.push(id);
            }
            match accounting.received(index, &stamp, *now_ns, *unread_since_ns) {
                Receipt::New => {
                    news = news.saturating_add(1);
                    newest_sent_us = newest_sent_us.max(stamp.sent_us);
                }
                Receipt::Again if !shows_again && !here => {
                    accounting.again(&stamp, *now_ns);
                    repeated.push(stamp);
                }
                Receipt::Again | Receipt::Beyond | Receipt::Foreign => {}
            }
            stamps = stamps.saturating_add(1);
            if streamed {
                accounting.record.counts.messages += 1;
                accounting.record.counts.measure_messages += u64::from(*in_measure);
            }
        });
        let first = stamps > 0 && conn.line.stamps == 0 && conn.heard_ns == 0;
        if first {
            accounting.record.times.connect_first_message.record_ns(conn.due_ns, *now_ns);
        }
        (conn.line.stamps, conn.line.news, conn.line.newest_sent_us) = (stamps, news, newest_sent_us);
        if streamed && stamps > 0 {
            conn.heard_ns = *now_ns;
            conn.line.stamps = 0;
        }
        for stamp in &repeated {
            if !self.poll_was_first(index, stamp) {
                self.accounting.record.counts.duplicate += 1;
            }
        }
    }

    /// Of a target that is observed nothing says which answers are time-outs: those that come when
    /// the hold is over.
    fn hold_is_over(&self, index: u32) -> bool {
        let arm = &self.plan.arm;
        arm.publisher.is_none()
            && arm.transport == Transport::LongPoll
            && self.now_ns + HOLD_GRAIN_NS >= self.crowd[index as usize].asked_ns + arm.hold_ns
    }

    pub(super) fn message_ended(&mut self, index: u32) {
        let told_nothing = self.hold_is_over(index);
        let conn = &mut self.crowd[index as usize];
        let record = &mut self.accounting.record;
        if told_nothing {
            conn.line.scanner.reset();
            return;
        }
        record.counts.messages += 1;
        record.counts.measure_messages += u64::from(self.in_measure);
        conn.line.scanner.reset();
        if self.plan.arm.publisher.is_none() {
            // Without stamps every body is news.
            conn.line.news = conn.line.news.saturating_add(1);
        }
        if self.in_measure && conn.heard_ns > 0 && self.plan.arm.publisher.is_none() {
            record.times.gap.record_ns(conn.heard_ns, self.now_ns);
        }
        if let (Some(scan), Some(own)) = (&mut conn.line.own_stamp, &self.plan.arm.target_stamp) {
            let number = scan.finish().and_then(|text| std::str::from_utf8(text).ok()?.parse::<f64>().ok());
            scan.restart();
            if let (Some(then), true) = (number, self.in_measure) {
                let then_ns = (then * own.unit_ns as f64) as i64 - self.realtime_offset_ns;
                record.times.target_latency.record_ns(then_ns.max(0) as u64, self.now_ns);
            }
        }
        if self.plan.arm.transport.is_push() || self.plan.arm.transport.is_bayeux() {
            // What comes before the subscription stands, and what says so, is the target's greeting.
            let greeting = std::mem::take(&mut conn.line.greeting) || !conn.subscribed;
            if conn.line.stamps == 0 && !greeting && self.plan.arm.publisher.is_some() {
                record.counts.unstamped += 1;
            }
            conn.heard_ns = self.now_ns;
            conn.line.stamps = 0;
            conn.line.more_stamps = Vec::new();
            if self.plan.arm.transport.is_push() {
                conn.line.news = 0;
            }
        }
    }

    /// A poll or long poll has its answer.
    pub(super) fn answered(&mut self, index: u32, status: u16) {
        if self.transport().is_bayeux() {
            return self.bayeux_answered(index);
        }
        let long = self.transport() == Transport::LongPoll;
        let cursor = self.plan.arm.subscribe.cursor != Cursor::None;
        let conn = &mut self.crowd[index as usize];
        let first = !conn.subscribed;
        if first {
            self.stands(index, SubscribedBy::Head, None);
        }
        let conn = &mut self.crowd[index as usize];
        let counts = &mut self.accounting.record.counts;
        // The first answer of a long poll with a cursor is the acknowledgement: nothing was held.
        let acknowledges = first && long && cursor && conn.line.stamps == 0;
        if long && !acknowledges {
            counts.answers_all += u64::from(conn.line.news > 0);
            counts.timeouts_all += u64::from(conn.line.news == 0);
        }
        if self.in_measure && !acknowledges {
            if long && conn.line.news > 0 {
                counts.answers += 1;
                counts.answered_messages += u64::from(conn.line.news);
            } else if long {
                counts.timeouts += 1;
                let due_ns = conn.asked_ns + self.plan.arm.hold_ns;
                self.accounting.record.times.hold_overshoot.record_ns(due_ns, self.now_ns);
            } else if conn.line.news == 0 {
                counts.redundant += 1;
                counts.not_modified += u64::from(status == 304);
            }
        }
        conn.heard_ns = self.now_ns;
        conn.line.give_up_ns = NEVER;
        conn.line.phase = Phase::Resting;
        conn.line.reused = true;
        conn.line.scanner.reset();
        conn.line.more_stamps = Vec::new();
        let reusable = conn.client.reusable() && self.plan.arm.keep_alive;
        if !reusable {
            self.close(index);
        }
        if long {
            self.to_ask.push_back(index);
        } else {
            self.rest_until_next_poll(index);
        }
    }
}
