//! What a section of the report is about: the starts of one scenario, seen arm by arm.
//! Counts are totals of the starts, measured values the median of them.

use pushmark_model::run::{Arm, Browser, Delivery, Latency, Outcome, Reason, Run, VerdictState, Window};
use pushmark_model::transport::Transport;

use super::RunFiles;
use super::estimate::Estimate;
use super::numbers::PAGE;
use super::table::Cell;
use super::tokens::{Mark, mark_of};

/// One scenario, started `n` times.
pub(crate) struct Case<'a> {
    pub(crate) starts: Vec<&'a RunFiles>,
    pub(crate) arms: Vec<ArmView<'a>>,
    /// Put before ids, which must be unique over a page of several cases.
    pub(crate) key: String,
}

/// One transport over all starts.
pub(crate) struct ArmView<'a> {
    pub(crate) transport: Transport,
    pub(crate) mark: Mark,
    /// The worst of its starts.
    pub(crate) state: VerdictState,
    pub(crate) outcome: Outcome,
    /// The first words of the worst reason; empty when valid.
    pub(crate) reason: String,
    pub(crate) starts: Vec<&'a Arm>,
    /// By start; empty where nothing was kept.
    pub(crate) windows: Vec<Vec<&'a Window>>,
}

/// A percentile, or why there is none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Percentile {
    /// µs.
    Value(Estimate),
    /// It falls among the missing.
    AtLeast { us: f64, missing: u64 },
    /// The reason, after the dash.
    Absent(String),
}

impl Percentile {
    pub(crate) fn estimate(&self) -> Option<&Estimate> {
        match self {
            Percentile::Value(e) => Some(e),
            _ => None,
        }
    }

    pub(crate) fn us(&self) -> Option<f64> {
        self.estimate().map(|e| e.value)
    }
}

/// Which percentile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum P {
    P50,
    P90,
    P99,
    P999,
}

impl P {
    pub(crate) const ALL: [P; 4] = [P::P50, P::P90, P::P99, P::P999];

    pub(crate) fn name(self) -> &'static str {
        ["p50", "p90", "p99", "p99.9"][self as usize]
    }

    pub(crate) fn share(self) -> f64 {
        [0.5, 0.9, 0.99, 0.999][self as usize]
    }

    /// Publications it needs: deliveries of one broadcast are not independent.
    pub(crate) fn needs(self) -> u64 {
        [1, 1, 100, 1_000][self as usize]
    }

    fn of(self, l: &Latency) -> (Option<i64>, Option<i64>) {
        match self {
            P::P50 => (l.p50_us, l.p50_at_least_us),
            P::P90 => (l.p90_us, l.p90_at_least_us),
            P::P99 => (l.p99_us, l.p99_at_least_us),
            P::P999 => (l.p999_us, l.p999_at_least_us),
        }
    }
}

impl<'a> Case<'a> {
    /// From the starts of one scenario.
    pub(crate) fn new(starts: Vec<&'a RunFiles>, key: impl Into<String>) -> Case<'a> {
        let mut transports: Vec<Transport> =
            starts.iter().flat_map(|s| s.run.arms.iter().map(|a| a.transport)).collect();
        transports.sort();
        transports.dedup();
        let mut arms: Vec<ArmView<'a>> = transports.into_iter().map(|t| ArmView::new(&starts, t)).collect();
        let reasons = reasons_of(&starts);
        for arm in &mut arms {
            let of_arm = reasons.iter().find(|r| r.arm == Some(arm.transport) && r.state == arm.state);
            let of_run = || reasons.iter().find(|r| r.arm.is_none() && r.state == arm.state);
            if arm.state != VerdictState::Valid {
                let own = arm.starts.iter().find_map(|a| a.error.clone());
                arm.reason = of_arm
                    .or_else(of_run)
                    .map(|r| short(&r.seen))
                    .or(own)
                    .unwrap_or_else(|| "no reason kept".into());
            }
        }
        Case { starts, arms, key: key.into() }
    }

    /// Fresh server starts.
    pub(crate) fn n(&self) -> usize {
        self.starts.len()
    }

    /// The first start, for what all of them share.
    pub(crate) fn run(&self) -> &'a Run {
        &self.starts[0].run
    }

    /// The worst of the arms, and of what is said of the run as a whole.
    pub(crate) fn state(&self) -> VerdictState {
        let of_runs = self.starts.iter().map(|s| s.run.verdict.state);
        of_runs.chain(self.arms.iter().map(|a| a.state)).max().unwrap_or(VerdictState::Valid)
    }

    /// All doubts, worst first, each said once.
    pub(crate) fn reasons(&self) -> Vec<Reason> {
        reasons_of(&self.starts)
    }

    /// Arms whose figures are drawn as numbers.
    pub(crate) fn believed(&self) -> impl Iterator<Item = &ArmView<'a>> {
        self.arms.iter().filter(|a| a.state != VerdictState::Invalid)
    }

    /// Nothing was published by us in any arm.
    pub(crate) fn observes(&self) -> bool {
        self.arms.iter().all(|a| a.starts.iter().all(|s| s.delivery.is_none()))
    }

    /// `n = 1`, `median of 5 starts`: how a value came to be.
    pub(crate) fn statistic(&self) -> String {
        match self.n() {
            1 => "one start, n = 1: no interval".into(),
            n => format!("median of {n} starts"),
        }
    }

    /// What the bars are, where any is drawn.
    pub(crate) fn bars(&self) -> &'static str {
        match self.n() {
            1 => "",
            2..=4 => "thin bars: range of the starts",
            _ => "bars: 95 % t interval, log scale",
        }
    }

    /// The caption's opening: statistic and bars.
    pub(crate) fn caption(&self, rest: &str) -> String {
        let parts = [self.statistic(), self.bars().to_string(), rest.to_string()];
        parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// A clause naming the arms left out as invalid; empty when there are none.
    pub(crate) fn left_out(&self) -> String {
        let names: Vec<_> =
            self.arms.iter().filter(|a| a.state == VerdictState::Invalid).map(|a| a.name()).collect();
        if names.is_empty() {
            String::new()
        } else {
            format!("; {}: invalid, not drawn", super::words::list(&names))
        }
    }
}

impl<'a> ArmView<'a> {
    fn new(starts: &[&'a RunFiles], transport: Transport) -> ArmView<'a> {
        let mut own = Vec::new();
        let mut windows = Vec::new();
        for files in starts {
            if let Some(arm) = files.run.arms.iter().find(|a| a.transport == transport) {
                own.push(arm);
                windows.push(files.windows.iter().filter(|w| w.arm == transport.name()).collect());
            }
        }
        let worst = own.iter().map(|a| a.verdict).max().unwrap_or(VerdictState::Valid);
        let outcome = own.iter().map(|a| a.outcome).max_by_key(|o| *o as u8).unwrap_or(Outcome::Held);
        let mark = mark_of(transport);
        ArmView { transport, mark, state: worst, outcome, reason: String::new(), starts: own, windows }
    }

    pub(crate) fn name(&self) -> &'static str {
        self.mark.name
    }

    pub(crate) fn n(&self) -> usize {
        self.starts.len()
    }

    pub(crate) fn believed(&self) -> bool {
        self.state != VerdictState::Invalid
    }

    /// What stands after the name in a chart: doubt, or the end of the server.
    pub(crate) fn suffix(&self) -> &'static str {
        match (self.state, self.outcome) {
            (VerdictState::Suspect, _) => " ▲",
            (VerdictState::Incomplete, _) => " ◐",
            (_, Outcome::Died) => " †",
            _ => "",
        }
    }

    /// The real browsers of each start.
    pub(crate) fn browsers(&self) -> impl Iterator<Item = &'a Browser> + '_ {
        self.starts.iter().filter_map(|a| a.browser.as_ref())
    }

    pub(crate) fn deliveries(&self) -> impl Iterator<Item = &'a Delivery> + '_ {
        self.starts.iter().filter_map(|a| a.delivery.as_ref())
    }

    /// Sum over the starts; `None` where nothing was published by us.
    pub(crate) fn total(&self, count: impl Fn(&Delivery) -> u64) -> Option<u64> {
        self.deliveries().next()?;
        Some(self.deliveries().map(count).sum())
    }

    /// The median of a value that every start has.
    pub(crate) fn estimate(&self, value: impl Fn(&Arm) -> Option<f64>, log: bool) -> Option<Estimate> {
        let values: Option<Vec<f64>> = self.starts.iter().map(|a| value(a)).collect();
        Estimate::of(&values?, log)
    }

    /// A backlog that grew: percentiles are not the server's.
    pub(crate) fn unstable(&self) -> bool {
        self.deliveries().any(|d| d.unstable)
    }

    /// Fewest publications of a start: what its tail percentiles rest on.
    pub(crate) fn publications(&self) -> u64 {
        self.starts.iter().map(|a| a.published.as_ref().map_or(0, |p| p.sent)).min().unwrap_or(0)
    }

    /// A percentile of a latency where deliveries can be missing.
    pub(crate) fn percentile(&self, of: impl Fn(&Delivery) -> Option<&Latency>, p: P) -> Percentile {
        let all: Option<Vec<&Latency>> =
            self.starts.iter().map(|a| a.delivery.as_ref().and_then(&of)).collect();
        let Some(all) = all.filter(|a| !a.is_empty()) else {
            return Percentile::Absent("not measured".into());
        };
        if self.unstable() {
            return Percentile::Absent("unstable: the backlog grew".into());
        }
        let read: Vec<(Option<i64>, Option<i64>)> = all.iter().map(|l| p.of(l)).collect();
        if read.iter().any(|(_, at_least)| at_least.is_some()) {
            // The median of values and lower bounds is a lower bound of the median.
            let mut low: Vec<f64> = read.iter().filter_map(|(v, a)| v.or(*a)).map(|v| v as f64).collect();
            low.sort_by(f64::total_cmp);
            let us = super::estimate::median_of_sorted(&low);
            return Percentile::AtLeast { us, missing: self.total(|d| d.missing + d.late).unwrap_or(0) };
        }
        let values: Option<Vec<f64>> = read.iter().map(|(v, _)| v.map(|v| v as f64)).collect();
        match values.and_then(|v| Estimate::of(&v, true)) {
            Some(estimate) => Percentile::Value(estimate),
            None if all.iter().any(|l| l.count == 0) => Percentile::Absent("nothing delivered".into()),
            None if self.publications() < p.needs() => Percentile::Absent(format!(
                "too few: {} of {} publications",
                PAGE.count(self.publications()),
                PAGE.count(p.needs())
            )),
            None => Percentile::Absent("not given by every start".into()),
        }
    }

    /// received − due.
    pub(crate) fn latency(&self, p: P) -> Percentile {
        self.percentile(|d| Some(&d.latency), p)
    }

    pub(crate) fn read_lag(&self, p: P) -> Option<f64> {
        self.estimate(|a| p.of(&a.delivery.as_ref()?.read_lag).0.map(|v| v as f64), true).map(|e| e.value)
    }

    /// CPU-seconds per million deliveries of one of the three sides (µs a delivery).
    pub(crate) fn cost(&self, cpu_us: impl Fn(&Arm) -> Option<u64>) -> Option<Estimate> {
        self.estimate(
            |a| {
                let delivered = a.delivery.as_ref().map(|d| d.delivered).filter(|d| *d > 0)?;
                Some(cpu_us(a)? as f64 / delivered as f64)
            },
            true,
        )
    }

    pub(crate) fn server_cost(&self) -> Option<Estimate> {
        self.cost(|a| a.server.as_ref().map(|s| s.cpu_us))
    }

    /// Why a cost is absent.
    pub(crate) fn no_cost(&self) -> &'static str {
        match () {
            () if self.total(|d| d.delivered).is_none() => "nothing was published by us",
            () if self.deliveries().any(|d| d.delivered == 0) => "nothing delivered",
            () if self.starts.iter().any(|a| a.server.is_none()) => "the server's process is not known",
            () => "not measured",
        }
    }

    /// Bytes of both directions on our sockets in measure, a delivery.
    pub(crate) fn wire_bytes(&self) -> Option<Estimate> {
        self.estimate(
            |a| {
                let delivered = a.delivery.as_ref().map(|d| d.delivered).filter(|d| *d > 0)?;
                Some((a.wire.measure_bytes_in + a.wire.measure_bytes_out) as f64 / delivered as f64)
            },
            true,
        )
    }

    pub(crate) fn memory(&self) -> Option<Estimate> {
        self.estimate(|a| a.server.as_ref()?.rss_bytes_per_connection, false)
    }

    pub(crate) fn kernel_memory(&self) -> Option<Estimate> {
        self.estimate(|a| a.server.as_ref()?.kernel_bytes_per_connection, false)
    }

    /// Of how many states a poller showed one; absent where it showed all.
    pub(crate) fn one_in(&self) -> Option<f64> {
        let (superseded, delivered) = (self.total(|d| d.superseded)?, self.total(|d| d.delivered)?);
        (superseded > 0 && delivered > 0).then(|| (superseded + delivered) as f64 / delivered as f64)
    }

    /// The start whose p50 is nearest the median of the starts: what is drawn second by second.
    pub(crate) fn median_start(&self) -> usize {
        let of = |a: &Arm| a.delivery.as_ref().and_then(|d| d.latency.p50_us).unwrap_or(0) as f64;
        let mut order: Vec<usize> = (0..self.n()).collect();
        order.sort_by(|x, y| of(self.starts[*x]).total_cmp(&of(self.starts[*y])));
        order.get(self.n() / 2).copied().unwrap_or(0)
    }

    /// The last columns of every table: `verdict,reason,n`.
    pub(crate) fn tail(&self) -> [Cell; 3] {
        [Cell::text(self.state.name()), Cell::text(self.reason.clone()), Cell::count(self.n() as u64)]
    }
}

/// The headings of [`ArmView::tail`].
pub(crate) const TAIL: [(&str, &str); 3] = [("verdict", "verdict"), ("reason", "reason"), ("n", "n")];

/// Reasons over all starts: the same doubt about the same arm is said once, with how often.
fn reasons_of(starts: &[&RunFiles]) -> Vec<Reason> {
    let mut merged: Vec<(Reason, usize)> = Vec::new();
    for reason in starts.iter().flat_map(|s| &s.run.verdict.reasons) {
        match merged.iter_mut().find(|(r, _)| r.code == reason.code && r.arm == reason.arm) {
            Some((kept, times)) => {
                *times += 1;
                if reason.state > kept.state {
                    *kept = reason.clone();
                }
            }
            None => merged.push((reason.clone(), 1)),
        }
    }
    merged.sort_by_key(|(r, _)| std::cmp::Reverse(r.state));
    let say = |(mut reason, times): (Reason, usize)| {
        if starts.len() > 1 {
            reason.seen = format!("{}, in {times} of {} starts", reason.seen, starts.len());
        }
        reason
    };
    merged.into_iter().map(say).collect()
}

/// The first clause of what was seen: what fits beside a mark.
fn short(seen: &str) -> String {
    let end = seen.find([',', ';', '(']).unwrap_or(seen.len());
    seen[..end].trim().to_string()
}
