//! What a process and its descendants have used; what lies unread in sockets.

use std::collections::HashMap;
use std::fs;

use rustix::process::{Pid, Signal, kill_process};

/// What `/proc` counts processor time in: 100 a second on every Linux that Rust knows.
const TICK_NS: u64 = 10_000_000;

/// CPU and memory of a tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Use {
    pub(super) cpu_ns: u64,
    pub(super) rss_bytes: u64,
}

/// Of the processes that live now and descend from `root`, itself included.
pub(super) fn of(root: u32) -> Use {
    let mut sum = Use::default();
    for pid in members(root) {
        sum.cpu_ns += cpu_ns(pid);
        sum.rss_bytes += rss_bytes(pid);
    }
    sum
}

/// Tells all of them.
pub(super) fn tell(root: u32, signal: Signal) {
    for pid in members(root).into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
        let _ = kill_process(pid, signal);
    }
}

fn members(root: u32) -> Vec<u32> {
    let parents: HashMap<u32, u32> = pids().filter_map(|pid| Some((pid, parent(pid)?))).collect();
    let descends = |mut pid: u32| loop {
        if pid == root {
            return true;
        }
        match parents.get(&pid) {
            Some(&above) if above != pid && above != 0 => pid = above,
            _ => return false,
        }
    };
    parents.keys().copied().filter(|&pid| descends(pid)).collect()
}

fn pids() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").into_iter().flatten().filter_map(|e| e.ok()?.file_name().to_str()?.parse().ok())
}

fn parent(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything; what follows its last parenthesis does not.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

/// Of a process, its threads that have ended and its children that were reaped among it.
fn cpu_ns(pid: u32) -> u64 {
    let ticks = fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|stat| ticks_in(&stat));
    let (own, reaped) = ticks.unwrap_or_default();
    // The threads' sum is exact and the process's in ticks; but only this one keeps what has ended.
    threads_ns(pid).max(own * TICK_NS) + reaped * TICK_NS
}

/// Of all threads that live now, in ns.
fn threads_ns(pid: u32) -> u64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let of = |task: fs::DirEntry| {
        let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    tasks.filter_map(of).sum()
}

/// User and system time of a process, and that of its reaped children.
fn ticks_in(stat: &str) -> Option<(u64, u64)> {
    let mut numbers = stat.rsplit_once(") ")?.1.split_ascii_whitespace().skip(11).map(str::parse::<u64>);
    let mut next = || numbers.next()?.ok();
    Some((next()? + next()?, next()? + next()?))
}

fn rss_bytes(pid: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/statm")).unwrap_or_default();
    let pages: u64 = text.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size() as u64
}

/// Bytes in the receive queues of sockets whose peer is this port of this host.
pub(super) fn unread_bytes(port: u16) -> u64 {
    unread_in(&fs::read_to_string("/proc/net/tcp").unwrap_or_default(), port)
}

fn unread_in(table: &str, port: u16) -> u64 {
    let of = |line: &str| {
        let mut words = line.split_ascii_whitespace().skip(2);
        let peer = words.next()?.rsplit(':').next()?.to_owned();
        let queues = words.nth(1)?;
        (u16::from_str_radix(&peer, 16).ok()? == port)
            .then(|| u64::from_str_radix(queues.split_once(':')?.1, 16).ok())?
    };
    table.lines().skip(1).filter_map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_this_process_and_its_children() {
        let alone = of(std::process::id());
        assert!(alone.rss_bytes > 0 && alone.cpu_ns > 0);
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        assert!(of(std::process::id()).rss_bytes > alone.rss_bytes / 2);
        assert!(of(child.id()).rss_bytes > 0);
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(of(child.id()).cpu_ns, 0);
    }

    #[test]
    fn time_of_a_process_and_of_its_reaped_children_stand_side_by_side() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194560 1 2 3 4 50 6 700 8 20 0 1 0 99\n";
        assert_eq!(ticks_in(stat), Some((56, 708)));
        assert_eq!(ticks_in("7 (a) S 1"), None);
    }

    #[test]
    fn what_lies_unread_is_the_second_half_of_the_queues() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when\n\
            0: 0100007F:9C40 0100007F:1F90 01 00000007:00000100 00:00000000 00000000 0 0 1\n\
            1: 0100007F:1F90 0100007F:9C40 01 00000000:00000200 00:00000000 00000000 0 0 2\n\
            2: 0100007F:9C41 0100007F:1F90 01 00000000:00000001 00:00000000 00000000 0 0 3\n";
        assert_eq!(
            (unread_in(table, 0x1F90), unread_in(table, 0x9C40), unread_in(table, 1)),
            (0x101, 0x200, 0)
        );
    }
}
