//! Hosts of their own on one machine: network namespaces, joined by a bridge. Each has its own addresses, ports and
//! loopback interface, and none reaches another's; their cores and clock are one.

use std::process::{Command, Stdio};

use crate::tool::have;

/// Hosts 10.99.0.1, 10.99.0.2, … Dropping them removes them.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// The begin of the names of their namespaces.
    name: String,
    count: usize,
}

impl Hosts {
    /// Makes this number of hosts, if this process may.
    pub(crate) fn open(count: usize) -> Option<Hosts> {
        let hosts = Hosts { name: format!("pushmark-{}", std::process::id()), count };
        let net = hosts.namespace(0);
        let made = ip(&["netns", "add", &net])
            && ip(&["-n", &net, "link", "add", "br0", "type", "bridge"])
            && ip(&["-n", &net, "link", "set", "br0", "up"])
            && (1..=count).all(|host| hosts.join(&net, host));
        have(made, "network namespaces (root, ip)").then_some(hosts)
    }

    fn join(&self, net: &str, host: usize) -> bool {
        let (own, port, address) =
            (self.namespace(host), format!("p{host}"), format!("{}/24", self.address(host)));
        ip(&["netns", "add", &own])
            && ip(&[
                "link", "add", "eth0", "netns", &own, "type", "veth", "peer", "name", &port, "netns", net,
            ])
            && ip(&["-n", net, "link", "set", &port, "master", "br0", "up"])
            && ip(&["-n", &own, "addr", "add", &address, "dev", "eth0"])
            && ip(&["-n", &own, "link", "set", "eth0", "up"])
            && ip(&["-n", &own, "link", "set", "lo", "up"])
    }

    /// Returns the address of a host; the first is 1.
    pub(crate) fn address(&self, host: usize) -> String {
        format!("10.99.0.{host}")
    }

    /// Returns a command that runs on a host.
    pub(crate) fn command(&self, host: usize, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(host), program]).args(arguments).stdin(Stdio::null());
        command
    }

    fn namespace(&self, host: usize) -> String {
        format!("{}-{host}", self.name)
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in (0..=self.count).rev() {
            ip(&["netns", "del", &self.namespace(host)]);
        }
    }
}

fn ip(arguments: &[&str]) -> bool {
    let status = Command::new("ip").args(arguments).stdin(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
