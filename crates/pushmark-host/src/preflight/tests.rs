//! Decisions on invented machines.

use super::*;
use crate::preflight::precision::Precision;

fn machine() -> Machine {
    Machine {
        open_files: (1_024, 1_048_576),
        file_table_left: Some(9_000_000),
        ports: (32_768, 60_999),
        time_wait_s: (60.0, 1.0),
        somaxconn: Some(4_096),
        syn_backlog: Some(4_096),
        tcp_memory_bytes: Some((1 << 30, 2 << 30)),
        memory_bytes: 16 << 30,
        cpus: 8,
        cpu_quota: None,
        load_1m: 0.1,
        steal: Some(0.0),
        precision: Some(Precision { overshoot_p50_us: 8, overshoot_p99_us: 60, clock_step_ns: None }),
        clock_source: Some("tsc".into()),
        conntrack: None,
        disk_free_bytes: Some(1 << 40),
        governor: Some("performance".into()),
        nats_server: Some("/usr/sbin/nats-server".into()),
    }
}

fn need(connections: u64) -> Need {
    Need::of_crowd(connections)
}

fn away(connections: u64) -> Need {
    let target = Some("192.0.2.1".parse().unwrap());
    Need { same_host: false, target, server_tables: None, ..need(connections) }
}

/// The findings that are not fine.
fn raised(need: &Need, machine: &Machine) -> Vec<(&'static str, Grade)> {
    let findings = examine(need, machine);
    findings.iter().filter(|f| f.grade > Grade::Fine).map(|f| (f.code, f.grade)).collect()
}

fn with(change: impl FnOnce(&mut Machine)) -> Machine {
    let mut machine = machine();
    change(&mut machine);
    machine
}

#[test]
fn a_good_machine_holds_a_crowd() {
    assert_eq!(raised(&need(10_000), &machine()), []);
    assert!(examine(&need(10_000), &machine()).iter().all(|f| f.fix.is_none()));
}

#[test]
fn open_files_are_counted_to_the_last() {
    let few = with(|m| m.open_files = (1_024, 10_164));
    assert_eq!(raised(&need(10_000), &few), []);
    // Each shard of the generator has its own table; a server has the number of tables that it declares.
    let one_shard = |connections| Need { shards: Some(1), server_tables: None, ..need(connections) };
    assert_eq!(raised(&one_shard(10_000), &few), []);
    assert_eq!(raised(&one_shard(10_001), &few), [("open_files", Grade::Refused)]);
    assert_eq!(largest_crowd(&one_shard(10_001), &few), 10_000);
    let refused = [("server_open_files", Grade::Refused)];
    assert_eq!(raised(&need(10_001), &few), refused);
    assert_eq!(largest_crowd(&need(10_001), &few), 10_000);
    let spread = |tables| Need { server_tables: Some(tables), ..need(100_000) };
    assert_eq!((raised(&spread(10), &few), raised(&spread(11), &few)), (refused.to_vec(), vec![]));
    assert_eq!((need(100_000).shards(10_164), one_shard(100_000).shards(10_164)), (10, 1));
}

#[test]
fn ports_are_short_away_from_here_but_not_on_loopback() {
    assert_eq!(raised(&need(40_000), &machine()), []);
    assert_eq!(raised(&away(22_585 - 64), &machine()), []);
    assert_eq!(raised(&away(22_586 - 64), &machine()), [("ports", Grade::Refused)]);
    assert_eq!(largest_crowd(&away(40_000), &machine()), 22_585 - 64);
    let two = Need { sources: 2, ..away(40_000) };
    assert_eq!(raised(&two, &machine()), []);
    let v6 = Need { target: Some("::1".parse().unwrap()), ..need(40_000) };
    assert_eq!(raised(&v6, &machine())[0], ("ports", Grade::Refused));
}

#[test]
fn renewed_connections_take_ports_while_in_time_wait() {
    let renewing = Need { renewed_per_s: 1_000.0, ..away(1_000) };
    assert_eq!(raised(&renewing, &machine()), [("ports", Grade::Refused)]);
    let findings = examine(&renewing, &machine());
    let ports = findings.iter().find(|f| f.code == "ports").unwrap();
    assert_eq!(ports.needed, "61,064 = 1,064 open + 60,000 in TIME_WAIT (1000 new connections/s × 60 s)");
    let fits = largest_crowd(&renewing, &machine());
    let scaled = Need { renewed_per_s: fits as f64, ..away(fits) };
    assert_eq!(raised(&scaled, &machine()), []);
}

#[test]
fn memory_is_for_both_ends_on_one_host() {
    let small = with(|m| m.memory_bytes = 1 << 30);
    assert_eq!(raised(&need(80_000), &small), []);
    assert_eq!(raised(&need(90_000), &small), [("memory", Grade::Doubt)]);
    assert!(raised(&need(110_000), &small).contains(&("memory", Grade::Refused)));
    assert!(largest_crowd(&need(110_000), &small) > 80_000);
}

#[test]
fn each_circumstance_raises_its_own_finding() {
    let doubt = |change: fn(&mut Machine)| raised(&need(10_000), &with(change));
    assert_eq!(doubt(|m| m.somaxconn = Some(64)), [("listen_queue", Grade::Doubt)]);
    assert_eq!(doubt(|m| m.syn_backlog = Some(64)), [("syn_backlog", Grade::Doubt)]);
    assert_eq!(doubt(|m| m.tcp_memory_bytes = Some((1 << 20, 1 << 21))), [("tcp_memory", Grade::Doubt)]);
    assert_eq!(doubt(|m| m.conntrack = Some((60_000, 65_536))), [("conntrack", Grade::Doubt)]);
    assert_eq!(doubt(|m| m.file_table_left = Some(20_000)), [("file_table", Grade::Refused)]);
    assert_eq!(doubt(|m| m.cpus = 1), [("cores", Grade::Doubt)]);
    assert_eq!(doubt(|m| m.cpu_quota = Some(1.5)), [("cores", Grade::Doubt)]);
    assert_eq!(doubt(|m| m.load_1m = 3.0), [("other_load", Grade::Doubt)]);
    assert_eq!(doubt(|m| m.steal = Some(0.02)), [("steal", Grade::Doubt)]);
    assert_eq!(doubt(|m| m.clock_source = Some("hpet".into())), [("clock_source", Grade::Note)]);
    assert_eq!(doubt(|m| m.governor = Some("powersave".into())), [("governor", Grade::Note)]);
    assert_eq!(doubt(|m| m.disk_free_bytes = Some(1 << 20)), [("disk", Grade::Refused)]);
    let late = |m: &mut Machine| {
        m.precision =
            Some(Precision { overshoot_p50_us: 60, overshoot_p99_us: 1_000, clock_step_ns: Some(5_000_000) });
    };
    assert_eq!(doubt(late), [("timers", Grade::Doubt), ("clock_step", Grade::Doubt)]);
}

#[test]
fn a_refusal_says_what_would_fit() {
    let few = with(|m| m.open_files = (1_024, 4_096));
    let need = Need { server_tables: Some(1), ..away(50_000) };
    let text = refusal(&examine(&need, &few), &need, &few).unwrap();
    insta::assert_snapshot!(text, @r#"
    this machine cannot hold the plan
      ports
        found   22,585 usable a source (80 % of 32768–60999), 1 source
        needed  50,064
        why     one source address reaches a target address once per port
        try     sudo sysctl -w net.ipv4.ip_local_port_range="10240 65535", or more source addresses
      server_open_files
        found   4,096
        needed  50,164 = 50,064 connections + 100
        why     a server started here has the same limit, in each of its processes
        try     a server that spreads its connections over several (its row in servers.toml says by which flag), or sudo prlimit --pid $$ --nofile=65536
    this machine holds up to 3932 connections: -c 3932
    "#);
    assert_eq!(refusal(&examine(&away(1_000), &few), &away(1_000), &few), None);
}

#[test]
fn several_machines_need_a_server_that_one_is_told_how_to_get() {
    let without = with(|m| m.nats_server = None);
    assert_eq!(raised(&need(10_000), &without), [("nats_server", Grade::Note)]);
    let told = examine(&need(10_000), &without).into_iter().find(|f| f.code == "nats_server");
    assert!(told.unwrap().fix.unwrap().contains("go install github.com/nats-io/nats-server/v2"));
}
