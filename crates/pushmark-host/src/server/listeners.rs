//! Finds the process that listens on a port of this host, so that no other process is measured instead of
//! the server.

use std::collections::HashSet;
use std::net::{SocketAddr, UdpSocket};

use procfs::process::{FDTarget, Process, Stat};

use super::lineage::Lineage;

/// The listener that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listener {
    /// No process, or none that this host's tables show.
    None,
    /// A process of the given tree.
    Own,
    /// Another, in words.
    Stranger(String),
    /// A process whose descriptors cannot be read.
    Hidden,
}

/// Returns whether any process listens on a port.
pub fn is_taken(port: u16) -> bool {
    !sockets(port).is_empty()
}

/// The process that listens on an address of this host; `None` if no process does, or if it is not visible.
pub fn holder(address: SocketAddr) -> Option<i32> {
    if !address.ip().is_loopback() && UdpSocket::bind((address.ip(), 0)).is_err() {
        return None;
    }
    let sockets = sockets(address.port());
    let all = procfs::process::all_processes().ok()?.flatten();
    let holds = |process: &Process| {
        let descriptors = process.fd().into_iter().flatten().flatten();
        descriptors
            .map(|fd| fd.target)
            .any(|target| matches!(target, FDTarget::Socket(n) if sockets.contains(&n)))
    };
    // The oldest process holds it for its descendants.
    let found = all.filter(holds).filter_map(|process| process.stat().ok());
    found.min_by_key(|stat| stat.starttime).map(|stat| stat.pid)
}

/// The listener on a port: a process of the tree below `root` or of its group, or another.
pub fn listener(port: u16, root: i32) -> Listener {
    let sockets = sockets(port);
    if sockets.is_empty() {
        return Listener::None;
    }
    let own = tree(root);
    let holds = |process: &Process| -> Option<bool> {
        let mut descriptors = process.fd().ok()?.flatten();
        Some(descriptors.any(|fd| matches!(fd.target, FDTarget::Socket(inode) if sockets.contains(&inode))))
    };
    let mut hidden = false;
    for process in own.iter().filter_map(|pid| Process::new(*pid).ok()) {
        match holds(&process) {
            Some(true) => return Listener::Own,
            Some(false) => {}
            // It dropped its privileges, or it has just ended.
            None => hidden |= process.is_alive(),
        }
    }
    if hidden {
        return Listener::Hidden;
    }
    let others = procfs::process::all_processes().into_iter().flatten().flatten();
    let mut others = others.filter(|process| !own.contains(&process.pid));
    let other = others.find(|process| holds(process) == Some(true));
    let name = |process: &Process| process.stat().map_or_else(|_| String::new(), |stat| stat.comm);
    Listener::Stranger(match other {
        Some(process) => format!("process {} ({})", process.pid, name(&process)),
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

/// `root`, its descendants, its process group, and its daemons. A process that is looked at has an open folder
/// in `/proc`, so only one is held at a time: a host may have more processes than this one may open files.
fn tree(root: i32) -> HashSet<i32> {
    let lineage = Lineage::of(root);
    let all = procfs::process::all_processes().into_iter().flatten().flatten();
    let stats: Vec<Stat> = all.filter_map(|process| process.stat().ok()).collect();
    let mut own = HashSet::from([root]);
    loop {
        let before = own.len();
        let joins = |stat: &&Stat| !own.contains(&stat.pid) && lineage.owns(stat, |pid| own.contains(&pid));
        let found: Vec<i32> = stats.iter().filter(joins).map(|stat| stat.pid).collect();
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
        assert_eq!(holder(([127, 0, 0, 1], port).into()), Some(own));
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
