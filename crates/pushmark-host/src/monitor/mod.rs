//! Measures the cost of a run: the server's process tree, this process with its agents, and their host.
//!
//! One thread reads at 1 Hz on an absolute schedule. For the figures of an exact window, take a
//! [`Snapshot`] at both of its ends and subtract ([`figures`]). The verdict judges the figures.

mod clock_watch;
pub mod figures;
mod host;
pub mod listener;
pub(crate) mod others;
mod process;
mod pulse;
mod samples;
mod snapshot;
mod tree;

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use pushmark_net::Clock;

pub use clock_watch::ClockWatch;
pub use host::{HostUse, TcpUse};
use others::Others;
pub use process::{ProcessUse, ThreadUse};
pub use pulse::Stall;
use pulse::{BEAT_NS, Pulse};
use samples::Samples;
pub use snapshot::{Peaks, Sample, Snapshot};
pub use tree::Tree;

/// Time between two samples.
const INTERVAL_NS: u64 = 1_000_000_000;

/// The watched processes.
#[derive(Clone, Debug, Default)]
pub struct Watched {
    /// The root of the server's process tree; absent: unknown.
    pub server: Option<i32>,
    /// Other processes of the generator.
    pub agents: Vec<i32>,
    /// Roots of other trees that belong to the run: a browser, a target that was already running.
    pub beside: Vec<i32>,
    /// CPUs that the run has; empty: all.
    pub cpus: Vec<u32>,
}

/// A running sampler. Dropping it ends its thread.
#[derive(Debug)]
pub struct Monitor {
    watch: Arc<Mutex<Watch>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    /// Starts sampling the server's tree, if there is one to watch, the generator (this process and
    /// its agents) and the host under them. Times are those of `clock`, which must count ns of a
    /// monotonic clock.
    ///
    /// # Errors
    /// Fails if `/proc` cannot be read, or a thread cannot be started.
    pub fn start(watched: Watched, clock: fn() -> u64) -> std::io::Result<Monitor> {
        let unread = || std::io::Error::other("/proc/self cannot be read: is /proc mounted?");
        let ours = Tree::alone(std::process::id() as i32).ok_or_else(unread)?;
        let generator =
            std::iter::once(ours).chain(watched.agents.iter().filter_map(|pid| Tree::alone(*pid))).collect();
        let mut watch = Watch {
            server: watched.server.and_then(Tree::new),
            beside: watched.beside.iter().filter_map(|pid| Tree::new(*pid)).collect(),
            generator,
            ours: watched.roots(),
            cpus: watched.cpus,
            stalls: Vec::new(),
            clock,
            offsets: ClockWatch::default(),
            peaks: Peaks::default(),
            samples: Samples::default(),
        };
        watch.sample();
        let watch = Arc::new(Mutex::new(watch));
        let (stop, stopped) = channel();
        let shared = Arc::clone(&watch);
        let thread = std::thread::Builder::new()
            .name("monitor".into())
            .spawn(move || sample_until(&stopped, clock, &shared))?;
        Ok(Monitor { watch, stop: Some(stop), thread: Some(thread) })
    }

    /// A full reading now, in the caller's thread: a few ms for hundreds of threads.
    pub fn mark(&self) -> Snapshot {
        self.locked().snapshot(false)
    }

    /// [`Monitor::mark`] with the CPU use of every process of the host: for both ends of measure.
    pub fn mark_with_others(&self) -> Snapshot {
        let others = Others::read();
        Snapshot { others, ..self.mark() }
    }

    /// The root processes of the run.
    pub fn ours(&self) -> Vec<i32> {
        self.locked().ours.clone()
    }

    /// [`Monitor::mark`] with the server's PSS, which holds the server's memory map while it
    /// is summed: at start, full and end only.
    pub fn mark_with_pss(&self) -> Snapshot {
        self.locked().snapshot(true)
    }

    /// The newest sample, for the live line.
    pub fn latest(&self) -> Sample {
        self.locked().samples.latest()
    }

    /// Whether any process of the server's tree existed at the last reading; `None` if there is no server to
    /// watch.
    pub fn server_is_alive(&self) -> Option<bool> {
        self.locked().server.as_ref().map(Tree::is_alive)
    }

    /// Ends sampling. Returns all samples, oldest first, and an error if some cannot be read again.
    pub fn stop(mut self) -> (Vec<Sample>, std::io::Result<()>) {
        self.end();
        let mut watch = self.locked();
        watch.sample();
        watch.samples.take()
    }

    fn locked(&self) -> MutexGuard<'_, Watch> {
        self.watch.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn end(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic in the sampler has been printed; its samples are still good.
            let _ = thread.join();
        }
    }
}

impl Watched {
    fn roots(&self) -> Vec<i32> {
        let own = std::process::id() as i32;
        let all = self.server.iter().chain(&self.agents).chain(&self.beside);
        all.copied().chain([own]).collect()
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.end();
    }
}

/// The sampler's loop: due instants are start + n × interval, whatever a reading took. It wakes
/// more often, to detect that this process was stopped.
fn sample_until(stopped: &Receiver<()>, clock: fn() -> u64, watch: &Mutex<Watch>) {
    let mut due_ns = clock() + INTERVAL_NS;
    let mut pulse = Pulse::default();
    loop {
        let wait_ns = due_ns.saturating_sub(clock()).min(BEAT_NS);
        match stopped.recv_timeout(Duration::from_nanos(wait_ns)) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        let now_ns = clock();
        let stall = pulse.beat(now_ns, wait_ns);
        if stall.is_none() && now_ns < due_ns {
            continue;
        }
        let mut watch = watch.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(stall) = stall {
            pulse::keep(&mut watch.stalls, stall);
        }
        if now_ns < due_ns {
            continue;
        }
        watch.sample();
        let missed = clock().saturating_sub(due_ns) / INTERVAL_NS;
        due_ns += INTERVAL_NS * (missed + 1);
    }
}

/// The state that the sampler and `mark` share.
#[derive(Debug)]
struct Watch {
    server: Option<Tree>,
    /// This process and its agents.
    generator: Vec<Tree>,
    beside: Vec<Tree>,
    /// Roots of all of them.
    ours: Vec<i32>,
    cpus: Vec<u32>,
    stalls: Vec<Stall>,
    clock: fn() -> u64,
    offsets: ClockWatch,
    peaks: Peaks,
    samples: Samples,
}

impl Watch {
    fn read(&mut self) -> (Sample, HostUse) {
        let host = HostUse::read();
        let sample = Sample {
            t_ns: (self.clock)(),
            server: self.server.as_mut().map(Tree::read),
            generator: self.generator.iter_mut().map(Tree::read).sum(),
            softirq_ns: host.softirq_ns(),
            steal_ns: host.steal_ns,
            kernel_memory_bytes: host.kernel_memory_bytes(),
            host_busy_ns: (host.busy_ns > 0).then_some(host.busy_ns),
            host_used_bytes: host.used_bytes,
            tasks_ns: host.tasks_ns(&self.cpus),
            idle_ns: host.idle_ns(&self.cpus),
            beside_ns: self.beside.iter_mut().map(|tree| tree.read().cpu_ns).sum(),
            clock_offset_ns: Clock::realtime_minus_monotonic_ns(),
        };
        self.offsets.offset_seen(sample.t_ns, sample.clock_offset_ns);
        self.peaks.seen(&sample);
        (sample, host)
    }

    fn sample(&mut self) {
        let (sample, _) = self.read();
        self.samples.push(sample);
    }

    fn snapshot(&mut self, with_pss: bool) -> Snapshot {
        // Threads first: their sum is then never above the process's.
        let threads = self.generator.iter().flat_map(Tree::root_threads).collect();
        let (sample, host) = self.read();
        Snapshot {
            sample,
            threads,
            host,
            server_pss_bytes: self.server.as_ref().filter(|_| with_pss).and_then(Tree::pss_bytes),
            others: Others::default(),
            peaks: self.peaks,
            clock: self.offsets,
            stalls: self.stalls.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_our_own_work_shows_in_two_snapshots() {
        let monitor = Monitor::start(Watched::default(), Clock::now).unwrap();
        let start = monitor.mark();
        let until_ns = Clock::now() + 60_000_000;
        while Clock::now() < until_ns {
            std::hint::spin_loop();
        }
        let end = monitor.mark();
        assert!(end.sample.t_ns - start.sample.t_ns >= 60_000_000);
        assert!(end.sample.generator.cpu_ns > start.sample.generator.cpu_ns);
        assert!(end.sample.generator.rss_bytes > 0 && end.peaks.generator_rss_bytes > 0);
        assert!(end.threads.iter().any(|t| t.tid == std::process::id() as i32));
        assert_eq!((end.sample.server, monitor.server_is_alive()), (None, None));
        let (samples, whole) = monitor.stop();
        assert!(whole.is_ok() && samples.len() >= 2 && samples.is_sorted_by_key(|s| s.t_ns));
    }

    #[test]
    fn a_server_that_ends_is_seen_to_end() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let monitor =
            Monitor::start(Watched { server: Some(child.id() as i32), ..Watched::default() }, Clock::now)
                .unwrap();
        assert_eq!(monitor.server_is_alive(), Some(true));
        assert!(monitor.mark_with_pss().server_pss_bytes.is_some());
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(monitor.mark().sample.server.map(|s| s.threads), Some(0));
        assert_eq!(monitor.server_is_alive(), Some(false));
    }

    #[test]
    fn a_sample_is_taken_every_interval_of_the_given_clock() {
        use std::sync::atomic::{AtomicU64, Ordering};
        // Every reading of this clock is 0.1 s later: due instants pass without waiting.
        static NOW_NS: AtomicU64 = AtomicU64::new(0);
        let monitor =
            Monitor::start(Watched::default(), || NOW_NS.fetch_add(100_000_000, Ordering::Relaxed)).unwrap();
        let first_ns = monitor.latest().t_ns;
        while monitor.latest().t_ns < first_ns + 4_000_000_000 {
            std::thread::yield_now();
        }
        let (samples, _) = monitor.stop();
        assert!(samples.len() > 4 && samples.is_sorted_by_key(|s| s.t_ns), "{}", samples.len());
    }
}
