//! One direction of a connection in virtual time, with a latency and segments of limited size.

use std::collections::VecDeque;

/// Bytes on their way, in order of arrival.
pub(crate) struct Link {
    pub(crate) latency_us: u64,
    /// The largest segment. Longer output is split into segments 1 µs apart.
    pub(crate) segment_max: usize,
    under_way: VecDeque<(u64, Vec<u8>)>,
}

impl Link {
    pub(crate) fn new(latency_us: u64, segment_max: usize) -> Link {
        Link { latency_us, segment_max, under_way: VecDeque::new() }
    }

    pub(crate) fn send(&mut self, now_us: u64, bytes: &mut Vec<u8>) {
        let mut arrives_us = now_us + self.latency_us;
        for segment in bytes.chunks(self.segment_max) {
            // Later bytes must not overtake earlier ones.
            arrives_us = arrives_us.max(self.under_way.back().map_or(0, |(last, _)| last + 1));
            self.under_way.push_back((arrives_us, segment.to_vec()));
        }
        bytes.clear();
    }

    pub(crate) fn next_us(&self) -> Option<u64> {
        self.under_way.front().map(|(at_us, _)| *at_us)
    }

    pub(crate) fn receive(&mut self, now_us: u64) -> Option<Vec<u8>> {
        self.under_way.pop_front_if(|(at_us, _)| *at_us <= now_us).map(|(_, bytes)| bytes)
    }

    /// Cuts the connection. Bytes on their way are lost.
    pub(crate) fn cut(&mut self) {
        self.under_way.clear();
    }
}
