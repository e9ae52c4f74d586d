//! An agent from the side of its run: a child process and a socket.

use std::io::{self, BufReader, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

use pushmark_model::agent::{Begin, Order, Said};
use pushmark_model::frame;
use pushmark_model::plan::ShardPlan;
use pushmark_model::steer::Steer;

use super::driver::{Agent, Orders};
use super::message::{Lost, PoolMessage};
use pushmark_host::server::process::how;

/// Time that an agent has to end after its socket has closed.
const GONE_WITHIN: Duration = Duration::from_secs(1);
const LOOK: Duration = Duration::from_millis(5);

/// A process that waits for its plans.
#[derive(Debug)]
pub(super) struct Hired {
    child: Child,
    socket: UnixStream,
}

/// Orders through its socket.
#[derive(Debug)]
struct Socket(UnixStream);

impl Orders for Socket {
    fn tell(&mut self, order: Steer) {
        let _ = frame::write(&mut self.0, &Order::Steer(order));
    }
}

impl Hired {
    /// Starts `count` agents that run `program`. They end with this process, because their socket closes.
    pub(super) fn start(count: u32, program: &Path) -> io::Result<Vec<Box<dyn Agent>>> {
        let hire = |_| {
            let (ours, theirs) = UnixStream::pair()?;
            let child = Command::new(program)
                .arg("agent")
                .stdin(OwnedFd::from(theirs))
                .stdout(Stdio::null())
                // Ctrl-C reaches only the run; the run stops its agents.
                .process_group(0)
                .spawn()?;
            Ok(Box::new(Hired { child, socket: ours }) as Box<dyn Agent>)
        };
        (0..count).map(hire).collect()
    }
}

impl Agent for Hired {
    fn pid(&self) -> Option<i32> {
        Some(self.child.id() as i32)
    }

    fn begin(&mut self, plans: &[ShardPlan], cpus: &[u32]) -> io::Result<Option<Box<dyn Orders>>> {
        match frame::write(&mut self.socket, &Order::Begin(Begin::new(plans, cpus))) {
            Ok(()) => Ok(Some(Box::new(Socket(self.socket.try_clone()?)))),
            Err(error) if is_gone(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn hear(
        mut self: Box<Self>,
        agent: (usize, usize),
        shards: Vec<u32>,
        told: &SyncSender<PoolMessage>,
    ) -> io::Result<()> {
        let outcome = hear(&self.socket, told);
        // It sends nothing more; a hanging agent would block its run.
        let broke_off = !matches!(outcome, Ok(Some(_)));
        if broke_off {
            // Its socket closes a moment before its exit status is available.
            let asked = Instant::now();
            while self.child.try_wait()?.is_none() && asked.elapsed() < GONE_WITHIN {
                std::thread::sleep(LOOK);
            }
            let _ = self.child.kill();
        }
        let status = self.child.wait()?;
        match outcome? {
            Some(outcome) => outcome.map_err(io::Error::other),
            None => {
                // A closed channel means that the loss is no longer of interest.
                let _ = told.send(PoolMessage::Lost(Lost { agent, how: how(status), shards }));
                Ok(())
            }
        }
    }
}

/// Takes its records. Returns its final result; `None` if the connection broke off.
fn hear(socket: &UnixStream, told: &SyncSender<PoolMessage>) -> io::Result<Option<Result<(), String>>> {
    let mut from = BufReader::new(socket);
    loop {
        match frame::read(&mut from) {
            Ok(Some(Said::Record(record))) => {
                // A closed channel means that records are no longer needed.
                let _ = told.send(PoolMessage::Record(record));
            }
            // Its run watches it, as it watches itself.
            Ok(Some(Said::Cost(_))) => {}
            Ok(Some(Said::Ended(outcome))) => return Ok(Some(outcome)),
            Ok(None) => return Ok(None),
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}

/// Whether the peer of a socket has closed it.
fn is_gone(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe)
}
