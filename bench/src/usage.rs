//! What a thread, this process and the host have used so far.

use std::fs;

/// CPU time and waiting of one thread, in ns since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ThreadUse {
    pub(crate) cpu_ns: u64,
    /// Time in which it could have run and another thread had the core.
    pub(crate) wait_ns: u64,
}

/// Of a thread of this process.
pub(crate) fn of_thread(tid: i32) -> ThreadUse {
    let text = fs::read_to_string(format!("/proc/self/task/{tid}/schedstat")).unwrap_or_default();
    parse_schedstat(&text)
}

fn parse_schedstat(text: &str) -> ThreadUse {
    let mut numbers = text.split_ascii_whitespace().filter_map(|n| n.parse().ok());
    ThreadUse { cpu_ns: numbers.next().unwrap_or(0), wait_ns: numbers.next().unwrap_or(0) }
}

/// CPU time of all threads of this process that live now, but `except`.
pub(crate) fn of_other_threads(except: &[i32]) -> u64 {
    let Ok(tasks) = fs::read_dir("/proc/self/task") else { return 0 };
    let tids = tasks.flatten().filter_map(|t| t.file_name().to_str()?.parse().ok());
    tids.filter(|tid| !except.contains(tid)).map(|tid| of_thread(tid).cpu_ns).sum()
}

/// Resident memory of this process, bytes.
pub(crate) fn rss_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

/// Time the hypervisor gave to others, all CPUs together, in ticks of 10 ms.
pub(crate) fn steal_ticks() -> u64 {
    steal_of(&fs::read_to_string("/proc/stat").unwrap_or_default())
}

fn steal_of(stat: &str) -> u64 {
    let total = stat.lines().next().unwrap_or_default();
    total.split_ascii_whitespace().nth(8).and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn burn(span: Duration) {
        let own = || of_thread(rustix::thread::gettid().as_raw_nonzero().get()).cpu_ns;
        let began_ns = own();
        while own() - began_ns < span.as_nanos() as u64 {
            std::hint::black_box((0..10_000u64).sum::<u64>());
        }
    }

    #[test]
    fn a_thread_that_burns_100_ms_has_used_100_ms() {
        let (tid_sender, tid) = std::sync::mpsc::channel();
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tid_sender.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            burn(Duration::from_millis(100));
            tid_sender.send(0).unwrap();
            let _ = gone.recv();
        });
        let tid_of = tid.recv().unwrap();
        tid.recv().unwrap();
        let used = of_thread(tid_of);
        // A running thread's time is up to date at each tick, so within 10 ms.
        assert!((100_000_000..115_000_000).contains(&used.cpu_ns), "{used:?}");
        // Threads of other tests come and go.
        assert!(of_other_threads(&[]) >= used.cpu_ns, "all threads include it");
        drop(go);
        thread.join().unwrap();
    }

    #[test]
    fn a_thread_that_sleeps_has_used_nothing() {
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let before = of_thread(own).cpu_ns;
        let began = Instant::now();
        std::thread::sleep(Duration::from_millis(50));
        assert!(began.elapsed() >= Duration::from_millis(50));
        assert!(of_thread(own).cpu_ns - before < 10_000_000);
    }

    #[test]
    fn memory_that_is_touched_shows() {
        let before = rss_bytes();
        let block = std::hint::black_box(vec![1u8; 32 << 20]);
        assert!(rss_bytes() >= before + (30 << 20));
        drop(block);
    }

    #[test]
    fn steal_is_the_eighth_number() {
        assert_eq!(steal_of("cpu  1 2 3 4 5 6 7 88 9 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n"), 88);
        assert_eq!(steal_of(""), 0);
    }

    #[test]
    fn schedstat_is_run_wait_slices() {
        assert_eq!(parse_schedstat("123 45 6\n"), ThreadUse { cpu_ns: 123, wait_ns: 45 });
    }
}
