//! Clients read: bytes become events. Received is taken here, at the read.

use pushmark_model::record::SubscribedBy;
use pushmark_net::{Arrival, Clock, Read, Ready, prefetch};
use pushmark_proto::client::{Event, Lane};

use crate::conn::Phase;
use crate::shard::Shard;
use crate::token::{self, Owner};
use crate::trouble;

/// Largest incomplete unit a connection may keep (an answer's head).
const KEPT_MAX: usize = 64 << 10;

impl Shard {
    /// The client that is read next is brought into the cache while this one is read.
    #[inline]
    pub(crate) fn expect(&self, next: Option<&Ready>) {
        let Some((Owner::Client, _, index)) = next.map(|ready| token::unpack(ready.token)) else { return };
        if let Some(conn) = self.crowd.get(index as usize) {
            prefetch(conn);
            self.accounting.expect(index);
        }
    }

    /// Reads once, or takes what the poller has read; gives whether more may lie there: a short
    /// read took all there was.
    pub(super) fn readable(&mut self, index: u32, arrival: Option<Arrival>) -> bool {
        let mut buffer = std::mem::take(&mut self.buffer);
        let filled = self.read(index, arrival, &mut buffer);
        self.buffer = buffer;
        filled
    }

    fn read(&mut self, index: u32, arrival: Option<Arrival>, buffer: &mut [u8]) -> bool {
        let conn = &mut self.crowd[index as usize];
        let stamped = conn.is_stamped();
        let Some(link) = conn.line.link.as_mut() else { return false };
        if arrival.is_none() && self.poller.reads(link.fd()) {
            // What epoll tells of it, the ring tells too, behind the bytes that came before.
            return false;
        }
        let carried = conn.line.carry.len();
        if carried > 0 {
            buffer[..carried].copy_from_slice(&conn.line.carry);
            conn.line.carry = Vec::new();
        }
        let (read, stamp_ns) = match arrival {
            Some(arrival) => (self.poller.take(arrival, &mut buffer[carried..]), None),
            None if stamped => match link.read_stamped(&mut buffer[carried..]) {
                Ok((read, stamp)) => (Ok(read), stamp),
                Err(error) => (Err(error), None),
            },
            None => (link.read(&mut buffer[carried..]), None),
        };
        let room_min = link.room_min();
        // Received: taken at the read, before anything is parsed.
        self.now_ns = Clock::now();
        let generation = conn.line.generation;
        self.publish_due(self.now_ns);
        if self.crowd[index as usize].line.generation != generation {
            // It was this peer's turn to publish, and its connection broke at that.
            return false;
        }
        match read {
            Ok(Read::Bytes(n)) => {
                let filled = buffer.len() - carried - n < room_min;
                self.bytes_came(index, n);
                let received_before = self.accounting.record.counts.received;
                self.accounting.newest_due_ns = None;
                self.handle_input(index, &mut buffer[..carried + n]);
                if let Some(stamp_ns) = stamp_ns {
                    self.kernel_stamped(index, stamp_ns, received_before);
                }
                return filled;
            }
            Ok(Read::WouldBlock) => self.crowd[index as usize].line.carry = buffer[..carried].to_vec(),
            Ok(Read::End) => self.handle_eof(index, &mut buffer[..carried]),
            Err(error) => self.lost(index, trouble::kind(&error), &error.to_string()),
        }
        false
    }

    pub(super) fn bytes_came(&mut self, index: u32, n: usize) {
        let conn = &mut self.crowd[index as usize];
        let record = &mut self.accounting.record;
        record.counts.bytes_in += n as u64;
        if self.in_measure {
            record.counts.measure_bytes_in += n as u64;
        }
        if !conn.line.answered {
            conn.line.answered = true;
            // Connected is the first byte of an answer: the kernel accepts before the server does.
            if !conn.ever_subscribed && conn.lane == Lane::Connect {
                record.times.connect.record_ns(conn.due_ns, self.now_ns);
            }
        }
        if let Some(idle_ns) = self.plan.arm.idle_timeout_ns
            && conn.line.phase == Phase::Open
        {
            conn.line.give_up_ns = self.now_ns + idle_ns;
        }
    }

    /// The kernel's stamp is that of the newest segment: true for the read's last message alone.
    pub(super) fn kernel_stamped(&mut self, index: u32, stamp_ns: u64, received_before: u64) {
        let whole = self.crowd[index as usize].line.carry.is_empty();
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
        if let Some(due_ns) = self.accounting.newest_due_ns {
            self.accounting.record.times.latency_stamped.record_ns(due_ns, arrived_ns);
        }
    }

    pub(super) fn handle_input(&mut self, index: u32, mut input: &mut [u8]) {
        self.scratch.clear();
        // A refusal is told with its head, which will have been taken off `input` by then.
        let conn = &self.crowd[index as usize];
        let came: Option<Box<[u8]>> =
            (!conn.subscribed).then(|| input[..input.len().min(trouble::SHOWN_MAX)].into());
        loop {
            let conn = &mut self.crowd[index as usize];
            let config = match (&self.safety, conn.lane) {
                (Some(safety), Lane::Command) => &safety.config,
                _ => &self.config,
            };
            let lane = conn.client_lane();
            match conn.client.handle_lane(config, lane, &mut input, &mut self.scratch) {
                Ok(None) => break,
                Ok(Some(event)) => {
                    let generation = conn.line.generation;
                    self.event(index, event);
                    if self.crowd[index as usize].line.generation != generation {
                        return;
                    }
                }
                Err(failure) => {
                    let what =
                        format!("{failure}; received {}", trouble::shown(came.as_deref().unwrap_or(input)));
                    return self.lost(index, failure.kind(), &what);
                }
            }
        }
        if !input.is_empty() {
            if input.len() > KEPT_MAX {
                return self.lost(index, "head_too_large", "an incomplete unit is too long");
            }
            self.crowd[index as usize].line.carry = input.to_vec();
        }
        if !self.scratch.is_empty() {
            self.write_scratch(index);
        }
        match self.rests_in_session(index) {
            true => self.to_ask.push_back(index),
            false => self.session_goes_on(index),
        }
    }

    pub(super) fn handle_eof(&mut self, index: u32, rest: &mut [u8]) {
        let generation = self.crowd[index as usize].line.generation;
        self.handle_input(index, rest);
        loop {
            let conn = &mut self.crowd[index as usize];
            if conn.line.generation != generation {
                return;
            }
            let config = match (&self.safety, conn.lane) {
                (Some(safety), Lane::Command) => &safety.config,
                _ => &self.config,
            };
            let lane = conn.client_lane();
            match conn.client.handle_lane_eof(config, lane) {
                Ok(Some(event)) => self.event(index, event),
                Ok(None) => return self.lost(index, "closed", "the target closed the connection"),
                Err(failure) => return self.lost(index, failure.kind(), &failure.to_string()),
            }
        }
    }

    pub(super) fn event(&mut self, index: u32, event: Event<'_>) {
        if self.safety.is_some() && self.crowd[index as usize].lane == Lane::Command {
            return self.safety_event(index, event);
        }
        match event {
            Event::Data(bytes) => {
                self.keep_content(index, bytes);
                self.data(index, bytes);
            }
            Event::MessageEnd => {
                self.check_content(index);
                self.message_ended(index);
            }
            Event::Opened { status, acknowledged } => self.opened(index, status, acknowledged),
            Event::Ready if self.transport().is_bayeux() => self.session_stands(index),
            Event::Ready => {
                self.crowd[index as usize].line.greeting = true;
                self.stands(index, SubscribedBy::Ready, None);
            }
            Event::Published { accepted, .. } => self.published(index, accepted),
            Event::Forgotten => {
                self.no_longer_stands(index, "forgotten");
                self.trouble("forgotten", "the server knows the session no more");
            }
            Event::Answered { status, .. } => self.answered(index, status),
            Event::Retry(ms) => self.crowd[index as usize].retry_ms = ms.min(u64::from(u32::MAX)) as u32,
            Event::Closed { .. } if self.session_has_ended(index) => {}
            Event::Closed { .. } => {
                // A 204 ends an event stream for good (WHATWG HTML 9.2.3); a WebSocket or a
                // stream that ends in order was still lost unasked.
                self.lost(index, "closed", "the target ended the subscription");
            }
            // Of Bayeux: what they mean is counted by the session.
            Event::Heartbeat | Event::Comment | Event::Pong => {}
        }
    }
}
