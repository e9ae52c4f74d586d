//! One client of the crowd: its session, its connection if it has one, and where it stands.
//!
//! Between messages it owns no buffer: `carry`, `out` and the scanner's tail are empty vectors
//! unless a message is split over two reads or a write did not fit.

use pushmark_model::stamp::Scanner;
use pushmark_net::{Link, Nanos};
use pushmark_proto::client::{Client, Config};
use pushmark_proto::json_pointer::Scan;

/// Where a client stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its turn in the ramp has not come.
    Waiting,
    /// The TCP handshake goes on.
    Connecting,
    /// It asked; the answer has not begun, or (polls) is not complete.
    Asked,
    /// A push transport that stands.
    Open,
    /// Between two polls, or between two attempts.
    Resting,
    /// Ended for good.
    Gone,
}

/// No instant.
pub(crate) const NEVER: Nanos = Nanos::MAX;

/// One client.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) client: Client,
    pub(crate) link: Option<Link>,
    /// Bytes of an incomplete unit, to be given again in front of the next.
    pub(crate) carry: Vec<u8>,
    /// Bytes that did not fit into the socket.
    pub(crate) out: Vec<u8>,
    pub(crate) scanner: Scanner,
    /// The search for the target's own timestamp in the present message.
    pub(crate) own_stamp: Option<Box<Scan>>,
    /// When this attempt was due.
    pub(crate) due_ns: Nanos,
    /// When the last request was written.
    pub(crate) asked_ns: Nanos,
    /// When the last message or answer was complete; 0: none yet.
    pub(crate) heard_ns: Nanos,
    /// When patience ends.
    pub(crate) give_up_ns: Nanos,
    /// When it polls, or tries again, next.
    pub(crate) next_ns: Nanos,
    /// Present gap between polls (adaptive polling changes it).
    pub(crate) interval_ns: Nanos,
    /// Sent instant of the newest stamp in this answer, µs.
    pub(crate) newest_sent_us: u64,
    /// Its number in the plan.
    pub(crate) number: u32,
    /// Counts its connections; what carries an older number is stale.
    pub(crate) generation: u32,
    /// Pause the server asked for before a reconnection.
    pub(crate) retry_ms: u32,
    /// Stamps in the present message or answer.
    pub(crate) stamps: u16,
    /// The first of them (channel, sequence), and the others: one that comes twice in a message
    /// counts once.
    pub(crate) first_stamp: (u32, u32),
    pub(crate) more_stamps: Vec<(u32, u32)>,
    /// Of them new.
    pub(crate) news: u16,
    /// Attempts since it last stood.
    pub(crate) attempts: u8,
    pub(crate) phase: Phase,
    pub(crate) subscribed: bool,
    pub(crate) ever_subscribed: bool,
    /// A byte came on this connection.
    pub(crate) answered: bool,
    /// An answer was complete on this connection before: it is being reused.
    pub(crate) reused: bool,
    /// Its socket carries kernel receive stamps.
    pub(crate) stamped: bool,
    /// The poller watches for room to write.
    pub(crate) writing: bool,
    /// The server said not to come back.
    pub(crate) dismissed: bool,
    /// The present message is the one that said that the subscription stands.
    pub(crate) greeting: bool,
}

impl Conn {
    pub(crate) fn new(config: &Config, seed: u64, number: u32, stamped: bool) -> Conn {
        Conn {
            client: Client::new(config, seed),
            link: None,
            carry: Vec::new(),
            out: Vec::new(),
            scanner: Scanner::default(),
            own_stamp: None,
            due_ns: 0,
            asked_ns: 0,
            heard_ns: 0,
            give_up_ns: NEVER,
            next_ns: NEVER,
            interval_ns: 0,
            newest_sent_us: 0,
            number,
            generation: 0,
            retry_ms: 0,
            stamps: 0,
            first_stamp: (0, 0),
            more_stamps: Vec::new(),
            news: 0,
            attempts: 0,
            phase: Phase::Waiting,
            subscribed: false,
            ever_subscribed: false,
            answered: false,
            reused: false,
            stamped,
            writing: false,
            dismissed: false,
            greeting: false,
        }
    }

    /// The connection is gone; the session stays.
    pub(crate) fn forget_link(&mut self) -> Option<Link> {
        self.generation = (self.generation + 1) & crate::token::GENERATIONS;
        self.client.connection_lost();
        self.carry = Vec::new();
        self.out = Vec::new();
        self.scanner.reset();
        self.own_stamp = None;
        self.give_up_ns = NEVER;
        self.answered = false;
        self.reused = false;
        self.writing = false;
        self.greeting = false;
        self.stamps = 0;
        self.more_stamps = Vec::new();
        self.news = 0;
        self.link.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_proto::client::Transport;

    #[test]
    fn an_idle_client_is_small_and_owns_no_buffer() {
        let conn = Conn::new(&Config::new(Transport::WebSocket), 1, 0, false);
        assert_eq!(
            conn.carry.capacity()
                + conn.out.capacity()
                + conn.more_stamps.capacity()
                + conn.scanner.pending(),
            0
        );
        // With 56 bytes of accounts a subscription, well below the 1 KiB of the promise.
        assert!(size_of::<Conn>() <= 512, "{} bytes", size_of::<Conn>());
    }
}
