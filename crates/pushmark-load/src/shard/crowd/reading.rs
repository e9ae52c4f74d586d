//! Clients read: bytes become events. The received instant is taken here, at the read.

use std::io;

use pushmark_model::record::SubscribedBy;
use pushmark_model::transport::Transport;
use pushmark_net::{Arrival, Batch, Clock, Nanos, Read, Ready, prefetch};
use pushmark_proto::client::{Event, Lane};

use crate::conn::Phase;
use crate::shard::{READ_MAX, Shard};
use crate::token::{self, Owner};
use crate::trouble;

/// Largest incomplete unit that a connection may keep (an answer's head).
const KEPT_MAX: usize = 64 << 10;

/// Reads made one after the other before anything is parsed. The code of the kernel and of pushmark evict
/// each other from the processor's nearest caches, so alternating between them costs time for every
/// message. A larger group would delay publications.
pub(crate) const TOGETHER_MAX: usize = 16;

/// The result of one read that is not parsed yet.
#[derive(Debug)]
pub(crate) struct ReadResult {
    index: u32,
    lane: Lane,
    generation: u32,
    at_ns: Nanos,
    /// Positions in the buffer: where the kept bytes start, where the bytes read start, and where they
    /// end.
    start: usize,
    from: usize,
    end: usize,
    filled: bool,
    stamp_ns: Option<u64>,
    /// Whether the peer has ended its direction, or how the connection broke.
    ended: io::Result<bool>,
}

impl Shard {
    /// Prefetches the state of the next client while this one is read.
    #[inline]
    pub(crate) fn expect(&self, next: Option<&Ready>) {
        let Some((Owner::Client, _, index)) = next.map(|ready| token::unpack(ready.token)) else { return };
        if let Some(conn) = self.crowd.get(index) {
            prefetch(conn);
            self.accounting.expect(index);
        }
    }

    /// Reads the sockets of the next clients in the batch, and parses only then. Returns whether there
    /// was such a client. Received is taken at each read, so waiting for the others adds nothing to it.
    /// Between two reads, due publications are sent.
    ///
    /// The group ends at a client that occurs again, as it does if a ring reports several arrivals. The
    /// bytes that it keeps of the first read are known only after parsing, and they precede the second
    /// read.
    pub(crate) fn hear(&mut self, batch: &mut Batch) -> bool {
        let mut buffer = std::mem::take(&mut self.io.buffer);
        let mut heard = std::mem::take(&mut self.io.heard);
        let (mut used, mut any) = (0, false);
        while heard.len() < TOGETHER_MAX
            && let Some(ready) = batch.peek().copied()
            && let Some(index) = self.hears(&ready, buffer.len() - used)
        {
            any = true;
            batch.next();
            self.expect(batch.peek());
            if let Some(one) = self.read(index, Lane::Connect, ready.arrival, &mut buffer, used) {
                self.reach(one.at_ns);
                used = one.end;
                heard.push((one, ready));
            }
        }
        for (one, ready) in heard.drain(..) {
            let (index, generation) = (one.index, one.generation);
            let more = self.look_into(one, &mut buffer);
            self.heard_out(index, Lane::Connect, generation, more, ready);
        }
        (self.io.buffer, self.io.heard) = (buffer, heard);
        any
    }

    /// Returns the client if it has something to read and there is room for that and for the bytes it
    /// kept.
    fn hears(&self, ready: &Ready, room: usize) -> Option<u32> {
        let (Owner::Client, generation, index) = token::unpack(ready.token) else { return None };
        let line = &self.crowd.get(index)?.first;
        let hears = ready.readable
            && line.generation == generation
            && !line.unparsed
            && line.link.is_some()
            && line.phase != Phase::Connecting
            && line.carry.len() + READ_MAX <= room;
        hears.then_some(index)
    }

    /// Reads once, sends the publications due by then, and parses. Returns whether more may be unread.
    pub(super) fn readable(&mut self, index: u32, lane: Lane, arrival: Option<Arrival>) -> bool {
        let mut buffer = std::mem::take(&mut self.io.buffer);
        let more = match self.read(index, lane, arrival, &mut buffer, 0) {
            Some(one) => {
                self.reach(one.at_ns);
                self.look_into(one, &mut buffer)
            }
            None => false,
        };
        self.io.buffer = buffer;
        more
    }

    /// Reads once into `buffer` from `start` on, behind the bytes that the client kept, or takes what the
    /// poller has read. Returns `None` if there was nothing.
    fn read(
        &mut self,
        index: u32,
        lane: Lane,
        arrival: Option<Arrival>,
        buffer: &mut [u8],
        start: usize,
    ) -> Option<ReadResult> {
        let conn = &mut self.crowd[index];
        let stamped = conn.is_stamped(lane);
        let line = conn.line_mut(lane);
        let generation = line.generation;
        let link = line.link.as_mut()?;
        if arrival.is_none() && self.io.poller.reads(link.fd()) {
            // The ring also reports what epoll reports here, after the bytes that arrived before.
            return None;
        }
        let from = start + line.carry.len();
        if from > start {
            buffer[start..from].copy_from_slice(&line.carry);
            line.carry = Vec::new();
        }
        let room = &mut buffer[from..];
        let (read, stamp_ns) = match arrival {
            Some(arrival) => (self.io.poller.take(arrival, room), None),
            None if stamped => match link.read_stamped(room) {
                Ok((read, stamp)) => (Ok(read), stamp),
                Err(error) => (Err(error), None),
            },
            None => (link.read(room), None),
        };
        // Received: taken at the read, before anything is parsed.
        let at_ns = Clock::now();
        let n = match read {
            Ok(Read::Bytes(n)) => n,
            Ok(Read::WouldBlock) => {
                line.carry = buffer[start..from].to_vec();
                return None;
            }
            Ok(Read::End) | Err(_) => 0,
        };
        // A read that did not fill its room took everything there was.
        let filled = room.len() - n < link.room_min();
        line.unparsed = true;
        let ended = read.map(|read| read == Read::End);
        let end = from + n;
        Some(ReadResult { index, lane, generation, at_ns, start, from, end, filled, stamp_ns, ended })
    }

    /// Parses a read into events. Returns whether more may be unread in the kernel.
    fn look_into(&mut self, one: ReadResult, buffer: &mut [u8]) -> bool {
        let ReadResult { index, lane, generation, at_ns, start, from, end, filled, stamp_ns, ended } = one;
        let conn = &mut self.crowd[index];
        if !conn.is_current(lane, generation) {
            // This client published as a peer after the read, and its connection broke.
            return false;
        }
        conn.line_mut(lane).unparsed = false;
        self.time.now_ns = at_ns;
        match ended {
            Ok(false) => {
                self.bytes_came(index, lane, end - from);
                let received_before = self.accounting.record.counts.received;
                self.accounting.newest_due_ns = None;
                self.handle_input(index, lane, &mut buffer[start..end]);
                if let Some(stamp_ns) = stamp_ns {
                    self.kernel_stamped(index, stamp_ns, received_before);
                }
                return filled;
            }
            Ok(true) => self.handle_eof(index, lane, &mut buffer[start..end]),
            Err(error) => self.lost(index, lane, trouble::kind(&error), &error.to_string()),
        }
        false
    }

    fn bytes_came(&mut self, index: u32, lane: Lane, n: usize) {
        let conn = &mut self.crowd[index];
        let (subscribed, ever_subscribed, due_ns) = (conn.subscribed, conn.ever_subscribed, conn.due_ns);
        let line = conn.line_mut(lane);
        let record = &mut self.accounting.record;
        record.counts.bytes_in += n as u64;
        if self.time.in_measure {
            record.counts.measure_bytes_in += n as u64;
        }
        if !line.answered {
            line.answered = true;
            // Connected means the first byte of an answer: the kernel accepts before the server does.
            if !ever_subscribed && lane == Lane::Connect {
                record.times.connect.record_ns(due_ns, self.time.now_ns);
            }
        }
        if let Some(idle_ns) = self.plan.arm.idle_timeout_ns
            && line.phase == Phase::Open
            && subscribed
        {
            line.give_up_ns = self.time.now_ns + idle_ns;
        }
    }

    /// The kernel's stamp is that of the newest segment, so it applies only to the last message of a
    /// read. Only first lines have such stamps.
    fn kernel_stamped(&mut self, index: u32, stamp_ns: u64, received_before: u64) {
        let whole = self.crowd[index].first.carry.is_empty();
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
        let arrived_ns = (stamp_ns as i64 - self.time.realtime_offset_ns) as u64;
        if self.time.in_measure {
            record.times.read_lag_stamped.record_ns(arrived_ns, self.time.now_ns);
        }
        if let Some(due_ns) = self.accounting.newest_due_ns {
            self.accounting.record.times.latency_stamped.record_ns(due_ns, arrived_ns);
        }
    }

    fn handle_input(&mut self, index: u32, lane: Lane, mut input: &mut [u8]) {
        self.io.scratch.clear();
        let len = input.len();
        // A refusal is reported with its head, which is no longer in `input` by then.
        let conn = &self.crowd[index];
        let came: Option<Box<[u8]>> =
            (!conn.subscribed).then(|| input[..input.len().min(trouble::SHOWN_MAX)].into());
        let generation = conn.line(lane).generation;
        let inflates = self.plan.arm.subscribe.deflate.is_some();
        loop {
            let began_ns = if inflates { Clock::now() } else { 0 };
            let conn = &mut self.crowd[index];
            let config = self.asking.config_on(lane);
            let (client, seen) = conn.client_on(lane);
            match client.handle_lane(config, seen, &mut input, &mut self.io.scratch) {
                Ok(None) => break,
                Ok(Some(event)) => {
                    if inflates && event == Event::Inflated {
                        self.accounting.record.counts.inflate_ns += Clock::now() - began_ns;
                    }
                    self.event(index, lane, event);
                    if !self.crowd[index].is_current(lane, generation) {
                        return;
                    }
                }
                Err(failure) => {
                    let what =
                        format!("{failure}; received {}", trouble::shown(came.as_deref().unwrap_or(input)));
                    let how = trouble::how_of(&failure);
                    return self.ended(index, lane, failure.kind(), &how, &what, came.as_deref());
                }
            }
        }
        let carried = input.len();
        if carried > 0 {
            if carried > KEPT_MAX {
                return self.lost(index, lane, "head_too_large", "an incomplete unit is too long");
            }
            self.crowd[index].line_mut(lane).carry = input.to_vec();
        }
        if let Some(came) = came {
            // The carried bytes are part of the next input.
            let (subscribed, came) = (self.crowd[index].subscribed, &came[..came.len().min(len - carried)]);
            self.seen.note_before_subscribed(index, subscribed, came);
        }
        if !self.io.scratch.is_empty() {
            self.write_scratch(index, lane);
        }
        match self.rests_in_session(index, lane) {
            true => self.crowd.to_ask.push_back(index),
            false => self.session_goes_on(index),
        }
    }

    fn handle_eof(&mut self, index: u32, lane: Lane, rest: &mut [u8]) {
        let generation = self.crowd[index].line(lane).generation;
        self.handle_input(index, lane, rest);
        loop {
            let conn = &mut self.crowd[index];
            if !conn.is_current(lane, generation) {
                return;
            }
            let config = self.asking.config_on(lane);
            let (client, seen) = conn.client_on(lane);
            match client.handle_lane_eof(config, seen) {
                Ok(Some(event)) => self.event(index, lane, event),
                Ok(None) => return self.lost(index, lane, "closed", "the target closed the connection"),
                Err(failure) => {
                    let how = trouble::how_of(&failure);
                    return self.ended(index, lane, failure.kind(), &how, &failure.to_string(), None);
                }
            }
        }
    }

    fn payload_came(&mut self, index: u32, lane: Lane, bytes: &[u8]) {
        let awaits = self.awaits(index);
        if awaits {
            self.step_data(index, bytes);
        }
        self.keep_content(index, lane, bytes);
        self.data(index, lane, bytes);
        self.read_documents(index, lane, bytes);
        // A stream has no messages: what came is compared as it comes.
        if awaits && self.transport() == Transport::Stream {
            self.step_message(index);
        }
    }

    /// A part of a compressed message was inflated.
    #[cold]
    fn inflated(&mut self, index: u32, lane: Lane) {
        let bytes = self.crowd[index].client.take_inflated();
        self.accounting.record.counts.inflated_bytes += bytes.len() as u64;
        self.payload_came(index, lane, &bytes);
        self.crowd[index].client.give_inflated_back(bytes);
    }

    fn event(&mut self, index: u32, lane: Lane, event: Event<'_>) {
        if lane == Lane::Command && self.asking.safety.is_some() {
            return self.safety_event(index, event);
        }
        match event {
            Event::Data(bytes) => self.payload_came(index, lane, bytes),
            Event::Inflated => self.inflated(index, lane),
            Event::MessageEnd => {
                self.read_last_document(index, lane);
                self.check_content(index, lane);
                self.message_ended(index, lane);
                // Afterwards: the message that ends the last step came before the subscription stood.
                if self.awaits(index) {
                    self.step_message(index);
                }
            }
            Event::Opened { status, acknowledged } => self.opened(index, status, acknowledged),
            Event::Ready if self.transport().is_bayeux() => self.session_stands(index),
            Event::Ready => {
                self.crowd[index].first.greeting = true;
                self.stands(index, SubscribedBy::Ready, None);
            }
            Event::Published { accepted, .. } => self.published(index, accepted),
            Event::Forgotten => {
                self.no_longer_stands(index, "forgotten", "session forgotten");
                self.trouble("forgotten", "the server knows the session no more");
            }
            Event::Answered { status, .. } => self.answered(index, lane, status),
            Event::Asked { answer, text } => {
                self.say(index, text, |subscribe| Some(&subscribe.answer.get(usize::from(answer))?.send));
            }
            Event::Retry(ms) => self.crowd[index].retry_ms = ms.min(u64::from(u32::MAX)) as u32,
            Event::Closed { .. } if self.session_has_ended(index) => {}
            Event::Closed { .. } if self.plan.arm.subscribe.ends => self.ended_as_planned(index),
            Event::Closed { code, reason } => {
                // A 204 ends an event stream for good (WHATWG HTML 9.2.3). A WebSocket or a stream that
                // the target ends in order was still lost.
                let how = self.ended_in_order(code, reason);
                let what = format!("the target ended the subscription: {how}");
                self.ended(index, lane, "closed", &how, &what, None);
            }
            Event::Heartbeat => {
                self.no_message(index, lane);
                // A step may await what is answered as well.
                if self.awaits(index) {
                    self.step_message(index);
                }
            }
            Event::Comment | Event::Pong => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::net::Shutdown;

    use pushmark_model::record::Record;
    use pushmark_model::stamp::{Stamp, write_payload};
    use pushmark_model::steer::Steer;
    use pushmark_model::transport::Transport;

    use crate::shard::run_shard;
    use crate::testing::{Target, arm};

    /// More than two groups of reads.
    const CLIENTS: usize = 40;
    /// Messages to one client at once: about 150 KiB, more than one read takes.
    const MANY: u64 = 1_000;
    /// This number of turns reads everything that has arrived.
    const TURNS: usize = 20;

    fn chunk(sequence: u64) -> Vec<u8> {
        let mut payload = [0; 128];
        let stamp = Stamp { nonce: 77, publisher: 0, channel: 0, sequence, due_us: 1, sent_us: 1 };
        write_payload(&stamp, &mut payload);
        [b"80\r\n", &payload[..], b"\r\n"].concat()
    }

    #[test]
    fn what_is_read_together_is_each_clients_own() {
        let (mut target, plan) = Target::of(arm(Transport::Stream, CLIENTS as u64));
        let (head, first) = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n80".as_slice(), chunk(0));
        let mut turn = 0;
        let mut orders = || {
            target.look();
            turn += usize::from(target.requests == CLIENTS);
            match turn {
                // Each client keeps half of a chunk's head.
                1 => target.writes_all(head),
                // Now all receive the same message. Half of them then receive an end, and one receives
                // many messages.
                TURNS => {
                    target.writes_all(&first[2..]);
                    let many: Vec<u8> = (1..=MANY).flat_map(chunk).collect();
                    target.clients[0].write_all(&many).unwrap();
                    let odd = target.clients.iter().skip(1).step_by(2);
                    odd.for_each(|client| client.shutdown(Shutdown::Write).unwrap());
                }
                _ => {}
            }
            (turn == 2 * TURNS).then_some(Steer::Stop)
        };
        let mut total = Record::default();
        run_shard(plan, &mut orders, &mut |mut record: Box<Record>| {
            total.merge(&record);
            record.clear();
            record
        })
        .unwrap();
        let counts = total.counts;
        assert_eq!((counts.received, counts.messages), (CLIENTS as u64 + MANY, CLIENTS as u64 + MANY));
        assert_eq!((counts.lost, counts.foreign, counts.duplicate), (CLIENTS as u64 / 2, 0, 0));
    }
}
