//! The vocabulary of readiness: what a descriptor is watched for, and what a wait reports of it.
//!
//! It is plain data. How the kernel is asked for it is known to the poller and to the ring.

/// The most descriptors that one [`wait`](crate::Poller::wait) reports. The next wait reports the rest.
pub const BATCH_MAX: usize = 1024;

/// The events to watch a descriptor for. Hang-ups and errors are always reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Bytes, or a connection, can be read.
    Read,
    /// Bytes have arrived: reported once for each arrival, not again while they are unread (edge-triggered).
    /// This saves the kernel a second check of every ready socket, about a tenth of the cost of a message. A
    /// reader must ask again with [`modify`](crate::Poller::modify) if its read was not short, or if an end
    /// was reported together with bytes.
    Arrivals,
    /// Like `Arrivals`, but a poller that can reads the bytes itself and reports them as an [`Arrival`]. Then
    /// no other code may read the descriptor.
    Bytes,
    /// Bytes can be written, or a connect has ended.
    Write,
    /// Readable or writable.
    Both,
    /// Only errors: for a connection that is paused on purpose.
    None,
}

/// One ready descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The token given to [`Poller::add`](crate::Poller::add).
    pub token: u64,
    /// A read would not block. Also set at a hang-up, which a read then explains.
    pub readable: bool,
    /// A write would not block. Also set at an error, which a write then explains.
    pub writable: bool,
    /// The peer ended its direction, or the connection is gone.
    pub hangup: bool,
    /// The socket has an error pending.
    pub error: bool,
    /// Input that the poller has already read. No other event is reported with it.
    pub arrival: Option<Arrival>,
}

/// Input that a poller read itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// Bytes in a buffer of the poller, valid until its next wait: [`Poller::take`](crate::Poller::take).
    Bytes {
        /// The number of the buffer.
        buffer: u16,
        /// The number of bytes.
        len: u32,
    },
    /// The peer has ended its direction.
    End,
    /// The connection failed with this system error.
    Error(i32),
}

impl Ready {
    /// An event with input that the ring has read.
    pub(crate) fn arrived(token: u64, arrival: Arrival) -> Ready {
        let arrival = Some(arrival);
        Ready { token, readable: true, writable: false, hangup: false, error: false, arrival }
    }
}
