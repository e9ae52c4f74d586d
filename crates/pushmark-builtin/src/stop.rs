//! Stops a running server from anywhere.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pushmark_net::Waker;

/// A stop request for every event loop. Clones share it.
#[derive(Clone, Debug)]
pub struct Stop {
    requested: Arc<AtomicBool>,
    bell: Waker,
}

impl Stop {
    /// Makes a stop that is not yet requested.
    pub fn new() -> io::Result<Stop> {
        Ok(Stop { requested: Arc::new(AtomicBool::new(false)), bell: Waker::new()? })
    }

    /// Requests the stop. It is one atomic store and one `write`, so a signal handler may call it.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Release);
        self.bell.ring();
    }

    /// Returns whether the stop was requested.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Acquire)
    }

    /// Readable once requested, permanently, because this waker is never silenced.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
