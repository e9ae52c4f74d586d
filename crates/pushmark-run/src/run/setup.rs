//! What all arms of a run share, and why an arm could not be measured.

use std::fmt;

use pushmark_console::exit::Exit;
use pushmark_host::server::cpus::allowed_cpus;
use pushmark_model::run::Connections;

use super::{Signals, Start};
use crate::agent::{Crew, Machines};
use crate::target::Target;

/// The setup that all arms of a run share.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The target.
    pub target: &'a Target,
    /// Shard threads.
    pub shards: u32,
    /// Who drives them.
    pub crew: Crew<'a>,
    /// The machines among which is the monitor of the target; absent: this machine watches it.
    pub monitor: Option<&'a Machines>,
    /// CPUs of a started server; empty: not pinned.
    pub server_cpus: Vec<u32>,
    /// CPUs of the generator; empty: not pinned.
    pub generator_cpus: Vec<u32>,
    /// Stop signals.
    pub signals: &'a Signals,
    /// When the run began, ns of the monotonic clock.
    pub began_ns: u64,
}

impl Setup<'_> {
    /// The other machines that take part, if any do.
    pub(super) fn machines(&self) -> Option<&Machines> {
        self.crew.machines().or(self.monitor)
    }

    /// The CPUs of server and generator; if neither is pinned, all CPUs that this process may use.
    pub(super) fn cpus(&self) -> Vec<u32> {
        let mut cpus = [&self.server_cpus[..], &self.generator_cpus].concat();
        if cpus.is_empty() {
            cpus = allowed_cpus().unwrap_or_default();
        }
        cpus.sort_unstable();
        cpus.dedup();
        cpus
    }
}

/// The number of the arm, and the number of arms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) number: usize,
    pub(super) of: usize,
    pub(super) start: Start,
}

/// An arm that could not be measured, and the exit code for it.
#[derive(Debug)]
pub struct Broken {
    /// The exit code.
    pub exit: Exit,
    /// What happened.
    pub error: anyhow::Error,
    /// The connections of a transport that accepted no client: only this arm cannot be measured. Absent if
    /// the whole target cannot be measured.
    pub nobody: Option<Box<Connections>>,
}

impl Broken {
    /// The target cannot be measured. If a signal ended the start, it was not unreachable.
    pub(super) fn unreachable(signals: &Signals, error: anyhow::Error) -> Broken {
        Broken { exit: signals.stopped().unwrap_or(Exit::Unreachable), error, nobody: None }
    }

    /// This machine cannot hold what the arm needs.
    pub(super) fn refused(error: anyhow::Error) -> Broken {
        Broken { exit: Exit::Refused, error, nobody: None }
    }

    /// A fault of pushmark.
    pub(super) fn internal(error: impl Into<anyhow::Error>) -> Broken {
        Broken { exit: Exit::Internal, error: error.into(), nobody: None }
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#}", self.error)
    }
}
