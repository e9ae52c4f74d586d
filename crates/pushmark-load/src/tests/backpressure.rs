//! If a target asks questions and never reads the answers, the driver does not keep them all. It stops
//! reading the target, so the target is stopped by its own full socket. When the target reads again,
//! everything goes on and nothing is lost.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use pushmark_model::message::Message;
use pushmark_model::plan::{Answer, ShardPlan};
use pushmark_model::poller::Poller;
use pushmark_model::schedule::Ramp;
use pushmark_model::steer::Steer;
use pushmark_model::transport::Transport;
use pushmark_net::Clock;
use pushmark_proto::http1::RequestHead;
use pushmark_proto::websocket::{Decoder, Event, Opcode, Role, encode, handshake::Upgrade};

use super::merged;
use super::words::{self, Told};
use crate::testing::arm;

/// More than the sockets of both ends take, and far less than a flood of seconds brings.
const TAKEN_MAX: u64 = 64 << 20;
/// A target that writes as fast as it can is stopped if it finds no room for this long.
const STOPPED_NS: u64 = 300_000_000;
const PATIENCE_NS: u64 = 20_000_000_000;

/// Length of a question.
const ASKED: usize = 1_000;

#[derive(Debug)]
struct Flooder {
    stream: TcpStream,
    /// Bytes that are not written yet.
    left: Vec<u8>,
    written: u64,
    stopped_since_ns: u64,
    /// Bytes that it reads in the end: one text per question.
    input: Vec<u8>,
    frames: Decoder,
    texts: u64,
    asked: u64,
}

impl Flooder {
    fn accept(stream: TcpStream) -> Flooder {
        stream.set_nonblocking(true).unwrap();
        Flooder {
            stream,
            left: Vec::new(),
            written: 0,
            stopped_since_ns: 0,
            input: Vec::new(),
            frames: Decoder::new(Role::Server, 1 << 20),
            texts: 0,
            asked: 0,
        }
    }

    /// Answers the upgrade if it has arrived.
    fn upgrade(&mut self) -> bool {
        let mut buffer = [0; 4_096];
        let Ok(n) = self.stream.read(&mut buffer) else { return false };
        let (head, _) = RequestHead::parse(&buffer[..n]).unwrap().expect("in one piece");
        Upgrade::parse(&head).unwrap().expect("an upgrade").write_response(&mut self.left, "", "");
        true
    }

    /// Asks as fast as it can. Returns whether it has been stopped for a while.
    fn floods(&mut self, now_ns: u64) -> bool {
        for _ in 0..64 {
            if self.left.len() < 4_096 {
                encode::frame(&mut self.left, Opcode::Text, &[b'?'; ASKED], None);
                encode::frame(&mut self.left, Opcode::Ping, b"ping", None);
                self.asked += 1;
                continue;
            }
            match self.stream.write(&self.left) {
                Ok(n) => {
                    self.left.drain(..n);
                    self.written += n as u64;
                    self.stopped_since_ns = now_ns;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::WouldBlock);
                    break;
                }
            }
        }
        now_ns - self.stopped_since_ns > STOPPED_NS
    }

    /// Writes what is left, and reads what has arrived.
    fn goes_on(&mut self) {
        if !self.left.is_empty()
            && let Ok(n) = self.stream.write(&self.left)
        {
            self.left.drain(..n);
        }
        let mut buffer = [0; 64 << 10];
        while let Ok(n @ 1..) = self.stream.read(&mut buffer) {
            self.input.extend_from_slice(&buffer[..n]);
        }
        let mut rest = &mut self.input[..];
        while let Some(event) = self.frames.next(&mut rest).expect("frames") {
            self.texts += u64::from(matches!(event, Event::MessageEnd { .. }));
        }
        self.input = rest.to_vec();
    }
}

fn flood(poller: Poller) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut arm = arm(Transport::WebSocket, 1);
    arm.ramp = Ramp::constant(1, 1e6);
    arm.poller = poller;
    arm.publisher.as_mut().expect("it publishes").interval_ns = 500_000.0;
    arm.subscribe.answer = vec![Answer {
        on: Message::parse(&"?".repeat(ASKED)).unwrap(),
        send: Message::parse(&"answer ".repeat(200)).unwrap(),
    }];
    let plan = ShardPlan {
        arm,
        shard: 0,
        shards: 1,
        start_ns: Clock::now(),
        subscribe_to: listener.local_addr().unwrap(),
        half: None,
        publish_to: None,
        before_to: Vec::new(),
        port: 0,
        clock_ahead_us: 0,
        machine_shards: Vec::new(),
    };
    let until_ns = plan.start_ns + PATIENCE_NS;
    let (mut flooder, mut upgraded, mut stopped): (Option<Flooder>, _, _) = (None, false, None);
    let mut told = Told::default();
    let total = merged(plan, &mut || {
        let now_ns = Clock::now();
        let Some(it) = &mut flooder else {
            flooder = listener.accept().ok().map(|(stream, _)| Flooder::accept(stream));
            return None;
        };
        if !upgraded {
            upgraded = it.upgrade();
            it.stopped_since_ns = now_ns;
            return None;
        }
        match stopped {
            None if it.written > TAKEN_MAX => return Some(Steer::Stop),
            None if it.floods(now_ns) => {
                stopped = Some(it.written);
                // A message follows the flood.
                let payload = words::payload(100, &mut 0, &mut told);
                words::whole_text(&payload, &mut it.left);
            }
            None => {}
            Some(_) => it.goes_on(),
        }
        let over = stopped.is_some() && it.texts >= it.asked;
        (over || now_ns > until_ns).then_some(Steer::Stop)
    });
    let it = flooder.expect("it came");
    assert!(stopped.is_some_and(|taken| taken < TAKEN_MAX), "{poller:?}: {} bytes were taken", it.written);
    assert_eq!((it.texts, total.counts.held_back > 0), (it.asked, true), "{poller:?}");
    assert_eq!((total.counts.received, total.counts.lost), (1, 0), "{poller:?}");
}

#[test]
fn by_epoll() {
    flood(Poller::Epoll);
}

#[test]
fn by_io_uring() {
    flood(Poller::IoUring);
}
