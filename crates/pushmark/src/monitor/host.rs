//! Counters of the whole host: soft interrupts, steal, the kernel's TCP, its memory.

use procfs::{Current, CurrentSI, KernelStats, Meminfo};

/// Nanoseconds of a tick of `/proc/stat`.
const TICK_NS: u64 = 10_000_000;

/// Counters since boot, and gauges as named; a counter that cannot be read stays 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostUse {
    /// Time in soft interrupts, each CPU, by the 10 ms tick.
    pub softirq_ns_by_cpu: Vec<u64>,
    /// Time the hypervisor gave to others, all CPUs.
    pub steal_ns: u64,
    /// Time not idle, all CPUs, steal and interrupts included.
    pub busy_ns: u64,
    /// TCP counters.
    pub tcp: TcpUse,
    /// Memory lately used, now; absent where the system does not tell.
    pub active_bytes: Option<u64>,
    /// Slab now.
    pub slab_bytes: u64,
    /// Socket buffers of TCP now.
    pub tcp_memory_bytes: u64,
}

impl HostUse {
    /// Time in soft interrupts over all CPUs.
    pub fn softirq_ns(&self) -> u64 {
        self.softirq_ns_by_cpu.iter().sum()
    }

    /// Slab and socket buffers. Small messages in flight are in both; an idle crowd's are not.
    pub fn kernel_memory_bytes(&self) -> u64 {
        self.slab_bytes + self.tcp_memory_bytes
    }

    /// Reads them all. A file that is missing (a restricted container) leaves its fields 0.
    pub fn read() -> HostUse {
        let mut host = HostUse::default();
        if let Ok(stats) = KernelStats::current() {
            host.softirq_ns_by_cpu =
                stats.cpu_time.iter().map(|cpu| cpu.softirq.unwrap_or(0) * TICK_NS).collect();
            let total = &stats.total;
            host.steal_ns = total.steal.unwrap_or(0) * TICK_NS;
            let busy = total.user + total.nice + total.system;
            let interrupts = total.irq.unwrap_or(0) + total.softirq.unwrap_or(0);
            host.busy_ns = (busy + interrupts + total.steal.unwrap_or(0)) * TICK_NS;
        }
        if let Ok(memory) = Meminfo::current() {
            host.slab_bytes = memory.slab;
            host.active_bytes = Some(memory.active);
        }
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let sockstat = read("/proc/net/sockstat");
        host.tcp = TcpUse::parse(&read("/proc/net/snmp"), &read("/proc/net/netstat"), &sockstat);
        host.tcp_memory_bytes = in_sockstat(&sockstat, "mem") * procfs::page_size();
        host
    }
}

/// The kernel's TCP counters since boot, host-wide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpUse {
    /// Segments sent again.
    pub retransmits: u64,
    /// Connections that found an accept queue full.
    pub listen_overflows: u64,
    /// Connections dropped by a listener for any reason, full queues among them.
    pub listen_drops: u64,
    /// Sockets that left TIME_WAIT.
    pub time_wait_left: u64,
    /// Sockets in TIME_WAIT now.
    pub time_wait: u64,
}

impl TcpUse {
    /// From the texts of `/proc/net/snmp`, `/proc/net/netstat` and `/proc/net/sockstat`.
    pub fn parse(snmp: &str, netstat: &str, sockstat: &str) -> TcpUse {
        let tcp = |name| in_pairs(snmp, "Tcp:", name);
        let ext = |name| in_pairs(netstat, "TcpExt:", name);
        TcpUse {
            retransmits: tcp("RetransSegs"),
            listen_overflows: ext("ListenOverflows"),
            listen_drops: ext("ListenDrops"),
            time_wait_left: ext("TW") + ext("TWRecycled") + ext("TWKilled"),
            time_wait: in_sockstat(sockstat, "tw"),
        }
    }

    /// Sockets that entered TIME_WAIT between an earlier reading and this one.
    pub fn time_wait_entered_since(&self, earlier: &TcpUse) -> u64 {
        let left = self.time_wait_left.saturating_sub(earlier.time_wait_left);
        (left + self.time_wait).saturating_sub(earlier.time_wait)
    }
}

/// A value of a table of two lines: `Tcp: A B` over `Tcp: 1 2`. 0 where it is missing.
fn in_pairs(text: &str, table: &str, name: &str) -> u64 {
    let mut lines = text.lines().filter_map(|line| line.strip_prefix(table));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0 };
    let at = names.split_whitespace().position(|n| n == name);
    at.and_then(|at| values.split_whitespace().nth(at)?.parse().ok()).unwrap_or(0)
}

/// A value of sockstat's line `TCP: inuse 5 orphan 0 tw 0 alloc 6 mem 1`.
fn in_sockstat(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix("TCP:")).unwrap_or("");
    let words: Vec<&str> = line.split_whitespace().collect();
    words.chunks(2).find(|pair| pair[0] == name).and_then(|pair| pair.get(1)?.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SNMP: &str = "Ip: Forwarding DefaultTTL\nIp: 1 64\n\
        Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs\nTcp: 1 -1 6578 3457 12\n";
    const NETSTAT: &str = "TcpExt: SyncookiesSent TW TWRecycled TWKilled ListenOverflows ListenDrops\n\
        TcpExt: 0 40 2 1 3 4\nIpExt: InNoRoutes\nIpExt: 0\n";
    const SOCKSTAT: &str =
        "sockets: used 14\nTCP: inuse 1 orphan 0 tw 9 alloc 1 mem 218\nUDP: inuse 0 mem 7\n";

    #[test]
    fn counters_are_found_by_name() {
        let tcp = TcpUse::parse(SNMP, NETSTAT, SOCKSTAT);
        let expected = TcpUse {
            retransmits: 12,
            listen_overflows: 3,
            listen_drops: 4,
            time_wait_left: 43,
            time_wait: 9,
        };
        assert_eq!(tcp, expected);
        assert_eq!(in_sockstat(SOCKSTAT, "mem"), 218);
        assert_eq!(TcpUse::parse("", "Tcp", "TCP: tw"), TcpUse::default());
    }

    #[test]
    fn entering_time_wait_is_those_there_and_those_gone() {
        let at = |time_wait_left, time_wait| TcpUse { time_wait_left, time_wait, ..TcpUse::default() };
        assert_eq!(at(130, 50).time_wait_entered_since(&at(100, 20)), 60);
        assert_eq!(at(100, 5).time_wait_entered_since(&at(100, 20)), 0);
    }

    #[test]
    fn this_host_answers() {
        let host = HostUse::read();
        assert!(host.softirq_ns_by_cpu.len() >= std::thread::available_parallelism().unwrap().get());
        assert!(host.slab_bytes > 0 && host.busy_ns > 0 && host.active_bytes > Some(0));
    }
}
