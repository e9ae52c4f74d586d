//! Readiness of descriptors through epoll, with time-outs in nanoseconds: level-triggered, but
//! where a reader takes all there is ([`Interest::Arrivals`]).
//!
//! Not mio, which rounds its time-outs up to whole milliseconds: a schedule kept to that
//! grain would be the largest error of the instrument.

use std::io;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::epoll::{self, EventData};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::Nanos;

/// Most descriptors one [`Poller::wait`] reports; the rest are reported by the next.
pub const BATCH_MAX: usize = 1024;

/// What a descriptor is watched for. Hang-ups and errors are always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Bytes, or a connection, can be read.
    Read,
    /// Bytes have arrived: told once for each arrival, not again while they lie there
    /// (edge-triggered). It spares the kernel a second look at every socket that was ready,
    /// about a tenth of what a message costs. A reader whose read was not short, or that was
    /// told of an end together with bytes, has to ask again by [`Poller::modify`].
    Arrivals,
    /// Bytes can be written, or a connect has ended.
    Write,
    /// Either.
    Both,
    /// Nothing but errors: a connection that is held back on purpose.
    None,
}

impl Interest {
    fn flags(self) -> epoll::EventFlags {
        match self {
            Interest::Read => epoll::EventFlags::IN | epoll::EventFlags::RDHUP,
            Interest::Arrivals => epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET,
            Interest::Write => epoll::EventFlags::OUT,
            Interest::Both => epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP,
            Interest::None => epoll::EventFlags::empty(),
        }
    }
}

/// One ready descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// As given to [`Poller::add`].
    pub token: u64,
    /// A read would not block; also set at a hang-up, which a read then explains.
    pub readable: bool,
    /// A write would not block; also set at an error, which a write then explains.
    pub writable: bool,
    /// The peer ended its direction, or the connection is gone.
    pub hangup: bool,
    /// The socket has an error pending.
    pub error: bool,
}

impl Ready {
    fn from_event(event: &epoll::Event) -> Ready {
        let flags = event.flags;
        let error = flags.contains(epoll::EventFlags::ERR);
        let hangup = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::RDHUP);
        Ready {
            token: event.data.u64(),
            readable: flags.contains(epoll::EventFlags::IN) || hangup || error,
            writable: flags.contains(epoll::EventFlags::OUT) || error,
            hangup,
            error,
        }
    }
}

/// An epoll instance and the buffer its answers come in.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    ready: Arc<Vec<Ready>>,
}

impl Poller {
    /// Makes an epoll instance; it is closed when dropped.
    pub fn new() -> io::Result<Poller> {
        Ok(Poller {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            ready: Arc::new(Vec::with_capacity(BATCH_MAX)),
        })
    }

    /// Begins to watch `fd`. Closing the descriptor ends it, unless it was duplicated.
    pub fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        let data = EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, fd, data, interest.flags())?)
    }

    /// Changes what a watched descriptor is watched for, and its token.
    pub fn modify(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        let data = EventData::new_u64(token);
        Ok(epoll::modify(&self.epoll, fd, data, interest.flags())?)
    }

    /// Ends watching.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        Ok(epoll::delete(&self.epoll, fd)?)
    }

    /// Waits until something is ready or `timeout_ns` has passed (`None`: for ever; 0: only
    /// looks). A signal ends the wait early with an empty batch.
    ///
    /// The batch does not borrow the poller, so the loop that walks it may add and remove. An
    /// event of a descriptor removed during the walk can still come up in it: tokens with a
    /// generation ([`crate::Slab`]) tell.
    pub fn wait(&mut self, timeout_ns: Option<Nanos>) -> io::Result<Batch> {
        let timeout = timeout_ns
            .map(|ns| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 });
        let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; BATCH_MAX];
        let (happened, broken_off) = match epoll::wait(&self.epoll, &mut events, timeout.as_ref()) {
            Ok((happened, _)) => (happened, false),
            Err(Errno::INTR) => (&mut [][..], true),
            Err(error) => return Err(error.into()),
        };
        if Arc::get_mut(&mut self.ready).is_none() {
            // Someone kept the last batch: leave it to them.
            self.ready = Arc::new(Vec::with_capacity(BATCH_MAX));
        }
        let ready = Arc::get_mut(&mut self.ready).expect("just made sole owner");
        ready.clear();
        ready.extend(happened.iter().map(Ready::from_event));
        Ok(Batch { ready: Arc::clone(&self.ready), next: 0, broken_off })
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// What one wait brought: at most [`BATCH_MAX`] ready descriptors.
#[derive(Debug)]
pub struct Batch {
    ready: Arc<Vec<Ready>>,
    next: usize,
    broken_off: bool,
}

impl Batch {
    /// A signal, or a stop of the process, ended the wait: something may be ready all the same.
    pub fn is_broken_off(&self) -> bool {
        self.broken_off
    }
}

impl Iterator for Batch {
    type Item = Ready;

    fn next(&mut self) -> Option<Ready> {
        let ready = *self.ready.get(self.next)?;
        self.next += 1;
        Some(ready)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.ready.len() - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Batch {}

/// Asks the kernel not to delay the calling thread's timers for company (default 50 µs).
pub fn set_timer_slack_1ns() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Clock, Waker};

    #[test]
    fn a_wait_is_not_rounded_to_milliseconds() {
        set_timer_slack_1ns().unwrap();
        let mut poller = Poller::new().unwrap();
        let shortest_ns = (0..50)
            .map(|_| {
                let before = Clock::now();
                assert_eq!(poller.wait(Some(200_000)).unwrap().len(), 0);
                Clock::now() - before
            })
            .min();
        let shortest_ns = shortest_ns.unwrap();
        assert!((200_000..900_000).contains(&shortest_ns), "{shortest_ns} ns");
    }

    #[test]
    fn the_walk_may_change_what_is_watched() {
        let mut poller = Poller::new().unwrap();
        let (a, b) = (Waker::new().unwrap(), Waker::new().unwrap());
        for (token, waker) in [(1, &a), (2, &b)] {
            poller.add(waker.as_fd(), token, Interest::Read).unwrap();
            waker.ring();
        }
        let mut seen = Vec::new();
        for ready in poller.wait(None).unwrap() {
            assert!(ready.readable && !ready.writable && !ready.hangup);
            poller.remove(if ready.token == 1 { a.as_fd() } else { b.as_fd() }).unwrap();
            seen.push(ready.token);
        }
        seen.sort_unstable();
        assert_eq!(seen, [1, 2]);
        assert_eq!(poller.wait(Some(0)).unwrap().len(), 0);
    }

    #[test]
    fn arrivals_are_told_once_and_again_when_asked() {
        let mut poller = Poller::new().unwrap();
        let waker = Waker::new().unwrap();
        poller.add(waker.as_fd(), 7, Interest::Arrivals).unwrap();
        waker.ring();
        assert_eq!(poller.wait(None).unwrap().len(), 1);
        assert_eq!(poller.wait(Some(0)).unwrap().len(), 0, "nothing new has arrived");
        waker.ring();
        assert_eq!(poller.wait(Some(0)).unwrap().len(), 1, "the second has");
        poller.modify(waker.as_fd(), 7, Interest::Arrivals).unwrap();
        assert_eq!(poller.wait(Some(0)).unwrap().len(), 1, "what lies there is told anew");
    }

    #[test]
    fn a_batch_that_was_kept_stays_as_it_was() {
        let mut poller = Poller::new().unwrap();
        let waker = Waker::new().unwrap();
        poller.add(waker.as_fd(), 7, Interest::Read).unwrap();
        waker.ring();
        let kept = poller.wait(None).unwrap();
        waker.silence();
        assert_eq!(poller.wait(Some(0)).unwrap().len(), 0);
        assert_eq!(kept.map(|r| r.token).collect::<Vec<_>>(), [7]);
    }
}
