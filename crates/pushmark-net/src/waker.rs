//! A signal from one thread that ends another thread's [`crate::Poller::wait`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// An eventfd. Clones share it. It is readable from the first ring until silenced.
#[derive(Clone, Debug)]
pub struct Waker {
    fd: Arc<OwnedFd>,
}

impl Waker {
    /// Makes a silent waker. Add it to the poller of the thread to wake.
    pub fn new() -> io::Result<Waker> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Waker { fd: Arc::new(eventfd(0, flags)?) })
    }

    /// Wakes the thread. Any number of rings before it is silenced wake it once.
    pub fn ring(&self) {
        // This can fail only if the counter would overflow. Then it is already ringing.
        let _ = rustix::io::write(&*self.fd, &1u64.to_ne_bytes());
    }

    /// Resets it. Call this before checking for work, so that a ring in between is not lost.
    pub fn silence(&self) {
        // This can fail only if it was not ringing.
        let _ = rustix::io::read(&*self.fd, &mut [0u8; 8]);
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Interest, Poller};

    #[test]
    fn rings_from_another_thread_end_the_wait_until_silenced() {
        let mut poller = Poller::new().unwrap();
        let bell = Waker::new().unwrap();
        poller.add(bell.as_fd(), 9, Interest::Read).unwrap();
        let rope = bell.clone();
        let ringer = std::thread::spawn(move || (0..3).for_each(|_| rope.ring()));
        assert_eq!(poller.wait(None).unwrap().next().unwrap().token, 9);
        ringer.join().unwrap();
        bell.silence();
        assert_eq!(poller.wait(Some(0)).unwrap().len(), 0);
    }
}
