//! Readiness of descriptors, with time-outs in nanoseconds, in one of two ways. Epoll:
//! level-triggered, but where a reader takes all there is ([`Interest::Arrivals`]). Or io_uring,
//! which brings the bytes of connections with the news ([`Interest::Bytes`]) and leaves the rest to
//! epoll.
//!
//! Not mio, which rounds its time-outs up to whole milliseconds: a schedule kept to that
//! grain would be the largest error of the instrument.

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
use crate::ring::Ring;
use crate::stream::Read;

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
    /// The same, and where the poller can, it reads them itself: they come as an [`Arrival`], and
    /// nobody else may read them.
    Bytes,
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
            Interest::Arrivals | Interest::Bytes => {
                epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET
            }
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
    /// What the poller has read of it already; nothing else is told with it.
    pub arrival: Option<Arrival>,
}

/// What a poller read by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Bytes in a buffer of the poller's, until its next wait: [`Poller::take`].
    Bytes {
        /// Which buffer.
        buffer: u16,
        /// How many.
        len: u32,
    },
    /// The peer has ended its direction.
    End,
    /// The connection broke, with this error of the system's.
    Error(i32),
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
            arrival: None,
        }
    }

    /// Something was read of it.
    pub(crate) fn arrived(token: u64, arrival: Arrival) -> Ready {
        let arrival = Some(arrival);
        Ready { token, readable: true, writable: false, hangup: false, error: false, arrival }
    }
}

/// An epoll instance, a ring where one was asked for, and the buffer their answers come in.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
    ring: Option<RefCell<Ring>>,
    ready: Arc<Vec<Ready>>,
}

impl Poller {
    /// A poller by epoll; it is closed when dropped.
    pub fn new() -> io::Result<Poller> {
        Ok(Poller {
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            ring: None,
            ready: Arc::new(Vec::with_capacity(BATCH_MAX)),
        })
    }

    /// A poller that reads by io_uring. It has to stay in the thread that made it.
    ///
    /// # Errors
    /// The kernel's, where it has no io_uring, lacks what is needed of it, or forbids it.
    pub fn with_ring() -> io::Result<Poller> {
        Ok(Poller { ring: Some(RefCell::new(Ring::new()?)), ..Poller::new()? })
    }

    /// Begins to watch `fd`. [`Poller::forget`] ends it before the descriptor is closed.
    pub fn add(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest) -> io::Result<()> {
        if let Some(ring) = &self.ring {
            ring.borrow_mut().note_epoll(fd, true);
        }
        let data = EventData::new_u64(token);
        Ok(epoll::add(&self.epoll, fd, data, interest.flags())?)
    }

    /// Changes what a watched descriptor is watched for, and its token.
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
                if receives { Ok(()) } else { ring.receive(fd, token) }
            }
            other => {
                // What the ring reads is not looked for a second time.
                let other = if receives { Interest::Write } else { other };
                ring.note_epoll(fd, true);
                self.in_epoll(fd, token, other, in_epoll)
            }
        }
    }

    fn in_epoll(&self, fd: BorrowedFd<'_>, token: u64, interest: Interest, known: bool) -> io::Result<()> {
        let data = EventData::new_u64(token);
        match known {
            true => epoll::modify(&self.epoll, fd, data, interest.flags())?,
            false => epoll::add(&self.epoll, fd, data, interest.flags())?,
        }
        Ok(())
    }

    /// Ends watching a descriptor that stays open.
    pub fn remove(&self, fd: BorrowedFd<'_>) -> io::Result<()> {
        let watched = self.ring.as_ref().is_none_or(|ring| ring.borrow().in_epoll(fd));
        self.forget(fd);
        if watched {
            epoll::delete(&self.epoll, fd)?;
        }
        Ok(())
    }

    /// Ends watching a descriptor that is closed next. Epoll forgets those by itself; a ring holds
    /// the connection until it is told.
    pub fn forget(&self, fd: BorrowedFd<'_>) {
        if let Some(ring) = &self.ring {
            // Fails only where nothing can be handed to the kernel any more: then the next wait tells.
            let _ = ring.borrow_mut().forget(fd);
        }
    }

    /// Whether this poller reads the descriptor by itself: then nobody else may.
    pub fn reads(&self, fd: BorrowedFd<'_>) -> bool {
        self.ring.as_ref().is_some_and(|ring| ring.borrow().receives(fd))
    }

    /// Copies what was read by the last wait into `buffer`, which must have room for it.
    ///
    /// # Errors
    /// The connection's own.
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

    /// Waits until something is ready or `timeout_ns` has passed (`None`: for ever; 0: only
    /// looks). A signal ends the wait early with an empty batch, and so may a ring that ran out of
    /// buffers.
    ///
    /// The batch does not borrow the poller, so the loop that walks it may add and remove. An
    /// event of a descriptor removed during the walk can still come up in it: tokens with a
    /// generation ([`crate::Slab`]) tell.
    pub fn wait(&mut self, timeout_ns: Option<Nanos>) -> io::Result<Batch> {
        if Arc::get_mut(&mut self.ready).is_none() {
            // Someone kept the last batch: leave it to them.
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

/// Adds what epoll has to `ready`; gives whether a signal ended the wait.
fn look(epoll: &OwnedFd, timeout_ns: Option<Nanos>, ready: &mut Vec<Ready>) -> io::Result<bool> {
    let timeout = timeout_ns
        .map(|ns| Timespec { tv_sec: (ns / 1_000_000_000) as i64, tv_nsec: (ns % 1_000_000_000) as i64 });
    let mut events = [const { MaybeUninit::<epoll::Event>::uninit() }; BATCH_MAX];
    match epoll::wait(epoll, &mut events, timeout.as_ref()) {
        Ok((happened, _)) => {
            ready.extend(happened.iter().map(Ready::from_event));
            Ok(false)
        }
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// What one wait brought: at most [`BATCH_MAX`] ready descriptors, of a ring as many arrivals more.
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

    /// The descriptor that comes after the next ones taken so far, if there is one.
    pub fn peek(&self) -> Option<&Ready> {
        self.ready.get(self.next)
    }

    /// It is as large as a batch can be: more may be ready.
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

/// Asks the kernel not to delay the calling thread's timers for company (default 50 µs).
pub fn set_timer_slack_1ns() -> io::Result<()> {
    Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

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
        let mut batch = poller.wait(None).unwrap();
        let mut foreseen = batch.peek().copied();
        while let Some(ready) = batch.next() {
            assert_eq!(foreseen, Some(ready));
            foreseen = batch.peek().copied();
            assert!(ready.readable && !ready.writable && !ready.hangup);
            poller.remove(if ready.token == 1 { a.as_fd() } else { b.as_fd() }).unwrap();
            seen.push(ready.token);
        }
        seen.sort_unstable();
        assert_eq!((seen, foreseen), (vec![1, 2], None));
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

    /// Two ends of a connection, the second given to a poller that reads by itself.
    fn ringed() -> (Poller, TcpStream, TcpStream) {
        let poller = Poller::with_ring().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let far = listener.accept().unwrap().0;
        poller.add(far.as_fd(), 7, Interest::Write).unwrap();
        poller.modify(far.as_fd(), 7, Interest::Bytes).unwrap();
        (poller, near, far)
    }

    /// What comes, until it has ended or is as much as is waited for.
    fn taken(poller: &mut Poller, much: usize) -> (Vec<u8>, Option<Read>) {
        let (mut all, mut buffer) = (Vec::new(), [0; 4_096]);
        let until_ns = Clock::now() + 10_000_000_000;
        while all.len() < much {
            assert!(Clock::now() < until_ns, "{} of {much} bytes came", all.len());
            // Empty too where the pool ran out: the next wait begins again.
            for ready in poller.wait(Some(1_000_000_000)).unwrap() {
                match poller.take(ready.arrival.expect("the ring reads it"), &mut buffer).unwrap() {
                    Read::Bytes(n) => all.extend_from_slice(&buffer[..n]),
                    end => return (all, Some(end)),
                }
            }
        }
        (all, None)
    }

    #[test]
    fn a_ring_brings_bytes_in_their_order_and_then_the_end() {
        let (mut poller, mut near, far) = ringed();
        assert!(poller.reads(far.as_fd()));
        // Twice what its buffers hold, so that it has to begin again.
        let sent: Vec<u8> = (0..8_u32 << 20).map(|n| (n >> 7) as u8).collect();
        let writer = std::thread::spawn({
            let sent = sent.clone();
            move || near.write_all(&sent).map(|()| drop(near)).unwrap()
        });
        let (came, end) = taken(&mut poller, usize::MAX);
        writer.join().unwrap();
        let differs = came.iter().zip(&sent).position(|(came, sent)| came != sent);
        assert_eq!((came.len(), differs, end), (sent.len(), None, Some(Read::End)));
    }

    #[test]
    fn one_look_at_a_ring_brings_all_that_has_come() {
        // More than the kernel deals with at once by itself: a look that left some would have read lag
        // called less than it is.
        let mut poller = Poller::with_ring().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut pairs: Vec<_> = (0..100)
            .map(|_| {
                let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
                (near, listener.accept().unwrap().0)
            })
            .collect();
        for (token, (_, far)) in pairs.iter().enumerate() {
            poller.add(far.as_fd(), token as u64, Interest::Write).unwrap();
            poller.modify(far.as_fd(), token as u64, Interest::Bytes).unwrap();
        }
        assert_eq!(poller.wait(Some(0)).unwrap().len(), 0);
        // Over loopback what is written has arrived.
        pairs.iter_mut().for_each(|(near, _)| near.write_all(b"news").unwrap());
        let mut came: Vec<u64> = poller.wait(Some(0)).unwrap().map(|ready| ready.token).collect();
        came.sort_unstable();
        assert_eq!(came, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn a_ring_lets_go_of_what_it_is_told_to_forget() {
        let (mut poller, mut near, far) = ringed();
        near.write_all(b"late").unwrap();
        poller.forget(far.as_fd());
        drop(far);
        assert_eq!(poller.wait(Some(0)).unwrap().len(), 0, "nobody is there any more to hear it");
        // The kernel has let it go: the other end hears of the close.
        near.set_read_timeout(Some(std::time::Duration::from_secs(5))).unwrap();
        assert_eq!(near.read(&mut [0; 8]).map_err(|error| error.kind()), Err(io::ErrorKind::ConnectionReset));
    }

    #[test]
    fn beside_a_ring_epoll_tells_of_room_and_of_everything_else() {
        let (mut poller, mut near, far) = ringed();
        let waker = Waker::new().unwrap();
        poller.add(waker.as_fd(), 8, Interest::Read).unwrap();
        poller.modify(far.as_fd(), 7, Interest::Both).unwrap();
        let told: Vec<_> = poller.wait(Some(1_000_000_000)).unwrap().map(|r| (r.token, r.writable)).collect();
        assert_eq!(told, [(7, true)]);
        poller.modify(far.as_fd(), 7, Interest::Bytes).unwrap();
        waker.ring();
        let told: Vec<_> = poller.wait(Some(1_000_000_000)).unwrap().map(|r| r.token).collect();
        assert_eq!(told, [8]);
        waker.silence();
        near.write_all(b"news").unwrap();
        assert_eq!(taken(&mut poller, 4).0, b"news");
        assert_eq!(poller.wait(Some(0)).unwrap().len(), 0);
        poller.remove(waker.as_fd()).unwrap();
        poller.remove(far.as_fd()).unwrap();
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
