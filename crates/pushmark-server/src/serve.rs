//! A server from start to end: bind, one loop a thread, and what they did together.

use std::fs::File;
use std::hash::RandomState;
use std::io::{self, BufWriter};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard};

use pushmark_net::{Listener, Waker, limits};

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
    /// Connections on their way to each thread, and its bell.
    moved: Vec<(Mutex<Vec<Moved>>, Waker)>,
}

impl Shared {
    pub(crate) fn emitters(&self) -> MutexGuard<'_, Emitters> {
        self.emitters.lock().expect("no thread panics with the emitters")
    }

    /// Browsers with a held connect.
    pub(crate) fn browsers(&self) -> MutexGuard<'_, Browsers> {
        self.browsers.lock().expect("no thread panics with the browsers")
    }

    /// Gives a connection to another thread.
    pub(crate) fn hand_over(&self, thread: usize, moved: Moved) {
        let (waiting, bell) = &self.moved[thread];
        waiting.lock().expect("no thread panics with connections").push(moved);
        bell.ring();
    }

    /// What was given to this one.
    pub(crate) fn take_moved(&self, thread: usize) -> Vec<Moved> {
        std::mem::take(&mut *self.moved[thread].0.lock().expect("no thread panics with connections"))
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
    let listeners = bind(&options, threads)?;
    let address = listeners[0].local_addr()?;
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
        moved: bells.iter().map(|bell| (Mutex::default(), bell.clone())).collect(),
        options,
    });
    ready(address);
    let truth = run(&shared, listeners, bells)?;
    if let (Some(path), Some(mut truth)) = (&shared.options.truth, truth) {
        let (_, listings, _) = shared.hub.listings(usize::MAX);
        let names: Vec<&str> = listings.iter().map(|listing| &*listing.name).collect();
        truth.write(&names, &mut BufWriter::new(File::create(path)?))?;
    }
    Ok(summary(&shared))
}

/// One listener a thread; with several, the kernel spreads connections over them.
fn bind(options: &Options, threads: usize) -> io::Result<Vec<Listener>> {
    let several = threads > 1;
    let first = Listener::bind(options.address, options.backlog, several)?;
    let address = first.local_addr()?;
    let mut listeners = vec![first];
    for _ in 1..threads {
        listeners.push(Listener::bind(address, options.backlog, several)?);
    }
    Ok(listeners)
}

/// Runs all loops to their end; the first failure stops the others.
fn run(shared: &Arc<Shared>, listeners: Vec<Listener>, bells: Vec<Waker>) -> io::Result<Option<Truth>> {
    let mut parts = listeners.into_iter().zip(bells).enumerate();
    let (_, (listener, bell)) = parts.next().expect("at least one thread");
    let others = parts
        .map(|(index, (listener, bell))| {
            let shared = shared.clone();
            let name = format!("pushmark-serve-{index}");
            std::thread::Builder::new().name(name).spawn(move || Shard::run(shared, index, listener, bell))
        })
        .collect::<io::Result<Vec<_>>>();
    let others = match others {
        Ok(others) => others,
        Err(error) => {
            shared.stop.request();
            return Err(error);
        }
    };
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
