//! Who listens on a port of this host: a stranger on it would be measured in a server's place.

use std::collections::{HashMap, HashSet};

use procfs::process::{FDTarget, Process};

/// Who was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listener {
    /// Nobody, or nobody that this host's tables show.
    None,
    /// A process of the tree that was asked about.
    Own,
    /// Another, in words.
    Stranger(String),
    /// Somebody whose descriptors may not be looked at.
    Hidden,
}

/// Whether anybody listens on a port.
pub fn is_taken(port: u16) -> bool {
    !sockets(port).is_empty()
}

/// Who listens on a port: a process of the tree below `root` or of its group, or another.
pub fn listener(port: u16, root: i32) -> Listener {
    let sockets = sockets(port);
    if sockets.is_empty() {
        return Listener::None;
    }
    let all: Vec<Process> = procfs::process::all_processes().into_iter().flatten().flatten().collect();
    let own = tree(&all, root);
    let holds = |process: &Process| -> Option<bool> {
        let mut descriptors = process.fd().ok()?.flatten();
        Some(descriptors.any(|fd| matches!(fd.target, FDTarget::Socket(inode) if sockets.contains(&inode))))
    };
    let (own, others): (Vec<&Process>, Vec<&Process>) = all.iter().partition(|p| own.contains(&p.pid));
    let mut hidden = false;
    for process in own {
        match holds(process) {
            Some(true) => return Listener::Own,
            Some(false) => {}
            // It dropped its rights, or it has just ended.
            None => hidden |= process.is_alive(),
        }
    }
    if hidden {
        return Listener::Hidden;
    }
    let other = others.into_iter().find(|process| holds(process) == Some(true));
    let name = |process: &Process| process.stat().map_or_else(|_| String::new(), |stat| stat.comm);
    Listener::Stranger(match other {
        Some(process) => format!("process {} ({})", process.pid, name(process)),
        None => "another user's process".to_owned(),
    })
}

/// The inodes of the sockets that listen on a port, on any address.
fn sockets(port: u16) -> HashSet<u64> {
    ["/proc/net/tcp", "/proc/net/tcp6"]
        .into_iter()
        .flat_map(|path| inodes(&std::fs::read_to_string(path).unwrap_or_default(), port))
        .collect()
}

/// Lines of `/proc/net/tcp` (proc(5)): `sl local_address rem_address st … inode`, state 0A listens.
fn inodes(table: &str, port: u16) -> Vec<u64> {
    let listening = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let local = u16::from_str_radix(fields.get(1)?.rsplit_once(':')?.1, 16).ok()?;
        (local == port && *fields.get(3)? == "0A").then(|| fields.get(9)?.parse().ok())?
    };
    table.lines().skip(1).filter_map(listening).collect()
}

/// `root`, what it started, what those started, and what is of its group.
fn tree(all: &[Process], root: i32) -> HashSet<i32> {
    let stats: HashMap<i32, (i32, i32)> =
        all.iter().filter_map(|p| Some((p.pid, p.stat().ok().map(|stat| (stat.ppid, stat.pgrp))?))).collect();
    let mut own = HashSet::from([root]);
    loop {
        let before = own.len();
        let joins = |(ppid, pgrp): &(i32, i32), own: &HashSet<i32>| own.contains(ppid) || *pgrp == root;
        let found: Vec<i32> =
            stats.iter().filter(|(_, stat)| joins(stat, &own)).map(|(pid, _)| *pid).collect();
        own.extend(found);
        if own.len() == before {
            return own;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_listener_is_told_from_a_stranger() {
        let listener_here = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener_here.local_addr().unwrap().port();
        let own = std::process::id() as i32;
        assert!(is_taken(port));
        assert_eq!(listener(port, own), Listener::Own);
        let mut other = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let seen = listener(port, other.id() as i32);
        other.kill().unwrap();
        other.wait().unwrap();
        let Listener::Stranger(words) = seen else { panic!("{seen:?}") };
        assert!(words.starts_with(&format!("process {own} (")), "{words}");
        drop(listener_here);
        // A child that another test forked holds a copy until it runs its own program.
        assert!((0..10_000).any(|_| listener(port, own) == Listener::None));
    }

    #[test]
    fn only_what_listens_on_the_port_counts() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:2329 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0\n\
            1: 0100007F:2329 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0\n\
            2: 0100007F:232A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0\n";
        assert_eq!(inodes(table, 9001), [4711]);
        assert!(inodes(table, 80).is_empty());
        assert!(inodes("", 80).is_empty());
    }
}
