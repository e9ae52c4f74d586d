//! Pushed and pulled halves of a crowd, the losses that polls repaired, and the trip time of all receipts, by
//! which polling and push can be compared.

use std::io;

use pushmark_model::histogram::Distribution;
use pushmark_model::plan::ArmPlan;
use pushmark_model::plan::Half;
use pushmark_model::record::Record;
use pushmark_model::run::{Hybrid, HybridHalf, Latency, SafetyPolls};
use pushmark_model::transport::Transport;

use super::Gathered;

/// The two halves of a hybrid arm, gathered separately.
#[derive(Debug)]
pub(super) struct Halves {
    push: Gathered,
    pull: Gathered,
    /// Shards of each.
    shards: u32,
}

impl Halves {
    /// Returns `None` if all clients do the same.
    pub(super) fn of(plan: &ArmPlan, shards: u32) -> Option<Box<Halves>> {
        let sides = plan.hybrid.as_ref()?.sides;
        let mut halves = plan.halves().into_iter().filter_map(|(half, arm)| {
            let connections = sides.clients(half?, plan.connections);
            Some(Gathered::new(&ArmPlan { connections, hybrid: None, ..arm }, shards))
        });
        let (push, pull) = (halves.next()?, halves.next()?);
        Some(Box::new(Halves { push, pull, shards }))
    }

    pub(super) fn add(&mut self, record: &Record) {
        let half = if record.shard < self.shards { &mut self.push } else { &mut self.pull };
        half.add(record);
    }

    pub(super) fn lose(&mut self, shards: &[u32]) {
        let (push, pull): (Vec<u32>, Vec<u32>) = shards.iter().partition(|shard| **shard < self.shards);
        self.push.lose(&push);
        self.pull.lose(&pull);
    }

    pub(super) fn close(&mut self) -> io::Result<()> {
        self.push.close()?;
        self.pull.close()
    }
}

impl Gathered {
    /// The figures of both halves, or of safety polls; `None` for all other crowds.
    pub fn hybrid(&self, unpublished: u64) -> Option<Hybrid> {
        let sides = self.plan.hybrid.as_ref()?.sides;
        let safety = &self.total.counts.safety;
        let of =
            |half| self.half(half).map(|gathered| gathered.figures_as_half((self, Some(half)), unpublished));
        Some(Hybrid {
            push: of(Half::Push),
            pull: of(Half::Pull),
            safety: sides.safety_ns().map(|_| SafetyPolls {
                requests: safety.polls,
                found: safety.found,
                overtaken: safety.overtaken,
                repaired: safety.found.saturating_sub(safety.overtaken),
                failed: safety.failed,
            }),
        })
    }

    fn half(&self, half: Half) -> Option<&Gathered> {
        let halves = self.halves.as_ref()?;
        Some(match half {
            Half::Push => &halves.push,
            Half::Pull => &halves.pull,
        })
    }

    /// The part of the crowd that polled: all of it, or one half.
    pub(super) fn pollers(&self) -> Option<&Gathered> {
        match self.plan.transport {
            Transport::Poll => Some(self),
            _ => self.half(Half::Pull),
        }
    }

    /// The part of the crowd that was pushed to.
    pub(super) fn pushed(&self) -> Option<&Gathered> {
        match self.plan.transport {
            Transport::Poll => None,
            _ => Some(self.half(Half::Push).unwrap_or(self)),
        }
    }

    fn figures_as_half(&self, of: (&Gathered, Option<Half>), unpublished: u64) -> HybridHalf {
        // Publications are those of the arm, whichever half's shard sent them.
        let all = &of.0.total.counts;
        let mut own = self.total.counts.clone();
        own.publications_due = all.publications_due;
        own.publish_failed = all.publish_failed;
        HybridHalf {
            transport: self.plan.transport,
            connections: self.connections(),
            delivery: self.delivery_of(&own, unpublished, of),
            measure_bytes_in: own.measure_bytes_in,
            measure_bytes_out: own.measure_bytes_out,
        }
    }

    /// received − due of all receipts, repetitions too: of a poll the age of the state at every
    /// answer.
    pub(super) fn trip(&self) -> Option<Latency> {
        self.plan.publisher.as_ref()?;
        let mut all = Distribution::default();
        if let Some(pollers) = self.pollers() {
            all.merge(&pollers.total.times.age_at_receipt);
        }
        if let Some(pushed) = self.pushed() {
            all.merge(&pushed.total.times.latency);
            all.merge(&pushed.total.times.again);
        }
        Some(all.summary_of_all())
    }
}
