//! Watches what a run costs: the server's process tree, this process with its agents, and the host
//! under both.
//!
//! One thread reads at 1 Hz on an absolute schedule; whoever needs a figure for an exact
//! window takes a [`Snapshot`] at both of its ends and subtracts ([`figures`]). Nothing here
//! judges: that is [`crate::verdict`].

mod clock_watch;
pub mod figures;
mod host;
mod process;
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
pub use process::{ProcessUse, ThreadUse};
use samples::Samples;
pub use snapshot::{Peaks, Sample, Snapshot};
pub(crate) use tree::Tree;

/// Time between two samples.
const INTERVAL_NS: u64 = 1_000_000_000;

/// A running sampler. Dropping it ends its thread.
#[derive(Debug)]
pub struct Monitor {
    watch: Arc<Mutex<Watch>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Monitor {
    /// Starts sampling the tree under `server_pid`, if there is one to watch, and the generator:
    /// this process and its `agents`. Times are those of `clock`, which must count ns of a
    /// monotonic clock.
    pub fn start(server_pid: Option<i32>, agents: &[i32], clock: fn() -> u64) -> std::io::Result<Monitor> {
        let unread = || std::io::Error::other("/proc/self cannot be read: is /proc mounted?");
        let ours = Tree::alone(std::process::id() as i32).ok_or_else(unread)?;
        let generator =
            std::iter::once(ours).chain(agents.iter().filter_map(|pid| Tree::alone(*pid))).collect();
        let mut watch = Watch {
            server: server_pid.and_then(Tree::new),
            generator,
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

    /// [`Monitor::mark`] with the server's PSS, which holds the server's memory map while it
    /// is summed: at start, full and end only.
    pub fn mark_with_pss(&self) -> Snapshot {
        self.locked().snapshot(true)
    }

    /// The newest sample, for the live line.
    pub fn latest(&self) -> Sample {
        self.locked().samples.latest()
    }

    /// Whether any process of the server's tree was there at the last reading; `None` when
    /// there is none to watch.
    pub fn server_is_alive(&self) -> Option<bool> {
        self.locked().server.as_ref().map(Tree::is_alive)
    }

    /// Ends sampling and gives everything sampled, oldest first; and why some of it cannot be read
    /// again, where that is so.
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
            // A panic in the sampler has been printed; what it gathered is still good.
            let _ = thread.join();
        }
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        self.end();
    }
}

/// The sampler's loop: due instants are start + n × interval, whatever a reading took.
fn sample_until(stopped: &Receiver<()>, clock: fn() -> u64, watch: &Mutex<Watch>) {
    let mut due_ns = clock() + INTERVAL_NS;
    loop {
        let wait = Duration::from_nanos(due_ns.saturating_sub(clock()));
        match stopped.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return,
        }
        watch.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).sample();
        let missed = clock().saturating_sub(due_ns) / INTERVAL_NS;
        due_ns += INTERVAL_NS * (missed + 1);
    }
}

/// What the sampler and `mark` share.
#[derive(Debug)]
struct Watch {
    server: Option<Tree>,
    /// This process and its agents.
    generator: Vec<Tree>,
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
            host_active_bytes: host.active_bytes,
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
            peaks: self.peaks,
            clock: self.offsets,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_our_own_work_shows_in_two_snapshots() {
        let monitor = Monitor::start(None, &[], Clock::now).unwrap();
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
        let monitor = Monitor::start(Some(child.id() as i32), &[], Clock::now).unwrap();
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
        // Every look at this clock is 0.4 s later: due instants come without waiting.
        static NOW_NS: AtomicU64 = AtomicU64::new(0);
        let monitor = Monitor::start(None, &[], || NOW_NS.fetch_add(400_000_000, Ordering::Relaxed)).unwrap();
        let first_ns = monitor.latest().t_ns;
        while monitor.latest().t_ns < first_ns + 4_000_000_000 {
            std::thread::yield_now();
        }
        let (samples, _) = monitor.stop();
        assert!(samples.len() > 4 && samples.is_sorted_by_key(|s| s.t_ns), "{}", samples.len());
    }
}
