//! A peer that sends and reads arbitrarily.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use crate::server::Server;

/// The deadline for everything that must happen.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);

/// A write that is blocked for this time is given up, because the server reads no more.
const STUCK: Duration = Duration::from_millis(150);

/// The random seed: `PUSHMARK_SEED`, or a new one each time.
pub(crate) fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| {
        let given = std::env::var("PUSHMARK_SEED").ok().and_then(|text| text.parse().ok());
        given.unwrap_or_else(|| u64::from(std::process::id()) * 1_000_003)
    })
}

/// A random number below `max`: SplitMix64.
pub(crate) fn random(max: usize) -> usize {
    static STATE: AtomicU64 = AtomicU64::new(0);
    let step = 0x9E37_79B9_7F4A_7C15_u64;
    let mut z = seed().wrapping_add(STATE.fetch_add(1, Relaxed).wrapping_mul(step));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z ^ (z >> 31)) as usize % max
}

/// One connection.
pub(crate) struct Peer {
    socket: TcpStream,
    /// Bytes of the next answers.
    ahead: Vec<u8>,
}

impl Peer {
    pub(crate) fn connect(address: SocketAddr) -> Peer {
        Peer::try_connect(address).expect("it accepts")
    }

    pub(crate) fn try_connect(address: SocketAddr) -> Option<Peer> {
        let socket = TcpStream::connect_timeout(&address, DEADLINE).ok()?;
        socket.set_read_timeout(Some(DEADLINE)).ok()?;
        socket.set_write_timeout(Some(STUCK)).ok()?;
        Some(Peer { socket, ahead: Vec::new() })
    }

    /// Sends until nothing more is accepted. Returns the number of bytes sent.
    pub(crate) fn send(&mut self, bytes: &[u8]) -> usize {
        let mut sent = 0;
        while sent < bytes.len() {
            match self.socket.write(&bytes[sent..]) {
                Ok(n) => sent += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => break,
            }
        }
        sent
    }

    /// Sends everything, however long it takes.
    pub(crate) fn send_whole(&mut self, bytes: &[u8]) {
        let began = Instant::now();
        let mut sent = 0;
        while sent < bytes.len() && began.elapsed() < DEADLINE {
            sent += self.send(&bytes[sent..]);
        }
    }

    /// Sends the same bytes repeatedly, until `max`, the time, or a blocked write.
    pub(crate) fn flood(&mut self, bytes: &[u8], max: usize, time: Duration) -> usize {
        let began = Instant::now();
        let many = bytes.repeat((64 * 1024 / bytes.len()).max(1));
        let mut sent = 0;
        while sent < max && began.elapsed() < time {
            let taken = self.send(&many);
            sent += taken;
            if taken < many.len() {
                break;
            }
        }
        sent
    }

    /// Sends in pieces of random length.
    pub(crate) fn send_cut(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let n = (1 + random(97)).min(rest.len());
            if self.send(&rest[..n]) < n {
                return;
            }
            rest = &rest[n..];
        }
    }

    /// Sends one byte at a time until the server answers or ends the connection. Returns its output.
    pub(crate) fn drip(&mut self, bytes: &[u8], pause: Duration, within: Duration) -> Option<Vec<u8>> {
        let began = Instant::now();
        self.socket.set_read_timeout(Some(pause)).ok()?;
        for byte in bytes.iter().cycle() {
            let _ = self.socket.write(&[*byte]);
            let mut said = vec![0; 4096];
            match self.socket.read(&mut said) {
                Ok(n) => {
                    said.truncate(n);
                    return Some(said);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock && began.elapsed() < within => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return None,
                Err(_) => return Some(Vec::new()),
            }
        }
        None
    }

    /// Reads a complete answer with a length.
    pub(crate) fn answer(&mut self) -> Option<(u16, Vec<u8>)> {
        let mut bytes = std::mem::take(&mut self.ahead);
        loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&bytes[..end]).to_lowercase();
                let status = head.get(9..12)?.parse().ok()?;
                let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                let length: usize = length.map_or(Some(0), |text| text.parse().ok())?;
                if bytes.len() >= end + 4 + length {
                    self.ahead = bytes.split_off(end + 4 + length);
                    return Some((status, bytes.split_off(end + 4)));
                }
            }
            let mut piece = [0; 16 * 1024];
            match self.socket.read(&mut piece) {
                Ok(n) if n > 0 => bytes.extend_from_slice(&piece[..n]),
                _ => return None,
            }
        }
    }

    /// Reads and discards up to `max` bytes. Returns fewer if no more arrive.
    pub(crate) fn hear_up_to(&mut self, max: usize) -> usize {
        let (mut heard, mut piece) = (0, vec![0; 256 * 1024]);
        while heard < max {
            match self.socket.read(&mut piece) {
                Ok(n) if n > 0 => heard += n,
                _ => break,
            }
        }
        heard
    }

    /// Reads and discards for this time.
    pub(crate) fn hear_for(&mut self, time: Duration) {
        let began = Instant::now();
        let mut piece = vec![0; 64 * 1024];
        while began.elapsed() < time && self.socket.read(&mut piece).is_ok_and(|n| n > 0) {}
    }

    /// Returns all output until the end of the connection, or until a silence of this length.
    pub(crate) fn hear(&mut self, silence: Duration) -> Vec<u8> {
        let _ = self.socket.set_read_timeout(Some(silence));
        let mut heard = Vec::new();
        let mut piece = vec![0; 64 * 1024];
        while let Ok(n) = self.socket.read(&mut piece) {
            if n == 0 {
                break;
            }
            heard.extend_from_slice(&piece[..n]);
        }
        heard
    }

    /// Returns whether the server ends the connection in time.
    pub(crate) fn is_ended(&mut self, within: Duration) -> bool {
        let began = Instant::now();
        let mut piece = vec![0; 64 * 1024];
        while let Some(left) = within.checked_sub(began.elapsed()).filter(|left| !left.is_zero()) {
            let _ = self.socket.set_read_timeout(Some(left));
            match self.socket.read(&mut piece) {
                Ok(0) => return true,
                Ok(_) => {}
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return true,
            }
        }
        false
    }

    /// Ends it with a reset: unread bytes and no Close.
    pub(crate) fn reset(self) {
        let _ = socket2::SockRef::from(&self.socket).set_linger(Some(Duration::ZERO));
    }

    pub(crate) fn end_writing(&mut self) {
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
    }

    /// Upgrades to a WebSocket.
    pub(crate) fn upgrade(&mut self, target: &str) {
        let head = format!(
            "GET {target} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        self.send(head.as_bytes());
        let mut heard = Vec::new();
        while !heard.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.socket.read_exact(&mut byte).expect("an upgrade is granted");
            heard.push(byte[0]);
        }
        assert!(heard.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&heard));
    }
}

/// Waits until the statistics satisfy the condition.
pub(crate) fn until(
    server: &Server,
    what: &str,
    is_so: impl Fn(&serde_json::Value) -> bool,
) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let stats = server.stats();
        if is_so(&stats) {
            return Ok(());
        }
        holds(began.elapsed() < DEADLINE, || format!("not so: {what}: {stats}"))?;
    }
}

/// Each peer sends the same bytes.
pub(crate) fn send_all(peers: &mut [Peer], bytes: &[u8]) {
    for peer in peers {
        peer.send(bytes);
    }
}

/// Returns an error if the condition is false.
pub(crate) fn holds(what: bool, why: impl FnOnce() -> String) -> Result<(), String> {
    if what { Ok(()) } else { Err(why()) }
}
