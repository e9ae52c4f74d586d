//! The plan of a scenario on this machine. It is final: what it does not hold is refused, not changed later.

use std::io;
use std::net::IpAddr;

use pushmark_host::preflight::{self, Grade, Machine, Need, sources_for};
use pushmark_host::server::build;
use pushmark_host::server::registry::Registry;
use pushmark_model::plan::Plan;
use pushmark_model::poller::Poller;

use crate::run::{Target, is_local};
use crate::scenario_file::Loaded;

/// A plan with the parts that depend on the machine, and what it needs of it.
#[derive(Debug)]
pub struct Fitted {
    /// The plan, before a run gives it its stamps.
    pub plan: Plan,
    /// Its target.
    pub target: Target,
    /// What it needs of this machine.
    pub need: Need,
    /// Why epoll replaces io_uring, if it does.
    pub without_ring: Option<io::Error>,
}

impl Fitted {
    /// Fits a scenario's plan to this machine. A flood's crowd, which is only an upper limit, becomes what the
    /// machine holds; a crowd that needs more ports than one address has gets more addresses; where the system
    /// has no io_uring, epoll is used.
    ///
    /// # Errors
    /// Fails if the target's command names a JDK that is not on this machine.
    pub fn new(loaded: &Loaded, registry: &Registry, machine: &Machine) -> anyhow::Result<Fitted> {
        let mut plan = loaded.plan.clone();
        let target = Target::new(loaded, registry)?;
        let same_host = target.is_started() || plan.arms.first().is_some_and(is_local);
        let need = |plan: &Plan| Need {
            shards: loaded.scenario.threads.map(u64::from),
            server_tables: target.tables(),
            ..Need::of(plan, same_host)
        };
        fit_floods(&mut plan, &need, machine);
        rotate_sources(&mut plan, machine, same_host);
        let without_ring = fall_back_to_epoll(&mut plan);
        let need = need(&plan);
        Ok(Fitted { plan, target, need, without_ring })
    }

    /// Returns why this machine cannot hold the plan, or `None` if it can.
    pub fn refusal(&self, machine: &Machine) -> Option<String> {
        let text = preflight::refusal(&preflight::examine(&self.need, machine), &self.need, machine)?;
        Some(text.trim_end().to_owned())
    }
}

/// Returns why this machine cannot hold a scenario, on one line for a table of many cases, or what the server
/// needs that is not installed. Starts nothing.
///
/// # Errors
/// Fails like [`Fitted::new`].
pub fn shortage(loaded: &Loaded, registry: &Registry, machine: &Machine) -> anyhow::Result<Option<String>> {
    let missing = loaded.server.as_ref().and_then(|server| build::missing(registry, server));
    if let Some(missing) = missing {
        return Ok(Some(missing.lines().collect::<Vec<_>>().join("; ")));
    }
    let findings = preflight::examine(&Fitted::new(loaded, registry, machine)?.need, machine);
    let refused = findings.iter().filter(|finding| finding.grade == Grade::Refused);
    let lines: Vec<String> = refused
        .map(|f| format!("{}: needs {}, has {}", f.code.replace('_', " "), f.needed, f.found))
        .collect();
    Ok((!lines.is_empty()).then(|| lines.join("; ")))
}

/// Reduces a flood to what this machine holds, and reports it. The crowd of a flood is only an upper limit.
fn fit_floods(plan: &mut Plan, need: &dyn Fn(&Plan) -> Need, machine: &Machine) {
    if plan.arms.iter().all(|arm| arm.flood.is_none()) {
        return;
    }
    let need = need(plan);
    let fits = preflight::largest_crowd(&need, machine).max(1);
    let findings = preflight::examine(&need, machine);
    let by: Vec<&str> = findings.iter().filter(|f| f.grade == Grade::Refused).map(|f| f.code).collect();
    let by = if by.is_empty() { "this machine".to_owned() } else { by.join(", ") };
    for arm in plan.arms.iter_mut().filter(|arm| arm.connections > fits) {
        arm.cut_flood(fits, &by);
    }
}

/// Adds source addresses if the ports of one address are not enough.
fn rotate_sources(plan: &mut Plan, machine: &Machine, same_host: bool) {
    for arm in &mut plan.arms {
        let loopback = arm.subscribe.host.parse().ok().filter(|ip: &IpAddr| ip.is_loopback());
        if let (true, true, Some(ip)) = (same_host, arm.sources.is_empty(), loopback) {
            arm.sources = sources_for(arm.connections, machine.ports, ip);
        }
    }
}

/// If this system has no io_uring, changes its arms to epoll and returns the reason.
fn fall_back_to_epoll(plan: &mut Plan) -> Option<io::Error> {
    let mut asking: Vec<_> = plan.arms.iter_mut().filter(|arm| arm.poller == Poller::IoUring).collect();
    if asking.is_empty() {
        return None;
    }
    let why = pushmark_net::Poller::with_ring().err()?;
    asking.iter_mut().for_each(|arm| arm.poller = Poller::Epoll);
    Some(why)
}
