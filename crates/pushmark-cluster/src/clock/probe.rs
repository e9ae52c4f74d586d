//! The datagrams. One thread of a coordinator probes all agents ten times a second; one thread of an agent
//! answers all who ask, with as many bytes as it was asked with. Arrivals at both ends are those in the kernel, so
//! that a thread that is woken late widens no interval. Where datagrams do not get through, the same bytes
//! go over a TCP connection: its delays are longer, so the bounds are wider, and as certain.

use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use pushmark_net::{Clock, Datagram as Came, Datagrams};

use super::interval::{Exchange, Interval, interval};

/// Time between two probes of an agent.
const EVERY_NS: u64 = 100_000_000;
/// Time for each agent in that, where they are many: a coordinator's core has other things to do.
const EACH_NS: u64 = 5_000_000;
/// The longest time between two probes of an agent.
const EVERY_MAX_NS: u64 = 1_000_000_000;
/// Probes before they become rarer: a run waits for the first ones.
const FIRST: u32 = 20;
/// Exchanges of half a minute: the drift of a clock is even for as long.
const WINDOW_NS: u64 = 30_000_000_000;
/// Time after which a thread looks whether it must end.
const LOOK: Duration = Duration::from_millis(50);
/// Time without any answer to datagrams after which a connection is tried.
const DATAGRAMS_FOR_NS: u64 = 1_000_000_000;
/// Time to connect, and for one answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
/// Tries to get one port for both.
const PORTS: usize = 20;

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
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

/// Answers probes.
#[derive(Debug)]
pub struct Responder {
    address: SocketAddr,
    _workers: [Worker; 2],
}

impl Responder {
    /// Answers at a free port of this address.
    ///
    /// # Errors
    /// Fails if this machine does not have the address.
    pub fn start(address: IpAddr) -> io::Result<Responder> {
        let (listener, socket) = both(address)?;
        let address = socket.local_addr()?;
        socket.set_read_timeout(Some(LOOK))?;
        listener.set_nonblocking(true)?;
        let datagrams = Worker::start("clock", move |over| respond(Datagrams::of(socket), over))?;
        let connections = Worker::start("clock-tcp", move |over| accept(&listener, over))?;
        Ok(Responder { address, _workers: [datagrams, connections] })
    }

    /// Returns where it answers.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// A port for connections and for datagrams.
fn both(address: IpAddr) -> io::Result<(TcpListener, UdpSocket)> {
    let mut last = None;
    for _ in 0..PORTS {
        let listener = TcpListener::bind((address, 0))?;
        match UdpSocket::bind(listener.local_addr()?) {
            Ok(socket) => return Ok((listener, socket)),
            Err(error) => last = Some(error),
        }
    }
    Err(last.expect("it was tried"))
}

/// Each connection is answered by a thread, which ends with it.
fn accept(listener: &TcpListener, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        match listener.accept() {
            Ok((peer, _)) => {
                let named = std::thread::Builder::new().name("clock-peer".into());
                // Without a thread the peer has no answer.
                let _ = named.spawn(move || answer(peer));
            }
            Err(_) => std::thread::park_timeout(LOOK),
        }
    }
}

fn answer(mut peer: TcpStream) {
    let quick = peer.set_nonblocking(false).is_ok() && peer.set_nodelay(true).is_ok();
    let mut bytes = [0; LENGTH];
    while quick && peer.read_exact(&mut bytes).is_ok() {
        let heard = Clock::now();
        let Some(asked) = Datagram::read(&bytes) else { return };
        if peer.write_all(&Datagram { heard, answered: Clock::now(), ..asked }.write()).is_err() {
            return;
        }
    }
}

fn respond(mut socket: Datagrams, over: &AtomicBool) {
    let mut bytes = [0; 2 * LENGTH];
    while !over.load(Ordering::Relaxed) {
        let Ok(Came { length, from, arrived: heard }) = socket.receive(&mut bytes) else { continue };
        if let Some(asked) = Datagram::read(&bytes[..length]) {
            // A lost answer is a lost probe.
            let answer = Datagram { heard, answered: Clock::now(), ..asked };
            let _ = socket.socket().send_to(&answer.write(), from);
        }
    }
}

/// Probes the clocks of several machines.
#[derive(Debug)]
pub struct Prober {
    exchanges: Arc<Mutex<Vec<Vec<Exchange>>>>,
    /// Machines that datagrams did not reach.
    connected: Arc<Mutex<Vec<bool>>>,
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
        let connected = Arc::new(Mutex::new(vec![false; of.len()]));
        let probing = Probing { of, to: Arc::clone(&exchanges), connected: Arc::clone(&connected) };
        let worker = Worker::start("clocks", move |over| probing.run(Datagrams::of(socket), over))?;
        Ok(Prober { exchanges, connected, _worker: worker })
    }

    /// Returns whether a machine is probed over a connection, because no datagram came back.
    pub fn is_connected(&self, of: usize) -> bool {
        let all = self.connected.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        all.get(of).copied().unwrap_or(false)
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

/// What the thread of a prober works with.
struct Probing {
    of: Vec<SocketAddr>,
    to: Arc<Mutex<Vec<Vec<Exchange>>>>,
    connected: Arc<Mutex<Vec<bool>>>,
}

impl Probing {
    fn run(&self, mut socket: Datagrams, over: &AtomicBool) {
        let of = &self.of;
        let mut bytes = [0; 2 * LENGTH];
        let began = Clock::now();
        let mut due = began;
        let later_ns = (of.len() as u64 * EACH_NS).clamp(EVERY_NS, EVERY_MAX_NS);
        let mut number = 0;
        let mut connections: Vec<Worker> = Vec::new();
        let mut looked = false;
        while !over.load(Ordering::Relaxed) {
            if Clock::now() >= due {
                number += 1;
                due += if number <= FIRST { EVERY_NS } else { later_ns };
                for (agent, address) in of.iter().enumerate() {
                    let ask =
                        Datagram { agent: agent as u32, number, sent: Clock::now(), heard: 0, answered: 0 };
                    // A probe that cannot be sent is one that got lost.
                    let _ = socket.socket().send_to(&ask.write(), address);
                }
            }
            if !looked && Clock::now() > began + DATAGRAMS_FOR_NS {
                looked = true;
                connections.extend(self.connect_to_the_silent());
            }
            let wait = due.saturating_sub(Clock::now()).clamp(1_000, later_ns);
            if socket.socket().set_read_timeout(Some(Duration::from_nanos(wait))).is_err() {
                return;
            }
            let Ok(Came { length, from, arrived }) = socket.receive(&mut bytes) else { continue };
            let Some(answer) = Datagram::read(&bytes[..length]) else { continue };
            // Late answers bound the offset as well as any; they only bound it less.
            if of.get(answer.agent as usize) == Some(&from) {
                keep(&self.to, answer, arrived);
            }
        }
    }

    /// A thread for each machine from which no datagram came back.
    fn connect_to_the_silent(&self) -> Vec<Worker> {
        let silent = |agent: &usize| {
            self.to.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[*agent].is_empty()
        };
        let one = |agent: usize| {
            let (address, to, connected) =
                (self.of[agent], Arc::clone(&self.to), Arc::clone(&self.connected));
            let work = move |over: &AtomicBool| probe_over_tcp(agent, address, over, &to, &connected);
            Worker::start("clocks-tcp", work).ok()
        };
        (0..self.of.len()).filter(silent).filter_map(one).collect()
    }
}

fn keep(to: &Mutex<Vec<Vec<Exchange>>>, answer: Datagram, received: u64) {
    let Datagram { agent, sent, heard, answered, .. } = answer;
    let mut to = to.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let all = &mut to[agent as usize];
    let at = all.partition_point(|e| e.sent <= sent);
    all.insert(at, Exchange { sent, heard, answered, received });
}

/// Probes one machine until `over`, connecting again when a connection breaks.
fn probe_over_tcp(
    agent: usize,
    address: SocketAddr,
    over: &AtomicBool,
    to: &Mutex<Vec<Vec<Exchange>>>,
    connected: &Mutex<Vec<bool>>,
) {
    while !over.load(Ordering::Relaxed) {
        if let Ok(mut peer) = TcpStream::connect_timeout(&address, ANSWER_WITHIN) {
            let ready = peer.set_nodelay(true).is_ok() && peer.set_read_timeout(Some(ANSWER_WITHIN)).is_ok();
            let mut bytes = [0; LENGTH];
            let mut number = 0;
            while ready && !over.load(Ordering::Relaxed) {
                number += 1;
                let ask = Datagram { agent: agent as u32, number, sent: Clock::now(), heard: 0, answered: 0 };
                if peer.write_all(&ask.write()).and_then(|()| peer.read_exact(&mut bytes)).is_err() {
                    break;
                }
                let received = Clock::now();
                // An answer to something else ends the connection.
                let Some(answer) = Datagram::read(&bytes).filter(|answer| answer.number == number) else {
                    break;
                };
                keep(to, Datagram { agent: agent as u32, ..answer }, received);
                connected.lock().unwrap_or_else(|poisoned| poisoned.into_inner())[agent] = true;
                std::thread::park_timeout(Duration::from_nanos(EVERY_NS));
            }
        }
        std::thread::park_timeout(LOOK);
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
