//! The last output of a server before its end, and whether it ended for lack of memory.

use super::logs::Logs;

/// Messages of runtimes that run out of memory: the JVM, all versions of Node.js, Rust, libc.
const OUT_OF_MEMORY: [&str; 6] = [
    "java.lang.OutOfMemoryError",
    "heap out of memory",
    "process out of memory",
    "insufficient memory for the Java Runtime",
    "memory allocation of ",
    "Cannot allocate memory",
];

/// Returns the number of processes that the kernel has killed for lack of memory since it started, in a
/// control group or on the whole machine. `None` if the kernel does not count them.
pub(super) fn kernel_kills() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/vmstat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("oom_kill ")).and_then(|count| count.trim().parse().ok())
}

/// Returns whether a server ran out of memory: by its own message, or by a kill while the kernel killed for
/// memory.
pub(super) fn out_of_memory(logs: &Logs, ended: Option<&str>, kills: (Option<u64>, Option<u64>)) -> bool {
    let killed = matches!(ended, Some("signal 9" | "exit 137"));
    let by_kernel = matches!(kills, (Some(before), Some(now)) if now > before);
    (killed && by_kernel) || logs.take().iter().any(|file| says_so(&file.bytes))
}

fn says_so(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    OUT_OF_MEMORY.iter().any(|words| text.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write as _;

    #[test]
    fn want_of_memory_is_told_by_the_log_or_by_the_kernel() {
        let logs = Logs::new("memory").unwrap();
        let told = |ended, kills| out_of_memory(&logs, ended, kills);
        assert!(!told(Some("signal 9"), (Some(1), Some(1))), "killed by somebody else");
        assert!(!told(Some("exit 1"), (Some(1), Some(2))), "the kernel killed another");
        assert!(!told(None, (None, None)));
        assert!(told(Some("signal 9"), (Some(1), Some(2))));
        assert!(told(Some("exit 137"), (Some(1), Some(2))), "its child was killed");
        writeln!(logs.output().unwrap(), "FATAL ERROR: JavaScript heap out of memory").unwrap();
        assert!(told(None, (None, None)));
    }

    #[test]
    fn the_kernel_counts_its_kills() {
        assert!(kernel_kills().is_some());
    }
}
