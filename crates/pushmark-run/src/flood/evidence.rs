//! Evidence for limits, read while the server runs and after its end.

use std::collections::BTreeMap;

use procfs::process::{LimitValue, Process};
use pushmark_model::flood::FloodEnd;

/// Open files of a process, and their limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptors {
    /// Open.
    pub(crate) open: u64,
    /// Allowed.
    pub(crate) most: u64,
}

impl Descriptors {
    /// Reads those of a process; `None` if they cannot be read.
    pub(crate) fn of(pid: i32) -> Option<Descriptors> {
        let process = Process::new(pid).ok()?;
        let open = process.fd_count().ok()? as u64;
        let most = match process.limits().ok()?.max_open_files.soft_limit {
            LimitValue::Value(most) => most,
            LimitValue::Unlimited => u64::MAX,
        };
        Some(Descriptors { open, most })
    }
}

/// All evidence about the end of a flood.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    /// Why it ended.
    pub(crate) end: Option<FloodEnd>,
    /// Connections of the plan, and the limit that reduced them.
    pub(crate) limit: u64,
    pub(crate) cut_by: Option<String>,
    /// Offered and established.
    pub(crate) offered: u64,
    pub(crate) established: u64,
    /// Failures and losses by kind.
    pub(crate) failures: BTreeMap<String, u64>,
    /// The server's output.
    pub(crate) log: String,
    /// The kernel or the server reported that it was out of memory.
    pub(crate) out_of_memory: bool,
    /// How its process ended by itself.
    pub(crate) ended: Option<String>,
    /// Its open files, at the last reading.
    pub(crate) descriptors: Option<Descriptors>,
    /// Its threads: most and last.
    pub(crate) threads: Option<(u64, u64)>,
    /// Connections that full listen queues rejected, host-wide.
    pub(crate) overflows: u64,
    /// CPU of the server in the last seconds, of the CPUs it had.
    pub(crate) server_busy: Option<f64>,
    /// Clients are held by a thread each.
    pub(crate) thread_each: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_descriptors_can_be_counted() {
        let before = Descriptors::of(std::process::id() as i32).unwrap();
        let files: Vec<_> = (0..50).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        let with = Descriptors::of(std::process::id() as i32).unwrap();
        assert!(with.open >= 50 && with.most == before.most, "{before:?} {with:?}");
        drop(files);
        assert_eq!(Descriptors::of(i32::MAX), None);
    }
}
