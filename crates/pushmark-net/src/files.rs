//! A separate table of open files for one thread.
//!
//! The limit of open files applies to a table. The threads of a process share one table unless they unshare
//! it (close_range(2), `CLOSE_RANGE_UNSHARE`, Linux 5.9). Threads that share only messages can each have
//! their own table. Then n threads can hold n times the limit, and the kernel counts no references at their
//! reads and writes.
//!
//! A descriptor is a number in a table. A descriptor that was opened before the split and is kept has the
//! same number in both tables. A descriptor that is opened later belongs to one thread and reaches another
//! thread only through a [`FdChannel`].

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::thread::JoinHandle;

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use crate::{Link, Waker};

/// A value that moves to a thread with its own table.
pub trait Keeps: Send + 'static {
    /// Returns every descriptor that the value owns or shares. A descriptor that is not listed is closed in
    /// the new table, while its owner believes that it is open.
    fn fds(&self) -> Vec<BorrowedFd<'_>>;
}

/// Starts a thread that first takes its own file table. The table holds the standard streams and the
/// descriptors of `keep`. It holds nothing else that other threads have open or open later.
///
/// A thread cannot split off later, because it could hold descriptors that the new table lacks. For the same
/// reason `body` is a plain function: every captured value must be in `keep`, which lists its descriptors.
///
/// ```compile_fail
/// let socket = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
/// pushmark_net::files::spawn("captures", (), move |()| drop(socket));
/// ```
///
/// On kernels before 5.9 this is not possible, and the thread shares the table like any other.
///
/// # Errors
/// If the thread cannot be started.
pub fn spawn<K: Keeps, T: Send + 'static>(
    name: impl Into<String>,
    keep: K,
    body: fn(K) -> T,
) -> io::Result<JoinHandle<T>> {
    std::thread::Builder::new().name(name.into()).spawn(move || {
        // SAFETY: the thread has just begun. It holds only values from `keep`, because a function captures
        // nothing, and the descriptors that `keep` lists stay open.
        let _ = unsafe { part(&keep.fds()) };
        body(keep)
    })
}

/// Keeps no descriptor.
impl Keeps for () {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        Vec::new()
    }
}

impl Keeps for Waker {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.as_fd()]
    }
}

impl<K: Keeps + Sync> Keeps for Arc<K> {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        (**self).fds()
    }
}

/// Gives the calling thread its own table with only the standard streams and `keep`. Descriptors are closed
/// in the new table only.
///
/// # Safety
/// The thread owns and borrows no other descriptor. Otherwise it would later close a descriptor of another
/// owner, or none.
unsafe fn part(keep: &[BorrowedFd<'_>]) -> io::Result<()> {
    let mut kept: Vec<u32> = keep.iter().map(|fd| fd.as_raw_fd() as u32).collect();
    kept.sort_unstable();
    // SAFETY: an empty range closes nothing in a table that other threads still use.
    unsafe { close_range(u32::MAX, u32::MAX, libc::CLOSE_RANGE_UNSHARE) }?;
    let mut from = libc::STDERR_FILENO as u32 + 1;
    for fd in kept {
        if fd > from {
            // SAFETY: the table belongs to this thread alone, and the thread neither owns nor borrows the
            // closed descriptors.
            unsafe { close_range(from, fd - 1, 0) }?;
        }
        from = from.max(fd + 1);
    }
    // SAFETY: as above.
    unsafe { close_range(from, u32::MAX, 0) }
}

/// # Safety
/// No user of the present table (with the unshare flag: of the new table) owns or borrows a closed
/// descriptor.
unsafe fn close_range(first: u32, last: u32, flags: u32) -> io::Result<()> {
    // SAFETY: three integers; the caller guarantees that the closed descriptors are unused.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Passes connections from any thread to one thread, even between different file tables (`SCM_RIGHTS`,
/// unix(7)). It keeps the order and is bounded by the kernel's buffer.
#[derive(Debug)]
pub struct FdChannel {
    outside: OwnedFd,
    inside: OwnedFd,
}

impl Keeps for FdChannel {
    fn fds(&self) -> Vec<BorrowedFd<'_>> {
        self.both().to_vec()
    }
}

impl FdChannel {
    /// Makes a channel. Call it before threads take their own tables.
    pub fn new() -> io::Result<FdChannel> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (outside, inside) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok(FdChannel { outside, inside })
    }

    /// Returns the descriptors that every thread that uses the channel must keep.
    pub fn both(&self) -> [BorrowedFd<'_>; 2] {
        [self.outside.as_fd(), self.inside.as_fd()]
    }

    /// Puts a connection in. Returns whether there was room. The caller keeps its own descriptor.
    pub fn pass(&self, connection: BorrowedFd<'_>) -> bool {
        let fds = [connection];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fits = control.push(SendAncillaryMessage::ScmRights(&fds));
        debug_assert!(fits, "there is space for one");
        sendmsg(&self.outside, &[IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL).is_ok()
    }

    /// Takes the next connection out. Returns `None` if the channel is empty.
    ///
    /// # Errors
    /// If the process has no free descriptor. The connection is then closed.
    pub fn take(&self) -> io::Result<Option<Link>> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        match recvmsg(&self.inside, &mut [IoSliceMut::new(&mut byte)], &mut control, flags) {
            Ok(_) => {}
            Err(rustix::io::Errno::AGAIN) => return Ok(None),
            Err(error) => return Err(error.into()),
        }
        for message in control.drain() {
            if let RecvAncillaryMessage::ScmRights(mut fds) = message
                && let Some(fd) = fds.next()
            {
                return Ok(Some(Link::handed(fd)));
            }
        }
        Err(rustix::io::Errno::MFILE.into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::{TcpListener, TcpStream};
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;
    use crate::{Interest, Poller};

    /// Returns the number of open files in the calling thread's table.
    fn open_here() -> usize {
        std::fs::read_dir("/proc/thread-self/fd").unwrap().count()
    }

    /// Reports when its thread has its own table; its channel ends the thread.
    struct Told {
        up: Sender<usize>,
        ends: Receiver<()>,
    }

    impl Keeps for Told {
        fn fds(&self) -> Vec<BorrowedFd<'_>> {
            Vec::new()
        }
    }

    #[test]
    fn a_thread_of_its_own_table_has_a_limit_of_its_own() {
        let ours: Vec<Waker> = (0..100).map(|_| Waker::new().unwrap()).collect();
        let highest = ours.iter().map(|waker| waker.as_fd().as_raw_fd()).max().unwrap();
        let thread = spawn("parts", (), |()| Waker::new().unwrap().as_fd().as_raw_fd()).unwrap();
        let theirs = thread.join().unwrap();
        assert!(theirs < highest, "{theirs} is the lowest free number of an empty table");
    }

    #[test]
    fn what_others_have_open_stays_open() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let bells: Vec<Waker> = (0..100).map(|_| Waker::new().unwrap()).collect();
        let (end, ends) = channel();
        let (up, is_up) = channel();
        let thread = spawn("parts", Told { up, ends }, |told: Told| {
            told.up.send(open_here()).unwrap();
            told.ends.recv().unwrap_or_default();
        })
        .unwrap();
        // The standard streams, and the folder that is being read.
        assert_eq!(is_up.recv().unwrap(), 4, "no descriptor of ours is in its table");
        let mut ours = TcpStream::connect(address).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut theirs, b"here").unwrap();
        let mut heard = [0; 4];
        ours.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"here");
        for bell in &bells {
            bell.ring();
            let mut count = [0; 8];
            assert_eq!(rustix::io::read(bell.as_fd(), &mut count).unwrap(), 8, "it is the same waker");
        }
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn what_others_close_is_closed_though_a_thread_parted_meanwhile() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (theirs, _) = listener.accept().unwrap();
        let (end, ends) = channel();
        let (up, is_up) = channel();
        let thread = spawn("parts", Told { up, ends }, |told: Told| {
            told.up.send(0).unwrap();
            told.ends.recv().unwrap_or_default();
        })
        .unwrap();
        is_up.recv().unwrap();
        drop(theirs);
        assert_eq!(ours.read(&mut [0; 8]).unwrap(), 0, "no copy of it was left in the other table");
        drop(end);
        thread.join().unwrap();
    }

    #[test]
    fn a_connection_goes_through_the_hatch_and_lives_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (theirs, _) = listener.accept().unwrap();
        let fd_channel = Arc::new(FdChannel::new().unwrap());
        assert!(fd_channel.take().unwrap().is_none());
        assert!(fd_channel.pass(theirs.as_fd()));
        drop(theirs);
        let thread = spawn("takes", fd_channel.clone(), |fd_channel: Arc<FdChannel>| {
            let mut link = fd_channel.take().unwrap().expect("it was put in");
            assert_eq!(link.write(b"here").unwrap(), 4);
        });
        thread.unwrap().join().unwrap();
        let mut heard = String::new();
        ours.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "here", "and it ended with its last owner");
    }

    #[test]
    fn a_kept_bell_rings_on_both_sides() {
        let bell = Waker::new().unwrap();
        let thread = spawn("hears", bell.clone(), |bell: Waker| {
            let mut poller = Poller::new().unwrap();
            poller.add(bell.as_fd(), 4, Interest::Read).unwrap();
            poller.wait(None).unwrap().next().unwrap().token
        });
        bell.ring();
        assert_eq!(thread.unwrap().join().unwrap(), 4);
    }
}
