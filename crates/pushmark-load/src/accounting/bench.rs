//! The accounts of a few clients on one channel, with invented instants.

use pushmark_model::plan::ArmPlan;
use pushmark_model::stamp::Stamp;
use pushmark_model::transport::Transport;

use super::{Accounting, Receipt};

pub(super) const SECOND: u64 = 1_000_000_000;

/// An arm of `connections` on one channel: ramp 1 s, settle 0, warm-up 1 s, measure 10 s, drain 2 s.
pub(super) fn arm(transport: Transport, connections: u64) -> ArmPlan {
    let mut arm = crate::testing::arm(transport, connections);
    arm.deadline_ns = 2 * SECOND;
    arm
}

pub(super) struct Bench {
    pub(super) accounting: Accounting,
    connections: u32,
    pub(super) nonce: u32,
}

pub(super) fn bench(transport: Transport, connections: u32) -> Bench {
    bench_of(&arm(transport, u64::from(connections)))
}

/// As [`bench`], with a measure phase in which many publications fall.
pub(super) fn long_bench(transport: Transport, connections: u32) -> Bench {
    let mut arm = arm(transport, u64::from(connections));
    arm.phases.measure_ns = 1_000 * SECOND;
    bench_of(&arm)
}

pub(super) fn bench_of(arm: &ArmPlan) -> Bench {
    let numbers: Vec<u64> = (0..arm.connections).collect();
    let connections = arm.connections as u32;
    Bench { accounting: Accounting::new(arm, 0, &numbers), connections, nonce: arm.nonce }
}

impl Bench {
    pub(super) fn all_subscribed(mut self) -> Bench {
        for c in 0..self.connections {
            self.accounting.subscription_asked(c);
            self.accounting.subscription_stands(c, |_| Some(None));
        }
        self
    }

    /// Publication n is due at 2 s + n × 100 ms, in measure.
    pub(super) fn due(&mut self, sequences: std::ops::Range<u64>) {
        for sequence in sequences {
            self.accounting.publication_due(0, sequence, Self::due_ns(sequence));
        }
    }

    /// Every publication is written this long after it is due.
    pub(super) const SENT_AFTER_US: i64 = 200;

    pub(super) fn due_ns(sequence: u64) -> u64 {
        2 * SECOND + sequence * 100_000_000
    }

    pub(super) fn receive_after(&mut self, connection: u32, sequence: u64, after_ns: u64) -> Receipt {
        let due_ns = Self::due_ns(sequence);
        let stamp = Stamp {
            nonce: self.nonce,
            publisher: 0,
            channel: 0,
            sequence,
            due_us: due_ns / 1_000,
            sent_us: due_ns / 1_000 + Self::SENT_AFTER_US as u64,
        };
        self.accounting.received(connection, &stamp, due_ns + after_ns, due_ns + after_ns)
    }

    pub(super) fn hear(&mut self, connection: u32, sequence: u64) {
        self.receive(connection, sequence);
    }

    pub(super) fn receive(&mut self, connection: u32, sequence: u64) -> Receipt {
        self.receive_after(connection, sequence, 1_000_000)
    }

    pub(super) fn counts(&mut self) -> pushmark_model::record::Counts {
        self.accounting.finish(0..self.connections);
        self.accounting.record.counts.clone()
    }

    /// Returns the intended deliveries minus all other fates.
    pub(super) fn missing(&mut self) -> i64 {
        let c = self.counts();
        c.intended as i64 - c.delivered as i64 - c.late as i64 - c.unserved - c.excused - c.superseded
    }
}
