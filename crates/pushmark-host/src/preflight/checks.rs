//! Checks that depend on the crowd: files, ports, queues, memory.

use super::need::{FILES_MARGIN, SHARDS_MAX};
use super::sources::per_source;
use super::{Finding, Grade, Machine, Need};
use pushmark_chart::numbers::TERMINAL;

/// Kernel memory of an idle TCP socket: sock, inode, dentry, file (4.7 KiB, measured).
const SOCKET_BYTES: u64 = 4_813;
/// Memory of the generator for each subscription of a connection after the first.
const SUBSCRIPTION_BYTES: u64 = 64;
/// Memory of the generator for a connection.
const CONNECTION_BYTES: u64 = 1_024;
/// Memory of the generator for its TLS: keys, the target's certificates, a ticket (6.4 KiB, measured).
const TLS_BYTES: u64 = 6_656;
/// Share of the available memory that a crowd may take; the server needs the rest.
const MEMORY_FILL: f64 = 0.8;

pub(super) fn all(need: &Need, machine: &Machine) -> Vec<Finding> {
    let mut findings = vec![open_files(need, machine), ports(need, machine), memory(need, machine)];
    findings.extend(server_open_files(need, machine));
    findings.extend(file_table(need, machine));
    findings.extend(queue("listen_queue", "net.core.somaxconn", machine.somaxconn, need));
    findings.extend(queue("syn_backlog", "net.ipv4.tcp_max_syn_backlog", machine.syn_backlog, need));
    findings.extend(tcp_memory(need, machine));
    findings.extend(conntrack(need, machine));
    findings
}

pub(super) fn largest_crowd(need: &Need, machine: &Machine) -> u64 {
    let a_shard = machine.open_files.1.saturating_sub(need.publishers + FILES_MARGIN);
    let by_files = a_shard.saturating_mul(need.shards.unwrap_or(SHARDS_MAX));
    let a_table = machine.open_files.1.saturating_sub(FILES_MARGIN);
    let by_server = need.server_tables.map_or(u64::MAX, |tables| {
        let all = (a_table.saturating_mul(tables) as f64 / unevenness(tables)) as u64;
        all.saturating_sub(need.publishers)
    });
    let renewed = if need.connections == 0 { 0.0 } else { need.renewed_per_s / need.connections as f64 };
    let usable = ports_usable(need, machine).saturating_sub(need.publishers);
    let by_ports = (usable as f64 / (1.0 + renewed * held_s(need, machine))) as u64;
    let by_memory = (machine.memory_bytes as f64 * MEMORY_FILL) as u64 / connection_bytes(need);
    let by_table = machine.file_table_left.map_or(u64::MAX, |left| left / need.ends());
    by_files.min(by_server).min(by_ports).min(by_memory).min(by_table)
}

fn open_files(need: &Need, machine: &Machine) -> Finding {
    let (soft, hard) = machine.open_files;
    let shards = need.shards(hard);
    let needed = need.connections.div_ceil(shards) + need.publishers + FILES_MARGIN;
    let of = if shards == 1 { String::new() } else { format!(" ÷ {shards} shards") };
    // If there are too few shards, the number that is enough for the crowd.
    let shards = Need { shards: None, ..need.clone() }.shards(hard);
    Finding {
        code: "open_files",
        grade: if needed > hard { Grade::Refused } else { Grade::Fine },
        found: if hard > soft { format!("{}, raised to {}", limit(soft), limit(hard)) } else { limit(hard) },
        needed: format!(
            "{} = {} subscribers{of} + {} publishers + {FILES_MARGIN}",
            TERMINAL.count(needed),
            TERMINAL.count(need.connections),
            TERMINAL.count(need.publishers)
        ),
        why: "every connection is an open file, and the limit counts those of a shard",
        fix: (needed > hard).then(|| match need.shards {
            Some(_) => format!("--set threads={shards}"),
            None => format!("sudo prlimit --pid $$ --nofile={}", needed.next_power_of_two()),
        }),
    }
}

/// Checks the open files of a server that pushmark starts. It has the same limit.
fn server_open_files(need: &Need, machine: &Machine) -> Option<Finding> {
    let tables = need.server_tables?;
    let needed = (need.sockets() as f64 / tables as f64 * unevenness(tables)).ceil() as u64 + FILES_MARGIN;
    let hard = machine.open_files.1;
    let of = if tables == 1 { String::new() } else { format!(" ÷ {tables}, unevenly") };
    Some(Finding {
        code: "server_open_files",
        grade: if needed > hard { Grade::Refused } else { Grade::Fine },
        found: limit(hard),
        needed: format!(
            "{} = {} connections{of} + {FILES_MARGIN}",
            TERMINAL.count(needed),
            TERMINAL.count(need.sockets())
        ),
        why: "a server started here has the same limit, in each of its processes",
        fix: (needed > hard).then(|| {
            format!(
                "a server that spreads its connections over several (its row in servers.toml says by which \
                 flag), or sudo prlimit --pid $$ --nofile={}",
                needed.next_power_of_two()
            )
        }),
    })
}

/// Returns the largest part if the kernel spreads connections randomly over equal parts. Of 16,000, 5 %
/// are more than six deviations.
fn unevenness(tables: u64) -> f64 {
    if tables > 1 { 1.05 } else { 1.0 }
}

fn file_table(need: &Need, machine: &Machine) -> Option<Finding> {
    let left = machine.file_table_left?;
    let needed = need.sockets() * need.ends();
    Some(Finding {
        code: "file_table",
        grade: if needed > left { Grade::Refused } else { Grade::Fine },
        found: format!("{} left", limit(left)),
        needed: TERMINAL.count(needed),
        why: "this limit counts the files of all processes; on one host it counts both ends of a connection",
        fix: (needed > left)
            .then(|| format!("sudo sysctl -w fs.file-max={}", (needed * 2).next_power_of_two())),
    })
}

/// Checks the ports of all sources together. Loopback has enough sources for any crowd.
fn ports_usable(need: &Need, machine: &Machine) -> u64 {
    let per_source = per_source(machine.ports);
    match need.target {
        _ if need.sources > 0 => per_source * need.sources,
        Some(std::net::IpAddr::V4(v4)) if v4.is_loopback() => per_source * 16_384,
        _ => per_source,
    }
}

fn held_s(need: &Need, machine: &Machine) -> f64 {
    if need.is_loopback() { machine.time_wait_s.1 } else { machine.time_wait_s.0 }
}

fn ports(need: &Need, machine: &Machine) -> Finding {
    let held = (need.renewed_per_s * held_s(need, machine)).ceil() as u64;
    let needed = need.sockets() + held;
    let per_source = per_source(machine.ports);
    let usable = ports_usable(need, machine);
    let sources = needed.div_ceil(per_source).max(need.sources);
    let needed_text = match held {
        0 => TERMINAL.count(needed),
        held => format!(
            "{} = {} open + {} in TIME_WAIT ({:.0} new connections/s × {:.0} s)",
            TERMINAL.count(needed),
            TERMINAL.count(need.sockets()),
            TERMINAL.count(held),
            need.renewed_per_s,
            held_s(need, machine)
        ),
    };
    let fix = if needed <= usable {
        None
    } else if machine.ports.0 > 10_240 {
        Some("sudo sysctl -w net.ipv4.ip_local_port_range=\"10240 65535\", or more source addresses".into())
    } else {
        Some(format!("{sources} source addresses, or fewer new connections (load.keep_alive = true)"))
    };
    Finding {
        code: "ports",
        grade: if needed > usable { Grade::Refused } else { Grade::Fine },
        found: format!(
            "{} usable a source (80 % of {}–{}), {} source{}",
            TERMINAL.count(per_source),
            machine.ports.0,
            machine.ports.1,
            if needed > usable { need.sources.max(1) } else { sources },
            if needed > usable || sources == 1 { "" } else { "s, rotated" }
        ),
        needed: needed_text,
        why: "one source address reaches a target address once per port",
        fix,
    }
}

fn queue(code: &'static str, setting: &str, found: Option<u64>, need: &Need) -> Option<Finding> {
    let found = found?;
    // The connections that arrive in 100 ms in which a server does not accept.
    let needed = ((need.ramp_per_s / 10.0).ceil() as u64).min(need.connections).max(128);
    let short = need.same_host && needed > found;
    Some(Finding {
        code,
        grade: if short { Grade::Doubt } else { Grade::Fine },
        found: TERMINAL.count(found),
        needed: format!("{} = 100 ms of the steepest ramp, {:.0}/s", TERMINAL.count(needed), need.ramp_per_s),
        why: "if the queue is full, a connect is dropped and retried after 1 s",
        fix: short.then(|| format!("sudo sysctl -w {setting}={}", needed.next_power_of_two().max(4_096))),
    })
}

fn tcp_memory(need: &Need, machine: &Machine) -> Option<Finding> {
    let (pressure, most) = machine.tcp_memory_bytes?;
    let needed = need.sockets() * need.ends() * 4_096;
    let short = needed > pressure;
    let pages = (needed * 2).div_ceil(4_096);
    Some(Finding {
        code: "tcp_memory",
        grade: if short { Grade::Doubt } else { Grade::Fine },
        found: format!("{} until pressure, {} at most", bytes(pressure), bytes(most)),
        needed: format!("{} with a message in every socket", bytes(needed)),
        why: "under pressure the kernel shrinks windows and drops segments, which adds latency",
        fix: short
            .then(|| format!("sudo sysctl -w net.ipv4.tcp_mem=\"{} {pages} {}\"", pages / 2, pages * 2)),
    })
}

fn connection_bytes(need: &Need) -> u64 {
    let subscriptions = SUBSCRIPTION_BYTES * need.per_connection.saturating_sub(1);
    SOCKET_BYTES * need.ends() + CONNECTION_BYTES + subscriptions + if need.tls { TLS_BYTES } else { 0 }
}

fn memory(need: &Need, machine: &Machine) -> Finding {
    let needed = need.sockets() * connection_bytes(need);
    let grade = match machine.memory_bytes {
        available if needed > available => Grade::Refused,
        available if needed as f64 > available as f64 * MEMORY_FILL => Grade::Doubt,
        _ => Grade::Fine,
    };
    Finding {
        code: "memory",
        grade,
        found: format!("{} available", bytes(machine.memory_bytes)),
        needed: format!(
            "{} = {} × {} B, without the server's own",
            bytes(needed),
            TERMINAL.count(need.sockets()),
            connection_bytes(need)
        ),
        why: "sockets use kernel memory, 4.7 KiB per end, which cannot be swapped",
        fix: (grade > Grade::Fine).then(|| "fewer connections, or the server on another machine".into()),
    }
}

fn conntrack(need: &Need, machine: &Machine) -> Option<Finding> {
    let (now, most) = machine.conntrack?;
    let needed = need.sockets();
    let short = now + needed > most;
    Some(Finding {
        code: "conntrack",
        // The table may not track loopback. That depends on rules that this process cannot read.
        grade: if short { Grade::Doubt } else { Grade::Fine },
        found: format!("{} of {} entries used", TERMINAL.count(now), TERMINAL.count(most)),
        needed: TERMINAL.count(needed),
        why: "when the connection-tracking table is full the kernel drops new connections",
        fix: short.then(|| {
            let most = (now + needed).next_power_of_two();
            format!("sudo sysctl -w net.netfilter.nf_conntrack_max={most}")
        }),
    })
}

/// Formats a limit. The largest number means no limit.
fn limit(value: u64) -> String {
    if value > u64::from(u32::MAX) { "no limit".into() } else { TERMINAL.count(value) }
}

/// Formats bytes in powers of 1,024 with three digits.
pub(super) fn bytes(value: u64) -> String {
    let (value, unit) = match value {
        0..1_024 => return format!("{value} B"),
        1_024..1_048_576 => (value as f64 / 1_024.0, "KiB"),
        1_048_576..1_073_741_824 => (value as f64 / 1_048_576.0, "MiB"),
        _ => (value as f64 / 1_073_741_824.0, "GiB"),
    };
    match value {
        v if v < 9.995 => format!("{v:.2} {unit}"),
        v if v < 99.95 => format!("{v:.1} {unit}"),
        v => format!("{v:.0} {unit}"),
    }
}
