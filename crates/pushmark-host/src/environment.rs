//! The environment of a run: kernel, CPU, memory, limits, and the settings that change results.

use std::collections::BTreeMap;
use std::fs;

use procfs::{Current, Meminfo};
use pushmark_model::run::Environment;
use pushmark_net::limits;

/// Kernel settings worth keeping, as sysctl names them.
const SETTINGS: [&str; 10] = [
    "net.core.somaxconn",
    "net.ipv4.tcp_max_syn_backlog",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_tw_reuse",
    "net.netfilter.nf_conntrack_max",
    "kernel.sched_schedstats",
    "vm.swappiness",
];

/// Where and how the parties of a run were placed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placement {
    /// CPUs of the server; absent if pushmark did not start it.
    pub server_cpus: Option<Vec<u32>>,
    /// CPUs of the generator; absent if not pinned.
    pub generator_cpus: Option<Vec<u32>>,
    /// The server runs on this host.
    pub same_host: bool,
}

/// Reads this machine. `settings` holds additional values of the caller (versions).
pub fn environment(placement: Placement, settings: BTreeMap<String, String>) -> Environment {
    let mut settings = settings;
    for name in SETTINGS {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        if let Some(value) = text(&path) {
            settings.insert(name.to_string(), value.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    let files = [
        ("clock_source", "/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        ("cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        ("smt", "/sys/devices/system/cpu/smt/control"),
        ("hypervisor", "/sys/hypervisor/type"),
        ("product", "/sys/devices/virtual/dmi/id/product_name"),
    ];
    for (name, path) in files {
        if let Some(value) = text(path) {
            settings.insert(name.to_string(), value);
        }
    }
    Environment {
        kernel: text("/proc/sys/kernel/osrelease").unwrap_or_default(),
        cpu: cpu(&text("/proc/cpuinfo").unwrap_or_default()),
        cpus: online(&text("/sys/devices/system/cpu/online").unwrap_or_default()),
        memory_bytes: Meminfo::current().map_or(0, |memory| memory.mem_total),
        generator_cpus: placement.generator_cpus,
        server_cpus: placement.server_cpus,
        cpu_accounting: "schedstat".into(),
        same_host: placement.same_host,
        server: None,
        open_files: limits::open_files().0,
        ephemeral_ports: limits::ephemeral_ports().unwrap_or_default(),
        settings,
    }
}

/// The CPU's name; on ARM, which has no name, its part numbers.
fn cpu(cpuinfo: &str) -> String {
    let field = |name: &str| {
        cpuinfo.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            (key.trim() == name).then(|| value.trim().to_string())
        })
    };
    field("model name").unwrap_or_else(|| {
        let implementer = field("CPU implementer").unwrap_or_else(|| "unknown".into());
        format!("{implementer} {}", field("CPU part").unwrap_or_default()).trim_end().to_string()
    })
}

/// CPUs in a list like `0-3,8`.
fn online(list: &str) -> u32 {
    let count = |range: &str| {
        let (low, high) = range.split_once('-').unwrap_or((range, range));
        Some(high.parse::<u32>().ok()?.checked_sub(low.parse().ok()?)? + 1)
    };
    list.trim().split(',').filter_map(count).sum()
}

fn text(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_described() {
        let placement = Placement { server_cpus: Some(vec![0]), same_host: true, ..Placement::default() };
        let own = BTreeMap::from([("server".to_string(), "builtin 0.1.0".to_string())]);
        let environment = environment(placement, own);
        assert!(!environment.kernel.is_empty() && !environment.cpu.is_empty());
        assert!(environment.cpus > 0 && environment.memory_bytes > 0 && environment.open_files > 0);
        assert!(environment.settings.contains_key("net.core.somaxconn"));
        assert_eq!(environment.settings["server"], "builtin 0.1.0");
        assert_eq!((environment.server_cpus, environment.same_host), (Some(vec![0]), true));
    }

    #[test]
    fn cpus_and_their_names_are_read() {
        assert_eq!(["0", "0-3", "0-3,8", "0-1,4-7", ""].map(online), [1, 4, 5, 6, 0]);
        assert_eq!(cpu("processor\t: 0\nmodel name\t: Some CPU @ 3 GHz\n"), "Some CPU @ 3 GHz");
        assert_eq!(cpu("CPU implementer\t: 0x41\nCPU part\t: 0xd40\n"), "0x41 0xd40");
    }
}
