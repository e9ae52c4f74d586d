//! Datagrams and when the kernel received them, on the monotonic clock: how long a program took to wake up and read
//! them is not in that instant.
//!
//! The kernel stamps by the wall clock, which may be set at any time. So an arrival is told as the latest instant that
//! its stamp leaves possible: where the wall clock was set meanwhile, that is the time of the read.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsFd as _;

use crate::clock::{Clock, Nanos};
use crate::stamps::{enable_receive_stamps, read_stamped};
use crate::transfer::Read;

/// How far two readings of the difference of both clocks may be apart although none was set: they are rounded.
const ROUNDING_NS: i64 = 100;

/// A datagram that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Its length.
    pub length: usize,
    /// Who has sent it.
    pub from: SocketAddr,
    /// When it had arrived at the latest.
    pub arrived: Nanos,
}

/// A socket whose datagrams are read with their arrival. Only one thread may read it.
#[derive(Debug)]
pub struct Datagrams {
    socket: UdpSocket,
    steady: Steady,
}

impl Datagrams {
    /// Asks the kernel to stamp what this socket receives. Where it does not, arrivals are the times of the reads.
    pub fn of(socket: UdpSocket) -> Datagrams {
        let _ = enable_receive_stamps(socket.as_fd());
        Datagrams { socket, steady: Steady::new(Reading::now()) }
    }

    /// Returns the socket.
    pub fn socket(&self) -> &UdpSocket {
        &self.socket
    }

    /// Waits for the next datagram, as long as the read time-out of the socket says. What does not fit is cut off.
    ///
    /// # Errors
    /// Fails if the system does, or nothing came in time.
    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<Datagram> {
        // The sender first; the datagram stays in the socket.
        let (_, from) = self.socket.peek_from(&mut [0])?;
        let (read, stamp) = read_stamped(self.socket.as_fd(), buffer)?;
        let arrived = self.steady.arrived(stamp, Reading::now());
        match read {
            Read::Bytes(length) => Ok(Datagram { length, from, arrived }),
            Read::End => Ok(Datagram { length: 0, from, arrived }),
            Read::WouldBlock => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

/// The wall clock between two readings of the monotonic one.
#[derive(Clone, Copy, Debug)]
struct Reading {
    before: Nanos,
    wall: u64,
    after: Nanos,
}

impl Reading {
    fn now() -> Reading {
        let before = Clock::now();
        let wall = Clock::realtime();
        Reading { before, wall, after: Clock::now() }
    }

    /// The least and the most that the wall clock may be ahead.
    fn ahead_ns(&self) -> (i64, i64) {
        (self.wall as i64 - self.after as i64, self.wall as i64 - self.before as i64)
    }
}

/// A time in which the wall clock was not set, as far as its readings tell.
#[derive(Clone, Copy, Debug)]
struct Steady {
    /// Its begin.
    since: Nanos,
    /// What all readings since then leave possible.
    ahead_ns: (i64, i64),
    /// The least that the last reading left possible.
    least_ns: i64,
}

impl Steady {
    fn new(reading: Reading) -> Steady {
        Steady { since: reading.before, ahead_ns: reading.ahead_ns(), least_ns: reading.ahead_ns().0 }
    }

    /// Returns when a datagram with this stamp had arrived at the latest. `reading`: of now, after it was read.
    fn arrived(&mut self, stamp: Option<u64>, reading: Reading) -> Nanos {
        let (low, high) = reading.ahead_ns();
        // Where the clock was set since the last reading, the stamp is by it as it was before or as it is now.
        let least_ns = self.least_ns.min(low);
        let both = (self.ahead_ns.0.max(low), self.ahead_ns.1.min(high));
        match both.0 <= both.1.saturating_add(ROUNDING_NS) {
            true => self.ahead_ns = (both.0.min(both.1), both.0.max(both.1)),
            false => *self = Steady::new(reading),
        }
        self.least_ns = low;
        let latest = stamp.and_then(|stamp| u64::try_from(stamp as i64 - least_ns + ROUNDING_NS).ok());
        // A stamp from before the clock was set tells nothing.
        let latest = latest.filter(|latest| *latest >= self.since);
        latest.map_or(reading.after, |latest| latest.min(reading.after))
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::clock::sleep_until;

    #[test]
    fn time_in_the_socket_is_not_in_the_arrival() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        let to = socket.local_addr().unwrap();
        let mut datagrams = Datagrams::of(socket);
        let peer = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut came_late = 0;
        for n in 0..20_u8 {
            let sent = Clock::now();
            peer.send_to(&[n; 9], to).unwrap();
            let read = Clock::now() + 5_000_000;
            sleep_until(read);
            let mut bytes = [0; 16];
            let Datagram { length, from, arrived } = datagrams.receive(&mut bytes).unwrap();
            assert_eq!((&bytes[..length], from), (&[n; 9][..], peer.local_addr().unwrap()));
            assert!(arrived >= sent, "it came {} ns before it was sent", sent - arrived);
            came_late += u32::from(arrived >= read);
        }
        // The kernel begins to stamp a moment after it was asked to.
        assert!(came_late < 10, "{came_late} of 20 have no stamp");
    }

    #[test]
    fn nothing_is_read_where_nothing_came() {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
        let error = Datagrams::of(socket).receive(&mut [0; 16]).unwrap_err();
        assert!(matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut), "{error}");
    }

    proptest! {
        /// The wall clock is set between any two events. Whatever it is set to, no arrival is earlier than the truth, and
        /// where it was not set for a while arrivals are exact.
        #[test]
        fn an_arrival_is_never_early(
            steps in prop::collection::vec(
                (prop_oneof![3 => Just(0i64), 1 => -3_000_000i64..3_000_000, 1 => -40i64..40], 0u64..2_000_000, 0u64..900),
                1..60,
            ),
        ) {
            const BEGAN: u64 = 3_600_000_000_000;
            let mut ahead_ns = 1_700_000_000_000_000_000_i64;
            let wall = |mono: u64, ahead_ns: i64| (mono as i64 + ahead_ns) as u64;
            let reading = |at: u64, lasts: u64, ahead_ns: i64| Reading {
                before: at, wall: wall(at + lasts / 3, ahead_ns), after: at + lasts,
            };
            let mut now = BEGAN;
            let mut steady = Steady::new(reading(now, 30, ahead_ns));
            let (mut unset, mut clear) = (0, true);
            for (set_ns, waits_ns, lasts) in steps {
                now += 1_000;
                let (arrival, stamp) = (now, wall(now, ahead_ns));
                ahead_ns += set_ns;
                now += waits_ns;
                unset = if set_ns == 0 { unset + 1 } else { 0 };
                // A step within what a reading may be off is seen by a later one, or never.
                clear &= set_ns == 0 || set_ns.abs() > 2_000;
                let told = steady.arrived(Some(stamp), reading(now, lasts, ahead_ns));
                now += lasts;
                prop_assert!(told >= arrival, "{} ns early", arrival - told);
                prop_assert!(told <= now);
                if unset > 1 && clear {
                    prop_assert!(told <= arrival + 1_000 + 2 * ROUNDING_NS as u64, "{} ns late", told - arrival);
                }
                prop_assert_eq!(steady.arrived(None, reading(now, lasts, ahead_ns)), now + lasts);
                now += lasts;
            }
        }
    }
}
