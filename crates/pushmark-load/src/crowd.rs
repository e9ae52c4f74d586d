//! What happens to the clients of a shard: they start, connect, ask, hear, are lost, come back.

use pushmark_model::draw::{Draw, Purpose};
use pushmark_model::plan::{Cursor, Reconnect};
use pushmark_model::record::{SubscribedBy, TROUBLES_MAX};
use pushmark_model::stamp::{Stamp, write_payload};
use pushmark_model::transport::Transport;
use pushmark_net::{Clock, Interest, Link, Nanos, Read, Ready, stamps};
use pushmark_proto::client::Event;

use crate::accounting::Receipt;
use crate::conn::{NEVER, Phase};
use crate::publisher::Job;
use crate::shard::Shard;
use crate::token::{self, Owner};
use crate::trouble;

/// A subscription without an answer is taken to stand after this time.
const SETTLE_NS: Nanos = 1_000_000_000;
/// Largest incomplete unit a connection may keep (an answer's head).
const KEPT_MAX: usize = 64 << 10;

impl Shard {
    fn transport(&self) -> Transport {
        self.plan.arm.transport
    }

    /// Its turn in the ramp has come.
    pub(crate) fn client_starts(&mut self, index: u32, due_ns: Nanos) {
        let arm = &self.plan.arm;
        let conn = &mut self.crowd[index as usize];
        conn.due_ns = due_ns;
        conn.interval_ns = arm.poll.interval_ns;
        if arm.transport == Transport::Poll && !arm.poll.after_answer {
            // The grid of its polls begins at a phase of its own, so that no two beats lock.
            let phase = match arm.poll.random_phase {
                true => Draw::new(arm.seed, Purpose::PollPhase, u64::from(conn.number)).unit(),
                false => 1.0,
            };
            conn.next_ns = due_ns + (phase * arm.poll.interval_ns as f64) as u64;
            self.wheel.insert(conn.next_ns, token::pack(Owner::Next, 0, index));
        }
        self.connect(index);
    }

    fn connect(&mut self, index: u32) {
        let arm = &self.plan.arm;
        let conn = &mut self.crowd[index as usize];
        let counts = &mut self.accounting.record.counts;
        counts.connects += 1;
        if arm.transport == Transport::LongPoll && conn.ever_subscribed {
            counts.new_connections += 1;
        }
        let source = match arm.sources.len() {
            0 => None,
            n => Some(arm.sources[conn.number as usize % n]),
        };
        conn.phase = Phase::Connecting;
        conn.give_up_ns = self.now_ns + arm.connect_timeout_ns;
        let token = token::pack(Owner::Client, conn.generation, index);
        let made = Link::connect(self.plan.subscribe_to, source)
            .and_then(|link| self.poller.add(link.fd(), token, Interest::Write).map(|()| link));
        match made {
            Ok(link) => conn.link = Some(link),
            Err(error) => self.lost(index, trouble::kind(&error), &error.to_string()),
        }
    }

    /// The poller says that a client's socket can do something.
    pub(crate) fn client_ready(&mut self, index: u32, generation: u32, ready: Ready) {
        let conn = &mut self.crowd[index as usize];
        if conn.generation != generation || conn.link.is_none() {
            return;
        }
        if conn.phase == Phase::Connecting {
            return self.tcp_connected(index);
        }
        if ready.readable {
            self.readable(index);
        }
        let conn = &self.crowd[index as usize];
        if ready.writable && conn.generation == generation && !conn.out.is_empty() {
            self.flush(index);
        }
    }

    fn tcp_connected(&mut self, index: u32) {
        let conn = &mut self.crowd[index as usize];
        let link = conn.link.as_mut().expect("connecting");
        let readied = link.finish_connect().and_then(|()| {
            if conn.stamped {
                stamps::enable_receive_stamps(link.fd())?;
            }
            self.poller.modify(link.fd(), token::pack(Owner::Client, conn.generation, index), Interest::Read)
        });
        if let Err(error) = readied {
            return self.lost(index, trouble::kind(&error), &error.to_string());
        }
        if !conn.ever_subscribed {
            self.accounting.record.times.connect_tcp.record_ns(conn.due_ns, self.now_ns);
        }
        self.ask(index);
    }

    /// Writes the handshake, or the next request.
    fn ask(&mut self, index: u32) {
        let arm = &self.plan.arm;
        let conn = &mut self.crowd[index as usize];
        let channels: Vec<u32> = self.accounting.channels_of(index).collect();
        self.scratch.clear();
        self.requests.subscribe(
            arm,
            &self.config,
            &mut conn.client,
            conn.number,
            &channels,
            &mut self.scratch,
        );
        let asked_ns = Clock::now();
        if arm.transport == Transport::LongPoll && conn.ever_subscribed && conn.heard_ns > 0 {
            let times = &mut self.accounting.record.times;
            if self.in_measure {
                times.deaf.record_ns(conn.heard_ns, asked_ns);
                if conn.newest_sent_us > 0 {
                    times.in_flight.record_ns(conn.newest_sent_us * 1_000, asked_ns);
                }
            }
        }
        if !arm.transport.is_push() {
            let counts = &mut self.accounting.record.counts;
            counts.requests += 1;
            counts.measure_requests += u64::from(self.in_measure);
        }
        conn.phase = Phase::Asked;
        conn.asked_ns = asked_ns;
        conn.newest_sent_us = 0;
        conn.stamps = 0;
        conn.news = 0;
        conn.give_up_ns = asked_ns + arm.handshake_timeout_ns;
        if arm.transport == Transport::LongPoll {
            conn.give_up_ns += arm.hold_ns;
        }
        if !conn.subscribed {
            if self.accounting_of_push() {
                self.accounting.subscription_asked(index);
            }
            let conn = &self.crowd[index as usize];
            let may_assume = self.transport() != Transport::WebSocket && self.config.ready.is_none();
            if may_assume && self.transport() != Transport::Poll {
                self.wheel.insert(asked_ns + SETTLE_NS, token::pack(Owner::Settle, conn.generation, index));
            }
        }
        self.write_scratch(index);
    }

    fn accounting_of_push(&self) -> bool {
        self.plan.arm.publisher.is_some()
    }

    /// Writes what `scratch` holds, or keeps what does not fit.
    fn write_scratch(&mut self, index: u32) {
        let conn = &mut self.crowd[index as usize];
        if !conn.out.is_empty() {
            conn.out.extend_from_slice(&self.scratch);
            return;
        }
        let Some(link) = conn.link.as_mut() else { return };
        match link.write(&self.scratch) {
            Ok(written) => {
                let counts = &mut self.accounting.record.counts;
                counts.bytes_out += written as u64;
                if self.in_measure {
                    counts.measure_bytes_out += written as u64;
                }
                if written < self.scratch.len() {
                    conn.out.extend_from_slice(&self.scratch[written..]);
                    self.watch(index, true);
                }
            }
            Err(error) => self.lost(index, trouble::kind(&error), &error.to_string()),
        }
    }

    fn flush(&mut self, index: u32) {
        self.scratch.clear();
        let conn = &mut self.crowd[index as usize];
        self.scratch.append(&mut conn.out);
        conn.out = Vec::new();
        self.write_scratch(index);
        let conn = &self.crowd[index as usize];
        if conn.out.is_empty() && conn.link.is_some() {
            self.watch(index, false);
        }
    }

    fn watch(&mut self, index: u32, writing: bool) {
        let conn = &mut self.crowd[index as usize];
        let Some(link) = &conn.link else { return };
        if conn.writing != writing {
            conn.writing = writing;
            let interest = if writing { Interest::Both } else { Interest::Read };
            // A failure shows at the next read or write.
            let _ =
                self.poller.modify(link.fd(), token::pack(Owner::Client, conn.generation, index), interest);
        }
    }

    fn readable(&mut self, index: u32) {
        let mut buffer = std::mem::take(&mut self.buffer);
        self.read(index, &mut buffer);
        self.buffer = buffer;
    }

    fn read(&mut self, index: u32, buffer: &mut [u8]) {
        let conn = &mut self.crowd[index as usize];
        let Some(link) = conn.link.as_mut() else { return };
        let carried = conn.carry.len();
        if carried > 0 {
            buffer[..carried].copy_from_slice(&conn.carry);
            conn.carry = Vec::new();
        }
        let (read, stamp_ns) = match conn.stamped {
            true => match stamps::read_stamped(link.fd(), &mut buffer[carried..]) {
                Ok((read, stamp)) => (Ok(read), stamp),
                Err(error) => (Err(error), None),
            },
            false => (link.read(&mut buffer[carried..]), None),
        };
        // Received: taken at the read, before anything is parsed.
        self.now_ns = Clock::now();
        let generation = conn.generation;
        self.publish_due(self.now_ns);
        if self.crowd[index as usize].generation != generation {
            // It was this peer's turn to publish, and its connection broke at that.
            return;
        }
        match read {
            Ok(Read::Bytes(n)) => {
                self.bytes_came(index, n);
                let received_before = self.accounting.record.counts.received;
                self.handle_input(index, &mut buffer[..carried + n]);
                if let Some(stamp_ns) = stamp_ns {
                    self.kernel_stamped(index, stamp_ns, received_before);
                }
            }
            Ok(Read::WouldBlock) => self.crowd[index as usize].carry = buffer[..carried].to_vec(),
            Ok(Read::End) => self.handle_eof(index, &mut buffer[..carried]),
            Err(error) => self.lost(index, trouble::kind(&error), &error.to_string()),
        }
    }

    fn bytes_came(&mut self, index: u32, n: usize) {
        let conn = &mut self.crowd[index as usize];
        let record = &mut self.accounting.record;
        record.counts.bytes_in += n as u64;
        if self.in_measure {
            record.counts.measure_bytes_in += n as u64;
        }
        if !conn.answered {
            conn.answered = true;
            // Connected is the first byte of an answer: the kernel accepts before the server does.
            if !conn.ever_subscribed {
                record.times.connect.record_ns(conn.due_ns, self.now_ns);
            }
        }
        if let Some(idle_ns) = self.plan.arm.idle_timeout_ns
            && conn.phase == Phase::Open
        {
            conn.give_up_ns = self.now_ns + idle_ns;
        }
    }

    /// The kernel's stamp is that of the newest segment: true for the read's last message alone.
    fn kernel_stamped(&mut self, index: u32, stamp_ns: u64, received_before: u64) {
        let whole = self.crowd[index as usize].carry.is_empty();
        let record = &mut self.accounting.record;
        let came = record.counts.received - received_before;
        if came == 0 {
            return;
        }
        if !whole {
            record.counts.stamps_unused += came;
            return;
        }
        record.counts.stamps_unused += came - 1;
        let arrived_ns = (stamp_ns as i64 - self.realtime_offset_ns) as u64;
        if self.in_measure {
            record.times.read_lag_stamped.record_ns(arrived_ns, self.now_ns);
        }
    }

    fn handle_input(&mut self, index: u32, mut input: &mut [u8]) {
        self.scratch.clear();
        loop {
            let conn = &mut self.crowd[index as usize];
            match conn.client.handle_input(&self.config, &mut input, &mut self.scratch) {
                Ok(None) => break,
                Ok(Some(event)) => {
                    let generation = conn.generation;
                    self.event(index, event);
                    if self.crowd[index as usize].generation != generation {
                        return;
                    }
                }
                Err(failure) => {
                    let seen = String::from_utf8_lossy(&input[..input.len().min(200)]).into_owned();
                    let what = format!("{failure}; received {seen:?}");
                    return self.lost(index, failure.kind(), &what);
                }
            }
        }
        if !input.is_empty() {
            if input.len() > KEPT_MAX {
                return self.lost(index, "head_too_large", "an incomplete unit is too long");
            }
            self.crowd[index as usize].carry = input.to_vec();
        }
        if !self.scratch.is_empty() {
            self.write_scratch(index);
        }
    }

    fn handle_eof(&mut self, index: u32, rest: &mut [u8]) {
        let generation = self.crowd[index as usize].generation;
        self.handle_input(index, rest);
        loop {
            let conn = &mut self.crowd[index as usize];
            if conn.generation != generation {
                return;
            }
            match conn.client.handle_eof(&self.config) {
                Ok(Some(event)) => self.event(index, event),
                Ok(None) => return self.lost(index, "closed", "the target closed the connection"),
                Err(failure) => return self.lost(index, failure.kind(), &failure.to_string()),
            }
        }
    }

    fn event(&mut self, index: u32, event: Event<'_>) {
        match event {
            Event::Data(bytes) => self.data(index, bytes),
            Event::MessageEnd => self.message_ended(index),
            Event::Opened { status, acknowledged } => self.opened(index, status, acknowledged),
            Event::Ready => self.stands(index, SubscribedBy::Ready, None),
            Event::Answered { status, .. } => self.answered(index, status),
            Event::Retry(ms) => self.crowd[index as usize].retry_ms = ms.min(u64::from(u32::MAX)) as u32,
            Event::Closed { .. } => {
                // A 204 ends an event stream for good (WHATWG HTML 9.2.3); a WebSocket or a
                // stream that ends in order was still lost unasked.
                self.lost(index, "closed", "the target ended the subscription");
            }
            Event::Heartbeat | Event::Comment | Event::Pong => {}
        }
    }

    fn opened(&mut self, index: u32, status: u16, acknowledged: Option<&str>) {
        let transport = self.transport();
        let conn = &mut self.crowd[index as usize];
        if transport.is_push() {
            conn.phase = Phase::Open;
            conn.give_up_ns = self.plan.arm.idle_timeout_ns.map_or(NEVER, |idle_ns| self.now_ns + idle_ns);
            conn.dismissed = transport == Transport::Sse && status == 204;
        }
        if conn.stamps == 0 && !conn.subscribed {
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
    fn after_open(&mut self, index: u32) {
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
            let token = token::pack(Owner::Every(n as u8), conn.generation, index);
            self.wheel.insert(self.now_ns + every.after_ns, token);
        }
    }

    /// The subscription stands.
    fn stands(&mut self, index: u32, by: SubscribedBy, acknowledged: Option<&str>) {
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

    #[inline]
    fn data(&mut self, index: u32, bytes: &[u8]) {
        let Shard { crowd, accounting, now_ns, unread_since_ns, plan, in_measure, .. } = self;
        let conn = &mut crowd[index as usize];
        let polled = plan.arm.transport == Transport::Poll;
        let streamed = plan.arm.transport == Transport::Stream;
        let counts = &mut accounting.record.counts;
        counts.payload_bytes += bytes.len() as u64;
        counts.measure_payload_bytes += if *in_measure { bytes.len() as u64 } else { 0 };
        if let Some(own) = &plan.arm.target_stamp {
            conn.own_stamp.get_or_insert_default().look(&own.json, bytes);
        }
        let (mut stamps, mut news, mut newest_sent_us) = (conn.stamps, conn.news, conn.newest_sent_us);
        conn.scanner.scan(bytes, |stamp: Stamp| {
            match accounting.received(index, &stamp, *now_ns, *unread_since_ns) {
                Receipt::New => {
                    news = news.saturating_add(1);
                    newest_sent_us = newest_sent_us.max(stamp.sent_us);
                }
                // The same stamp twice inside one message counts once; a poll shows a state again.
                Receipt::Again if !polled && (stamps == 0 || streamed) => {
                    accounting.record.counts.duplicate += 1
                }
                Receipt::Again | Receipt::Foreign => {}
            }
            stamps = stamps.saturating_add(1);
            if streamed {
                accounting.record.counts.messages += 1;
                accounting.record.counts.measure_messages += u64::from(*in_measure);
            }
        });
        let first = stamps > 0 && conn.stamps == 0 && conn.heard_ns == 0;
        if first {
            accounting.record.times.connect_first_message.record_ns(conn.due_ns, *now_ns);
        }
        (conn.stamps, conn.news, conn.newest_sent_us) = (stamps, news, newest_sent_us);
        if streamed && stamps > 0 {
            conn.heard_ns = *now_ns;
            conn.stamps = 0;
        }
    }

    fn message_ended(&mut self, index: u32) {
        let conn = &mut self.crowd[index as usize];
        let record = &mut self.accounting.record;
        record.counts.messages += 1;
        record.counts.measure_messages += u64::from(self.in_measure);
        conn.scanner.reset();
        if self.in_measure && conn.heard_ns > 0 && self.plan.arm.publisher.is_none() {
            record.times.gap.record_ns(conn.heard_ns, self.now_ns);
        }
        if let (Some(scan), Some(own)) = (&mut conn.own_stamp, &self.plan.arm.target_stamp) {
            let number = scan.finish().and_then(|text| std::str::from_utf8(text).ok()?.parse::<f64>().ok());
            scan.restart();
            if let (Some(then), true) = (number, self.in_measure) {
                let then_ns = (then * own.unit_ns as f64) as i64 - self.realtime_offset_ns;
                record.times.target_latency.record_ns(then_ns.max(0) as u64, self.now_ns);
            }
        }
        if self.plan.arm.transport.is_push() {
            // A message before the subscription stands is the target's greeting.
            if conn.stamps == 0 && conn.subscribed && self.plan.arm.publisher.is_some() {
                record.counts.unstamped += 1;
            }
            conn.heard_ns = self.now_ns;
            conn.stamps = 0;
            conn.news = 0;
        }
    }

    /// A poll or long poll has its answer.
    fn answered(&mut self, index: u32, status: u16) {
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
        let acknowledges = first && long && cursor && conn.stamps == 0;
        if self.in_measure && !acknowledges {
            if long && conn.news > 0 {
                counts.answers += 1;
                counts.answered_messages += u64::from(conn.news);
            } else if long {
                counts.timeouts += 1;
                let due_ns = conn.asked_ns + self.plan.arm.hold_ns;
                self.accounting.record.times.hold_overshoot.record_ns(due_ns, self.now_ns);
            } else if conn.news == 0 {
                counts.redundant += 1;
                counts.not_modified += u64::from(status == 304);
            }
        }
        conn.heard_ns = self.now_ns;
        conn.give_up_ns = NEVER;
        conn.phase = Phase::Resting;
        conn.reused = true;
        conn.scanner.reset();
        let news = conn.news > 0;
        let reusable = conn.client.reusable() && self.plan.arm.keep_alive;
        if !reusable {
            self.close(index);
        }
        if long {
            self.ask_again(index);
        } else {
            self.rest_until_next_poll(index, news);
        }
    }

    fn ask_again(&mut self, index: u32) {
        if self.crowd[index as usize].link.is_some() {
            // Bytes of pongs and the like cannot be pending on an HTTP connection.
            self.ask(index);
            self.scratch.clear();
        } else {
            self.crowd[index as usize].due_ns = self.now_ns;
            self.connect(index);
        }
    }

    /// Polls on a grid have their timer already; the closed and adaptive kinds set it now.
    fn rest_until_next_poll(&mut self, index: u32, news: bool) {
        let poll = self.plan.arm.poll;
        let conn = &mut self.crowd[index as usize];
        if let Some((min_ns, max_ns)) = poll.adaptive {
            let next = if news { conn.interval_ns / 2 } else { conn.interval_ns * 2 };
            conn.interval_ns = next.clamp(min_ns, max_ns);
        }
        if poll.after_answer {
            conn.next_ns = self.now_ns + conn.interval_ns;
            self.wheel.insert(conn.next_ns, token::pack(Owner::Next, 0, index));
        }
    }

    /// A timer of a client has fired.
    pub(crate) fn timer_fired(&mut self, token: u64) {
        let (owner, generation, index) = token::unpack(token);
        let conn = &mut self.crowd[index as usize];
        match owner {
            Owner::Next if conn.next_ns <= self.now_ns && conn.phase != Phase::Gone => self.next_due(index),
            Owner::Settle if conn.generation == generation && !conn.subscribed => {
                // A target that sends heads at once has not answered this one: it is not subscribed.
                let holds = self.plan.arm.transport == Transport::LongPoll;
                if conn.phase == Phase::Asked && (holds || !self.heads_seen) {
                    if !holds {
                        conn.give_up_ns = NEVER;
                    }
                    self.stands(index, SubscribedBy::Settle, None);
                }
            }
            Owner::Every(n) if conn.generation == generation && conn.phase == Phase::Open => {
                let Some(every) = self.plan.arm.subscribe.every.get(usize::from(n)) else { return };
                self.scratch.clear();
                conn.client.write_text(every.send.as_bytes(), &mut self.scratch);
                self.wheel.insert(self.now_ns + every.after_ns, token);
                self.write_scratch(index);
            }
            _ => {}
        }
    }

    /// A poll on the grid is due, or an attempt to come back.
    fn next_due(&mut self, index: u32) {
        let poll = self.plan.arm.poll;
        let conn = &mut self.crowd[index as usize];
        if self.plan.arm.transport != Transport::Poll || conn.phase == Phase::Waiting {
            conn.due_ns = conn.next_ns;
            conn.next_ns = NEVER;
            if conn.link.is_none() {
                self.connect(index);
            }
            return;
        }
        let due_ns = conn.next_ns;
        if !poll.after_answer {
            let number = u64::from(conn.number) << 32 | u64::from(conn.generation);
            let mut jitter = Draw::new(self.plan.arm.seed ^ due_ns, Purpose::Jitter, number);
            let gap = match poll.jitter {
                0.0 => conn.interval_ns,
                share => (conn.interval_ns as f64 * (1.0 + share * (2.0 * jitter.unit() - 1.0))) as u64,
            };
            conn.next_ns = due_ns + gap.max(1);
            self.wheel.insert(conn.next_ns, token::pack(Owner::Next, 0, index));
        } else {
            conn.next_ns = NEVER;
        }
        conn.due_ns = due_ns;
        match conn.phase {
            Phase::Resting if conn.link.is_some() => self.ask_again(index),
            Phase::Resting => self.connect(index),
            _ => {
                self.accounting.record.counts.overruns += u64::from(self.in_measure);
            }
        }
    }

    /// Patience has ended.
    pub(crate) fn client_timed_out(&mut self, index: u32) {
        let kind = match self.crowd[index as usize].phase {
            Phase::Connecting => "timeout_connect",
            Phase::Asked if self.crowd[index as usize].answered => "timeout_answer",
            Phase::Asked => "timeout_handshake",
            _ => "timeout_idle",
        };
        self.lost(index, kind, "no answer in time");
    }

    /// Closes the connection as a client may at any time; the session goes on.
    fn close(&mut self, index: u32) {
        let conn = &mut self.crowd[index as usize];
        if let Some(link) = conn.forget_link() {
            self.count_segments(&link);
        }
    }

    fn count_segments(&mut self, link: &Link) {
        if let Some(info) = link.tcp_info() {
            let counts = &mut self.accounting.record.counts;
            counts.segments_in += info.segments_in;
            counts.segments_out += info.segments_out;
            counts.segments_of += 1;
        }
    }

    /// The connection failed or was lost. What it means depends on what was going on.
    fn lost(&mut self, index: u32, kind: &str, what: &str) {
        let conn = &mut self.crowd[index as usize];
        let (phase, reused, answered) = (conn.phase, conn.reused, conn.answered);
        let partial = !conn.carry.is_empty() || conn.stamps > 0;
        self.close(index);
        let conn = &mut self.crowd[index as usize];
        let polled =
            self.plan.arm.transport == Transport::Poll || self.plan.arm.transport == Transport::LongPoll;
        if polled && phase == Phase::Resting {
            // An idle kept-alive connection may end: the next poll makes another.
            return;
        }
        if polled && phase == Phase::Asked && reused && answered && !partial {
            // The keep-alive ended as we asked (RFC 9112 9.3.1): once more, on a new connection.
            return self.connect(index);
        }
        let record = &mut self.accounting.record;
        if conn.subscribed {
            conn.subscribed = false;
            self.connected -= 1;
            record.counts.lost += 1;
            *record.lost_by.entry(kind.to_owned()).or_default() += 1;
        } else {
            *record.failed.entry(kind.to_owned()).or_default() += 1;
        }
        if record.troubles.len() < TROUBLES_MAX {
            record.troubles.push(format!("{kind}: {what}"));
        }
        self.accounting.subscription_lost(index);
        self.come_back(index);
    }

    fn come_back(&mut self, index: u32) {
        let conn = &mut self.crowd[index as usize];
        let Reconnect::FullJitter { base_ns, max_ns } = self.plan.arm.reconnect else {
            conn.phase = Phase::Gone;
            return;
        };
        if conn.dismissed {
            conn.phase = Phase::Gone;
            return;
        }
        let bound_ns = base_ns.saturating_mul(1 << u32::from(conn.attempts).min(30)).min(max_ns);
        conn.attempts = conn.attempts.saturating_add(1);
        let mut draw = Draw::new(self.plan.arm.seed ^ self.now_ns, Purpose::Jitter, u64::from(conn.number));
        let pause_ns = match conn.retry_ms {
            0 => (draw.unit() * bound_ns as f64) as u64,
            // The server's own wish (WHATWG HTML 9.2.3) goes before the policy's first bound.
            ms => u64::from(ms) * 1_000_000 + (draw.unit() * base_ns as f64) as u64,
        };
        conn.phase = Phase::Resting;
        if self.plan.arm.transport != Transport::Poll || self.plan.arm.poll.after_answer {
            conn.next_ns = self.now_ns + pause_ns;
            self.wheel.insert(conn.next_ns, token::pack(Owner::Next, 0, index));
        }
    }

    /// A peer's turn to publish.
    pub(crate) fn client_publishes(&mut self, index: u32, job: Job) {
        let arm = &self.plan.arm;
        let (Some(publisher), Some(template)) = (&arm.publisher, &arm.subscribe.peer) else { return };
        let conn = &mut self.crowd[index as usize];
        let counts = &mut self.accounting.record.counts;
        if !conn.subscribed || conn.link.is_none() {
            counts.unpublished += u64::from(job.measured);
            return;
        }
        let sent_ns = Clock::now();
        let mut payload = vec![0; publisher.size.of(arm.seed, job.channel, job.sequence)];
        let stamp = Stamp {
            nonce: arm.nonce,
            publisher: 0,
            channel: job.channel,
            sequence: job.sequence,
            due_us: job.due_ns / 1_000,
            sent_us: sent_ns / 1_000,
        };
        write_payload(&stamp, &mut payload);
        counts.published_all += 1;
        counts.sent_in_measure += u64::from(self.in_measure);
        if job.measured {
            counts.published += 1;
            self.accounting.record.times.publish_lag.record_ns(job.due_ns, sent_ns);
        }
        let mut text = Vec::new();
        self.requests.fill(arm, template, conn.number, &[job.channel], &payload, &mut text);
        // A read of another client may be in progress: its answers wait in `scratch`.
        let pending = std::mem::take(&mut self.scratch);
        conn.client.write_text(&text, &mut self.scratch);
        self.write_scratch(index);
        self.scratch = pending;
    }

    /// The arm is over.
    pub(crate) fn client_leaves(&mut self, index: u32) {
        let conn = &mut self.crowd[index as usize];
        self.scratch.clear();
        if conn.phase == Phase::Open {
            conn.client.write_close(1000, &mut self.scratch);
            if let Some(link) = &mut conn.link {
                // Best effort: the socket closes next, whatever the peer makes of it.
                let _ = link.write(&self.scratch);
            }
        }
        self.close(index);
        self.crowd[index as usize].phase = Phase::Gone;
    }
}
