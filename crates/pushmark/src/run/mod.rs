//! A plan becomes a run: each arm against a fresh server, then everything put together.

mod alone;
mod arm;
mod assemble;
mod emitters;
mod flooding;
mod signals;
mod steering;
mod target;
mod unserved;
mod warming;
mod watch;

use pushmark_model::plan::{ArmPlan, Plan};
use pushmark_model::run::{Arm, Reason, Window};

pub use arm::{Broken, Setup};
pub use assemble::{About, Assembled, assemble};
pub use signals::Signals;
pub use target::Target;
pub use unserved::{Unserved, nobody_came};

use crate::exit::Exit;
use crate::progress::Progress;
use crate::server::logs::KeptFile;
use crate::store::hlog::Interval;

/// What an arm left.
#[derive(Debug)]
pub struct ArmDone {
    /// Its figures.
    pub arm: Arm,
    /// Second by second.
    pub windows: Vec<Window>,
    /// Its latencies second by second.
    pub intervals: Vec<Interval>,
    /// Every doubt about it.
    pub reasons: Vec<Reason>,
    /// What its server wrote: the end of each file.
    pub logs: Vec<KeptFile>,
    /// The first troubles in words, for a target that could not be used.
    pub troubles: Vec<String>,
}

/// Where a run stands among its repeats.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// From 1.
    pub number: u32,
    /// Of so many.
    pub of: u32,
}

/// Drives every arm of a plan, in its order. Stops early where a signal says so; what was
/// measured is kept.
///
/// # Errors
/// A target that could not be started or reached before anything was measured.
pub fn arms(
    plan: &Plan,
    setup: &Setup<'_>,
    start: Start,
    progress: &mut Progress,
) -> Result<Vec<ArmDone>, Broken> {
    let mut done: Vec<ArmDone> = Vec::new();
    for (n, arm) in plan.arms.iter().enumerate() {
        if setup.signals.stopped().is_some() {
            break;
        }
        let place = arm::Place { number: n + 1, of: plan.arms.len(), start };
        match arm::drive(arm, setup, place, progress) {
            Ok(finished) => done.push(finished),
            // A case that fails still gives a run, with what the arms before it gathered.
            Err(broken) if done.is_empty() => return Err(broken),
            Err(broken) => {
                progress.trouble(&broken.to_string());
                done.push(arm::failed(arm, &broken));
            }
        }
    }
    done.sort_by_key(|d| d.arm.transport);
    Ok(done)
}

/// The arms of a plan that could not be measured at all.
pub fn failed(plan: &Plan, exit: Exit, error: &str) -> Vec<ArmDone> {
    let broken = Broken { exit, error: anyhow::anyhow!("{error}") };
    let mut done: Vec<ArmDone> = plan.arms.iter().map(|arm| arm::failed(arm, &broken)).collect();
    done.sort_by_key(|d| d.arm.transport);
    done
}

/// Whether a plan reaches its target on this host.
pub fn is_local(arm: &ArmPlan) -> bool {
    let host = &arm.subscribe.host;
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
