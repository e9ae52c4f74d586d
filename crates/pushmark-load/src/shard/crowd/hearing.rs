//! Messages and answers: their stamps are entered into the accounts.

use pushmark_model::plan::Cursor;
use pushmark_model::record::SubscribedBy;
use pushmark_model::stamp::Stamp;
use pushmark_model::transport::Transport;
use pushmark_proto::client::Lane;

use crate::accounting::Receipt;
use crate::conn::Phase;
use crate::never::NEVER;
use crate::shard::{Shard, Time};

/// Stamps of one message that are remembered. A repetition of a further one counts as a duplicate.
const STAMPS_TOLD_APART: usize = 256;

/// Servers whose clocks have whole milliseconds may end a hold this much early.
const HOLD_GRAIN_NS: u64 = 2_000_000;

impl Shard {
    #[inline]
    pub(super) fn data(&mut self, index: u32, lane: Lane, bytes: &[u8]) {
        if !self.plan.arm.subscribe.respond.is_empty() {
            self.keep_answer(index, bytes);
        }
        let told_nothing = self.hold_is_over(index);
        let encoded =
            if self.seen.payloads.are_plain() { None } else { self.encoded_stamps(index, lane, bytes) };
        let Shard { crowd, accounting, time, plan, .. } = self;
        let Time { now_ns, unread_since_ns, in_measure, .. } = &*time;
        let conn = &mut crowd[index];
        let line = conn.line_mut(lane);
        // A poll for the latest value shows the same state repeatedly.
        let shows_again = plan.arm.transport == Transport::Poll && !plan.arm.subscribe.resumes;
        let streamed = plan.arm.transport == Transport::Stream;
        let counts = &mut accounting.record.counts;
        let told = if told_nothing { 0 } else { bytes.len() as u64 };
        counts.payload_bytes += told;
        counts.measure_payload_bytes += if *in_measure { told } else { 0 };
        if let Some(own) = &plan.arm.target_stamp {
            line.own_stamp.get_or_insert_default().look(&own.json, bytes);
        }
        let begins = line.length == 0;
        let (mut stamps, mut news, mut newest_sent_us) = (line.stamps, line.news, line.newest_sent_us);
        // Repetitions are rare and few. An empty vector does not allocate.
        let mut repeated = Vec::new();
        let (first_stamp, more_stamps) = (&mut line.first_stamp, &mut line.more_stamps);
        line.length = line.length.saturating_add(bytes.len() as u32);
        let ahead_us = plan.clock_ahead_us;
        let found = |stamp: Stamp| {
            let stamp = stamp.on_clock_ahead(ahead_us);
            let id = (stamp.channel, stamp.sequence as u32);
            // A stamp that one message repeats is one delivery. In a stream, each stamp is its own
            // message.
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
        };
        match encoded {
            None => line.scanner.scan(bytes, found),
            Some(encoded) => encoded.into_iter().for_each(found),
        }
        let first = stamps > 0 && line.stamps == 0;
        (line.stamps, line.news, line.newest_sent_us) = (stamps, news, newest_sent_us);
        if first && conn.heard_ns == 0 {
            accounting.record.times.connect_first_message.record_ns(conn.due_ns, *now_ns);
        }
        if begins && stamps == 0 {
            self.seen.spoken.heard(index, bytes);
            if let Some(like) = &self.plan.arm.subscribe.ignore {
                self.seen.ignore(index, like, bytes);
            }
        }
        let conn = &mut self.crowd[index];
        if streamed && stamps > 0 {
            conn.heard_ns = *now_ns;
            conn.line_mut(lane).stamps = 0;
        } else if streamed && !self.seen.payloads.known() {
            // A stream does not mark the end of a message, so bytes that arrive together count as one.
            self.unstamped(index, lane);
            self.crowd[index].line_mut(lane).length = 0;
        }
        for stamp in &repeated {
            if !self.poll_was_first(index, stamp) {
                let measured = self.accounting.in_measure(stamp.due_us * 1_000);
                self.accounting.record.counts.duplicate += u64::from(measured);
            }
        }
    }

    /// Whether an answer counts as a time-out. An observed target does not say so; an answer counts as
    /// one if it arrives when the hold is over.
    fn hold_is_over(&self, index: u32) -> bool {
        let arm = &self.plan.arm;
        arm.publisher.is_none()
            && arm.transport == Transport::LongPoll
            && self.time.now_ns + HOLD_GRAIN_NS >= self.crowd[index].asked_ns + arm.hold_ns
    }

    pub(super) fn message_ended(&mut self, index: u32, lane: Lane) {
        let told_nothing = self.hold_is_over(index);
        let conn = &mut self.crowd[index];
        let (subscribed, heard_ns) = (conn.subscribed, conn.heard_ns);
        let line = conn.line_mut(lane);
        let record = &mut self.accounting.record;
        line.scanner.reset();
        if told_nothing {
            return;
        }
        record.counts.messages += 1;
        record.counts.measure_messages += u64::from(self.time.in_measure);
        if self.plan.arm.publisher.is_none() {
            // Without stamps, every body counts as new.
            line.news = line.news.saturating_add(1);
        }
        if self.time.in_measure && heard_ns > 0 && self.plan.arm.publisher.is_none() {
            record.times.gap.record_ns(heard_ns, self.time.now_ns);
        }
        if let (Some(scan), Some(own)) = (&mut line.own_stamp, &self.plan.arm.target_stamp) {
            let number = scan.finish().and_then(|text| std::str::from_utf8(text).ok()?.parse::<f64>().ok());
            scan.restart();
            if let (Some(then), true) = (number, self.time.in_measure) {
                // The target may send any number as a time.
                let then_ns =
                    ((then * own.unit_ns as f64) as i64).saturating_sub(self.time.realtime_offset_ns);
                record.times.target_latency.record_ns(then_ns.max(0) as u64, self.time.now_ns);
            }
        }
        if self.plan.arm.transport.is_push() || self.plan.arm.transport.is_bayeux() {
            // The target's greeting: messages before the subscription is established, and the one that
            // establishes it.
            let greeting = std::mem::take(&mut line.greeting) || !subscribed;
            if line.stamps == 0 && !greeting && self.plan.arm.publisher.is_some() {
                // Its due instant is unknown: the instant of receipt decides its phase.
                self.unstamped(index, lane);
            }
            let conn = &mut self.crowd[index];
            conn.heard_ns = self.time.now_ns;
            let line = conn.line_mut(lane);
            line.stamps = 0;
            line.more_stamps = Vec::new();
            line.sight = None;
            line.length = 0;
            if self.plan.arm.transport.is_push() {
                line.news = 0;
            }
        }
    }

    /// Whether the current answer should hold a stamp of this run and does not. A poll may show a state
    /// from before the first publication.
    fn lacks_a_stamp(&self, index: u32) -> bool {
        let line = &self.crowd[index].first;
        line.stamps == 0
            && self.plan.arm.publisher.is_some()
            && self.seen.payloads.could_be(line.length)
            && (self.transport() != Transport::Poll || self.accounting.is_published(index))
    }

    /// Counts an answer without a message: the hold was over, or the target does not hold.
    pub(super) fn hold_ended(&mut self, index: u32, hold_ns: u64) {
        let asked_ns = self.crowd[index].asked_ns;
        let record = &mut self.accounting.record;
        if self.time.now_ns < asked_ns + hold_ns / 2 {
            record.counts.answers_early += 1;
        } else {
            record.counts.timeouts += 1;
            record.times.hold_overshoot.record_ns(asked_ns + hold_ns, self.time.now_ns);
        }
    }

    /// Handles a complete answer to a poll or long poll.
    pub(super) fn answered(&mut self, index: u32, lane: Lane, status: u16) {
        if self.transport().is_bayeux() {
            return self.bayeux_answered(index, lane);
        }
        let long = self.transport() == Transport::LongPoll;
        let cursor = self.plan.arm.subscribe.cursor != Cursor::None;
        let conn = &mut self.crowd[index];
        let first = !conn.subscribed;
        if first {
            self.stands(index, SubscribedBy::Head, None);
        }
        // The first answer to a long poll with a cursor is the acknowledgement: it was not held.
        let acknowledges = first && long && cursor && self.crowd[index].first.stamps == 0;
        let unstamped = !acknowledges && self.lacks_a_stamp(index);
        if unstamped {
            self.unstamped(index, Lane::Connect);
        }
        let conn = &mut self.crowd[index];
        let counts = &mut self.accounting.record.counts;
        if long && !acknowledges {
            counts.answers_all += u64::from(conn.first.news > 0);
            counts.timeouts_all += u64::from(conn.first.news == 0);
        }
        if self.time.in_measure && !acknowledges {
            if long && conn.first.news > 0 {
                counts.answers += 1;
                counts.answered_messages += u64::from(conn.first.news);
            } else if long && (unstamped || conn.first.stamps > 0) {
                counts.answers_other += 1;
            } else if long {
                self.hold_ended(index, self.plan.arm.hold_ns);
            } else if conn.first.news == 0 {
                counts.redundant += 1;
                counts.not_modified += u64::from(status == 304);
            }
        }
        let conn = &mut self.crowd[index];
        conn.heard_ns = self.time.now_ns;
        conn.first.give_up_ns = NEVER;
        conn.first.phase = Phase::Resting;
        conn.first.reused = true;
        conn.first.scanner.reset();
        conn.first.more_stamps = Vec::new();
        conn.first.sight = None;
        conn.first.length = 0;
        let reusable = conn.client.reusable() && self.plan.arm.keep_alive;
        if !reusable {
            self.close(index, Lane::Connect);
        }
        if long {
            if !self.responds(index) {
                self.crowd.to_ask.push_back(index);
            }
        } else {
            self.rest_until_next_poll(index);
        }
    }
}
