//! The datagrams. One thread of a coordinator probes all agents ten times a second; one thread of an agent
//! answers all who ask, with as many bytes as it was asked with.

use std::io;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use pushmark_net::Clock;

use super::interval::{Exchange, Interval, interval};

/// Time between two probes of an agent.
const EVERY_NS: u64 = 100_000_000;
/// Exchanges of half a minute: the drift of a clock is even for as long.
const WINDOW_NS: u64 = 30_000_000_000;
/// Time after which a thread looks whether it must end.
const LOOK: Duration = Duration::from_millis(50);

const MAGIC: [u8; 8] = *b"pm-clock";
/// Magic, agent, number, and three instants, of which the answer fills two.
const LENGTH: usize = 8 + 4 + 4 + 3 * 8;

#[derive(Clone, Copy, Debug)]
struct Datagram {
    agent: u32,
    number: u32,
    sent: u64,
    heard: u64,
    answered: u64,
}

impl Datagram {
    fn write(&self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&self.agent.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.number.to_le_bytes());
        for (at, value) in [self.sent, self.heard, self.answered].into_iter().enumerate() {
            bytes[16 + 8 * at..24 + 8 * at].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    fn read(bytes: &[u8]) -> Option<Datagram> {
        let bytes: &[u8; LENGTH] = bytes.try_into().ok()?;
        if bytes[..8] != MAGIC {
            return None;
        }
        let short = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let long = |at: usize| u64::from(short(at)) | u64::from(short(at + 4)) << 32;
        Some(Datagram {
            agent: short(8),
            number: short(12),
            sent: long(16),
            heard: long(24),
            answered: long(32),
        })
    }
}

/// A thread that works until it is dropped.
#[derive(Debug)]
struct Worker {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start(name: &str, work: impl FnOnce(&AtomicBool) + Send + 'static) -> io::Result<Worker> {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || work(&seen))?;
        Ok(Worker { over, thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers probes.
#[derive(Debug)]
pub struct Responder {
    address: SocketAddr,
    _worker: Worker,
}

impl Responder {
    /// Answers at a free port of this address.
    ///
    /// # Errors
    /// Fails if this machine does not have the address.
    pub fn start(address: IpAddr) -> io::Result<Responder> {
        let socket = UdpSocket::bind((address, 0))?;
        let address = socket.local_addr()?;
        socket.set_read_timeout(Some(LOOK))?;
        let worker = Worker::start("clock", move |over| respond(&socket, over))?;
        Ok(Responder { address, _worker: worker })
    }

    /// Returns where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn respond(socket: &UdpSocket, over: &AtomicBool) {
    let mut bytes = [0; 2 * LENGTH];
    while !over.load(Ordering::Relaxed) {
        let Ok((read, from)) = socket.recv_from(&mut bytes) else { continue };
        let heard = Clock::now();
        if let Some(asked) = Datagram::read(&bytes[..read]) {
            // A lost answer is a lost probe.
            let _ = socket.send_to(&Datagram { heard, answered: Clock::now(), ..asked }.write(), from);
        }
    }
}

/// Probes the clocks of several machines.
#[derive(Debug)]
pub struct Prober {
    exchanges: Arc<Mutex<Vec<Vec<Exchange>>>>,
    _worker: Worker,
}

impl Prober {
    /// Starts probing.
    ///
    /// # Errors
    /// Fails if there is no socket for it.
    pub fn start(of: Vec<SocketAddr>) -> io::Result<Prober> {
        let any: IpAddr = match of.iter().all(SocketAddr::is_ipv4) {
            true => std::net::Ipv4Addr::UNSPECIFIED.into(),
            false => std::net::Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0))?;
        let exchanges = Arc::new(Mutex::new(vec![Vec::new(); of.len()]));
        let shared = Arc::clone(&exchanges);
        let worker = Worker::start("clocks", move |over| probe(&socket, &of, over, &shared))?;
        Ok(Prober { exchanges, _worker: worker })
    }

    /// Returns the offset of a machine's clock from ours at an instant of ours; `None`: its datagrams do not
    /// come through, or a clock was set.
    pub fn offset(&self, of: usize, at: u64) -> Option<Interval> {
        let all = self.locked();
        let all = all.get(of)?;
        let from = all.partition_point(|e| e.sent + WINDOW_NS / 2 < at);
        let to = all.partition_point(|e| e.sent < at.saturating_add(WINDOW_NS / 2));
        // Near the end of the probes the window reaches further back.
        let back = all.partition_point(|e| e.sent + WINDOW_NS < all.last().map_or(0, |last| last.sent));
        interval(&all[from.min(back)..to], at)
    }

    /// Returns the number of exchanges with a machine.
    pub fn count(&self, of: usize) -> usize {
        self.locked().get(of).map_or(0, Vec::len)
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Vec<Exchange>>> {
        self.exchanges.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn probe(socket: &UdpSocket, of: &[SocketAddr], over: &AtomicBool, to: &Mutex<Vec<Vec<Exchange>>>) {
    let mut bytes = [0; 2 * LENGTH];
    let mut due = Clock::now();
    let mut number = 0;
    while !over.load(Ordering::Relaxed) {
        if Clock::now() >= due {
            number += 1;
            due += EVERY_NS;
            for (agent, address) in of.iter().enumerate() {
                let ask = Datagram { agent: agent as u32, number, sent: Clock::now(), heard: 0, answered: 0 };
                // A probe that cannot be sent is one that got lost.
                let _ = socket.send_to(&ask.write(), address);
            }
        }
        let wait = due.saturating_sub(Clock::now()).clamp(1_000, EVERY_NS);
        if socket.set_read_timeout(Some(Duration::from_nanos(wait))).is_err() {
            return;
        }
        let Ok((read, from)) = socket.recv_from(&mut bytes) else { continue };
        let received = Clock::now();
        let Some(answer) = Datagram::read(&bytes[..read]) else { continue };
        // Late answers bound the offset as well as any; they only bound it less.
        if of.get(answer.agent as usize) == Some(&from) {
            let Datagram { sent, heard, answered, .. } = answer;
            let mut to = to.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let all = &mut to[answer.agent as usize];
            let at = all.partition_point(|e| e.sent <= sent);
            all.insert(at, Exchange { sent, heard, answered, received });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_comes_back_as_it_was() {
        let datagram = Datagram { agent: 7, number: 9, sent: u64::MAX - 1, heard: 1 << 40, answered: 3 };
        let read = Datagram::read(&datagram.write()).unwrap();
        assert_eq!(format!("{read:?}"), format!("{datagram:?}"));
        assert!(Datagram::read(&[0; LENGTH]).is_none());
        assert!(Datagram::read(&datagram.write()[1..]).is_none());
    }
}
