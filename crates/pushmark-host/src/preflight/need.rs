//! The resources that a plan needs: those of its largest arm, because arms run one after another.

use std::net::{IpAddr, Ipv4Addr};

use pushmark_model::plan::{ArmPlan, Mode, Plan};
use pushmark_model::transport::Transport;

/// Descriptors in addition to the crowd's: pollers, logs, results, libraries.
pub(super) const FILES_MARGIN: u64 = 100;
/// Maximum number of shards chosen automatically: enough for five million clients at a limit of 20,000.
pub(super) const SHARDS_MAX: u64 = 256;

/// The resources needed at the same time.
#[derive(Clone, Debug, PartialEq)]
pub struct Need {
    /// Subscriber connections.
    pub connections: u64,
    /// Publisher connections: those of the pool, or the second ones of peers that speak Bayeux.
    pub publishers: u64,
    /// New connections per second once the crowd is complete (`keep_alive = false`).
    pub renewed_per_s: f64,
    /// Connections per second at the steepest part of the ramp.
    pub ramp_per_s: f64,
    /// The server runs on this machine too, so both ends of every socket are here.
    pub same_host: bool,
    /// The address that the crowd connects to; absent for a host name.
    pub target: Option<IpAddr>,
    /// The connections use TLS.
    pub tls: bool,
    /// Channels of each connection.
    pub per_connection: u64,
    /// Source addresses of the plan; empty: pushmark chooses them.
    pub sources: u64,
    /// Number of shards, if the scenario sets it. Each has its own table of open files. Absent: as many
    /// as needed.
    pub shards: Option<u64>,
    /// Tables of open files over which a started reference server spreads its connections; absent for
    /// other targets.
    pub server_tables: Option<u64>,
}

impl Need {
    /// Returns the needs of a plan.
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
            per_connection: arms.iter().map(|a| u64::from(a.subscriptions.per_connection)).max().unwrap_or(1),
            target: arms.iter().find_map(|a| address(&a.subscribe.host)),
            sources: arms.iter().map(|a| a.sources.len() as u64).max().unwrap_or(0),
            shards: None,
            server_tables: None,
        }
    }

    /// Returns the needs of a crowd on this machine, for `doctor` without a scenario.
    pub fn of_crowd(connections: u64) -> Need {
        Need {
            connections,
            publishers: 64,
            renewed_per_s: 0.0,
            ramp_per_s: 500.0,
            same_host: true,
            tls: false,
            per_connection: 1,
            target: Some(IpAddr::V4(Ipv4Addr::LOCALHOST)),
            sources: 0,
            shards: None,
            server_tables: Some(1),
        }
    }

    /// Returns the number of shards of the scenario, or else the number needed for the crowd's open files
    /// under this limit per shard.
    pub fn shards(&self, open_files: u64) -> u64 {
        let fit = open_files.saturating_sub(self.publishers + FILES_MARGIN).max(1);
        self.shards.unwrap_or_else(|| self.connections.div_ceil(fit).clamp(1, SHARDS_MAX))
    }

    /// Returns the needs of the same kind of crowd in another size.
    pub fn scaled_to(self, connections: u64) -> Need {
        let scale = if self.connections == 0 { 0.0 } else { connections as f64 / self.connections as f64 };
        Need { connections, renewed_per_s: self.renewed_per_s * scale, ..self }
    }

    /// Returns the number of ends of each connection on this machine.
    pub fn ends(&self) -> u64 {
        1 + u64::from(self.same_host)
    }

    /// Returns whether the target is reached over the loopback device.
    pub fn is_loopback(&self) -> bool {
        self.target.is_some_and(|t| t.is_loopback())
    }

    /// Returns the connections from this machine to the target, which share one range of ports.
    pub fn sockets(&self) -> u64 {
        self.connections + self.publishers
    }
}

fn publishers(arm: &ArmPlan) -> u64 {
    let pool = arm.publisher.as_ref().filter(|p| p.mode == Mode::External).map_or(0, |p| p.connections);
    // Second connections of clients: of peers that publish, or of safety polls.
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
