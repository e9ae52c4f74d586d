//! Watches a running flood, and ends it.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use pushmark_model::flood::{FloodEnd, FloodSecond, FloodWatch};
use pushmark_model::plan::ArmPlan;
use pushmark_model::run::{Flood, LastWords, Window};
use pushmark_model::steer::Steer;

use super::arm_state::{ArmState, LEAD_NS, SECOND_NS};
use crate::flood::evidence::{Descriptors, Evidence};
use crate::flood::{curve, diagnosis};
use crate::gather::Gathered;
use pushmark_host::monitor::Sample;
use pushmark_host::server::http::{self, Control};
use pushmark_store::KeptFile;

/// How often the server is asked for its number of subscribers; an interval if that is shorter.
const ASK_EVERY: Duration = Duration::from_secs(5);
const ASK_TIMEOUT: Duration = Duration::from_secs(5);
/// How often its descriptors are counted: reading a folder of 10,000 entries takes some ms.
const DESCRIPTORS_EVERY_NS: u64 = 5_000_000_000;
/// How long before its end a server must have been busy for that to be its limit.
const LAST_SECONDS: usize = 5;

/// A running flood.
#[derive(Debug)]
pub(super) struct Flooding {
    watch: FloodWatch,
    /// The next second to pass to the watch.
    next: u32,
    established: u64,
    pub(super) end: Option<FloodEnd>,
    /// When it was over, from the arm's start.
    pub(super) ended_ns: Option<u64>,
    pub(super) descriptors: Option<Descriptors>,
    descriptors_at_ns: u64,
    /// The server's counts: ns from the arm's start, subscribers.
    pub(super) counted: Vec<(u64, u64)>,
    asker: Option<Asker>,
}

impl Flooding {
    /// Returns `None` if the arm is not a flood. At `stats` the server reports its number of subscribers.
    pub(super) fn new(arm: &ArmPlan, stats: Option<Control>) -> Option<Flooding> {
        let plan = arm.flood.clone()?;
        let every = ASK_EVERY.min(Duration::from_nanos(plan.interval_ns));
        Some(Flooding {
            watch: FloodWatch::new(plan, arm.connections),
            next: 0,
            established: 0,
            end: None,
            ended_ns: None,
            descriptors: None,
            descriptors_at_ns: 0,
            counted: Vec::new(),
            asker: stats.and_then(|stats| Asker::start(stats, every)),
        })
    }

    /// Passes new observations to the watch. Returns the new end of the measure phase once it is known.
    pub(super) fn look(&mut self, sight: &ArmState<'_>) -> Option<Steer> {
        self.counted.extend(
            self.asker
                .iter()
                .flat_map(|asker| asker.answers.try_iter())
                .map(|count| (sight.elapsed_ns, count)),
        );
        if self.end.is_some() {
            return None;
        }
        if sight.elapsed_ns >= self.descriptors_at_ns {
            self.descriptors_at_ns = sight.elapsed_ns + DESCRIPTORS_EVERY_NS;
            self.descriptors = sight.pid.and_then(Descriptors::of).or(self.descriptors);
        }
        while let Some(second) = self.second(sight.arm, sight.gathered, sight.ended) {
            self.next += 1;
            if let Some(end) = self.watch.see(second) {
                return Some(self.over(end, sight.elapsed_ns));
            }
        }
        // A server that died may have closed its connections before the second is complete.
        sight.ended.then(|| self.over(FloodEnd::Died, sight.elapsed_ns))
    }

    fn over(&mut self, end: FloodEnd, elapsed_ns: u64) -> Steer {
        self.end = Some(end);
        self.ended_ns = Some(elapsed_ns);
        Steer::Measure { from_ns: 0, until_ns: elapsed_ns + LEAD_NS }
    }

    /// The next whole second, as the watch takes it.
    fn second(&mut self, arm: &ArmPlan, gathered: &Gathered, ended: bool) -> Option<FloodSecond> {
        let second = gathered.seconds().get(&self.next)?;
        self.established += second.established;
        let published = arm.publisher.is_some();
        let latency_us = if published { second.latency_us.map(|l| l.0) } else { second.answer_p50_us };
        Some(FloodSecond {
            offered: arm.ramp.due_by((u64::from(self.next) + 1) * SECOND_NS, arm.connections),
            established: self.established,
            connected: second.connected,
            failed: second.failed,
            failed_ours: second.failed_ours,
            lost: second.lost,
            received: second.received,
            latency_us,
            ended,
        })
    }

    /// The flood as the run keeps it.
    pub(super) fn figures(self, after: &After<'_>) -> Flood {
        let After { plan, windows, gathered, .. } = after;
        let flood = plan.flood.as_ref().expect("the plan of a flood");
        // If the arm ended first, the flood was stopped or ran out of clients.
        let otherwise = if after.stopped_ns.is_some() { FloodEnd::Stopped } else { FloodEnd::Limit };
        let end = self.end.unwrap_or(otherwise);
        let ended_ns = self.ended_ns.or(after.stopped_ns).unwrap_or_else(|| plan.phases.measure_end_ns());
        let offered = plan.ramp.due_by(ended_ns, plan.connections);
        let established = windows.last().map_or(0, |w| w.established);
        let counted: Vec<(u64, u64)> = self.counted.iter().map(|(at_ns, n)| (at_ns / 1_000, *n)).collect();
        let interval_us = flood.interval_ns / 1_000;
        let intervals = curve::intervals(windows, interval_us, ended_ns / 1_000, &counted);
        let evidence = Evidence {
            end: Some(end),
            limit: plan.connections,
            cut_by: flood.cut_by.clone(),
            offered,
            established,
            failures: merged(&gathered.total().failed, &gathered.total().lost_by),
            log: after.logs.iter().map(|file| String::from_utf8_lossy(&file.bytes) + "\n").collect(),
            out_of_memory: after.last_words.is_some_and(|words| words.out_of_memory),
            ended: after.last_words.filter(|words| words.by_itself).map(|words| words.how.clone()),
            descriptors: self.descriptors,
            threads: threads(after.samples),
            overflows: after.overflows,
            server_busy: busy(windows, ended_ns / SECOND_NS, after.server_cpus),
            thread_each: after.thread_each,
        };
        Flood {
            rate_per_s: flood.rate_per_s,
            interval_us,
            limit: plan.connections,
            cut_by: flood.cut_by.clone(),
            end,
            ended_us: ended_ns / 1_000,
            offered,
            established,
            connected_max: windows.iter().map(|w| w.connected).max().unwrap_or(0),
            served_max: windows.iter().filter_map(|w| w.served).max(),
            counted_max: counted.iter().map(|(_, n)| *n).max(),
            declined_from: curve::declined_from(&intervals),
            limits: diagnosis::limits(&evidence),
            intervals,
        }
    }
}

/// The data that a flood is judged by after its server has stopped.
pub(super) struct After<'a> {
    pub(super) plan: &'a ArmPlan,
    pub(super) windows: &'a [Window],
    pub(super) samples: &'a [Sample],
    pub(super) gathered: &'a Gathered,
    pub(super) last_words: Option<&'a LastWords>,
    pub(super) logs: &'a [KeptFile],
    pub(super) overflows: u64,
    /// CPUs of the server; 0: all.
    pub(super) server_cpus: usize,
    pub(super) thread_each: bool,
    pub(super) stopped_ns: Option<u64>,
}

fn merged(a: &BTreeMap<String, u64>, b: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let mut sum = a.clone();
    for (kind, n) in b {
        *sum.entry(kind.clone()).or_default() += n;
    }
    sum
}

/// The share of its CPUs that the server used in the last seconds before its end.
fn busy(windows: &[Window], ended_s: u64, cpus: usize) -> Option<f64> {
    let cpus = if cpus == 0 { std::thread::available_parallelism().ok()?.get() } else { cpus };
    let last: Vec<u64> = windows
        .iter()
        .filter(|w| u64::from(w.second) < ended_s)
        .filter_map(|w| w.server_cpu_us)
        .rev()
        .take(LAST_SECONDS)
        .collect();
    (last.len() == LAST_SECONDS).then(|| last.iter().sum::<u64>() as f64 / 1e6 / (LAST_SECONDS * cpus) as f64)
}

/// A thread that asks a server how many subscribers it counts. An overloaded server answers late, and no
/// other thread may wait for it.
#[derive(Debug)]
struct Asker {
    answers: Receiver<u64>,
    // Dropped, it ends the thread.
    _stop: Sender<()>,
}

impl Asker {
    fn start(stats: Control, every: Duration) -> Option<Asker> {
        let (answer, answers) = channel();
        let (stop, stopped) = channel::<()>();
        let ask = move || {
            let mut due = Instant::now() + every;
            while stopped.recv_timeout(due.saturating_duration_since(Instant::now()))
                == Err(RecvTimeoutError::Timeout)
            {
                let count = http::get(&stats, ASK_TIMEOUT).ok().filter(http::Answer::is_success);
                let count = count.and_then(|answer| subscribers(&answer.body));
                if count.is_some_and(|count| answer.send(count).is_err()) {
                    return;
                }
                due = (due + every).max(Instant::now());
            }
        };
        std::thread::Builder::new().name("counting".into()).spawn(ask).ok()?;
        Some(Asker { answers, _stop: stop })
    }
}

/// Subscribers as the server reports them (CONTRACT 2.3); connections if it does not list transports.
fn subscribers(stats: &[u8]) -> Option<u64> {
    let stats: serde_json::Value = serde_json::from_slice(stats).ok()?;
    let by_transport = stats.get("transports").and_then(|t| t.as_object());
    let subscribers = by_transport.map(|all| all.values().filter_map(serde_json::Value::as_u64).sum());
    subscribers.or_else(|| stats.get("connections")?.as_u64())
}

/// The most threads that its readings show, and the last of them.
pub(super) fn threads(samples: &[Sample]) -> Option<(u64, u64)> {
    let seen = || samples.iter().filter_map(|s| s.server).map(|s| s.threads).filter(|n| *n > 0);
    Some((seen().max()?, seen().next_back()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_own_count_is_that_of_its_subscribers() {
        assert_eq!(subscribers(br#"{"connections":9,"transports":{"stream":4,"sse":2}}"#), Some(6));
        assert_eq!(subscribers(br#"{"connections":9}"#), Some(9));
        assert_eq!(subscribers(b"busy"), None);
    }
}
