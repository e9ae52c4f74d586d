//! The instant at which the kernel received bytes: `SO_TIMESTAMPNS` on a TCP socket.
//!
//! A stamp is true only for the newest segment that a read returns, because the kernel merges segments in the
//! receive queue and keeps the last stamp. `unsafe` is confined to this file and `sockopt.rs`.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd};

use crate::sockopt;
use crate::transfer::{Read, read_result};

/// Asks the kernel to stamp everything that this socket receives from now on.
pub fn enable_receive_stamps(fd: BorrowedFd<'_>) -> io::Result<()> {
    sockopt::set_flag(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS)
}

/// Control data for one stamp, aligned as the kernel writes it. `CMSG_SPACE` of a timespec is 32 bytes. The
/// rest is room for other data that a socket may report.
#[repr(C, align(8))]
struct Control([u8; 64]);

/// Reads bytes with the arrival of the newest byte read: nanoseconds of `CLOCK_REALTIME`, or `None` if the
/// kernel reported none.
pub(crate) fn read_stamped(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(Read, Option<u64>)> {
    debug_assert!(!buffer.is_empty(), "an empty read looks like the end");
    let mut control = Control([0; 64]);
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: `msghdr` consists of integers and pointers, for which all zeroes is a valid value.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = &raw mut piece;
    message.msg_iovlen = 1;
    message.msg_control = (&raw mut control).cast();
    message.msg_controllen = size_of::<Control>();
    // SAFETY: the descriptor is borrowed, so it is open. `message` points at one iovec that spans `buffer`
    // and at `control`, with their true lengths. All of them outlive the call.
    let received = unsafe { libc::recvmsg(fd.as_raw_fd(), &raw mut message, libc::MSG_DONTWAIT) };
    let result = usize::try_from(received).map_err(|_| io::Error::last_os_error());
    let stamp = if result.is_ok() { receive_stamp(&message) } else { None };
    Ok((read_result(result)?, stamp))
}

fn receive_stamp(message: &libc::msghdr) -> Option<u64> {
    // SAFETY: recvmsg filled `message`, and its control buffer is alive and aligned. The macros stay within
    // `msg_controllen`. A timespec is copied only from an entry that is long enough for one.
    unsafe {
        let mut entry = libc::CMSG_FIRSTHDR(message);
        while !entry.is_null() {
            let header = &*entry;
            let wanted = libc::CMSG_LEN(size_of::<libc::timespec>() as u32) as usize;
            if header.cmsg_level == libc::SOL_SOCKET
                && header.cmsg_type == libc::SCM_TIMESTAMPNS
                && header.cmsg_len >= wanted
            {
                let time: libc::timespec = libc::CMSG_DATA(entry).cast::<libc::timespec>().read_unaligned();
                return Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
            }
            entry = libc::CMSG_NXTHDR(message, entry);
        }
    }
    None
}
