//! A server from start to end: bind, run one loop for each thread, and return a summary.

use std::fs::File;
use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use pushmark_net::files::{self, Keeps};
use pushmark_net::{Listener, Waker, limits};

use crate::options::Options;
use crate::shard::Shard;
use crate::shared::Shared;
use crate::stats::{self, Counter};
use crate::truth::Truth;

/// What a server did during its life.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Connections accepted.
    pub connections: u64,
    /// Requests answered, of all kinds.
    pub requests: u64,
    /// Messages published, by emitters, by POST and by peers.
    pub publications: u64,
    /// Publications made by emitters.
    pub emits: u64,
    /// Ticks of emitters that were skipped because they were late.
    pub emits_skipped: u64,
    /// Deliveries written.
    pub deliveries: u64,
    /// Deliveries dropped from a full queue.
    pub dropped: u64,
    /// Subscribers disconnected because their queue was full.
    pub disconnected: u64,
}

/// Serves until `/shutdown` or [`Options::stop`] stops it. Calls `ready` with the address once it listens.
/// The calling thread runs the first event loop.
///
/// # Errors
/// An address that is taken or not local, a failing poller, or a truth log that cannot be written.
pub fn serve(options: Options, ready: impl FnOnce(SocketAddr)) -> io::Result<Summary> {
    let threads = options.threads.max(1);
    // A crowd needs descriptors. If the limit cannot be raised, accepting reports it.
    let _ = limits::raise_open_files();
    if let Some(path) = &options.truth {
        File::create(path)?; // fails now instead of after the run
    }
    let listener = Listener::bind(options.address, options.backlog, threads > 1)?;
    let address = listener.local_addr()?;
    let bells = (0..threads).map(|_| Waker::new()).collect::<io::Result<Vec<_>>>()?;
    let shared = Arc::new(Shared::new(options, &bells)?);
    let mut bells = bells.into_iter();
    let first = bells.next().expect("at least one thread");
    let others = start_others(&shared, address, bells)?;
    ready(address);
    let truth = run(&shared, listener, first, others)?;
    if let (Some(path), Some(mut truth)) = (&shared.options.truth, truth) {
        let (_, listings, _) = shared.hub.listings(usize::MAX);
        let names: Vec<&str> = listings.iter().map(|listing| &*listing.name).collect();
        truth.write(&names, &mut BufWriter::new(File::create(path)?))?;
    }
    Ok(summary(&shared))
}

type Loop = JoinHandle<io::Result<Option<Truth>>>;

/// Starts the other threads, each with its own listener (the kernel distributes connections over them) and,
/// if the kernel supports it, its own table of open files, so that the limit applies to each alone. All of
/// them listen when this returns; if one cannot, none does.
fn start_others(
    shared: &Arc<Shared>,
    address: SocketAddr,
    bells: impl Iterator<Item = Waker>,
) -> io::Result<Vec<Loop>> {
    let (listening, heard) = channel();
    let start = |(number, bell): (usize, Waker)| {
        let index = number + 1;
        let seat = Seat { shared: shared.clone(), index, address, bell, listening: listening.clone() };
        files::spawn(format!("pushmark-serve-{index}"), seat, other)
    };
    let started: io::Result<Vec<Loop>> = bells.enumerate().map(start).collect();
    drop(listening);
    let listens = heard.iter().collect::<io::Result<Vec<()>>>();
    let (others, listens) = match started {
        Ok(others) => (others, listens.map(drop)),
        Err(error) => (Vec::new(), Err(error)),
    };
    if let Err(error) = listens {
        shared.stop.request();
        others.into_iter().for_each(|other| drop(other.join()));
        return Err(error);
    }
    Ok(others)
}

/// The data that moves to another thread.
struct Seat {
    shared: Arc<Shared>,
    index: usize,
    address: SocketAddr,
    bell: Waker,
    listening: Sender<io::Result<()>>,
}

impl Keeps for Seat {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let mut fds = self.shared.fds();
        fds.push(self.bell.as_fd());
        fds
    }
}

fn other(seat: Seat) -> io::Result<Option<Truth>> {
    let Seat { shared, index, address, bell, listening } = seat;
    let listener = match Listener::bind(address, shared.options.backlog, true) {
        Ok(listener) => listener,
        Err(error) => {
            // Only the starter waits for this error.
            let _ = listening.send(Err(error));
            return Ok(None);
        }
    };
    let _ = listening.send(Ok(()));
    drop(listening);
    Shard::run(shared, index, listener, bell)
}

/// Runs the first loop and waits for all. The first failure stops the others.
fn run(
    shared: &Arc<Shared>,
    listener: Listener,
    bell: Waker,
    others: Vec<Loop>,
) -> io::Result<Option<Truth>> {
    let mut outcome = Shard::run(shared.clone(), 0, listener, bell);
    for other in others {
        let theirs = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        outcome = match (outcome, theirs) {
            (Ok(Some(mut ours)), Ok(Some(theirs))) => {
                ours.merge(theirs);
                Ok(Some(ours))
            }
            (Err(error), _) | (_, Err(error)) => Err(error),
            (ours, _) => ours,
        };
    }
    outcome
}

fn summary(shared: &Shared) -> Summary {
    let sum = |counter| stats::sum(shared.counters.iter().map(|counters| &**counters), counter);
    Summary {
        connections: sum(Counter::Accepted),
        requests: sum(Counter::Requests),
        publications: shared.hub.listings(0).0,
        emits: sum(Counter::Emits),
        emits_skipped: sum(Counter::EmitsSkipped),
        deliveries: sum(Counter::Deliveries),
        dropped: sum(Counter::Dropped),
        disconnected: sum(Counter::Disconnected),
    }
}
