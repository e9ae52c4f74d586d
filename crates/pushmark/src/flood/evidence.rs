//! What speaks for one limit or another, read while the server lives and after its end.

use std::collections::BTreeMap;

use procfs::process::{LimitValue, Process};
use pushmark_model::flood::FloodEnd;

/// Open files of a process, and how many it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptors {
    /// Open.
    pub(crate) open: u64,
    /// Allowed.
    pub(crate) most: u64,
}

impl Descriptors {
    /// Of a process; `None` where it cannot be looked at.
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

/// Everything that is known of a flood's end.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    /// Why it ended.
    pub(crate) end: Option<FloodEnd>,
    /// Connections of the plan, and what cut it.
    pub(crate) limit: u64,
    pub(crate) cut_by: Option<String>,
    /// Offered and established.
    pub(crate) offered: u64,
    pub(crate) established: u64,
    /// Failures and losses by kind.
    pub(crate) failures: BTreeMap<String, u64>,
    /// What the server wrote.
    pub(crate) log: String,
    /// The kernel or the server itself said that there was no memory.
    pub(crate) out_of_memory: bool,
    /// How its process ended by itself.
    pub(crate) ended: Option<String>,
    /// Its open files, at the last look.
    pub(crate) descriptors: Option<Descriptors>,
    /// Its threads: most and last.
    pub(crate) threads: Option<(u64, u64)>,
    /// Connections that listen queues turned away, host-wide.
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
