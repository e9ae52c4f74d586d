//! Arrivals through io_uring: bytes come with the news of them, without a system call for each.
//!
//! A connection is given to the kernel once (multishot receive) and the kernel fills
//! buffers from a common pool (provided buffers) as bytes arrive. Everything else (connects, room
//! to write, the publisher) stays with epoll, whose descriptor the ring watches like any other:
//! one place to wait for both.
//!
//! What arrives is dealt with when the thread asks for it (deferred task work, Linux 6.1), and at no
//! other time: a thread that lets arrivals gather is not woken by each of them.
//!
//! Descriptors are not registered: a multishot receive looks its file up once.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::{BufRingEntry, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::io::Errno;

use crate::Nanos;
use crate::poller::{Arrival, BATCH_MAX, Ready};

/// Requests that are given to the kernel at once.
const SUBMISSIONS: u32 = 1_024;
/// Completions that may wait. Beyond that the kernel keeps them in memory of its own.
const COMPLETIONS: u32 = 8_192;
/// Buffers in the pool; a power of two. A batch holds [`BATCH_MAX`] of them at most, so that the
/// kernel always has some.
const BUFFERS: u16 = 4_096;
/// So many arrivals the kernel deals with where one is waited for; it leaves the others there
/// (`IO_LOCAL_TW_DEFAULT_MAX`).
const DEALT_WITH: usize = 20;
/// Bytes of each: a message of the usual size and its frame.
const BUFFER_LEN: usize = 1_024;
/// The number of the one pool.
const POOL: u16 = 0;
/// Marks what is no receive: the watch over epoll, and answers to cancellations.
const EPOLL_KEY: u64 = u64::MAX;
const CANCEL_KEY: u64 = u64::MAX - 1;

/// A ring, its pool, and who is received from.
pub(crate) struct Ring {
    uring: IoUring,
    pool: Pool,
    /// By number of the descriptor.
    watches: Vec<Watch>,
    /// Of the last receive that was begun; never 0.
    sequence: u32,
    /// Receives that ended for want of buffers.
    ended: Vec<(RawFd, u32)>,
    /// The kernel will tell when epoll has something.
    watches_epoll: bool,
}

/// What is watched of a descriptor.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    token: u64,
    /// Of its receive; 0: none.
    sequence: u32,
    in_epoll: bool,
}

/// What a wait brought besides arrivals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waited {
    /// A signal ended it.
    pub(crate) broken_off: bool,
    /// Epoll has something.
    pub(crate) epoll: bool,
}

impl Ring {
    /// A ring with its pool.
    ///
    /// # Errors
    /// The kernel's, where it has no io_uring, lacks what is needed of it, or forbids it.
    pub(crate) fn new() -> io::Result<Ring> {
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)?;
        let pool = Pool::new(&uring)?;
        Ok(Ring { uring, pool, watches: Vec::new(), sequence: 0, ended: Vec::new(), watches_epoll: false })
    }

    fn watch(&mut self, fd: RawFd) -> &mut Watch {
        let at = fd as usize;
        if at >= self.watches.len() {
            self.watches.resize(at + 1, Watch::default());
        }
        &mut self.watches[at]
    }

    /// Whether bytes of this descriptor come through the ring.
    pub(crate) fn receives(&self, fd: BorrowedFd<'_>) -> bool {
        self.watches.get(fd.as_raw_fd() as usize).is_some_and(|watch| watch.sequence != 0)
    }

    /// Whether epoll watches it too.
    pub(crate) fn in_epoll(&self, fd: BorrowedFd<'_>) -> bool {
        self.watches.get(fd.as_raw_fd() as usize).is_some_and(|watch| watch.in_epoll)
    }

    /// Notes whether epoll watches it.
    pub(crate) fn note_epoll(&mut self, fd: BorrowedFd<'_>, in_epoll: bool) {
        self.watch(fd.as_raw_fd()).in_epoll = in_epoll;
    }

    /// From now on its bytes come through the ring.
    pub(crate) fn receive(&mut self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let sequence = self.sequence;
        let watch = self.watch(fd);
        (watch.token, watch.sequence) = (token, sequence);
        self.push(opcode::RecvMulti::new(Fd(fd), POOL).build().user_data(key(fd, sequence)))
    }

    /// Ends what is watched of it. What has arrived meanwhile is told no more.
    ///
    /// The kernel holds on to a connection it receives from: without this a close would not close.
    pub(crate) fn forget(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        let watch = std::mem::take(self.watch(fd));
        match watch.sequence {
            0 => Ok(()),
            sequence => {
                let cancel = opcode::AsyncCancel::new(key(fd, sequence)).build().user_data(CANCEL_KEY);
                self.push(cancel)
            }
        }
    }

    fn push(&mut self, entry: squeue::Entry) -> io::Result<()> {
        // SAFETY: no entry refers to memory of ours: receives take the pool's, which outlives the ring.
        while unsafe { self.uring.submission().push(&entry) }.is_err() {
            self.uring.submit()?;
        }
        Ok(())
    }

    /// Waits until something has come or `timeout_ns` has passed, and adds what came to `ready`.
    /// Buffers of the batch before go back to the kernel.
    pub(crate) fn wait(
        &mut self,
        epoll: BorrowedFd<'_>,
        timeout_ns: Option<Nanos>,
        ready: &mut Vec<Ready>,
    ) -> io::Result<Waited> {
        self.pool.give_back();
        for (fd, sequence) in std::mem::take(&mut self.ended) {
            if self.watches[fd as usize].sequence == sequence {
                self.push(opcode::RecvMulti::new(Fd(fd), POOL).build().user_data(key(fd, sequence)))?;
            }
        }
        if !self.watches_epoll {
            let poll = opcode::PollAdd::new(Fd(epoll.as_raw_fd()), libc::POLLIN as u32);
            self.push(poll.build().user_data(EPOLL_KEY))?;
            self.watches_epoll = true;
        }
        let mut broken_off = self.enter(1, timeout_ns)?;
        if self.uring.completion().len() >= DEALT_WITH {
            broken_off |= self.enter(BATCH_MAX, Some(0))?;
        }
        let mut waited = Waited { broken_off, epoll: false };
        let Ring { uring, pool, watches, ended, watches_epoll, .. } = self;
        for completion in uring.completion().take(BATCH_MAX) {
            match completion.user_data() {
                CANCEL_KEY => {}
                EPOLL_KEY => {
                    *watches_epoll = false;
                    waited.epoll = true;
                }
                key => {
                    let (fd, sequence) = (key as u32 as RawFd, (key >> 32) as u32);
                    let (result, flags) = (completion.result(), completion.flags());
                    let buffer = cqueue::buffer_select(flags);
                    pool.lent.extend(buffer);
                    let watch = &mut watches[fd as usize];
                    if watch.sequence != sequence {
                        // Of a connection that was forgotten since.
                        continue;
                    }
                    let starved = result == -Errno::NOBUFS.raw_os_error();
                    if !cqueue::more(flags) {
                        match result > 0 || starved {
                            true => ended.push((fd, sequence)),
                            false => watch.sequence = 0,
                        }
                    }
                    let arrival = match (result, buffer) {
                        _ if starved => continue,
                        (1.., Some(buffer)) => Arrival::Bytes { buffer, len: result as u32 },
                        (0.., _) => Arrival::End,
                        (error, _) => Arrival::Error(-error),
                    };
                    ready.push(Ready::arrived(watch.token, arrival));
                }
            }
        }
        Ok(waited)
    }

    /// Hands over what is to be begun and waits for so many completions; gives whether a signal ended
    /// the wait.
    fn enter(&mut self, want: usize, timeout_ns: Option<Nanos>) -> io::Result<bool> {
        let entered = match timeout_ns {
            None => self.uring.submit_and_wait(want),
            Some(ns) => {
                let time = Timespec::new().sec(ns / 1_000_000_000).nsec((ns % 1_000_000_000) as u32);
                self.uring.submitter().submit_with_args(want, &SubmitArgs::new().timespec(&time))
            }
        };
        match entered {
            Ok(_) => Ok(false),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::TIME | Errno::BUSY) => Ok(false),
                Some(Errno::INTR) => Ok(true),
                _ => Err(error),
            },
        }
    }

    /// The bytes of an arrival of the last batch.
    pub(crate) fn bytes(&self, buffer: u16, len: u32) -> &[u8] {
        self.pool.bytes(buffer, len)
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").field("sequence", &self.sequence).finish_non_exhaustive()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // Receives that are still under way find no buffers from here on, so that the pool's memory
        // can go. Fails only where there is no pool.
        let _ = self.uring.submitter().unregister_buf_ring(POOL);
    }
}

/// Which receive a completion is of: the descriptor's number, and a sequence that tells apart those
/// that had this number one after the other.
fn key(fd: RawFd, sequence: u32) -> u64 {
    u64::from(sequence) << 32 | u64::from(fd as u32)
}

/// Buffers that the kernel fills, and the queue by which they are given to it.
struct Pool {
    entries: NonNull<BufRingEntry>,
    memory: Box<[UnsafeCell<u8>]>,
    tail: u16,
    /// Held by the last batch.
    lent: Vec<u16>,
}

// SAFETY: the pool is reached through its owner alone, and the kernel does not mind which thread.
unsafe impl Send for Pool {}

impl Pool {
    fn new(uring: &IoUring) -> io::Result<Pool> {
        // SAFETY: the layout has a size.
        let memory = unsafe { alloc_zeroed(Pool::layout()) };
        let Some(entries) = NonNull::new(memory.cast::<BufRingEntry>()) else {
            handle_alloc_error(Pool::layout());
        };
        let memory = (0..usize::from(BUFFERS) * BUFFER_LEN).map(|_| UnsafeCell::new(0)).collect();
        let mut pool = Pool { entries, memory, tail: 0, lent: (0..BUFFERS).collect() };
        // SAFETY: the entries are zeroed, aligned to a page, of the length given, and unregistered
        // before they are freed.
        unsafe { uring.submitter().register_buf_ring_with_flags(entries.as_ptr() as u64, BUFFERS, POOL, 0)? };
        pool.give_back();
        Ok(pool)
    }

    fn layout() -> Layout {
        let len = usize::from(BUFFERS) * size_of::<BufRingEntry>();
        Layout::from_size_align(len, 4_096).expect("a power of two")
    }

    /// All that was lent is the kernel's again.
    fn give_back(&mut self) {
        if self.lent.is_empty() {
            return;
        }
        for buffer in self.lent.drain(..) {
            let at = usize::from(self.tail & (BUFFERS - 1));
            let start = self.memory[usize::from(buffer) * BUFFER_LEN].get();
            // SAFETY: within the ring; the kernel does not look at entries from the tail on.
            let entry = unsafe { &mut *self.entries.as_ptr().add(at) };
            entry.set_addr(start as u64);
            entry.set_len(BUFFER_LEN as u32);
            entry.set_bid(buffer);
            self.tail = self.tail.wrapping_add(1);
        }
        // SAFETY: the first entry of a ring that is registered; its tail is a u16 that is aligned.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    fn bytes(&self, buffer: u16, len: u32) -> &[u8] {
        let start = usize::from(buffer) * BUFFER_LEN;
        let cells = &self.memory[start..start + len as usize];
        debug_assert!(self.lent.contains(&buffer), "the kernel may write into it");
        // SAFETY: lent to us until `give_back`, which needs the pool for itself.
        unsafe { std::slice::from_raw_parts(cells.as_ptr().cast(), cells.len()) }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout; unregistered by the ring's own drop, which comes first.
        unsafe { dealloc(self.entries.as_ptr().cast(), Pool::layout()) };
    }
}
