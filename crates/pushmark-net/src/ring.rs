//! Arrivals through io_uring: bytes are delivered with the event, without a system call for each.
//!
//! A connection is given to the kernel once (multishot receive). The kernel fills buffers from a common pool
//! (provided buffers) as bytes arrive. Everything else (connects, room to write, the publisher) stays with
//! epoll. The ring watches the epoll descriptor like any other, so one wait covers both.
//!
//! Arrivals are processed only when the thread asks for them (deferred task work, Linux 6.1). A thread that
//! lets arrivals gather is not woken by each of them.
//!
//! Descriptors are not registered: a multishot receive looks its file up once.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::types::{BufRingEntry, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::io::Errno;

use crate::Nanos;
use crate::ready::{Arrival, BATCH_MAX, Ready};

/// Requests that can be submitted at once.
const SUBMISSIONS: u32 = 1_024;
/// Completions that can wait in the ring. The kernel keeps further ones in its own memory.
const COMPLETIONS: u32 = 8_192;
/// Buffers in the pool; a power of two. A batch holds at most [`BATCH_MAX`] of them, so that the kernel
/// always has some.
const BUFFERS: u16 = 4_096;
/// Arrivals that the kernel processes if one is waited for. It leaves the others (`IO_LOCAL_TW_DEFAULT_MAX`).
const DEALT_WITH: usize = 20;
/// Receives that are started again in one wait. Each takes up to 32 buffers at once where much has arrived
/// (`MULTISHOT_MAX_RETRY`). More starts than the pool can feed would end at once, and connections that flood
/// would starve the others.
const STARTS_MAX: usize = 64;
/// Bytes of each buffer: a message of the usual size and its frame.
const BUFFER_LEN: usize = 1_024;
/// The number of the only pool.
const POOL: u16 = 0;
/// Marks completions other than receives: the watch over epoll, and replies to cancellations.
const EPOLL_KEY: u64 = u64::MAX;
const CANCEL_KEY: u64 = u64::MAX - 1;

/// A ring, its pool, and the connections it receives from.
pub(crate) struct Ring {
    uring: IoUring,
    pool: Pool,
    /// Indexed by descriptor number.
    watches: Vec<Watch>,
    /// The sequence of the last receive that was started; never 0.
    sequence: u32,
    /// Receives that ended and are to be started again, in the order in which they ended.
    ended: VecDeque<(RawFd, u32)>,
    /// The kernel will report when epoll is ready.
    watches_epoll: bool,
}

/// The watch state of a descriptor.
#[derive(Clone, Copy, Debug, Default)]
struct Watch {
    token: u64,
    /// Sequence of its receive; 0 if the ring does not receive from it.
    sequence: u32,
    in_epoll: bool,
    /// Nothing more is to be received for now. Bytes that the kernel has already received are reported.
    held: bool,
    /// Its receive has ended because it is held.
    stopped: bool,
}

/// The result of a wait, except arrivals.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Waited {
    /// A signal ended the wait.
    pub(crate) broken_off: bool,
    /// Epoll is ready.
    pub(crate) epoll: bool,
}

impl Ring {
    /// Makes a ring with its pool.
    ///
    /// # Errors
    /// The kernel's error, if io_uring or a needed feature is missing or forbidden.
    pub(crate) fn new() -> io::Result<Ring> {
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(COMPLETIONS)
            .build(SUBMISSIONS)?;
        let pool = Pool::new(&uring)?;
        Ok(Ring {
            uring,
            pool,
            watches: Vec::new(),
            sequence: 0,
            ended: VecDeque::new(),
            watches_epoll: false,
        })
    }

    fn watch(&mut self, fd: RawFd) -> &mut Watch {
        let at = fd as usize;
        if at >= self.watches.len() {
            self.watches.resize(at + 1, Watch::default());
        }
        &mut self.watches[at]
    }

    /// Returns whether the ring receives the bytes of this descriptor.
    pub(crate) fn receives(&self, fd: BorrowedFd<'_>) -> bool {
        self.watches.get(fd.as_raw_fd() as usize).is_some_and(|watch| watch.sequence != 0)
    }

    /// Returns whether epoll watches it, too.
    pub(crate) fn in_epoll(&self, fd: BorrowedFd<'_>) -> bool {
        self.watches.get(fd.as_raw_fd() as usize).is_some_and(|watch| watch.in_epoll)
    }

    /// Records whether epoll watches it.
    pub(crate) fn note_epoll(&mut self, fd: BorrowedFd<'_>, in_epoll: bool) {
        self.watch(fd.as_raw_fd()).in_epoll = in_epoll;
    }

    /// Starts to receive the descriptor's bytes through the ring.
    pub(crate) fn receive(&mut self, fd: BorrowedFd<'_>, token: u64) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        self.sequence = self.sequence.wrapping_add(1).max(1);
        let sequence = self.sequence;
        let watch = self.watch(fd);
        (watch.token, watch.sequence) = (token, sequence);
        self.push(opcode::RecvMulti::new(Fd(fd), POOL).build().user_data(key(fd, sequence)))
    }

    /// Stops receiving for now, so that further bytes wait with the peer.
    pub(crate) fn hold(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let fd = fd.as_raw_fd();
        let watch = self.watch(fd);
        if watch.sequence == 0 || std::mem::replace(&mut watch.held, true) {
            return Ok(());
        }
        let sequence = watch.sequence;
        self.push(opcode::AsyncCancel::new(key(fd, sequence)).build().user_data(CANCEL_KEY))
    }

    /// Resumes a held receive.
    pub(crate) fn go_on(&mut self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let watch = self.watch(fd.as_raw_fd());
        let (token, stopped) = (watch.token, std::mem::take(&mut watch.stopped));
        // A receive that is being cancelled is started again when its completion arrives.
        watch.held = false;
        if stopped { self.receive(fd, token) } else { Ok(()) }
    }

    /// Stops watching the descriptor. Arrivals since the last wait are not reported any more.
    ///
    /// The kernel holds a reference to a connection it receives from. Without this call, a close would not
    /// end the connection.
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
        // SAFETY: no entry refers to our memory. Receives use the pool, which outlives the ring.
        while unsafe { self.uring.submission().push(&entry) }.is_err() {
            self.uring.submit()?;
        }
        Ok(())
    }

    /// Waits until something arrives or `timeout_ns` has passed, and adds the arrivals to `ready`. Returns
    /// the buffers of the previous batch to the kernel.
    pub(crate) fn wait(
        &mut self,
        epoll: BorrowedFd<'_>,
        timeout_ns: Option<Nanos>,
        ready: &mut Vec<Ready>,
    ) -> io::Result<Waited> {
        self.pool.give_back();
        for _ in 0..STARTS_MAX {
            let Some((fd, sequence)) = self.ended.pop_front() else { break };
            let watch = &mut self.watches[fd as usize];
            if watch.sequence == sequence && watch.held {
                watch.stopped = true;
            } else if watch.sequence == sequence {
                self.push(opcode::RecvMulti::new(Fd(fd), POOL).build().user_data(key(fd, sequence)))?;
            }
        }
        if !self.watches_epoll {
            let poll = opcode::PollAdd::new(Fd(epoll.as_raw_fd()), libc::POLLIN as u32);
            self.push(poll.build().user_data(EPOLL_KEY))?;
            self.watches_epoll = true;
        }
        let timeout_ns = if self.ended.is_empty() { timeout_ns } else { Some(0) };
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
                        // The connection was forgotten meanwhile.
                        continue;
                    }
                    let starved = result == -Errno::NOBUFS.raw_os_error();
                    // Cancelled by us. The connection is intact.
                    let cancelled = result == -Errno::CANCELED.raw_os_error();
                    if !cqueue::more(flags) {
                        match result > 0 || starved || cancelled {
                            true => ended.push_back((fd, sequence)),
                            false => watch.sequence = 0,
                        }
                    }
                    let arrival = match (result, buffer) {
                        _ if starved || cancelled => continue,
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

    /// Submits pending requests and waits for `want` completions. Returns whether a signal ended the wait.
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

    /// Returns the bytes of an arrival of the last batch.
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
        // Receives that are still under way find no buffers from now on, so that the pool's memory can be
        // freed. This fails only if there is no pool.
        let _ = self.uring.submitter().unregister_buf_ring(POOL);
    }
}

/// Identifies the receive of a completion: the descriptor's number, and a sequence that distinguishes
/// receives that had the same number one after the other.
fn key(fd: RawFd, sequence: u32) -> u64 {
    u64::from(sequence) << 32 | u64::from(fd as u32)
}

/// Buffers that the kernel fills, and the queue that hands them to it.
struct Pool {
    entries: NonNull<BufRingEntry>,
    memory: Box<[UnsafeCell<u8>]>,
    tail: u16,
    /// The buffers of the last batch.
    lent: Vec<u16>,
}

// SAFETY: only the owner accesses the pool, and the kernel accepts any thread.
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
        // SAFETY: the entries are zeroed, aligned to a page, have the given length, and are unregistered
        // before they are freed.
        unsafe { uring.submitter().register_buf_ring_with_flags(entries.as_ptr() as u64, BUFFERS, POOL, 0)? };
        pool.give_back();
        Ok(pool)
    }

    fn layout() -> Layout {
        let len = usize::from(BUFFERS) * size_of::<BufRingEntry>();
        Layout::from_size_align(len, 4_096).expect("a power of two")
    }

    /// Returns all lent buffers to the kernel.
    fn give_back(&mut self) {
        if self.lent.is_empty() {
            return;
        }
        for buffer in self.lent.drain(..) {
            let at = usize::from(self.tail & (BUFFERS - 1));
            let start = self.memory[usize::from(buffer) * BUFFER_LEN].get();
            // SAFETY: within the ring. The kernel does not read entries from the tail on.
            let entry = unsafe { &mut *self.entries.as_ptr().add(at) };
            entry.set_addr(start as u64);
            entry.set_len(BUFFER_LEN as u32);
            entry.set_bid(buffer);
            self.tail = self.tail.wrapping_add(1);
        }
        // SAFETY: the first entry of a registered ring; its tail is an aligned u16.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.entries.as_ptr()).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }

    fn bytes(&self, buffer: u16, len: u32) -> &[u8] {
        let start = usize::from(buffer) * BUFFER_LEN;
        let cells = &self.memory[start..start + len as usize];
        debug_assert!(self.lent.contains(&buffer), "the kernel may write into it");
        // SAFETY: lent to us until `give_back`, which needs exclusive access to the pool.
        unsafe { std::slice::from_raw_parts(cells.as_ptr().cast(), cells.len()) }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout; unregistered by the ring's own drop, which runs first.
        unsafe { dealloc(self.entries.as_ptr().cast(), Pool::layout()) };
    }
}
