//! The target's own listener: the number of connections for which its queue had no room.
//!
//! The kernel counts the drops of each listening socket and reports them by netlink (sock_diag(7),
//! `INET_DIAG_SKMEMINFO`). The counter of the whole host (`ListenOverflows`) does not name the program:
//! any program increases it.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};

use rustix::fd::OwnedFd;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// linux/sock_diag.h, linux/netlink.h, linux/inet_diag.h.
const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const HEADER_LEN: usize = 16;
const MESSAGE_LEN: usize = 72;
const SKMEMINFO: u16 = 7;
/// Of the nine numbers of `INET_DIAG_SKMEMINFO`, the last.
const DROPS_AT: usize = 8 * 4;
const TCP: u8 = 6;
const LISTEN: u32 = 1 << 10;
/// More answers to one question than this are a fault of the kernel.
const READS_MAX: usize = 1_024;

/// The listening address of a target on this host.
#[derive(Clone, Copy, Debug)]
pub struct Listener {
    address: SocketAddr,
}

/// Drops of each listening socket by its cookie, which is unique.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Drops(BTreeMap<u64, u32>);

impl Listener {
    /// Returns `None` if the address is not one of this host.
    pub fn of(address: SocketAddr) -> Option<Listener> {
        let here = address.ip().is_loopback() || UdpSocket::bind((address.ip(), 0)).is_ok();
        here.then_some(Listener { address })
    }

    /// Returns what its sockets have dropped so far; `None` if no socket of this network namespace listens
    /// there, or the kernel does not report it.
    pub fn drops(&self) -> Option<Drops> {
        let socket = netlink_socket().ok()?;
        let mut drops = Drops::default();
        for family in [AddressFamily::INET, AddressFamily::INET6] {
            for found in listening(&socket, family, self.address.port())? {
                if found.hears(self.address.ip()) {
                    drops.0.insert(found.cookie, found.drops);
                }
            }
        }
        (!drops.0.is_empty()).then_some(drops)
    }
}

impl Drops {
    /// Drops since an earlier reading. For a new socket all drops count.
    pub fn since(&self, earlier: &Drops) -> u64 {
        let one = |(cookie, now): (&u64, &u32)| {
            u64::from(now.wrapping_sub(earlier.0.get(cookie).copied().unwrap_or(0)))
        };
        self.0.iter().map(one).sum()
    }
}

/// A listening socket.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    address: IpAddr,
    cookie: u64,
    drops: u32,
}

impl Found {
    /// Whether connections to an address reach it.
    fn hears(&self, to: IpAddr) -> bool {
        self.address.is_unspecified() || self.address.to_canonical() == to.to_canonical()
    }
}

fn netlink_socket() -> rustix::io::Result<OwnedFd> {
    let socket = rustix::net::socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    rustix::net::bind(&socket, &SocketAddrNetlink::new(0, 0))?;
    Ok(socket)
}

/// Asks for the sockets of a family that listen on a port.
fn listening(socket: &OwnedFd, family: AddressFamily, port: u16) -> Option<Vec<Found>> {
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(socket, &question(family, port), SendFlags::empty(), &kernel).ok()?;
    let mut found = Vec::new();
    let mut bytes = vec![0; 32 * 1024];
    for _ in 0..READS_MAX {
        let (read, _) = rustix::net::recv(socket, &mut bytes[..], RecvFlags::empty()).ok()?;
        if take_answer(&bytes[..read.min(32 * 1024)], &mut found)? {
            return Some(found);
        }
    }
    None
}

/// `struct inet_diag_req_v2` under its header.
fn question(family: AddressFamily, port: u16) -> Vec<u8> {
    let mut out = Vec::with_capacity(HEADER_LEN + 56);
    out.extend(((HEADER_LEN + 56) as u32).to_ne_bytes());
    out.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    out.extend(REQUEST_DUMP.to_ne_bytes());
    out.extend([0; 8]);
    out.extend([family.as_raw() as u8, TCP, 1 << (SKMEMINFO - 1), 0]);
    out.extend(LISTEN.to_ne_bytes());
    out.extend(port.to_be_bytes());
    out.resize(HEADER_LEN + 56, 0);
    out
}

/// Takes the sockets of one read. Returns whether it was the last; `None` for an error of the kernel
/// or an invalid answer.
fn take_answer(mut bytes: &[u8], found: &mut Vec<Found>) -> Option<bool> {
    while bytes.len() >= HEADER_LEN {
        let length = u32_at(bytes, 0)? as usize;
        let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
        let message = bytes.get(HEADER_LEN..length)?;
        match kind {
            NLMSG_DONE => return Some(true),
            NLMSG_ERROR => return None,
            SOCK_DIAG_BY_FAMILY => found.extend(socket_of(message)),
            _ => {}
        }
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Some(false)
}

/// `struct inet_diag_msg` and its attributes.
fn socket_of(message: &[u8]) -> Option<Found> {
    let v4: [u8; 4] = message.get(8..12)?.try_into().ok()?;
    let v6: [u8; 16] = message.get(8..24)?.try_into().ok()?;
    let is_v4 = u16::from(*message.first()?) == AddressFamily::INET.as_raw();
    let cookie = u64::from(u32_at(message, 44)?) | u64::from(u32_at(message, 48)?) << 32;
    let mut attributes = message.get(MESSAGE_LEN..)?;
    while attributes.len() >= 4 {
        let length = usize::from(u16::from_ne_bytes([attributes[0], attributes[1]]));
        let kind = u16::from_ne_bytes([attributes[2], attributes[3]]);
        let value = attributes.get(4..length)?;
        if kind == SKMEMINFO {
            let address = if is_v4 { IpAddr::from(v4) } else { IpAddr::from(v6) };
            return Some(Found { address, cookie, drops: u32_at(value, DROPS_AT)? });
        }
        attributes = attributes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    None
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{SocketAddrV4, SocketAddrV6, bind, connect, getsockname, listen, socket_with, sockopt};
    use std::net::{Ipv4Addr, Ipv6Addr};

    /// A listener with room for two connections, which are never accepted.
    fn narrow(address: SocketAddr) -> Option<(OwnedFd, SocketAddr)> {
        let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
        let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None).ok()?;
        match address {
            SocketAddr::V4(v4) => bind(&socket, &SocketAddrV4::new(*v4.ip(), v4.port())).ok()?,
            SocketAddr::V6(v6) => {
                sockopt::set_ipv6_v6only(&socket, false).ok()?;
                bind(&socket, &SocketAddrV6::new(*v6.ip(), v6.port(), 0, 0)).ok()?
            }
        }
        listen(&socket, 1).ok()?;
        let at = SocketAddr::try_from(getsockname(&socket).ok()?).ok()?;
        Some((socket, at))
    }

    /// Opens connections without waiting for them.
    fn knock(at: SocketAddr, times: usize) -> Vec<OwnedFd> {
        let one = |_| {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let family = if at.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let socket = socket_with(family, SocketType::STREAM, flags, None).expect("a socket");
            // EINPROGRESS.
            let _ = connect(&socket, &at);
            socket
        };
        (0..times).map(one).collect()
    }

    #[test]
    fn each_listener_has_its_own_drops() {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let ((_full, full), (_calm, calm)) = (narrow(any).unwrap(), narrow(any).unwrap());
        let [busy, quiet] = [full, calm].map(|at| Listener::of(at).unwrap());
        let before = [busy, quiet].map(|listener| listener.drops().unwrap());
        let _knocking = knock(full, 20);
        let after = [busy, quiet].map(|listener| listener.drops().unwrap());
        assert!(after[0].since(&before[0]) >= 10, "{after:?}");
        assert_eq!(after[1].since(&before[1]), 0);
    }

    #[test]
    fn a_listener_of_both_families_is_found_by_either_address() {
        let Some((_socket, at)) = narrow(SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))) else {
            // A host without IPv6.
            return;
        };
        let v4 = SocketAddr::from((Ipv4Addr::LOCALHOST, at.port()));
        let before = Listener::of(v4).unwrap().drops().unwrap();
        let _knocking = knock(v4, 20);
        assert!(Listener::of(v4).unwrap().drops().unwrap().since(&before) >= 10);
    }

    #[test]
    fn where_nobody_of_this_host_listens_there_is_no_count() {
        let (socket, at) = narrow(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let listener = Listener::of(at).unwrap();
        assert!(listener.drops().is_some());
        // On another address of this host nothing listens on that port.
        let other = SocketAddr::from(([127, 9, 8, 7], at.port()));
        assert_eq!(Listener::of(other).unwrap().drops(), None);
        drop(socket);
        assert_eq!(listener.drops(), None);
        assert!(Listener::of("192.0.2.1:80".parse().unwrap()).is_none());
    }

    #[test]
    fn a_socket_made_since_counts_whole_and_one_that_went_counts_no_more() {
        let drops = |all: &[(u64, u32)]| Drops(all.iter().copied().collect());
        assert_eq!(drops(&[(1, 7), (2, 5)]).since(&drops(&[(1, 4), (3, 90)])), 8);
        assert_eq!(drops(&[(1, 3)]).since(&drops(&[(1, u32::MAX)])), 4, "the counter wraps");
    }

    #[test]
    fn an_answer_that_is_none_is_told_and_never_panics() {
        let mut found = Vec::new();
        assert_eq!(take_answer(&[], &mut found), Some(false));
        for length in [0u32, 3, 15, 17, 4_000_000_000] {
            let mut bytes = vec![0; 40];
            bytes[..4].copy_from_slice(&length.to_ne_bytes());
            assert_eq!(take_answer(&bytes, &mut found), None, "{length}");
        }
        assert!(found.is_empty());
    }
}
