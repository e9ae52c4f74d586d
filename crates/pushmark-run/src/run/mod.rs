//! Makes a run from a plan: each arm against a fresh server, then the assembly.

mod alone;
mod arm;
mod arm_state;
mod assemble;
mod beside;
mod closed;
mod driven;
mod emitters;
mod facts;
mod figures;
mod flooding;
mod hopeless;
mod machines;
mod setup;
mod signals;
mod steering;
mod unserved;
mod warming;
mod watch;

use pushmark_model::plan::{ArmPlan, Plan};
use pushmark_model::run::{Arm, Reason, Window};

pub use assemble::{About, Assembled, assemble};
pub(crate) use figures::figures_of;
pub use setup::{Broken, Setup};
pub use signals::Signals;

pub use unserved::{Unserved, nobody_came};

use pushmark_console::exit::Exit;
use pushmark_console::progress::Progress;
use pushmark_store::KeptFile;
use pushmark_store::hlog::Interval;

/// The result of an arm.
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
    /// The end of each file that its server wrote.
    pub logs: Vec<KeptFile>,
    /// The first troubles in words, for a target that could not be used.
    pub troubles: Vec<String>,
}

/// The position of a run among its repeats.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// From 1.
    pub number: u32,
    /// The number of repeats.
    pub of: u32,
}

/// Drives every arm of a plan, in order. Stops early at a signal and keeps the results so far.
///
/// # Errors
/// Fails if the target could not be started or reached before anything was measured.
pub fn arms(
    plan: &Plan,
    setup: &Setup<'_>,
    start: Start,
    progress: &mut Progress,
) -> Result<Vec<ArmDone>, Broken> {
    let mut done: Vec<ArmDone> = Vec::new();
    let mut let_nobody_in = Vec::new();
    for (n, arm) in plan.arms.iter().enumerate() {
        if setup.signals.stopped().is_some() {
            break;
        }
        let place = setup::Place { number: n + 1, of: plan.arms.len(), start };
        match arm::drive(arm, setup, place, progress) {
            Ok(finished) => done.push(finished),
            // Its other transports may accept clients.
            Err(broken) if broken.nobody.is_some() => {
                progress.trouble(&broken.to_string());
                done.push(arm::failed(arm, &broken));
                let_nobody_in.push(broken);
            }
            // A failed case still gives a run, with the results of the arms before the failure.
            Err(broken) if done.is_empty() => return Err(broken),
            // Stopped before it was measured: only the arms before it have results.
            Err(_) if setup.signals.stopped().is_some() => break,
            Err(broken) => {
                progress.trouble(&broken.to_string());
                done.push(arm::failed(arm, &broken));
            }
        }
    }
    if let_nobody_in.len() == plan.arms.len() {
        return Err(all_of_them(let_nobody_in));
    }
    done.sort_by_key(|d| d.arm.transport);
    Ok(done)
}

/// No arm accepted a client: joins the errors of all arms into one.
fn all_of_them(broken: Vec<Broken>) -> Broken {
    let mut all = broken.into_iter();
    let first = all.next().expect("a plan has arms");
    let text = all.fold(first.to_string(), |text, one| {
        let said = one.to_string();
        // Each begins with the same line.
        let (_, own) = said.split_once('\n').unwrap_or(("", &said));
        format!("{text}\n{own}")
    });
    Broken { error: anyhow::anyhow!(text), ..first }
}

/// The arms of a plan that could not be measured at all.
pub fn failed(plan: &Plan, exit: Exit, error: &str) -> Vec<ArmDone> {
    let broken = Broken { exit, error: anyhow::anyhow!("{error}"), nobody: None };
    let mut done: Vec<ArmDone> = plan.arms.iter().map(|arm| arm::failed(arm, &broken)).collect();
    done.sort_by_key(|d| d.arm.transport);
    done
}

/// Whether a plan reaches its target on this host.
pub fn is_local(arm: &ArmPlan) -> bool {
    let host = &arm.subscribe.host;
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}
