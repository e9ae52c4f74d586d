//! Watches the seconds of warm-up, and decides in advance when measuring begins.

use pushmark_model::plan::ArmPlan;
use pushmark_model::run::{WarmUp, WarmUpEnd};
use pushmark_model::steady::{SteadyPlan, SteadyState, WarmSecond, steady_state};
use pushmark_model::steer::Steer;
use pushmark_model::transport::Transport;

use super::arm_state::{LEAD_NS, SECOND_NS};
use crate::gather::{Gathered, Second};
use pushmark_host::monitor::{Sample, figures};

/// Searches for the end of warm-up.
#[derive(Debug)]
pub(super) struct Warming {
    plan: SteadyPlan,
    /// The longest, ns.
    max_ns: u64,
    /// The arm's start, ns of the monotonic clock: the monitor's.
    start_ns: u64,
    transport: Transport,
    /// The monitor's, since warm-up began.
    samples: Vec<Sample>,
    seconds: Vec<WarmSecond>,
    found: Option<SteadyState>,
}

impl Warming {
    /// Returns `None` if the arm's warm-up has a fixed length.
    pub(super) fn new(arm: &ArmPlan, start_ns: u64) -> Option<Warming> {
        Some(Warming {
            plan: arm.steady?,
            max_ns: arm.phases.warmup_ns,
            start_ns,
            transport: arm.transport,
            samples: Vec::new(),
            seconds: Vec::new(),
            found: None,
        })
    }

    /// Takes new observations. Returns the bounds of measure if it can start early.
    pub(super) fn look(
        &mut self,
        elapsed_ns: u64,
        arm: &ArmPlan,
        gathered: &Gathered,
        sample: Sample,
    ) -> Option<Steer> {
        let phases = &arm.phases;
        if self.found.is_some() || elapsed_ns >= phases.measure_start_ns() {
            return None;
        }
        if elapsed_ns + 2 * SECOND_NS >= phases.warmup_start_ns()
            && self.samples.last().is_none_or(|last| last.t_ns < sample.t_ns)
        {
            self.samples.push(sample);
        }
        if !self.take_seconds(phases.warmup_start_ns(), gathered) {
            return None;
        }
        self.found = Some(steady_state(&self.plan, &self.seconds)?);
        // A whole second, so that windows and phases agree.
        let from_ns = (elapsed_ns + LEAD_NS).div_ceil(SECOND_NS) * SECOND_NS;
        // A nearer start needs no order.
        (from_ns < phases.measure_start_ns())
            .then_some(Steer::Measure { from_ns, until_ns: from_ns + phases.measure_ns })
    }

    /// Adds the complete seconds. Returns whether there were any.
    fn take_seconds(&mut self, warmup_start_ns: u64, gathered: &Gathered) -> bool {
        let first = warmup_start_ns.div_ceil(SECOND_NS);
        let before = self.seconds.len();
        loop {
            let number = first + self.seconds.len() as u64;
            let Some(second) = gathered.seconds().get(&(number as u32)) else { break };
            let from_ns = self.start_ns + number * SECOND_NS;
            let watched = self.samples.last().is_some_and(|sample| sample.server.is_some());
            let cpu_us = figures::server_cpu_us(&self.samples, from_ns, from_ns + SECOND_NS);
            if watched
                && cpu_us.is_none()
                && self.samples.last().is_some_and(|s| s.t_ns < from_ns + SECOND_NS)
            {
                // The monitor's next reading covers this second.
                break;
            }
            self.seconds.push(WarmSecond {
                cpu_us,
                received: self.received(second),
                p50_us: second.latency_us.map(|latency| latency.0 as f64),
            });
        }
        self.seconds.len() > before
    }

    fn received(&self, second: &Second) -> u64 {
        match self.transport {
            _ if self.plan.published => second.received,
            Transport::Poll => second.requests,
            _ => second.answered.0 + second.answered.1,
        }
    }

    /// The warm-up figures of the run, after the arm. `stopped_ns`: the time from the arm's start at which it
    /// was ended from outside.
    pub(super) fn figures(&self, arm: &ArmPlan, stopped_ns: Option<u64>) -> WarmUp {
        let phases = &arm.phases;
        let stopped_ns = stopped_ns.filter(|at_ns| *at_ns < phases.measure_start_ns());
        let length_ns = match stopped_ns {
            Some(at_ns) => at_ns.saturating_sub(phases.warmup_start_ns()),
            None => phases.warmup_ns,
        };
        WarmUp {
            ended: match (stopped_ns, self.found) {
                (Some(_), _) => WarmUpEnd::Stopped,
                (None, Some(_)) => WarmUpEnd::Steady,
                (None, None) => WarmUpEnd::Max,
            },
            length_us: length_ns / 1_000,
            max_us: self.max_ns / 1_000,
            steady_from_us: self.found.map(|found| u64::from(found.from_s) * 1_000_000),
            observations: self.found.map(|found| found.observations as u64),
        }
    }
}
