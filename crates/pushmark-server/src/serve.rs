//! A server from start to end: bind, one loop a thread, and what they did together.

use std::fs::File;
use std::hash::RandomState;
use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;

use pushmark_net::{Hatch, Link, Listener, Waker, files, limits};

use crate::bayeux::Browsers;
use crate::emitters::Emitters;
use crate::faults::fate::Fates;
use crate::hub::Hub;
use crate::options::Options;
use crate::shard::{Moved, Shard};
use crate::stats::{self, Counter, Counters};
use crate::stop::Stop;
use crate::truth::Truth;

/// What all threads share.
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
    /// The way to each thread.
    ways: Vec<Way>,
}

/// A connection that is in the hatch: what goes with it has to follow.
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

/// The way of connections to a thread.
#[derive(Debug)]
struct Way {
    /// What is known of those in the hatch, in their order.
    waiting: Mutex<Vec<Moved>>,
    hatch: Hatch,
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

    /// Passes a connection to another thread; `None` where no more fit into its hatch now.
    pub(crate) fn pass(&self, thread: usize, connection: BorrowedFd<'_>) -> Option<Passing<'_>> {
        let Way { waiting, hatch, bell } = &self.ways[thread];
        let waiting = waiting.lock().expect("no thread panics with connections");
        hatch.pass(connection).then_some(Passing { waiting, bell })
    }

    /// What was given to this one; an error where it has no descriptor for a connection.
    pub(crate) fn take_moved(&self, thread: usize) -> Vec<(io::Result<Link>, Moved)> {
        let way = &self.ways[thread];
        let mut waiting = way.waiting.lock().expect("no thread panics with connections");
        let gone = || io::Error::other("it is not in the hatch");
        waiting
            .drain(..)
            .map(|moved| (way.hatch.take().and_then(|link| link.ok_or_else(gone)), moved))
            .collect()
    }

    /// What a thread needs that has a table of open files of its own.
    fn shared_fds(&self) -> Vec<BorrowedFd<'_>> {
        let ways = self.ways.iter().flat_map(|way| way.hatch.fds().into_iter().chain([way.bell.as_fd()]));
        ways.chain([self.stop.fd()]).collect()
    }
}

/// What a server did in its life.
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
    /// Ticks of emitters that were passed over because they were late.
    pub emits_skipped: u64,
    /// Deliveries written.
    pub deliveries: u64,
    /// Deliveries that gave way in a full queue.
    pub dropped: u64,
    /// Subscribers disconnected because their queue was full.
    pub disconnected: u64,
}

/// Serves until it is told to stop: by `/shutdown` or [`Options::stop`]. `ready` is told where
/// it listens once it does; the calling thread runs the first event loop.
///
/// # Errors
/// What prevents listening (the address is taken or not ours), a failing poller, and a truth
/// log that cannot be written.
pub fn serve(options: Options, ready: impl FnOnce(SocketAddr)) -> io::Result<Summary> {
    let threads = options.threads.max(1);
    // A crowd needs descriptors; where the limit cannot be raised, accepting says so.
    let _ = limits::raise_open_files();
    if let Some(path) = &options.truth {
        File::create(path)?; // rather now than after the run
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
        ways: bells.iter().map(Way::to).collect::<io::Result<_>>()?,
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

impl Way {
    fn to(bell: &Waker) -> io::Result<Way> {
        Ok(Way { waiting: Mutex::default(), hatch: Hatch::new()?, bell: bell.clone() })
    }
}

type Loop = JoinHandle<io::Result<Option<Truth>>>;

/// The threads beside the calling one, each with its own listener (the kernel spreads connections
/// over them) and, where the kernel can, its own table of open files: the limit counts each alone.
/// All of them listen when this returns; if one cannot, none does.
fn start_others(
    shared: &Arc<Shared>,
    address: SocketAddr,
    bells: impl Iterator<Item = Waker>,
) -> io::Result<Vec<Loop>> {
    let (listening, heard) = channel();
    let start = |(index, bell): (usize, Waker)| {
        let (shared, listening) = (shared.clone(), listening.clone());
        let name = format!("pushmark-serve-{}", index + 1);
        std::thread::Builder::new()
            .name(name)
            .spawn(move || other(shared, index + 1, address, bell, listening))
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

fn other(
    shared: Arc<Shared>,
    index: usize,
    address: SocketAddr,
    bell: Waker,
    listening: Sender<io::Result<()>>,
) -> io::Result<Option<Truth>> {
    // Before Linux 5.9 the process's table holds everybody.
    let _ = files::part(&shared.shared_fds());
    let listener = match Listener::bind(address, shared.options.backlog, true) {
        Ok(listener) => listener,
        Err(error) => {
            // Who waits for it hears why; nobody else needs to.
            let _ = listening.send(Err(error));
            return Ok(None);
        }
    };
    let _ = listening.send(Ok(()));
    drop(listening);
    Shard::run(shared, index, listener, bell)
}

/// Runs the first loop, and waits for all; the first failure stops the others.
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
