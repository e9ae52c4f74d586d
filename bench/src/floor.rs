//! The floor: open N connections, wait, read into one buffer, count messages. Nothing else.
//!
//! No parsing, no clock, no state a connection but its socket, and the cheapest notification
//! of arrivals (edge-triggered, as the driver's: level-triggered costs a tenth more). Messages
//! are counted by a byte that each holds a known number of times ([`marks`]), so a message cut
//! by two reads counts once.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};

use pushmark_model::plan::ShardPlan;
use pushmark_model::transport::Transport;
use pushmark_net::{Clock, Nanos};
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::time::Timespec;

/// Events taken by one wait, and bytes by one read: as the driver's.
const EVENTS_MAX: usize = 1024;
const READ_MAX: usize = 64 << 10;
/// Connections begun before the first answer is read: fewer than a listener's backlog.
const CONNECTS_MAX: usize = 512;

/// A byte that marks a message, and how often a message contains it.
fn marks(transport: Transport) -> (u8, u64) {
    match transport {
        // One text frame each: FIN and opcode. Payload is ASCII, and lengths here are not 0x81.
        Transport::WebSocket => (0x81, 1),
        // One chunk each: two line ends of its framing.
        _ => (b'\r', 2),
    }
}

/// Receives from the plan's start until `end_ns`; `messages` is the count so far.
pub(crate) fn receive(plan: &ShardPlan, path: &str, end_ns: Nanos, messages: &AtomicU64) -> io::Result<()> {
    let (mark, each) = marks(plan.arm.transport);
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    let mut sockets: Vec<TcpStream> = Vec::new();
    let mut buffer = vec![0; READ_MAX];
    while (sockets.len() as u64) < plan.arm.connections {
        let first = sockets.len();
        let batch = CONNECTS_MAX.min(plan.arm.connections as usize - first);
        for _ in 0..batch {
            let mut socket = TcpStream::connect(plan.subscribe_to)?;
            socket.set_nodelay(true)?;
            socket.write_all(request(plan, path).as_bytes())?;
            sockets.push(socket);
        }
        for (n, socket) in sockets.iter_mut().enumerate().skip(first) {
            // Its head comes before anything is published.
            let _ = socket.read(&mut buffer)?;
            socket.set_nonblocking(true)?;
            epoll::add(&epoll, &*socket, EventData::new_u64(n as u64), EventFlags::IN | EventFlags::ET)?;
        }
    }
    let mut marks_seen = 0;
    let mut events = Vec::with_capacity(EVENTS_MAX);
    let patience = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    loop {
        events.clear();
        epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), Some(&patience))?;
        if events.is_empty() && Clock::now() >= end_ns {
            return Ok(());
        }
        for Event { data, .. } in events.drain(..) {
            let n = sockets[data.u64() as usize].read(&mut buffer)?;
            if n == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            marks_seen += memchr::memchr_iter(mark, &buffer[..n]).count() as u64;
        }
        messages.store(marks_seen / each, Ordering::Relaxed);
    }
}

fn request(plan: &ShardPlan, path: &str) -> String {
    let upgrade = match plan.arm.transport {
        Transport::WebSocket => {
            "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        }
        _ => "",
    };
    format!("GET {path} HTTP/1.1\r\nHost: {}\r\n{upgrade}\r\n", plan.subscribe_to)
}
