//! An agent as its run sees it: a child process and a socket.

use std::io::{self, BufReader, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::SyncSender;

use pushmark_model::agent::{Begin, Order, Said};
use pushmark_model::frame;
use pushmark_model::plan::ShardPlan;
use pushmark_model::record::Record;

/// A process that waits for its plans.
#[derive(Debug)]
pub(crate) struct Agent {
    child: Child,
    socket: UnixStream,
}

impl Agent {
    /// Starts so many, which run this program. They end with this process, whichever way it ends: their socket does.
    pub(crate) fn hire(count: u32, program: &Path) -> io::Result<Vec<Agent>> {
        let hire = |_| {
            let (ours, theirs) = UnixStream::pair()?;
            let child = Command::new(program)
                .arg("agent")
                .stdin(OwnedFd::from(theirs))
                .stdout(Stdio::null())
                // Ctrl-C is for the run, which tells its agents.
                .process_group(0)
                .spawn()?;
            Ok(Agent { child, socket: ours })
        };
        (0..count).map(hire).collect()
    }

    pub(crate) fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Gives it its work; the socket that takes orders to its shards.
    pub(super) fn begin(&mut self, plans: &[ShardPlan], cpus: &[u32]) -> io::Result<UnixStream> {
        frame::write(&mut self.socket, &Order::Begin(Begin::new(plans, cpus))).map_err(named)?;
        self.socket.try_clone()
    }

    /// Hands on its records until it has ended.
    pub(super) fn hear(mut self, records: &SyncSender<Box<Record>>) -> io::Result<()> {
        let outcome = hear(&self.socket, records);
        // It has nothing more to say; one that hangs would hang its run.
        if outcome.is_err() {
            let _ = self.child.kill();
        }
        self.child.wait()?;
        outcome
    }
}

fn hear(socket: &UnixStream, records: &SyncSender<Box<Record>>) -> io::Result<()> {
    let mut from = BufReader::new(socket);
    loop {
        match frame::read(&mut from).map_err(named)? {
            Some(Said::Record(record)) => {
                // A closed channel means that nobody wants records any more.
                let _ = records.send(record);
            }
            Some(Said::Ended(outcome)) => return outcome.map_err(io::Error::other),
            None => return Err(named(ErrorKind::UnexpectedEof.into())),
        }
    }
}

/// A socket without an other end, in words that say whose it was.
fn named(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => {
            io::Error::other("an agent ended in the middle of its work")
        }
        _ => error,
    }
}
