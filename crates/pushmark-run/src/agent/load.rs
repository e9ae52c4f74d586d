//! The work of an agent on one arm: its shards, and what they cost its machine.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pushmark_host::monitor::{Monitor, Snapshot, Watched, figures};
use pushmark_model::agent::{AgentCost, Said};
use pushmark_model::plan::Phases;
use pushmark_net::Clock;

use super::pool::{PoolEvent, ShardPool};
use super::voice::{Voice, locked};

/// The longest time between two looks.
const LOOK: Duration = Duration::from_millis(200);
/// Time between two writes of a spool to the disk.
const SYNC_EVERY: Duration = Duration::from_secs(5);

/// The thread that takes the records of an arm's shards.
pub(super) struct Worker {
    pub(super) pool: ShardPool,
    pub(super) voice: Voice,
    pub(super) start_ns: u64,
    pub(super) phases: Arc<Mutex<Phases>>,
    pub(super) cpus: usize,
}

impl Worker {
    pub(super) fn work(self) {
        let monitor = Monitor::start(Watched::default(), Clock::now).ok();
        let mut marks: [Option<Snapshot>; 2] = [None, None];
        let mut synced = Instant::now();
        let mut started_late_ns = None;
        loop {
            let now_ns = Clock::now();
            if now_ns >= self.start_ns {
                started_late_ns.get_or_insert(now_ns - self.start_ns);
            }
            let next_ns = self.mark(now_ns, monitor.as_ref(), &mut marks);
            let wait_ns = next_ns.saturating_sub(now_ns).min(LOOK.as_nanos() as u64);
            match self.pool.next(Duration::from_nanos(wait_ns)) {
                PoolEvent::Record(record) => {
                    let said = Said::Record(record);
                    if !self.voice.say(&said) {
                        self.pool.stop();
                    }
                    if let Said::Record(record) = said {
                        self.pool.take_back(record);
                    }
                }
                PoolEvent::End => break,
                // An agent has no agents.
                PoolEvent::Nothing | PoolEvent::Spent(_) | PoolEvent::Silent(_) | PoolEvent::Lost(_) => {}
            }
            if synced.elapsed() > SYNC_EVERY {
                synced = Instant::now();
                self.voice.sync();
            }
        }
        let cost = self.cost(monitor, &marks, started_late_ns.unwrap_or(0));
        let Worker { pool, voice, .. } = self;
        // What is not whole must not pass for it: an order that came late, a spool that was full.
        let whole = |()| voice.broken().map_or(Ok(()), Err);
        let ended = Said::Ended(pool.join().and_then(whole));
        if let Ok(text) = serde_json::to_string(&cost) {
            voice.say(&Said::Cost(text));
        }
        voice.say(&ended);
        voice.sync();
    }

    /// Takes the readings that are due. Returns when the next one is.
    fn mark(&self, now_ns: u64, monitor: Option<&Monitor>, marks: &mut [Option<Snapshot>; 2]) -> u64 {
        let phases = *locked(&self.phases);
        let due = [phases.measure_start_ns(), phases.measure_end_ns()].map(|at| self.start_ns + at);
        for (mark, due_ns) in marks.iter_mut().zip(due) {
            if mark.is_none() && now_ns >= due_ns {
                *mark = monitor.map(Monitor::mark_with_others);
            }
        }
        let all = due.into_iter().chain([self.start_ns]);
        all.filter(|due_ns| *due_ns > now_ns).min().unwrap_or(u64::MAX)
    }

    fn cost(
        &self,
        monitor: Option<Monitor>,
        marks: &[Option<Snapshot>; 2],
        started_late_ns: u64,
    ) -> AgentCost {
        let phases = Some(*locked(&self.phases));
        let mut cost = AgentCost { started_late_ns, phases, ..AgentCost::default() };
        let Some(monitor) = monitor else { return cost };
        let end = monitor.mark();
        if let [Some(from), Some(to)] = marks {
            cost.generator = figures::generator(from, to, Default::default(), self.cpus);
            cost.foreign = figures::foreign(from, to, self.cpus, &monitor.ours());
            cost.worst_shard_wait = figures::worst_shard_wait(from, to);
        }
        let since = |at_ns: u64| at_ns as i64 - self.start_ns as i64;
        cost.stalls = end.stalls.iter().map(|stall| (since(stall.from_ns), stall.length_ns)).collect();
        cost.clock_step_ns = end.clock.largest_step_ns;
        cost
    }
}
