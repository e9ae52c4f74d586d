//! What a plan asks of a machine: the largest of its arms, which run one after another.

use std::net::{IpAddr, Ipv4Addr};

use pushmark_model::plan::{ArmPlan, Mode, Plan};
use pushmark_model::transport::Transport;

/// Descriptors besides the crowd's: pollers, logs, results, libraries.
pub(super) const FILES_MARGIN: u64 = 100;
/// Most shards that a crowd is dealt to by itself: five million clients of a limit of 20,000.
pub(super) const SHARDS_MAX: u64 = 256;

/// What has to be held at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Subscriber connections.
    pub connections: u64,
    /// Publisher connections: those of the pool, or the second ones of peers that speak Bayeux.
    pub publishers: u64,
    /// Connections made anew every second once the crowd is whole (`keep_alive = false`).
    pub renewed_per_s: f64,
    /// Connections a second at the steepest part of the ramp.
    pub ramp_per_s: f64,
    /// The server runs on this machine too: both ends of every socket are here.
    pub same_host: bool,
    /// Where the crowd connects to; absent for a name that is not an address.
    pub target: Option<IpAddr>,
    /// They go over TLS.
    pub tls: bool,
    /// Source addresses given by the plan; empty: ours to choose.
    pub sources: u64,
    /// Shards the crowd is dealt to, where the scenario says how many; each has a table of open
    /// files of its own. Absent: as many as it takes.
    pub shards: Option<u64>,
    /// Tables of open files over which a reference server that we start spreads its connections;
    /// absent for any other.
    pub server_tables: Option<u64>,
}

impl Need {
    /// Of a plan.
    pub fn of(plan: &Plan, same_host: bool) -> Need {
        let arms = &plan.arms;
        let most = |value: fn(&ArmPlan) -> f64| arms.iter().map(value).fold(0.0, f64::max);
        Need {
            connections: arms.iter().map(|a| a.connections).max().unwrap_or(0),
            publishers: arms.iter().map(publishers).max().unwrap_or(0),
            renewed_per_s: most(renewed_per_s),
            ramp_per_s: most(ramp_per_s),
            same_host,
            tls: arms.iter().any(|a| a.tls.is_some()),
            target: arms.iter().find_map(|a| address(&a.subscribe.host)),
            sources: arms.iter().map(|a| a.sources.len() as u64).max().unwrap_or(0),
            shards: None,
            server_tables: None,
        }
    }

    /// Of a crowd on this machine, nothing else known: for `doctor` without a scenario.
    pub fn of_crowd(connections: u64) -> Need {
        Need {
            connections,
            publishers: 64,
            renewed_per_s: 0.0,
            ramp_per_s: 500.0,
            same_host: true,
            tls: false,
            target: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            sources: 0,
            shards: None,
            server_tables: Some(1),
        }
    }

    /// How many shards it takes for the crowd's open files, of which each may have so many; as
    /// many as the scenario says, where it does.
    pub fn shards(&self, open_files: u64) -> u64 {
        let fit = open_files.saturating_sub(self.publishers + FILES_MARGIN).max(1);
        self.shards.unwrap_or_else(|| self.connections.div_ceil(fit).clamp(1, SHARDS_MAX))
    }

    /// The same kind of crowd in another size.
    pub fn scaled_to(self, connections: u64) -> Need {
        let scale = if self.connections == 0 { 0.0 } else { connections as f64 / self.connections as f64 };
        Need { connections, renewed_per_s: self.renewed_per_s * scale, ..self }
    }

    /// Ends of each connection that lie on this machine.
    pub fn ends(&self) -> u64 {
        1 + u64::from(self.same_host)
    }

    /// The target is reached over the loopback device.
    pub fn is_loopback(&self) -> bool {
        self.target.is_some_and(|t| t.is_loopback())
    }

    /// Connections that leave ours for the target: these share one range of ports.
    pub fn sockets(&self) -> u64 {
        self.connections + self.publishers
    }
}

fn publishers(arm: &ArmPlan) -> u64 {
    let pool = arm.publisher.as_ref().filter(|p| p.mode == Mode::External).map_or(0, |p| p.connections);
    // Second connections of clients: of peers that publish, or of polls beside a push.
    u64::from(pool) + arm.second_connections_max()
}

/// With `keep_alive = false` every answer ends a connection.
fn renewed_per_s(arm: &ArmPlan) -> f64 {
    if arm.keep_alive {
        return 0.0;
    }
    let crowd = arm.connections as f64;
    match arm.transport {
        Transport::Poll => crowd / (arm.poll.interval_ns as f64 / 1e9).max(1e-3),
        Transport::LongPoll | Transport::Bayeux => {
            let channels = f64::from(arm.subscriptions.per_connection.max(1));
            let heard_per_s = arm.publisher.as_ref().map_or(0.0, |p| channels * 1e9 / p.interval_ns.max(1.0));
            crowd * (heard_per_s + 1e9 / arm.hold_ns.max(1) as f64)
        }
        _ => 0.0,
    }
}

fn ramp_per_s(arm: &ArmPlan) -> f64 {
    let mut before = 0u64;
    let mut most = 0.0f64;
    for step in &arm.ramp.steps {
        let added = step.to.saturating_sub(before) as f64;
        // A step without a length is a burst: all of it within the second.
        most = most.max(if step.over_ns == 0 { added } else { added / (step.over_ns as f64 / 1e9) });
        before = step.to;
    }
    most
}

fn address(host: &str) -> Option<IpAddr> {
    if host.eq_ignore_ascii_case("localhost") {
        return Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    host.parse().ok()
}
