//! What a section of the report shows: the starts of one scenario, arm by arm. Counts are totals over the
//! starts, measured values are their median.

use pushmark_chart::estimate::Estimate;
use pushmark_chart::numbers::PAGE;
use pushmark_chart::table::Cell;
use pushmark_chart::tokens::{Mark, mark_of};
use pushmark_model::run::{
    AgentClock, Arm, Browser, Delivery, Latency, Outcome, Reason, Run, VerdictState, Window,
};
use pushmark_model::transport::Transport;

use pushmark_model::run::RunFiles;

/// One scenario, started `n` times.
#[derive(Clone)]
pub(crate) struct Case<'a> {
    pub(crate) starts: Vec<&'a RunFiles>,
    pub(crate) arms: Vec<ArmView<'a>>,
    /// Prefix for ids, which must be unique on a page with several cases.
    pub(crate) key: String,
}

/// One transport over all starts.
#[derive(Clone)]
pub struct ArmView<'a> {
    pub(crate) transport: Transport,
    pub(crate) mark: Mark,
    /// The worst of its starts.
    pub(crate) state: VerdictState,
    pub(crate) outcome: Outcome,
    /// The first words of the worst reason; empty when valid.
    pub(crate) reason: String,
    /// Every doubt about the arm, over all starts.
    pub(crate) reasons: Vec<Reason>,
    /// Planned interval between two publications of one channel; absent if nothing is published.
    pub(crate) interval_us: Option<f64>,
    /// The arm in each start.
    pub starts: Vec<&'a Arm>,
    /// One entry a start; empty if nothing was recorded.
    pub(crate) windows: Vec<Vec<&'a Window>>,
}

/// A percentile, or the reason for its absence.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Percentile {
    /// µs.
    Value(Estimate),
    /// The percentile falls among the missing deliveries.
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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

    /// Returns the name of its metric, as in thresholds.
    pub(crate) fn metric(self) -> &'static str {
        ["delivery.p50", "delivery.p90", "delivery.p99", "delivery.p999"][self as usize]
    }

    pub(crate) fn share(self) -> f64 {
        [0.5, 0.9, 0.99, 0.999][self as usize]
    }

    /// Publications that the percentile needs: deliveries of one broadcast are not independent.
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
    /// Builds the case from the starts of one scenario.
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
                    .unwrap_or_else(|| "no reason recorded".into());
            }
        }
        Case { starts, arms, key: key.into() }
    }

    /// Returns the case as seen by some figures alone. Each arm has the state of these figures, so a doubt
    /// about connect times does not affect latencies. `metrics` as in [`ArmView::state_of`].
    pub(crate) fn about(&self, metrics: &[&str]) -> Case<'a> {
        let mut arms = self.arms.clone();
        for arm in &mut arms {
            arm.state = metrics.iter().map(|metric| arm.state_of(metric)).max().unwrap_or(arm.state);
            let concerned =
                |r: &&Reason| r.state == arm.state && metrics.iter().any(|m| r.concerns_metric(m));
            if let Some(reason) = arm.reasons.iter().find(concerned) {
                arm.reason = short(&reason.seen);
            }
        }
        Case { starts: self.starts.clone(), arms, key: self.key.clone() }
    }

    /// Returns the number of fresh server starts.
    pub(crate) fn n(&self) -> usize {
        self.starts.len()
    }

    /// Returns the first start, for values that all starts share.
    pub(crate) fn run(&self) -> &'a Run {
        &self.starts[0].run
    }

    /// Returns the worst state of the arms and of the run as a whole.
    pub(crate) fn state(&self) -> VerdictState {
        let of_runs = self.starts.iter().map(|s| s.run.verdict.state);
        of_runs.chain(self.arms.iter().map(|a| a.state)).max().unwrap_or(VerdictState::Valid)
    }

    /// Returns all doubts, worst first, each once.
    pub(crate) fn reasons(&self) -> Vec<Reason> {
        reasons_of(&self.starts)
    }

    /// Returns arms that are not invalid: their figures are drawn as numbers.
    pub(crate) fn believed(&self) -> impl Iterator<Item = &ArmView<'a>> {
        self.arms.iter().filter(|a| a.state != VerdictState::Invalid)
    }

    /// Whether pushmark published nothing in any arm.
    pub(crate) fn observes(&self) -> bool {
        self.arms.iter().all(|a| a.starts.iter().all(|s| s.delivery.is_none()))
    }

    /// Returns the statistic of a value: `n = 1`, `median of 5 starts`.
    pub(crate) fn statistic(&self) -> String {
        match self.n() {
            1 => "one start, n = 1: no interval".into(),
            n => format!("median of {n} starts"),
        }
    }

    /// Describes the bars, if bars are drawn.
    pub(crate) fn bars(&self) -> &'static str {
        match self.n() {
            1 => "",
            2..=4 => "thin bars: range of the starts",
            _ => "bars: 95 % t interval, log scale",
        }
    }

    /// Returns the opening of the caption: statistic and bars.
    pub(crate) fn caption(&self, rest: &str) -> String {
        let parts = [self.statistic(), self.bars().to_string(), rest.to_string()];
        parts.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join("; ")
    }

    /// Returns a clause that names the arms left out as invalid; empty if there are none.
    pub(crate) fn left_out(&self) -> String {
        let names: Vec<_> =
            self.arms.iter().filter(|a| a.state == VerdictState::Invalid).map(|a| a.name()).collect();
        if names.is_empty() {
            String::new()
        } else {
            format!("; {}: invalid, not drawn", pushmark_chart::words::list(&names))
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
        let reasons = starts.iter().flat_map(|files| &files.run.verdict.reasons);
        let reasons = reasons.filter(|r| r.arm.is_none_or(|of| of == transport)).cloned().collect();
        let interval_us = starts.iter().find_map(|files| interval_us(&files.run.plan, transport));
        ArmView {
            transport,
            mark,
            state: worst,
            outcome,
            reason: String::new(),
            reasons,
            interval_us,
            starts: own,
            windows,
        }
    }

    /// Returns the state of one figure: a metric or a family of metrics.
    pub(crate) fn state_of(&self, metric: &str) -> VerdictState {
        if self.reasons.is_empty() {
            return self.state;
        }
        let concerned = self.reasons.iter().filter(|reason| reason.concerns_metric(metric));
        concerned.map(|reason| reason.state).max().unwrap_or(VerdictState::Valid)
    }

    /// Returns how far a latency may be off because it was read on two clocks, µs: the most of all starts.
    pub(crate) fn clocks_us(&self) -> Option<f64> {
        let clocks = |start: &&Arm| start.agents.iter().map(|agent| agent.clock).collect::<Vec<_>>();
        self.starts.iter().filter_map(|start| AgentClock::apart_us(&clocks(start))).reduce(f64::max)
    }

    /// Returns the p50 and the p99, µs, of the deliveries that one machine published and received, of its first start
    /// that has some; those that are not to be believed are absent.
    pub(crate) fn loopback_share(&self) -> Option<[Option<i64>; 2]> {
        let share = self.deliveries().find_map(|delivery| delivery.loopback_share.as_ref())?;
        let believed = |p: &str, us: Option<i64>| {
            us.filter(|_| self.state_of(&format!("delivery.loopback_share.{p}")) != VerdictState::Invalid)
        };
        Some([believed("p50", share.p50_us), believed("p99", share.p99_us)])
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

    /// Returns the suffix of the name in a chart: the doubt, or the server's end.
    pub(crate) fn suffix(&self) -> &'static str {
        match (self.state, self.outcome) {
            (VerdictState::Suspect, _) => " ▲",
            (VerdictState::Incomplete, _) => " ◐",
            (_, Outcome::Died) => " †",
            _ => "",
        }
    }

    /// Returns the real browsers of each start.
    pub(crate) fn browsers(&self) -> impl Iterator<Item = &'a Browser> + '_ {
        self.starts.iter().filter_map(|a| a.browser.as_ref())
    }

    pub(crate) fn deliveries(&self) -> impl Iterator<Item = &'a Delivery> + '_ {
        self.starts.iter().filter_map(|a| a.delivery.as_ref())
    }

    /// Returns the sum over the starts; `None` if pushmark published nothing.
    pub(crate) fn total(&self, count: impl Fn(&Delivery) -> u64) -> Option<u64> {
        self.deliveries().next()?;
        Some(self.deliveries().map(count).sum())
    }

    /// Returns the median of a value that every start has.
    pub(crate) fn estimate(&self, value: impl Fn(&Arm) -> Option<f64>, log: bool) -> Option<Estimate> {
        let values: Option<Vec<f64>> = self.starts.iter().map(|a| value(a)).collect();
        Estimate::of(&values?, log)
    }

    /// Whether the backlog grew: the percentiles are then not the server's.
    pub(crate) fn unstable(&self) -> bool {
        self.deliveries().any(|d| d.unstable)
    }

    /// Returns the fewest publications of a start, which limit its tail percentiles.
    pub(crate) fn publications(&self) -> u64 {
        self.starts.iter().map(|a| a.published.as_ref().map_or(0, |p| p.sent)).min().unwrap_or(0)
    }

    /// Returns a percentile of a latency for which deliveries can be missing.
    pub(crate) fn percentile(&self, of: impl Fn(&Delivery) -> Option<&Latency>, p: P) -> Percentile {
        let all: Option<Vec<&Latency>> =
            self.starts.iter().map(|a| a.delivery.as_ref().and_then(&of)).collect();
        let Some(all) = all.filter(|a| !a.is_empty()) else {
            return Percentile::Absent("not measured".into());
        };
        if self.unstable() {
            return Percentile::Absent("unstable: growing backlog".into());
        }
        let read: Vec<(Option<i64>, Option<i64>)> = all.iter().map(|l| p.of(l)).collect();
        if read.iter().any(|(_, at_least)| at_least.is_some()) {
            // The median of values and lower bounds is a lower bound of the median.
            let mut low: Vec<f64> = read.iter().filter_map(|(v, a)| v.or(*a)).map(|v| v as f64).collect();
            low.sort_by(f64::total_cmp);
            let us = pushmark_chart::estimate::median_of_sorted(&low);
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
            None => Percentile::Absent("missing in some starts".into()),
        }
    }

    /// Returns received − due, unless it is invalid.
    pub(crate) fn latency(&self, p: P) -> Percentile {
        if self.state_of(p.metric()) == VerdictState::Invalid {
            return Percentile::Absent("invalid".into());
        }
        self.percentile(|d| Some(&d.latency), p)
    }

    pub(crate) fn read_lag(&self, p: P) -> Option<f64> {
        self.estimate(|a| p.of(&a.delivery.as_ref()?.read_lag).0.map(|v| v as f64), true).map(|e| e.value)
    }

    /// Returns the CPU-seconds per million deliveries (µs a delivery) of one of the three sides.
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

    /// Returns why a cost is absent.
    pub(crate) fn no_cost(&self) -> &'static str {
        match () {
            () if self.total(|d| d.delivered).is_none() => "pushmark published nothing",
            () if self.deliveries().any(|d| d.delivered == 0) => "nothing delivered",
            () if self.starts.iter().any(|a| a.server.is_none()) => "the server process is unknown",
            () => "not measured",
        }
    }

    /// Returns bytes a delivery on the generator's sockets in measure, both directions.
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

    /// Returns n if a poller showed 1 state in n; absent if it showed all.
    pub(crate) fn one_in(&self) -> Option<f64> {
        let (superseded, delivered) = (self.total(|d| d.superseded)?, self.total(|d| d.delivered)?);
        (superseded > 0 && delivered > 0).then(|| (superseded + delivered) as f64 / delivered as f64)
    }

    /// Returns the start whose p50 is nearest the median of the starts. It is drawn second by second.
    pub(crate) fn median_start(&self) -> usize {
        let of = |a: &Arm| a.delivery.as_ref().and_then(|d| d.latency.p50_us).unwrap_or(0) as f64;
        let mut order: Vec<usize> = (0..self.n()).collect();
        order.sort_by(|x, y| of(self.starts[*x]).total_cmp(&of(self.starts[*y])));
        order.get(self.n() / 2).copied().unwrap_or(0)
    }

    /// Returns the last columns of every table: `verdict,reason,n`.
    pub(crate) fn tail(&self) -> [Cell; 3] {
        [Cell::text(self.state.name()), Cell::text(self.reason.clone()), Cell::count(self.n() as u64)]
    }
}

/// The headings of [`ArmView::tail`].
pub(crate) const TAIL: [(&str, &str); 3] = [("verdict", "verdict"), ("reason", "reason"), ("n", "n")];

/// Returns the reasons over all starts. A doubt about an arm appears once a state, with its count.
fn reasons_of(starts: &[&RunFiles]) -> Vec<Reason> {
    let mut merged: Vec<(Reason, usize)> = Vec::new();
    for reason in starts.iter().flat_map(|s| &s.run.verdict.reasons) {
        let same = |r: &Reason| (&r.code, r.arm, r.state) == (&reason.code, reason.arm, reason.state);
        match merged.iter_mut().find(|(r, _)| same(r)) {
            Some((kept, times)) => {
                *times += 1;
                // Empty means all.
                if reason.concerns.is_empty() {
                    kept.concerns.clear();
                } else if !kept.concerns.is_empty() {
                    let known = kept.concerns.clone();
                    kept.concerns.extend(reason.concerns.iter().filter(|c| !known.contains(c)).cloned());
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

/// Returns the interval between two publications of a channel, from the plan of a run.
fn interval_us(plan: &serde_json::Value, transport: Transport) -> Option<f64> {
    let arms = plan.get("arms")?.as_array()?;
    let own = arms.iter().find(|arm| arm["transport"] == transport.name())?;
    Some(own.pointer("/publisher/interval_ns")?.as_f64()? / 1e3)
}

/// Returns the first clause of `seen`, which fits beside a mark. A comma within a number does not end it.
fn short(seen: &str) -> String {
    let end = [", ", "; ", " ("].iter().filter_map(|mark| seen.find(mark)).min().unwrap_or(seen.len());
    seen[..end].trim().to_string()
}

#[cfg(test)]
mod tests {
    use super::short;

    #[test]
    fn a_number_is_never_cut_at_its_comma() {
        assert_eq!(
            short("600 of 6,300 deliveries excused in sse (invalid from 5 %)"),
            "600 of 6,300 deliveries excused in sse"
        );
        assert_eq!(short("ended early: no route; and more"), "ended early: no route");
    }
}
