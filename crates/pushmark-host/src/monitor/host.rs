//! Counters of the whole host: soft interrupts, steal, the kernel's TCP, its memory.

use procfs::{Current, CurrentSI, KernelStats, Meminfo};

/// Nanoseconds of a tick of `/proc/stat`.
const TICK_NS: u64 = 10_000_000;

/// Counters since boot, and gauges as named; a counter that cannot be read stays 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostUse {
    /// Time in soft interrupts, each CPU, by the 10 ms tick.
    pub softirq_ns_by_cpu: Vec<u64>,
    /// Time that the hypervisor gave to other guests, all CPUs.
    pub steal_ns: u64,
    /// Time not idle, all CPUs, steal and interrupts included.
    pub busy_ns: u64,
    /// Time of tasks, each CPU: user and system, no interrupts and no steal, by the tick.
    pub tasks_ns_by_cpu: Vec<u64>,
    /// Time idle, each CPU, waits for disks included: by the clock, not by the tick, on a kernel that stops the tick
    /// of an idle CPU.
    pub idle_ns_by_cpu: Vec<u64>,
    /// TCP counters.
    pub tcp: TcpUse,
    /// Memory in use now; absent if the system does not report it.
    pub used_bytes: Option<u64>,
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

    /// Time of tasks over some CPUs; over all CPUs if the list is empty.
    pub fn tasks_ns(&self, cpus: &[u32]) -> u64 {
        over(&self.tasks_ns_by_cpu, cpus)
    }

    /// Idle time over some CPUs; over all CPUs if the list is empty.
    pub fn idle_ns(&self, cpus: &[u32]) -> u64 {
        over(&self.idle_ns_by_cpu, cpus)
    }

    /// Slab and socket buffers. Small messages in flight are in both; an idle crowd has none.
    pub fn kernel_memory_bytes(&self) -> u64 {
        self.slab_bytes + self.tcp_memory_bytes
    }

    /// Reads them all. A file that is missing (a restricted container) leaves its fields 0.
    pub fn read() -> HostUse {
        let mut host = HostUse::default();
        if let Ok(stats) = KernelStats::current() {
            host.softirq_ns_by_cpu =
                stats.cpu_time.iter().map(|cpu| cpu.softirq.unwrap_or(0) * TICK_NS).collect();
            host.tasks_ns_by_cpu =
                stats.cpu_time.iter().map(|cpu| (cpu.user + cpu.nice + cpu.system) * TICK_NS).collect();
            host.idle_ns_by_cpu =
                stats.cpu_time.iter().map(|cpu| (cpu.idle + cpu.iowait.unwrap_or(0)) * TICK_NS).collect();
            let total = &stats.total;
            host.steal_ns = total.steal.unwrap_or(0) * TICK_NS;
            let busy = total.user + total.nice + total.system;
            let interrupts = total.irq.unwrap_or(0) + total.softirq.unwrap_or(0);
            host.busy_ns = (busy + interrupts + total.steal.unwrap_or(0)) * TICK_NS;
        }
        if let Ok(memory) = Meminfo::current() {
            host.slab_bytes = memory.slab;
            host.used_bytes = used_bytes(&memory);
        }
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let sockstat = read("/proc/net/sockstat");
        host.tcp = TcpUse::parse(&read("/proc/net/snmp"), &read("/proc/net/netstat"), &sockstat);
        host.tcp_memory_bytes = in_sockstat(&sockstat, "mem") * procfs::page_size();
        host
    }
}

/// The sum of a counter over some CPUs; over all CPUs if the list is empty.
fn over(by_cpu: &[u64], cpus: &[u32]) -> u64 {
    match cpus {
        [] => by_cpu.iter().sum(),
        _ => cpus.iter().filter_map(|&cpu| by_cpu.get(cpu as usize)).sum(),
    }
}

/// Memory that is not available to other programs: all memory except what the kernel reports as available
/// (free, and caches that can be dropped). `Active` is not suitable: if pages are aged by generations (MGLRU,
/// Linux 6.1), newly filled memory is listed as inactive, and file cache as active.
fn used_bytes(memory: &Meminfo) -> Option<u64> {
    // Before Linux 3.14 the kernel did not report it; shared memory is in `Cached` and cannot be dropped.
    let droppable = (memory.buffers + memory.cached + memory.s_reclaimable.unwrap_or(0))
        .saturating_sub(memory.shmem.unwrap_or(0));
    let available = memory.mem_available.unwrap_or(memory.mem_free + droppable);
    memory.mem_total.checked_sub(available)
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
    /// Parses the texts of `/proc/net/snmp`, `/proc/net/netstat` and `/proc/net/sockstat`.
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

/// A value of a table of two lines: `Tcp: A B` over `Tcp: 1 2`. 0 if it is missing.
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
    use procfs::FromRead as _;

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

    /// `(kernel, /proc/meminfo in kB, memory in use)`. A program had just filled 2 GiB.
    const MEMORY: [(&str, &str, u64); 3] = [
        (
            "6.18, pages aged by generations",
            "MemTotal: 24684096 kB\nMemFree: 12526308 kB\nMemAvailable: 22044188 kB\nBuffers: 46072 kB\n\
             Cached: 11358864 kB\nSwapCached: 0 kB\nActive: 1825544 kB\nInactive: 11718948 kB\n\
             Active(anon): 1584 kB\nInactive(anon): 2146760 kB\nActive(file): 1823960 kB\n\
             Inactive(file): 9572188 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\nDirty: 0 kB\nWriteback: 0 kB\n\
             Shmem: 1800 kB\nSlab: 300000 kB\nSReclaimable: 200000 kB\n",
            2_639_908,
        ),
        (
            "5.15, two lists",
            "MemTotal: 8000000 kB\nMemFree: 1000000 kB\nMemAvailable: 5200000 kB\nBuffers: 200000 kB\n\
             Cached: 4500000 kB\nSwapCached: 0 kB\nActive: 2900000 kB\nInactive: 3500000 kB\n\
             SwapTotal: 0 kB\nSwapFree: 0 kB\nDirty: 0 kB\nWriteback: 0 kB\nShmem: 100000 kB\n\
             Slab: 300000 kB\nSReclaimable: 200000 kB\n",
            2_800_000,
        ),
        (
            "3.10, which does not say what is available",
            "MemTotal: 8000000 kB\nMemFree: 1000000 kB\nBuffers: 200000 kB\nCached: 4500000 kB\n\
             SwapCached: 0 kB\nActive: 2900000 kB\nInactive: 3500000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n\
             Dirty: 0 kB\nWriteback: 0 kB\nShmem: 100000 kB\nSlab: 300000 kB\nSReclaimable: 200000 kB\n",
            2_200_000,
        ),
    ];

    #[test]
    fn memory_in_use_is_what_cannot_be_had_whatever_the_kernel_calls_active() {
        for (kernel, text, used_kib) in MEMORY {
            let rest = "Mapped: 0 kB\nCommitted_AS: 0 kB\nVmallocTotal: 0 kB\nVmallocUsed: 0 kB\nVmallocChunk: 0 kB\n";
            let memory = Meminfo::from_read(format!("{text}{rest}").as_bytes()).unwrap();
            assert_eq!(used_bytes(&memory), Some(used_kib * 1_024), "{kernel}");
        }
    }

    #[test]
    fn time_of_tasks_is_that_of_the_cpus_that_are_meant() {
        let host = HostUse { tasks_ns_by_cpu: vec![5, 70, 900], ..HostUse::default() };
        assert_eq!((host.tasks_ns(&[]), host.tasks_ns(&[0, 2]), host.tasks_ns(&[1, 9])), (975, 905, 70));
        let host = HostUse { idle_ns_by_cpu: vec![1, 2], ..host };
        assert_eq!((host.idle_ns(&[]), host.idle_ns(&[1])), (3, 2));
    }

    #[test]
    fn this_host_answers() {
        let host = HostUse::read();
        assert!(host.softirq_ns_by_cpu.len() >= std::thread::available_parallelism().unwrap().get());
        assert!(host.slab_bytes > 0 && host.busy_ns > 0 && host.used_bytes > Some(0));
    }
}
