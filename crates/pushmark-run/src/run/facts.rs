//! The circumstances of an arm that its verdict needs: whether it was stopped, which resources ran short, and
//! whether pushmark itself was stalled.

use pushmark_model::plan::{ArmPlan, Mode};
use pushmark_model::run::{Arm, WarmUp, WarmUpEnd};
use pushmark_model::transport::Transport;

use crate::gather::Gathered;
use crate::marks::Marks;
use crate::verdict::{self, Displaced, Facts, ReceivedTotals, StoodStill};
use pushmark_host::monitor::{Stall, figures};

/// The stalls of this process while the crowd connected or was measured, from the arm's start.
pub(super) fn stood_still(plan: &ArmPlan, marks: &Marks, start_ns: u64) -> Vec<StoodStill> {
    let stalls = marks.end.as_ref().map_or(&[][..], |end| &end.stalls);
    let (from_ns, to_ns) = (plan.phases.measure_start_ns(), plan.phases.measure_end_ns());
    let one = |stall: &Stall| {
        let began_ns = stall.from_ns.saturating_sub(start_ns);
        let ended_ns = (stall.from_ns + stall.length_ns).saturating_sub(start_ns);
        let measured_ns = ended_ns.min(to_ns).saturating_sub(began_ns.max(from_ns));
        (ended_ns > 0 && began_ns < to_ns).then_some(StoodStill {
            began_s: (began_ns as f64 - from_ns as f64) / 1e9,
            length_s: stall.length_ns as f64 / 1e9,
            measured: measured_ns as f64 / (to_ns - from_ns).max(1) as f64,
        })
    };
    stalls.iter().filter_map(one).collect()
}

/// Percentiles that the generator's delays moved along the ranks.
pub(super) fn displaced(plan: &ArmPlan, arm: &Arm, gathered: &Gathered, facts: &Facts) -> Vec<Displaced> {
    let ours = plan.publisher.as_ref().is_some_and(|publisher| publisher.mode != Mode::Emitter);
    match &arm.delivery {
        // A poller decides itself when it receives a state.
        Some(delivery) if plan.transport != Transport::Poll && plan.hybrid.is_none() => {
            verdict::displaced(delivery, &gathered.total().times, ours, facts.stamps_read_apart)
        }
        _ => Vec::new(),
    }
}

pub(super) fn facts(
    plan: &ArmPlan,
    marks: &Marks,
    gathered: &Gathered,
    stopped_after_ns: Option<u64>,
    ended: Option<String>,
    warmup: Option<&WarmUp>,
) -> Facts {
    let window = marks.measure.as_ref().zip(marks.measured.as_ref());
    let total = gathered.total();
    let failed = |kind: &str| {
        let of = |map: &std::collections::BTreeMap<String, u64>| map.get(kind).copied().unwrap_or(0);
        of(&total.failed) + of(&total.lost_by) + of(&total.publish_failed)
    };
    let external = plan.publisher.as_ref().filter(|publisher| publisher.mode == Mode::External);
    let measured_s = |at_ns: u64| at_ns.saturating_sub(plan.phases.measure_start_ns()) as f64 / 1e9;
    Facts {
        clock_step_ns: marks.end.as_ref().and_then(|end| end.clock.largest_step_ns),
        port_shortages: failed("no_port"),
        descriptor_shortages: failed("no_descriptor"),
        interrupted_after_s: stopped_after_ns.map(measured_s),
        server_ended: ended.is_some(),
        heard: Some(ReceivedTotals::of(gathered)),
        no_steady_state: warmup.is_some_and(|w| w.ended == WarmUpEnd::Max),
        worst_shard_wait: window.map(|(from, to)| figures::worst_shard_wait(from, to)),
        stamps_read_apart: !plan.stamped_are_read_as_others(),
        batch_us: (plan.batch_ns > 0).then_some(plan.batch_ns / 1_000),
        rate_per_channel: plan.publisher.as_ref().map(|publisher| 1e9 / publisher.interval_ns),
        settle_s: plan.phases.settle_ns as f64 / 1e9,
        publisher_connections: external.map(|publisher| publisher.connections),
        ..Facts::default()
    }
}
