//! The figures of an arm, before it is judged.

use pushmark_host::monitor::figures::{self, CrowdPoint};
use pushmark_model::plan::{ArmPlan, Mode};
use pushmark_model::run::{Arm, Generator, Outcome, VerdictState, Wire};
use pushmark_model::stamp::{STAMP_LEN, Stamp};

use super::emitters;
use super::watch::Marks;
use crate::gather::{self, Gathered};

/// The figures of an arm, before it is judged.
pub(super) fn figures_of(
    plan: &ArmPlan,
    gathered: &Gathered,
    (marks, cpus): (&Marks, usize),
    says: Option<serde_json::Value>,
    ended: Option<String>,
) -> Arm {
    let window = marks.measure.as_ref().zip(marks.measured.as_ref());
    let whole = marks.start.as_ref().zip(marks.end.as_ref());
    let mut wire: Wire = gathered.wire();
    if let Some((start, end)) = whole {
        wire.retransmits = Some(figures::tcp_trouble(start, end).0);
        wire.listen_overflows = marks.ramped.as_ref().map(|ramped| figures::tcp_trouble(start, ramped).1);
        wire.listener_drops =
            marks.dropped.0.as_ref().zip(marks.dropped.1.as_ref()).map(|(from, to)| to.since(from));
        wire.time_wait_per_s = Some(figures::time_wait_per_s(start, end));
    }
    let mut crowd = marks.crowd.clone();
    if let Some(start) = &marks.start
        && let Some(server) = start.sample.server
    {
        crowd.insert(
            0,
            CrowdPoint {
                connections: 0,
                server_rss_bytes: server.rss_bytes,
                kernel_memory_bytes: start.sample.kernel_memory_bytes,
            },
        );
    }
    let mut server = window.and_then(|(from, to)| figures::server(from, to, &crowd));
    if let Some(server) = &mut server {
        server.pss_bytes_full =
            marks.end.as_ref().and_then(|end| end.server_pss_bytes).or(server.pss_bytes_full);
        server.ended = ended;
    }
    let loop_lag = gathered.loop_lag();
    let generator = match window {
        Some((from, to)) => figures::generator(from, to, loop_lag, cpus),
        None => Generator { loop_lag, ..Generator::default() },
    };
    let kernel = marks.start.as_ref().zip(marks.measure.as_ref());
    let kernel =
        kernel.map(|(a, b)| b.sample.kernel_memory_bytes.saturating_sub(a.sample.kernel_memory_bytes));
    let due = gathered.total().counts.publications_due;
    let never = emitter(plan).then(|| says.as_ref().and_then(|stats| emitters::never_sent(stats, plan)));
    let unpublished = match never {
        None => gathered.total().counts.unpublished + gathered.never_made(),
        Some(Some(never)) => never.min(due),
        // The server no longer answers: possibly no publication without a receiver was published.
        Some(None) => due,
    };
    let emitted = never.map(|never| emitters::emitted(due, never, gathered.heard()));
    Arm {
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
        server,
        generator,
        softirq_us: window.map(|(from, to)| figures::softirq_us(from, to)),
        kernel_memory_bytes: kernel,
        wire,
        phases: gather::phases(&plan.phases),
        server_says: says,
        foreign: None,
        ingest: None,
        last_words: None,
        browser: None,
        warmup: None,
        flood: None,
    }
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
