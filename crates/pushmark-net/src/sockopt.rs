//! Two socket options that std, rustix and socket2 do not expose. `unsafe` is confined to this file and
//! `stamps.rs`.

use std::io;
use std::mem::{offset_of, size_of};
use std::os::fd::{AsRawFd, BorrowedFd};

/// The kernel's counters of one TCP connection (`TCP_INFO`, tcp(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// Payload bytes received in order.
    pub bytes_in: u64,
    /// Payload bytes sent, including retransmissions.
    pub bytes_out: u64,
    /// Segments received, including empty ones.
    pub segments_in: u64,
    /// Segments sent, including empty ones.
    pub segments_out: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Smoothed round trip, µs.
    pub rtt_us: u32,
}

/// Returns the kernel's counters, or `None` if the kernel fills too few of them (before Linux 4.19).
pub fn tcp_info(fd: BorrowedFd<'_>) -> Option<TcpInfo> {
    let needed = offset_of!(libc::tcp_info, tcpi_bytes_sent) + size_of::<u64>();
    // SAFETY: `tcp_info` consists of integers, for which all zeroes is a valid value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut length = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the descriptor is borrowed, so it is open. The kernel writes at most `length` bytes into
    // `info`, which is exactly that long, and the new length into `length`.
    let status = unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut length,
        )
    };
    (status == 0 && length as usize >= needed).then(|| TcpInfo {
        bytes_in: info.tcpi_bytes_received,
        bytes_out: info.tcpi_bytes_sent,
        segments_in: u64::from(info.tcpi_segs_in),
        segments_out: u64::from(info.tcpi_segs_out),
        retransmits: u64::from(info.tcpi_total_retrans),
        rtt_us: info.tcpi_rtt,
    })
}

/// Sets `IP_BIND_ADDRESS_NO_PORT`: the kernel chooses the port at connect instead of at bind. At connect it
/// knows the remote and can use one port for many remotes.
pub fn choose_port_at_connect(fd: BorrowedFd<'_>) -> io::Result<()> {
    set_flag(fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT)
}

/// Switches an integer option on.
pub(crate) fn set_flag(fd: BorrowedFd<'_>, level: i32, option: i32) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is borrowed, so it is open. The kernel reads one `c_int` from `on`.
    let status = unsafe {
        libc::setsockopt(
            fd.as_raw_fd(),
            level,
            option,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
