//! The heap of a JVM: what is still in use after a forced collection, and what its log of collections says.
//! Resident memory cannot tell: a JVM touches as much of its heap as it may before it collects.

use std::fs;
use std::io;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use pushmark_model::run::Heap;
use pushmark_store::KeptFile;

use super::logs::FILE_BYTES_MAX;

/// Longest wait for a collection after drain.
const PATIENCE: Duration = Duration::from_secs(5);
/// Time between two looks at it.
const TICK: Duration = Duration::from_millis(10);
/// The cause that the log gives to a collection which was asked for from outside.
const ASKED: &str = "(Diagnostic Command)";

/// A full collection that was asked for.
#[derive(Debug)]
pub struct Collection(Child);

impl Collection {
    /// Starts a full collection in the JVM of this process id, by the `jcmd` beside its own program.
    ///
    /// # Errors
    /// Fails if the process is no JVM, or if its JDK has no `jcmd`.
    pub fn start(pid: i32) -> io::Result<Collection> {
        let program = fs::read_link(format!("/proc/{pid}/exe"))?;
        let jcmd = program.parent().map(|folder| folder.join("jcmd")).filter(|_| program.ends_with("java"));
        let jcmd = jcmd.ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "this is no JVM"))?;
        let mut command = Command::new(jcmd);
        command.args([&pid.to_string(), "GC.run"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().map(Collection)
    }

    /// Waits until it is over, a bounded time.
    pub fn finish(mut self) {
        let until = Instant::now() + PATIENCE;
        while matches!(self.0.try_wait(), Ok(None)) && Instant::now() < until {
            thread::sleep(TICK);
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads the garbage-collection log of a JVM from the files that it left; `None` if none of them is one.
pub fn read(files: &[KeptFile]) -> Option<Heap> {
    files.iter().find_map(|file| {
        let whole = (file.bytes.len() as u64) < FILE_BYTES_MAX;
        of_log(&String::from_utf8_lossy(&file.bytes), whole)
    })
}

/// Reads a log. Sums need the whole of it.
fn of_log(log: &str, whole: bool) -> Option<Heap> {
    let pauses: Vec<Pause<'_>> = log.lines().filter_map(Pause::of).collect();
    let last = pauses.last()?;
    let asked = pauses.iter().rev().find(|pause| pause.what.contains(ASKED));
    let (mut allocated, mut after) = (0, 0);
    for pause in &pauses {
        allocated += pause.before.saturating_sub(after);
        after = pause.after;
    }
    Some(Heap {
        live_bytes: asked.map(|pause| pause.after),
        size_bytes: last.size,
        collections: whole.then_some(pauses.len() as u64),
        pause_us: whole.then(|| pauses.iter().map(|pause| pause.us).sum()),
        allocated_bytes: whole.then_some(allocated),
    })
}

/// A pause: `[1.234s][info][gc] GC(3) Pause Young (Allocation Failure) 65M->5M(247M) 6.116ms`.
struct Pause<'l> {
    /// `Young (Allocation Failure)`.
    what: &'l str,
    before: u64,
    after: u64,
    size: u64,
    us: u64,
}

impl<'l> Pause<'l> {
    fn of(line: &'l str) -> Option<Pause<'l>> {
        let (_, rest) = line.split_once("] GC(")?.1.split_once(") Pause ")?;
        let mut words = rest.rsplitn(3, ' ');
        let (took, sizes, what) = (words.next()?, words.next()?, words.next()?);
        let (before, rest) = sizes.split_once("->")?;
        let (after, size) = rest.strip_suffix(')')?.split_once('(')?;
        let us = took.strip_suffix("ms")?.parse::<f64>().ok()? * 1_000.0;
        Some(Pause { what, before: bytes(before)?, after: bytes(after)?, size: bytes(size)?, us: us as u64 })
    }
}

/// Reads `65M`, `512K`, `3G` or `17B`.
fn bytes(text: &str) -> Option<u64> {
    let at = text.len().checked_sub(1)?;
    let unit = match text.get(at..)? {
        "B" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    Some(text[..at].parse::<u64>().ok()? * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
[0.005s][info][gc] Using Parallel
[1.001s][info][gc,start     ] GC(0) Pause Young (Allocation Failure)
[1.007s][info][gc           ] GC(0) Pause Young (Allocation Failure) 64M->4M(245M) 6.116ms
[1.007s][info][gc,cpu       ] GC(0) User=0.01s Sys=0.00s Real=0.01s
[2.000s][info][gc           ] GC(1) Pause Young (Allocation Failure) 68M->6M(245M) 2.5ms
[9.000s][info][gc           ] GC(2) Pause Full (Diagnostic Command) 16M->5M(2G) 20.0ms
";

    #[test]
    fn a_log_tells_what_lives_what_was_allocated_and_how_long_it_stood() {
        let heap = of_log(LOG, true).unwrap();
        let mib = 1 << 20;
        assert_eq!(heap.live_bytes, Some(5 * mib));
        assert_eq!(heap.size_bytes, 2048 * mib);
        assert_eq!(heap.collections, Some(3));
        assert_eq!(heap.pause_us, Some(28_616));
        assert_eq!(heap.allocated_bytes, Some((64 + 64 + 10) * mib));
    }

    #[test]
    fn a_cut_log_has_no_sums_and_one_without_a_forced_collection_nothing_that_lives() {
        let heap = of_log(LOG, false).unwrap();
        assert_eq!((heap.collections, heap.pause_us, heap.allocated_bytes), (None, None, None));
        let unforced: String =
            LOG.lines().filter(|line| !line.contains("Diagnostic")).collect::<Vec<_>>().join("\n");
        assert_eq!(of_log(&unforced, true).unwrap().live_bytes, None);
        assert_eq!(of_log("GET / 200\n", true), None, "another log");
    }

    #[test]
    fn this_process_is_no_jvm() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(Collection::start(own).is_err());
    }
}
