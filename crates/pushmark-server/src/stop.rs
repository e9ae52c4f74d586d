//! Asking a running server to stop, from anywhere.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pushmark_net::Waker;

/// A request to stop that every event loop hears; clones are the same request.
#[derive(Clone, Debug)]
pub struct Stop {
    requested: Arc<AtomicBool>,
    bell: Waker,
}

impl Stop {
    /// Makes one that is not requested yet.
    pub fn new() -> io::Result<Stop> {
        Ok(Stop { requested: Arc::new(AtomicBool::new(false)), bell: Waker::new()? })
    }

    /// Asks for the stop. One atomic store and one `write`: a signal handler may call it.
    pub fn request(&self) {
        self.requested.store(true, Ordering::Release);
        self.bell.ring();
    }

    /// Whether it was asked for.
    pub fn is_requested(&self) -> bool {
        self.requested.load(Ordering::Acquire)
    }

    /// Readable once requested, and for ever after: nobody silences this bell.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.bell.as_fd()
    }
}
