//! A table of open files for a thread alone.
//!
//! The limit of open files counts a table, and the threads of a process share one unless they say
//! otherwise (close_range(2), `CLOSE_RANGE_UNSHARE`, Linux 5.9). Threads that share nothing but
//! messages can each have their own: then so many threads hold so many times the limit, and the
//! kernel counts no references at their reads and writes.
//!
//! A descriptor is a number in a table. What was made before the parting and is kept has the same
//! number on both sides; what is made after it belongs to one thread alone and reaches another
//! only through a [`Hatch`].

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

use crate::Link;

/// Gives the calling thread a table of its own with nothing in it but standard streams and `keep`.
/// What other threads have open, or open later, it neither sees nor keeps from being closed.
///
/// The thread must own no descriptor besides these: it would close another's, or nothing.
///
/// # Errors
/// Kernels before 5.9 cannot; the table is shared as before, then.
pub fn part(keep: &[BorrowedFd<'_>]) -> io::Result<()> {
    // An empty range first: nothing is closed in a table that others still use.
    close_range(u32::MAX, u32::MAX, libc::CLOSE_RANGE_UNSHARE)?;
    let mut kept: Vec<u32> = keep.iter().map(|fd| fd.as_raw_fd() as u32).collect();
    kept.sort_unstable();
    let mut from = libc::STDERR_FILENO as u32 + 1;
    for fd in kept {
        if fd > from {
            close_range(from, fd - 1, 0)?;
        }
        from = from.max(fd + 1);
    }
    close_range(from, u32::MAX, 0)
}

fn close_range(first: u32, last: u32, flags: u32) -> io::Result<()> {
    // SAFETY: three integers. Which descriptors end is the caller's affair: `part` closes only in
    // a table that its thread has for itself.
    match unsafe { libc::syscall(libc::SYS_close_range, first, last, flags) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A way for connections from any thread to one, whatever tables they have (`SCM_RIGHTS`, unix(7)).
/// In order, and bounded by the kernel's buffer.
#[derive(Debug)]
pub struct Hatch {
    outside: OwnedFd,
    inside: OwnedFd,
}

impl Hatch {
    /// Makes one, before threads part.
    pub fn new() -> io::Result<Hatch> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (outside, inside) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None)?;
        Ok(Hatch { outside, inside })
    }

    /// What every thread that uses it has to keep.
    pub fn fds(&self) -> [BorrowedFd<'_>; 2] {
        [self.outside.as_fd(), self.inside.as_fd()]
    }

    /// Puts a connection in; whether there was room for it. The caller still has its own end of it.
    pub fn pass(&self, connection: BorrowedFd<'_>) -> bool {
        let fds = [connection];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        let fits = control.push(SendAncillaryMessage::ScmRights(&fds));
        debug_assert!(fits, "there is space for one");
        sendmsg(&self.outside, &[IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL).is_ok()
    }

    /// Takes the next one out; `None` where there is none.
    ///
    /// # Errors
    /// No descriptor is left for it: it is closed.
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
    use std::sync::mpsc::channel;

    use super::*;
    use crate::{Interest, Poller, Waker};

    #[test]
    fn a_thread_that_parted_has_a_limit_of_its_own() {
        let ours: Vec<Waker> = (0..100).map(|_| Waker::new().unwrap()).collect();
        let highest = ours.iter().map(|waker| waker.as_fd().as_raw_fd()).max().unwrap();
        let thread = std::thread::spawn(|| {
            part(&[]).unwrap();
            Waker::new().unwrap().as_fd().as_raw_fd()
        });
        let theirs = thread.join().unwrap();
        assert!(theirs < highest, "{theirs} is the lowest free number of an empty table");
    }

    #[test]
    fn what_others_close_is_closed_though_a_thread_parted_meanwhile() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (theirs, _) = listener.accept().unwrap();
        let (end, ends) = channel::<()>();
        let (up, is_up) = channel();
        let thread = std::thread::spawn(move || {
            part(&[]).unwrap();
            up.send(()).unwrap();
            ends.recv().unwrap_or_default();
        });
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
        let hatch = std::sync::Arc::new(Hatch::new().unwrap());
        assert!(hatch.take().unwrap().is_none());
        assert!(hatch.pass(theirs.as_fd()));
        drop(theirs);
        let door = hatch.clone();
        let thread = std::thread::spawn(move || {
            part(&door.fds()).unwrap();
            let mut link = door.take().unwrap().expect("it was put in");
            assert_eq!(link.write(b"here").unwrap(), 4);
        });
        thread.join().unwrap();
        let mut heard = String::new();
        ours.read_to_string(&mut heard).unwrap();
        assert_eq!(heard, "here", "and it ended with its last owner");
    }

    #[test]
    fn a_kept_bell_rings_on_both_sides() {
        let bell = Waker::new().unwrap();
        let rope = bell.clone();
        let thread = std::thread::spawn(move || {
            part(&[rope.as_fd()]).unwrap();
            let mut poller = Poller::new().unwrap();
            poller.add(rope.as_fd(), 4, Interest::Read).unwrap();
            poller.wait(None).unwrap().next().unwrap().token
        });
        bell.ring();
        assert_eq!(thread.join().unwrap(), 4);
    }
}
