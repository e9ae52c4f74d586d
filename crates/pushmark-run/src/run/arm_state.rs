//! What an order to a running arm is decided from.

use pushmark_host::monitor::Sample;
use pushmark_model::plan::ArmPlan;

use crate::gather::Gathered;

pub(super) const SECOND_NS: u64 = 1_000_000_000;
/// How far ahead a bound is announced: shards poll for orders at least every 50 ms, and on a busy core
/// they are scheduled within the second.
pub(super) const LEAD_NS: u64 = 1_000_000_000;

/// The current state of an arm.
pub(super) struct ArmState<'s> {
    /// Since its start.
    pub(super) elapsed_ns: u64,
    pub(super) arm: &'s ArmPlan,
    pub(super) gathered: &'s Gathered,
    pub(super) sample: Sample,
    /// The server's process has ended.
    pub(super) ended: bool,
    /// Its process id, if pushmark started it.
    pub(super) pid: Option<i32>,
}
