//! A server from start to end: bind, run one loop for each thread, and return a summary.

use std::fs::File;
use std::hash::RandomState;
use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use pushmark_net::files::{self, FdChannel, Keeps};
use pushmark_net::{Link, Listener, Waker, limits};

use crate::bayeux::Browsers;
use crate::emitters::Emitters;
use crate::faults::fate::Fates;
use crate::hub::Hub;
use crate::options::Options;
use crate::shard::{Moved, Shard};
use crate::stats::{self, Counter, Counters};
use crate::stop::Stop;
use crate::truth::Truth;

/// The state shared by all threads.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) options: Options,
    pub(crate) hub: Hub,
    pub(crate) fates: Fates,
    pub(crate) stop: Stop,
    /// `POST /log`: a line on stderr for each request.
    pub(crate) logging: AtomicBool,
    /// Connections that have asked to subscribe.
    pub(crate) ordinals: AtomicU32,
    /// Instrumented requests registered now.
    pub(crate) registered: AtomicU64,
    pub(crate) counters: Vec<Arc<Counters>>,
    /// The first thread runs the emitters; it is woken when they change.
    pub(crate) emitter_bell: Waker,
    emitters: Mutex<Emitters>,
    /// Hashes browsers' cookies.
    pub(crate) browser_key: RandomState,
    browsers: Mutex<Browsers>,
    /// The path of connections to each thread.
    ways: Vec<ThreadInbox>,
}

/// A connection in the channel. Its data must follow.
pub(crate) struct Passing<'a> {
    waiting: MutexGuard<'a, Vec<Moved>>,
    bell: &'a Waker,
}

impl Passing<'_> {
    pub(crate) fn with(mut self, moved: Moved) {
        self.waiting.push(moved);
        self.bell.ring();
    }
}

/// The path of connections to a thread.
#[derive(Debug)]
struct ThreadInbox {
    /// The data of the connections in the channel, in the same order.
    waiting: Mutex<Vec<Moved>>,
    fd_channel: FdChannel,
    bell: Waker,
}

impl Shared {
    pub(crate) fn emitters(&self) -> MutexGuard<'_, Emitters> {
        self.emitters.lock().expect("no thread panics with the emitters")
    }

    /// Browsers with a held connect.
    pub(crate) fn browsers(&self) -> MutexGuard<'_, Browsers> {
        self.browsers.lock().expect("no thread panics with the browsers")
    }

    /// Passes a connection to another thread. Returns `None` if its channel is full now.
    pub(crate) fn pass(&self, thread: usize, connection: BorrowedFd<'_>) -> Option<Passing<'_>> {
        let ThreadInbox { waiting, fd_channel, bell } = &self.ways[thread];
        let waiting = waiting.lock().expect("no thread panics with connections");
        fd_channel.pass(connection).then_some(Passing { waiting, bell })
    }

    /// Returns the connections passed to this thread, with an error for one without a free descriptor.
    pub(crate) fn take_moved(&self, thread: usize) -> Vec<(io::Result<Link>, Moved)> {
        let way = &self.ways[thread];
        let mut waiting = way.waiting.lock().expect("no thread panics with connections");
        let gone = || io::Error::other("it is not in the channel");
        waiting
            .drain(..)
            .map(|moved| (way.fd_channel.take().and_then(|link| link.ok_or_else(gone)), moved))
            .collect()
    }
}

impl Keeps for Shared {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        let ways =
            self.ways.iter().flat_map(|way| way.fd_channel.both().into_iter().chain([way.bell.as_fd()]));
        ways.chain([self.stop.fd(), self.emitter_bell.as_fd()]).collect()
    }
}

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
    let shared = Arc::new(Shared {
        hub: Hub::new(bells.iter().cloned()),
        fates: Fates::new(&options.faults),
        stop: options.stop.clone().map_or_else(Stop::new, Ok)?,
        logging: AtomicBool::new(false),
        ordinals: AtomicU32::new(0),
        registered: AtomicU64::new(0),
        counters: (0..threads).map(|_| Arc::new(Counters::new())).collect(),
        emitter_bell: bells[0].clone(),
        emitters: Mutex::new(Emitters::new(options.faults.stop_emitters_after)),
        browser_key: RandomState::new(),
        browsers: Mutex::default(),
        ways: bells.iter().map(ThreadInbox::to).collect::<io::Result<_>>()?,
        options,
    });
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

impl ThreadInbox {
    fn to(bell: &Waker) -> io::Result<ThreadInbox> {
        Ok(ThreadInbox { waiting: Mutex::default(), fd_channel: FdChannel::new()?, bell: bell.clone() })
    }
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
