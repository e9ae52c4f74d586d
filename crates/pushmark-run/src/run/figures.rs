//! The figures of an arm, before it is judged.

use pushmark_host::monitor::figures;
use pushmark_model::plan::{ArmPlan, Mode};
use pushmark_model::run::{Arm, Generator, Outcome, VerdictState};
use pushmark_model::stamp::{STAMP_LEN, Stamp};

use super::emitters;
use crate::gather::{self, Gathered};
use crate::marks::Marks;
use crate::seen;

/// The figures of an arm, before it is judged.
pub(crate) fn figures_of(
    plan: &ArmPlan,
    gathered: &Gathered,
    (marks, cpus): (&Marks, usize),
    says: Option<serde_json::Value>,
    ended: Option<String>,
) -> Arm {
    let window = marks.measure.as_ref().zip(marks.measured.as_ref());
    let loop_lag = gathered.loop_lag();
    let generator = match window {
        Some((from, to)) => figures::generator(from, to, loop_lag, cpus),
        None => Generator { loop_lag, ..Generator::default() },
    };
    let due = gathered.total().counts.publications_due;
    let never = emitter(plan).then(|| says.as_ref().and_then(|stats| emitters::never_sent(stats, plan)));
    let unpublished = match never {
        None => gathered.total().counts.unpublished + gathered.never_made(),
        Some(Some(never)) => never.min(due),
        // The server no longer answers: possibly no publication without a receiver was published.
        Some(None) => due,
    };
    let emitted = never.map(|never| emitters::emitted(due, never, gathered.heard()));
    let mut arm = Arm {
        transport: plan.transport,
        target: plan.target.clone(),
        nonce: nonce(plan.nonce),
        outcome: Outcome::Held,
        verdict: VerdictState::Valid,
        error: None,
        observe: plan.publisher.is_none(),
        subscribed_by: gathered.total().subscribed_by.name().to_owned(),
        connections: gathered.connections(),
        connect: gathered.connect(),
        tls: gathered.tls(),
        delivery: gathered.delivery(unpublished),
        observed: gathered.observed(),
        poll: gathered.poll(),
        hybrid: gathered.hybrid(unpublished),
        long_poll: gathered.long_poll(),
        bayeux: gathered.bayeux(),
        documents: gathered.documents(),
        agents: Vec::new(),
        published: gathered.published(emitted),
        server: None,
        generator,
        softirq_us: None,
        kernel_memory_bytes: None,
        wire: gathered.wire(),
        phases: gather::phases(&plan.phases),
        server_says: says,
        monitor: None,
        foreign: None,
        ingest: None,
        last_words: None,
        browser: None,
        warmup: None,
        flood: None,
    };
    seen::put(&mut arm, seen::seen(marks));
    if let Some(server) = &mut arm.server {
        server.ended = ended;
    }
    arm
}

/// Whether the target publishes by itself.
pub(super) fn emitter(plan: &ArmPlan) -> bool {
    plan.publisher.as_ref().is_some_and(|p| p.mode == Mode::Emitter)
}

/// Six base-36 digits, as in the stamp.
fn nonce(nonce: u32) -> String {
    let stamp = Stamp { nonce, publisher: 0, channel: 0, sequence: 0, due_us: 0, sent_us: 0 };
    let mut bytes = [0; STAMP_LEN];
    stamp.write(&mut bytes);
    String::from_utf8_lossy(&bytes[4..10]).into_owned()
}
