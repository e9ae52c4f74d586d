//! The CPU use of one process so far, complete although its threads start and end.
//!
//! CPU is the sum of `/proc/PID/task/*/schedstat` in ns. A thread that ends takes its file with it, so its
//! last reading is kept. Its CPU time after that reading is taken from the process's utime + stime, which
//! cover ended threads but only in ticks of 10 ms. Both sources are lower bounds of the truth; the larger is
//! taken, and never shrinks.

use std::collections::HashMap;

use procfs::process::{Process, Stat};
use serde::{Deserialize, Serialize};

/// Nanoseconds of a clock tick of utime and stime (USER_HZ is 100 on every Linux).
const TICK_NS: u64 = 10_000_000;
/// Beyond this number of threads only utime + stime are read, which costs one file instead of one a thread:
/// reading 10,000 threads every second would load the cores that are measured.
const THREADS_READ_MAX: usize = 512;

/// The use of a thread since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadUse {
    /// Thread id.
    pub tid: i32,
    /// Its name (`shard-3`), at most 15 bytes.
    pub name: String,
    /// CPU time.
    pub cpu_ns: u64,
    /// Time in which it was runnable but waited for a core.
    pub run_queue_wait_ns: u64,
}

/// The use of a process, or of a process tree, since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessUse {
    /// CPU time, ended threads included.
    pub cpu_ns: u64,
    /// Time in run queues, over all threads.
    pub run_queue_wait_ns: u64,
    /// Resident memory now.
    pub rss_bytes: u64,
    /// Threads now.
    pub threads: u64,
}

impl std::iter::Sum for ProcessUse {
    fn sum<I: Iterator<Item = ProcessUse>>(all: I) -> ProcessUse {
        all.fold(ProcessUse::default(), |sum, one| ProcessUse {
            cpu_ns: sum.cpu_ns + one.cpu_ns,
            run_queue_wait_ns: sum.run_queue_wait_ns + one.run_queue_wait_ns,
            rss_bytes: sum.rss_bytes + one.rss_bytes,
            threads: sum.threads + one.threads,
        })
    }
}

/// A process being followed. The open `/proc` folder in it pins the process: a process that
/// later gets the same number is not mistaken for it.
#[derive(Debug)]
pub(super) struct Tracked {
    process: Process,
    threads: HashMap<i32, (u64, u64)>,
    ended_cpu_ns: u64,
    ended_wait_ns: u64,
    last: ProcessUse,
    children_cpu_ns: u64,
}

impl Tracked {
    /// Begins to follow a process; `None` if no process has this number.
    pub(super) fn new(pid: i32) -> Option<Tracked> {
        Some(Tracked {
            process: Process::new(pid).ok()?,
            threads: HashMap::new(),
            ended_cpu_ns: 0,
            ended_wait_ns: 0,
            last: ProcessUse::default(),
            children_cpu_ns: 0,
        })
    }

    /// Its /proc/PID/stat, while it exists.
    pub(super) fn stat(&self) -> Option<Stat> {
        self.process.stat().ok()
    }

    /// The last reading.
    pub(super) fn last(&self) -> ProcessUse {
        self.last
    }

    /// CPU of children that ended and were waited for, and of theirs, by the tick.
    pub(super) fn children_cpu_ns(&self) -> u64 {
        self.children_cpu_ns
    }

    /// Reads everything again; `false` once the process is gone (a zombie is gone too).
    pub(super) fn read(&mut self, page_bytes: u64) -> bool {
        let Ok(stat) = self.process.stat() else { return false };
        let ticks_ns = (stat.utime + stat.stime) * TICK_NS;
        self.children_cpu_ns = (stat.cutime.max(0) + stat.cstime.max(0)) as u64 * TICK_NS;
        if stat.state != 'Z' && stat.state != 'X' && (stat.num_threads as usize) <= THREADS_READ_MAX {
            self.read_threads();
        }
        self.settle(ticks_ns);
        if stat.state == 'Z' || stat.state == 'X' {
            return false;
        }
        self.last.rss_bytes = stat.rss * page_bytes;
        self.last.threads = stat.num_threads.max(0) as u64;
        true
    }

    fn read_threads(&mut self) {
        let Ok(tasks) = self.process.tasks() else { return };
        let mut now = HashMap::with_capacity(self.threads.len() + 8);
        for task in tasks.flatten() {
            if let Ok(s) = task.schedstat() {
                now.insert(task.tid, (s.sum_exec_runtime, s.run_delay));
            }
        }
        self.threads_seen(now);
    }

    /// Replaces the readings of live threads; ended threads keep their last one.
    fn threads_seen(&mut self, now: HashMap<i32, (u64, u64)>) {
        for (tid, (cpu_ns, wait_ns)) in self.threads.drain() {
            // A thread number used again starts below its predecessor's reading.
            if now.get(&tid).is_none_or(|again| again.0 < cpu_ns) {
                self.ended_cpu_ns += cpu_ns;
                self.ended_wait_ns += wait_ns;
            }
        }
        self.threads = now;
    }

    /// Adds the unseen CPU time of ended threads, as the ticks show it.
    fn settle(&mut self, ticks_ns: u64) {
        let live: (u64, u64) = self.threads.values().fold((0, 0), |sum, t| (sum.0 + t.0, sum.1 + t.1));
        self.ended_cpu_ns = self.ended_cpu_ns.max(ticks_ns.saturating_sub(live.0));
        self.last.cpu_ns = self.last.cpu_ns.max(live.0 + self.ended_cpu_ns);
        self.last.run_queue_wait_ns = self.last.run_queue_wait_ns.max(live.1 + self.ended_wait_ns);
    }

    /// Proportional memory: shared pages are divided among the processes that share them. Walks the whole
    /// address space (tens of ms for a large heap) and holds its lock: too slow for every second.
    pub(super) fn pss_bytes(&self) -> Option<u64> {
        let rollup = self.process.smaps_rollup().ok()?;
        let map = rollup.memory_map_rollup.into_iter().next()?;
        map.extension.map.get("Pss").copied()
    }

    /// Each live thread by name.
    pub(super) fn threads(&self) -> Vec<ThreadUse> {
        let Ok(tasks) = self.process.tasks() else { return Vec::new() };
        let mut threads: Vec<ThreadUse> = tasks
            .flatten()
            .filter_map(|task| {
                let s = task.schedstat().ok()?;
                Some(ThreadUse {
                    tid: task.tid,
                    name: task.stat().ok()?.comm,
                    cpu_ns: s.sum_exec_runtime,
                    run_queue_wait_ns: s.run_delay,
                })
            })
            .collect();
        threads.sort_by_key(|t| t.tid);
        threads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(tracked: &mut Tracked, threads: &[(i32, u64)], ticks_ns: u64) -> u64 {
        tracked.threads_seen(threads.iter().map(|&(tid, cpu)| (tid, (cpu, 0))).collect());
        tracked.settle(ticks_ns);
        tracked.last.cpu_ns
    }

    #[test]
    fn an_ended_thread_keeps_what_it_used() {
        let mut t = Tracked::new(std::process::id() as i32).unwrap();
        assert_eq!(seen(&mut t, &[(1, 500), (2, 300)], 0), 800);
        assert_eq!(seen(&mut t, &[(1, 600)], 0), 900);
    }

    #[test]
    fn what_a_thread_burned_after_its_last_reading_comes_from_the_ticks() {
        let mut t = Tracked::new(std::process::id() as i32).unwrap();
        seen(&mut t, &[(1, 5_000_000), (2, 30_000_000)], 30_000_000);
        assert_eq!(seen(&mut t, &[(1, 6_000_000)], 90_000_000), 90_000_000);
        // From then on the live thread counts in ns again.
        assert_eq!(seen(&mut t, &[(1, 6_000_123)], 90_000_000), 90_000_123);
    }

    #[test]
    fn a_thread_number_used_again_is_another_thread() {
        let mut t = Tracked::new(std::process::id() as i32).unwrap();
        seen(&mut t, &[(7, 900)], 0);
        assert_eq!(seen(&mut t, &[(7, 100)], 0), 1_000);
    }

    #[test]
    fn a_process_that_never_was_is_none() {
        assert!(Tracked::new(i32::MAX).is_none());
    }
}
