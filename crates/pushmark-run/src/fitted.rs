//! The plan of a scenario on this machine. It is final: what it does not hold is refused, not changed later.

use std::io;
use std::net::IpAddr;

use pushmark_console::exit::{Ending, Exit};
use pushmark_host::preflight::{self, Grade, Machine, Need, sources_for};
use pushmark_host::server::build;
use pushmark_host::server::registry::Registry;
use pushmark_model::plan::Plan;
use pushmark_model::poller::Poller;

use crate::agent::Machines;
use crate::run::is_local;
use crate::scenario_file::Loaded;
use crate::target::Target;

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
    /// Fails if the target's command names a JDK that is not on this machine, or is a monitor's that none offers.
    pub fn new(
        loaded: &Loaded,
        registry: &Registry,
        machine: &Machine,
        machines: Option<&Machines>,
    ) -> anyhow::Result<Fitted> {
        let mut plan = loaded.plan.clone();
        let target = match served_at(loaded, machines)? {
            Some(host) => {
                if loaded.server.is_some() {
                    plan.arms.iter_mut().for_each(|arm| arm.served_at(host));
                }
                Target::elsewhere(loaded, registry, host)
            }
            None => Target::new(loaded, registry)?,
        };
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

    /// Returns why the machines that make the load cannot hold the plan, or `None` if they can.
    pub fn refusal(&self, machine: &Machine, machines: Option<&Machines>) -> Option<String> {
        if let Some(machines) = machines.filter(|machines| machines.make_load()) {
            return machines.refusal(self.need.sockets(), self.need.target);
        }
        let text = preflight::refusal(&preflight::examine(&self.need, machine), &self.need, machine)?;
        Some(text.trim_end().to_owned())
    }
}

/// Returns why this machine cannot hold a scenario, on one line for a table of many cases, or what the server
/// needs that is not installed. Starts nothing.
///
/// # Errors
/// Fails like [`Fitted::new`].
pub fn shortage(
    loaded: &Loaded,
    registry: &Registry,
    machine: &Machine,
    machines: Option<&Machines>,
) -> anyhow::Result<Option<String>> {
    let here = loaded.server.as_ref().filter(|_| starts_here(loaded, machines));
    if let Some(missing) = here.and_then(|server| build::missing(registry, server)) {
        return Ok(Some(missing.lines().collect::<Vec<_>>().join("; ")));
    }
    let fitted = Fitted::new(loaded, registry, machine, machines)?;
    if machines.is_some_and(Machines::make_load) {
        return Ok(fitted.refusal(machine, machines));
    }
    let findings = preflight::examine(&fitted.need, machine);
    let refused = findings.iter().filter(|finding| finding.grade == Grade::Refused);
    let lines: Vec<String> = refused
        .map(|f| format!("{}: needs {}, has {}", f.code.replace('_', " "), f.needed, f.found))
        .collect();
    Ok((!lines.is_empty()).then(|| lines.join("; ")))
}

/// Returns whether this machine starts the server of a scenario.
pub fn starts_here(loaded: &Loaded, machines: Option<&Machines>) -> bool {
    let process = loaded.scenario.target.process.as_ref();
    let starts = loaded.server.is_some() || process.is_some_and(|process| process.monitor.is_none());
    starts && machines.is_none_or(|machines| machines.offer(loaded).is_none())
}

/// Where a server is reached that a monitor starts; `None` if none does.
fn served_at(loaded: &Loaded, machines: Option<&Machines>) -> anyhow::Result<Option<IpAddr>> {
    if let Some(machines) = machines.filter(|machines| machines.offer(loaded).is_some()) {
        return Ok(machines.served_at());
    }
    let process = loaded.scenario.target.process.as_ref();
    match process.and_then(|process| process.monitor.as_deref()) {
        Some(name) => Err(Ending::error(
            Exit::Unreachable,
            format!(
                "target.process.monitor: no monitor offers {name} (--nats URL, pushmark monitor --commands FILE)"
            ),
        )),
        None => Ok(None),
    }
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
