//! A bell one thread rings to end another's [`crate::Poller::wait`].

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};

/// An eventfd. Clones are the same bell; it is readable from the first ring until silenced.
#[derive(Clone, Debug)]
pub struct Waker {
    fd: Arc<OwnedFd>,
}

impl Waker {
    /// Makes a silent bell, to be added to the poller of the thread that is to hear it.
    pub fn new() -> io::Result<Waker> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Waker { fd: Arc::new(eventfd(0, flags)?) })
    }

    /// Rings. Any number of rings before it is silenced wake once.
    pub fn ring(&self) {
        // It can fail only where the count would overflow: it is ringing, then.
        let _ = rustix::io::write(&*self.fd, &1u64.to_ne_bytes());
    }

    /// Silences it. Do so before looking for work, so that a ring in between is not lost.
    pub fn silence(&self) {
        // It can fail only where nobody rang.
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
