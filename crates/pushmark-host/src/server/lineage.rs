//! The processes of a server that was started here: its descendants, its process group, and its daemons.
//!
//! A daemon leaves its parent and its group (double fork, setsid(2)). This process is a subreaper (prctl(2),
//! `PR_SET_CHILD_SUBREAPER`), so a descendant that loses its parent becomes its child. A variable in the
//! environment of such a child shows to which server it belongs. A daemon may lack the variable (it cleared
//! its environment, or wrote its title over it as nginx does): then a foreign session and a start after the
//! server's decide.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, Once};

use procfs::process::{Process, Stat};
use pushmark_net::Clock;
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process, kill_process_group, set_child_subreaper, waitpid,
};

/// The variable that all processes of a server inherit.
pub(super) const MARK: &str = "PUSHMARK_STARTED";

/// Servers that were started and have not been ended yet.
static STARTED: Mutex<Vec<Lineage>> = Mutex::new(Vec::new());

/// Distinguishes the processes of one start from all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lineage {
    root: i32,
    /// Absent for a process that was not started here: its daemons are not known.
    mark: Option<String>,
    /// When the root started, ticks since boot.
    since: u64,
}

/// Returns a unique mark for a start. From now on orphans below this process become its children.
pub(super) fn new_mark() -> String {
    static REAPER: Once = Once::new();
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    // If the kernel refuses, daemons are not found.
    REAPER.call_once(|| {
        let _ = set_child_subreaper(Some(rustix::process::getpid()));
    });
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{MARK}={}-{number}-{:x}", std::process::id(), Clock::realtime())
}

/// All started servers, while the guard is held.
pub(super) fn started() -> MutexGuard<'static, Vec<Lineage>> {
    STARTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Lineage {
    /// The lineage of a process that was just started with a mark.
    pub(super) fn begin(root: i32, mark: String) -> Lineage {
        let since = stat(root).map_or(0, |stat| stat.starttime);
        let lineage = Lineage { root, mark: Some(mark), since };
        started().push(lineage.clone());
        lineage
    }

    /// The lineage of any process; it has daemons only if it was started here.
    pub(crate) fn of(root: i32) -> Lineage {
        let known = started().iter().find(|lineage| lineage.root == root).cloned();
        known.unwrap_or(Lineage { root, mark: None, since: 0 })
    }

    /// The process that was started.
    pub(super) fn root(&self) -> i32 {
        self.root
    }

    /// Whether a process belongs to it, given the already known members.
    pub(crate) fn owns(&self, stat: &Stat, is_member: impl Fn(i32) -> bool) -> bool {
        is_member(stat.ppid) || stat.pgrp == self.root || self.is_orphan(stat)
    }

    /// Whether a process belongs to this start and has become a child of pushmark, because its parent ended.
    pub(crate) fn is_orphan(&self, stat: &Stat) -> bool {
        let us = std::process::id() as i32;
        let Some(mark) = self.mark.as_ref().filter(|_| stat.ppid == us && stat.pid != self.root) else {
            return false;
        };
        if stat.pgrp == self.root {
            return true;
        }
        let environment = std::fs::read(format!("/proc/{}/environ", stat.pid)).unwrap_or_default();
        let own = format!("{MARK}={}-", std::process::id());
        let marked = environment.split(|b| *b == 0).find(|line| line.starts_with(own.as_bytes()));
        match marked {
            Some(found) => found == mark.as_bytes(),
            // pushmark's other processes do not leave its session.
            None => Some(stat.session) != session() && stat.starttime >= self.since,
        }
    }

    /// Its current orphans, including dead ones that wait to be collected.
    pub(super) fn orphans(&self) -> Vec<i32> {
        self.look().iter().map(|stat| stat.pid).collect()
    }

    fn look(&self) -> Vec<Stat> {
        let all = procfs::process::all_processes().into_iter().flatten().flatten();
        let stats = all.filter_map(|process| process.stat().ok());
        stats.filter(|stat| self.is_orphan(stat)).collect()
    }

    /// Sends a signal to every orphan and the group it leads, and collects those that have ended. Returns the
    /// number of orphans.
    pub(super) fn signal_orphans(&self, signal: Signal) -> usize {
        let orphans = self.look();
        for orphan in &orphans {
            if let Some(pid) = Pid::from_raw(orphan.pid) {
                // ESRCH: it has already ended, which is fine.
                let _ = match orphan.pgrp == orphan.pid {
                    true => kill_process_group(pid, signal),
                    false => kill_process(pid, signal),
                };
            }
            collect(orphan.pid);
        }
        orphans.len()
    }
}

/// Takes the status of a child that has ended, so that its number is free again.
pub(crate) fn collect(child: i32) {
    if let Some(pid) = Pid::from_raw(child) {
        // ECHILD: it is not a child of this process, or it has been collected.
        let _ = waitpid(Some(pid), WaitOptions::NOHANG);
    }
}

/// Whether a process exists and has not ended.
pub(super) fn lives(pid: i32) -> bool {
    stat(pid).is_some_and(|stat| !matches!(stat.state, 'Z' | 'X'))
}

fn stat(pid: i32) -> Option<Stat> {
    Process::new(pid).ok()?.stat().ok()
}

/// The session of this process. Read where those of its children are read: in a pid namespace entered from
/// outside it is 0 there, and getsid(2) has no name for it.
fn session() -> Option<i32> {
    stat(std::process::id() as i32).map(|stat| stat.session)
}
