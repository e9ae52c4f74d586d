//! The deliveries to one probe: each once, with its latency.

use std::collections::BTreeMap;

use pushmark_model::histogram::Distribution;
use pushmark_model::plan::ArmPlan;
use pushmark_model::stamp::{STAMP_LEN, Stamp};

/// The measure phase in µs of pushmark's clock, like stamps, without its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measure {
    start_us: u64,
    end_us: u64,
    arm_start_ns: u64,
}

impl Measure {
    pub(super) fn of(plan: &ArmPlan, arm_start_ns: u64) -> Measure {
        let at = |ns: u64| (arm_start_ns + ns) / 1_000;
        let phases = &plan.phases;
        Measure { start_us: at(phases.measure_start_ns()), end_us: at(phases.measure_end_ns()), arm_start_ns }
    }

    fn holds(&self, due_us: u64) -> bool {
        (self.start_us..self.end_us).contains(&due_us)
    }

    /// Publications of a channel that are due in it.
    fn due(&self, plan: &ArmPlan, channel: u32) -> u64 {
        let mut schedule = plan.schedule(channel);
        std::iter::from_fn(|| schedule.take_due(u64::MAX))
            .filter(|(_, due_ns)| self.holds((self.arm_start_ns + due_ns) / 1_000))
            .count() as u64
    }
}

/// The received sequences of one channel: the highest, and which of the 64 below it.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    next: u64,
    below: u64,
}

impl Seen {
    /// Whether it is received for the first time; a sequence more than 64 behind counts as repeated.
    fn first(&mut self, sequence: u64) -> bool {
        if sequence >= self.next {
            let ahead = sequence - self.next + 1;
            let kept = if ahead < 64 { self.below << ahead } else { 0 };
            // Bit 0 is the newest.
            self.below = kept | 1;
            self.next = sequence + 1;
            return true;
        }
        let bit = self.next - 1 - sequence;
        let is_first = bit < 64 && self.below >> bit & 1 == 0;
        if is_first {
            self.below |= 1 << bit;
        }
        is_first
    }
}

/// The accounts of one probe.
#[derive(Debug)]
pub(super) struct Account {
    nonce: u32,
    measure: Measure,
    seen: BTreeMap<u32, Seen>,
    pub(super) intended: u64,
    pub(super) deliveries: u64,
    pub(super) duplicate: u64,
    pub(super) latency: Distribution,
}

impl Account {
    pub(super) fn new(plan: &ArmPlan, channels: &[u32], measure: Measure) -> Account {
        let mut account = Account {
            nonce: plan.nonce,
            measure,
            seen: channels.iter().map(|&channel| (channel, Seen::default())).collect(),
            intended: 0,
            deliveries: 0,
            duplicate: 0,
            latency: Distribution::default(),
        };
        account.measure(plan, measure);
        account
    }

    /// Sets new bounds of measure; both must be in the future.
    pub(super) fn measure(&mut self, plan: &ArmPlan, measure: Measure) {
        self.measure = measure;
        if plan.publisher.is_some() {
            self.intended = self.seen.keys().map(|&channel| measure.due(plan, channel)).sum();
        }
    }

    /// Records a stamp received at an instant of pushmark's clock.
    pub(super) fn heard(&mut self, stamp: &str, at_us: f64) {
        let whole = <&[u8; STAMP_LEN]>::try_from(stamp.as_bytes()).ok();
        let Some(stamp) = whole.and_then(Stamp::parse).filter(|stamp| stamp.nonce == self.nonce) else {
            return;
        };
        let Some(seen) = self.seen.get_mut(&stamp.channel) else { return };
        let is_first = seen.first(stamp.sequence);
        if !self.measure.holds(stamp.due_us) {
            return;
        }
        if !is_first {
            self.duplicate += 1;
            return;
        }
        self.deliveries += 1;
        let latency_us = (at_us - stamp.due_us as f64).round() as i64;
        match u64::try_from(latency_us) {
            Ok(latency_us) => self.latency.record_us(latency_us),
            Err(_) => self.latency.record_negative_us(latency_us.unsigned_abs()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_first_once() {
        let mut seen = Seen::default();
        let first: Vec<bool> = [0, 1, 1, 4, 2, 2, 3, 70, 4, 200, 199, 199].map(|n| seen.first(n)).into();
        let t = true;
        let f = false;
        // 4 is more than 64 behind 70: it counts as received before.
        assert_eq!(first, [t, t, f, t, t, f, t, t, f, t, t, f]);
    }
}
