//! What the threads of a server share, and the path of connections from one thread to another.
//!
//! Nothing of it is held while anybody is written to.

use std::hash::RandomState;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard};

use pushmark_net::files::{FdChannel, Keeps};
use pushmark_net::{Link, Waker};

use crate::bayeux::Browsers;
use crate::connection::Moving;
use crate::emitters::Emitters;
use crate::faults::fate::Fates;
use crate::hub::Hub;
use crate::options::Options;
use crate::stats::Counters;
use crate::stop::Stop;

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

/// The data that moves with a connection between two threads.
#[derive(Debug)]
pub(crate) struct Moved {
    pub(crate) ordinal: u32,
    pub(crate) moving: Moving,
    /// Bytes that were read after the messages.
    pub(crate) inbound: Vec<u8>,
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

impl ThreadInbox {
    fn to(bell: &Waker) -> io::Result<ThreadInbox> {
        Ok(ThreadInbox { waiting: Mutex::default(), fd_channel: FdChannel::new()?, bell: bell.clone() })
    }
}

impl Shared {
    /// What the threads with these bells share, at least one.
    ///
    /// # Errors
    /// No room for the channels between them, or a stop that cannot be made.
    pub(crate) fn new(options: Options, bells: &[Waker]) -> io::Result<Shared> {
        Ok(Shared {
            hub: Hub::new(bells.iter().cloned()),
            fates: Fates::new(&options.faults),
            stop: options.stop.clone().map_or_else(Stop::new, Ok)?,
            logging: AtomicBool::new(false),
            ordinals: AtomicU32::new(0),
            registered: AtomicU64::new(0),
            counters: bells.iter().map(|_| Arc::new(Counters::new())).collect(),
            emitter_bell: bells[0].clone(),
            emitters: Mutex::new(Emitters::new(options.faults.stop_emitters_after)),
            browser_key: RandomState::new(),
            browsers: Mutex::default(),
            ways: bells.iter().map(ThreadInbox::to).collect::<io::Result<_>>()?,
            options,
        })
    }

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
