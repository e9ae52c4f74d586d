//! Readiness of descriptors, with timeouts in nanoseconds, in one of two ways. Epoll is level-triggered,
//! except for [`Interest::Arrivals`]. Io_uring delivers the received bytes with the event
//! ([`Interest::Bytes`]) and leaves everything else to epoll.
//!
//! Mio is not used, because it rounds timeouts up to whole milliseconds. That rounding would be the largest
//! error of the instrument.

use std::cell::RefCell;
use std::io;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use rustix::event::epoll::{self, EventData};
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::Nanos;
use crate::ready::{Arrival, BATCH_MAX, Interest, Ready};
use crate::ring::Ring;
use crate::transfer::Read;

/// An epoll instance, an optional ring, and the buffer for their events.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    ring: Option<RefCell<Ring>>,
    ready: Arc<Vec<Ready>>,
}

impl Poller {
    /// Makes a poller with epoll. Dropping it closes it.
    pub fn new() -> io::Result<Poller> {
        Ok(Poller {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            ring: None,
            ready: Arc::new(Vec::with_capacity(BATCH_MAX)),
        })
    }

    /// Makes a poller that reads with io_uring. It must stay in the thread that made it.
    ///
    /// # Errors
    /// The kernel's error, if io_uring or a needed feature is missing or forbidden.
    pub fn with_ring() -> io::Result<Poller> {
        Ok(Poller { ring: Some(RefCell::new(Ring::new()?)), ..Poller::new()? })
    }

    /// Starts to watch `fd`. Call [`Poller::forget`] before the descriptor is closed.
    pub fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        if let Some(ring) = &self.ring {
            ring.borrow_mut().note_epoll(fd, true);
        }
        let data = EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, fd, data, flags(interest))?)
    }

    /// Changes the interest and the token of a watched descriptor.
    pub fn modify(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        let Some(ring) = &self.ring else { return self.in_epoll(fd, token, interest, true) };
        let mut ring = ring.borrow_mut();
        let (receives, in_epoll) = (ring.receives(fd), ring.in_epoll(fd));
        match interest {
            Interest::Bytes => {
                if in_epoll {
                    epoll::delete(&self.epoll, fd)?;
                    ring.note_epoll(fd, false);
                }
                if receives { ring.go_on(fd) } else { ring.receive(fd, token) }
            }
            other => {
                // Epoll does not watch for input that the ring reads.
                let other = if receives { Interest::Write } else { other };
                ring.note_epoll(fd, true);
                self.in_epoll(fd, token, other, in_epoll)
            }
        }
    }

    fn in_epoll(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest, known: bool) -> io::Result<()> {
        let data = EventData::new_u64(token);
        match known {
            true => epoll::modify(&self.epoll, fd, data, flags(interest))?,
            false => epoll::add(&self.epoll, fd, data, flags(interest))?,
        }
        Ok(())
    }

    /// Stops reading a descriptor that the ring reads, until [`Interest::Bytes`] is requested again. Further
    /// bytes wait with the peer. Bytes read before are still reported.
    pub fn hold(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        self.ring.as_ref().map_or(Ok(()), |ring| ring.borrow_mut().hold(fd))
    }

    /// Stops watching a descriptor that stays open.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let watched = self.ring.as_ref().is_none_or(|ring| ring.borrow().in_epoll(fd));
        self.forget(fd);
        if watched {
            epoll::delete(&self.epoll, fd)?;
        }
        Ok(())
    }

    /// Stops watching a descriptor that is closed next. Epoll does this itself; a ring keeps the connection
    /// open until this call.
    pub fn forget(&self, fd: BorrowedFd<'_>) {
        if let Some(ring) = &self.ring {
            // This fails only if nothing can be submitted to the kernel any more. The next wait then reports
            // the error.
            let _ = ring.borrow_mut().forget(fd);
        }
    }

    /// Returns whether this poller reads the descriptor itself. Then no other code may read it.
    pub fn reads(&self, fd: BorrowedFd<'_>) -> bool {
        self.ring.as_ref().is_some_and(|ring| ring.borrow().receives(fd))
    }

    /// Copies the input of the last wait into `buffer`, which must have room for it.
    ///
    /// # Errors
    /// The connection's error.
    pub fn take(&self, arrival: Arrival, buffer: &mut [u8]) -> io::Result<Read> {
        match arrival {
            Arrival::Bytes { buffer: number, len } => {
                let ring = self.ring.as_ref().expect("only a ring reads").borrow();
                buffer[..len as usize].copy_from_slice(ring.bytes(number, len));
                Ok(Read::Bytes(len as usize))
            }
            Arrival::End => Ok(Read::End),
            Arrival::Error(error) => Err(io::Error::from_raw_os_error(error)),
        }
    }

    /// Waits until something is ready or `timeout_ns` has passed (`None`: for ever; 0: only checks). A
    /// signal, or a ring that ran out of buffers, can end the wait early with an empty batch.
    ///
    /// The batch does not borrow the poller, so a loop over it may add and remove descriptors. A later event
    /// of the batch can belong to a descriptor that was removed during the loop. Tokens with a generation
    /// ([`crate::Slab`]) detect this.
    pub fn wait(&mut self, timeout_ns: Option<Nanos>) -> io::Result<Batch> {
        if Arc::get_mut(&mut self.ready).is_none() {
            // The caller kept the last batch. Allocate a new one.
            self.ready = Arc::new(Vec::with_capacity(BATCH_MAX));
        }
        let ready = Arc::get_mut(&mut self.ready).expect("just made sole owner");
        ready.clear();
        let broken_off = match &mut self.ring {
            None => look(&self.epoll, timeout_ns, ready)?,
            Some(ring) => {
                let waited = ring.get_mut().wait(self.epoll.as_fd(), timeout_ns, ready)?;
                if waited.epoll {
                    look(&self.epoll, Some(0), ready)?;
                }
                waited.broken_off
            }
        };
        Ok(Batch { ready: Arc::clone(&self.ready), next: 0, broken_off })
    }
}

/// Adds the ready descriptors of epoll to `ready`. Returns whether a signal ended the wait.
fn look(epoll: &OwnedFd, timeout_ns: Option<Nanos>, ready: &mut Vec<Ready>) -> io::Result<bool> {
    let timeout = timeout_ns
        .map(|ns| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 });
    let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; BATCH_MAX];
    match epoll::wait(epoll, &mut events, timeout.as_ref()) {
        Ok((happened, _)) => {
            ready.extend(happened.iter().map(seen));
            Ok(false)
        }
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// The events of epoll for an interest.
fn flags(interest: Interest) -> epoll::EventFlags {
    match interest {
        Interest::Read => epoll::EventFlags::IN | epoll::EventFlags::RDHUP,
        Interest::Arrivals | Interest::Bytes => {
            epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET
        }
        Interest::Write => epoll::EventFlags::OUT,
        Interest::Both => epoll::EventFlags::IN | epoll::EventFlags::OUT | epoll::EventFlags::RDHUP,
        Interest::None => epoll::EventFlags::empty(),
    }
}

/// What an event of epoll says of its descriptor.
fn seen(event: &epoll::Event) -> Ready {
    let flags = event.flags;
    let error = flags.contains(epoll::EventFlags::ERR);
    let hangup = flags.intersects(epoll::EventFlags::HUP | epoll::EventFlags::RDHUP);
    Ready {
        token: event.data.u64(),
        readable: flags.contains(epoll::EventFlags::IN) || hangup || error,
        writable: flags.contains(epoll::EventFlags::OUT) || error,
        hangup,
        error,
        arrival: None,
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// The result of one wait: at most [`BATCH_MAX`] ready descriptors and, from a ring, as many arrivals.
#[derive(Debug)]
pub struct Batch {
    ready: Arc<Vec<Ready>>,
    next: usize,
    broken_off: bool,
}

impl Batch {
    /// Returns whether a signal, or a stop of the process, ended the wait. Something may be ready all the
    /// same.
    pub fn is_broken_off(&self) -> bool {
        self.broken_off
    }

    /// Returns the next descriptor without taking it.
    pub fn peek(&self) -> Option<&Ready> {
        self.ready.get(self.next)
    }

    /// Returns whether the batch has its largest size, so that more may be ready.
    pub fn is_full(&self) -> bool {
        self.ready.len() >= BATCH_MAX
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

/// Asks the kernel not to delay the calling thread's timers in order to group them (default 50 µs).
pub fn set_timer_slack_1ns() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}

#[cfg(test)]
#[path = "poller_tests.rs"]
mod tests;
