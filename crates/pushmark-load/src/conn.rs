//! One client of the crowd: its session, its connection if it has one, and where it stands.
//!
//! Between messages it owns no buffer: those of a line are empty vectors unless a message is
//! split over two reads or a write did not fit, and a second line is boxed while it is open.

use pushmark_model::refresh::Refresh;
use pushmark_model::stamp::Scanner;
use pushmark_net::{Interest, Link, Nanos};
use pushmark_proto::client::{Client, Config, Lane};
use pushmark_proto::json_pointer::Scan;

use crate::publisher::Job;
use crate::token::{self, Owner};

/// Where a line stands; that of the first line is where its client stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its turn in the ramp has not come; nobody needs it yet.
    #[default]
    Waiting,
    /// The handshake of TCP goes on, or of TLS.
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

/// One connection of a client, and what goes on over it.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) link: Option<Link>,
    /// Bytes of an incomplete unit, to be given again in front of the next.
    pub(crate) carry: Vec<u8>,
    /// Bytes that did not fit into the socket.
    pub(crate) out: Vec<u8>,
    pub(crate) scanner: Scanner,
    /// The present message, where its content is checked.
    pub(crate) checked: Vec<u8>,
    /// The search for the target's own timestamp in the present message.
    pub(crate) own_stamp: Option<Box<Scan>>,
    /// When patience ends.
    pub(crate) give_up_ns: Nanos,
    /// Sent instant of the newest stamp in this answer, µs.
    pub(crate) newest_sent_us: u64,
    /// Number of the connection among the client's own; what carries another is stale.
    pub(crate) generation: u32,
    /// Stamps in the present message or answer.
    pub(crate) stamps: u16,
    /// The first of them (channel, sequence), and the others: one that comes twice in a message
    /// counts once.
    pub(crate) first_stamp: (u32, u32),
    pub(crate) more_stamps: Vec<(u32, u32)>,
    /// Of them new.
    pub(crate) news: u16,
    pub(crate) phase: Phase,
    /// A byte came on this connection.
    pub(crate) answered: bool,
    /// An answer was complete on this connection before: it is being reused.
    pub(crate) reused: bool,
    /// The poller watches for room to write.
    pub(crate) writing: bool,
    /// The present message is the one that said that the subscription stands.
    pub(crate) greeting: bool,
}

impl Default for Line {
    fn default() -> Line {
        Line {
            link: None,
            carry: Vec::new(),
            out: Vec::new(),
            scanner: Scanner::default(),
            checked: Vec::new(),
            own_stamp: None,
            give_up_ns: NEVER,
            newest_sent_us: 0,
            generation: 0,
            stamps: 0,
            first_stamp: (0, 0),
            more_stamps: Vec::new(),
            news: 0,
            phase: Phase::default(),
            answered: false,
            reused: false,
            writing: false,
            greeting: false,
        }
    }
}

/// The second line of a client that has one, and what it is there for: the commands of a Bayeux
/// session, or polls beside a push connection.
#[derive(Debug, Default)]
pub(crate) struct Side {
    pub(crate) line: Line,
    /// Publications that wait for it.
    pub(crate) jobs: Vec<Job>,
    /// Publications that are written and not yet answered.
    pub(crate) unanswered: u32,
    /// Since when it has nothing to do.
    pub(crate) idle_since_ns: Nanos,
    /// It waits for its turn to open.
    pub(crate) queued: bool,
    /// The client that polls beside a push connection; while its line is at hand, the other one.
    poller: Option<Box<Client>>,
    /// States that a poll showed first, newest first (channel, sequence).
    pub(crate) found: Vec<(u32, u32)>,
}

impl Side {
    /// It is there for polls.
    pub(crate) fn polls(&self) -> bool {
        self.poller.is_some()
    }
}

/// One client.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) client: Client,
    /// The connection at hand: the first, but while [`Conn::turn_to`] has the second in its place.
    pub(crate) line: Line,
    /// The other one.
    pub(crate) side: Option<Box<Side>>,
    /// Which of them is at hand.
    pub(crate) lane: Lane,
    /// When this attempt was due.
    pub(crate) due_ns: Nanos,
    /// When the last request was written.
    pub(crate) asked_ns: Nanos,
    /// When the last message or answer was complete; 0: none yet.
    pub(crate) heard_ns: Nanos,
    /// When it polls, or tries again, next.
    pub(crate) next_ns: Nanos,
    /// Present gap between polls (adaptive polling changes it).
    pub(crate) refresh: Refresh,
    /// Its number in the plan.
    pub(crate) number: u32,
    /// Connections so far.
    generations: u32,
    /// Pause the server asked for before a reconnection.
    pub(crate) retry_ms: u32,
    /// Attempts since it last stood.
    pub(crate) attempts: u8,
    pub(crate) subscribed: bool,
    pub(crate) ever_subscribed: bool,
    /// Its socket carries kernel receive stamps.
    pub(crate) stamped: bool,
    /// The server said not to come back.
    pub(crate) dismissed: bool,
    /// What was asked last is a connect that the server holds (Bayeux).
    pub(crate) held: bool,
}

impl Conn {
    pub(crate) fn new(config: &Config, seed: u64, number: u32, stamped: bool) -> Conn {
        Conn {
            client: Client::new(config, seed),
            line: Line::default(),
            side: None,
            lane: Lane::Connect,
            due_ns: 0,
            asked_ns: 0,
            heard_ns: 0,
            next_ns: NEVER,
            refresh: Refresh::default(),
            number,
            generations: 0,
            retry_ms: 0,
            attempts: 0,
            subscribed: false,
            ever_subscribed: false,
            stamped,
            dismissed: false,
            held: false,
        }
    }

    /// Puts this lane's connection at hand; gives which one was. All that reads and writes then
    /// works on it.
    pub(crate) fn turn_to(&mut self, lane: Lane) -> Lane {
        let before = self.lane;
        if before != lane {
            if self.side.is_none() {
                let generation = self.next_generation();
                self.side.get_or_insert_default().line.generation = generation;
            }
            let side = self.side.as_mut().expect("just made");
            std::mem::swap(&mut self.line, &mut side.line);
            if let Some(poller) = &mut side.poller {
                std::mem::swap(&mut self.client, poller);
            }
            self.lane = lane;
        }
        before
    }

    /// It polls beside its push connection, over a second line.
    pub(crate) fn add_poller(&mut self, config: &Config, seed: u64) {
        let generation = self.next_generation();
        let side = self.side.get_or_insert_default();
        side.line.generation = generation;
        side.poller = Some(Box::new(Client::new(config, seed)));
    }

    /// The lane at hand as its client knows it: one that polls beside another has a single one.
    pub(crate) fn client_lane(&self) -> Lane {
        match &self.side {
            Some(side) if side.poller.is_some() => Lane::Connect,
            _ => self.lane,
        }
    }

    /// The token of the connection at hand.
    pub(crate) fn token(&self, index: u32) -> u64 {
        let owner = match self.lane {
            Lane::Connect => Owner::Client,
            Lane::Command => Owner::Side,
        };
        token::pack(owner, self.line.generation, index)
    }

    /// Whether the connection at hand carries kernel receive stamps.
    pub(crate) fn is_stamped(&self) -> bool {
        self.stamped && self.lane == Lane::Connect
    }

    /// How the connection at hand is watched while it hears. A stamp comes with a read of our own,
    /// and so does what TLS makes of ciphertext.
    pub(crate) fn arrivals(&self) -> Interest {
        let own = self.is_stamped() || matches!(self.line.link, Some(Link::Tls(_)));
        if own { Interest::Arrivals } else { Interest::Bytes }
    }

    /// The connection at hand is gone; the session stays.
    pub(crate) fn forget_link(&mut self) -> Option<Link> {
        self.client.lane_lost(self.client_lane());
        let (generation, phase) = (self.next_generation(), self.line.phase);
        let newest_sent_us = self.line.newest_sent_us;
        let line = Line { generation, phase, newest_sent_us, ..Line::default() };
        std::mem::replace(&mut self.line, line).link
    }

    fn next_generation(&mut self) -> u32 {
        self.generations = (self.generations + 1) & token::GENERATIONS;
        self.generations
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_proto::client::Transport;

    #[test]
    fn an_idle_client_is_small_and_owns_no_buffer() {
        let conn = Conn::new(&Config::new(Transport::WebSocket), 1, 0, false);
        let line = &conn.line;
        assert_eq!(
            line.carry.capacity()
                + line.checked.capacity()
                + line.out.capacity()
                + line.more_stamps.capacity()
                + line.scanner.pending(),
            0
        );
        assert!(conn.side.is_none());
        // With 56 bytes of accounts a subscription, well below the 1 KiB of the promise.
        assert!(size_of::<Conn>() <= 512, "{} bytes", size_of::<Conn>());
    }

    #[test]
    fn the_second_line_has_its_own_state_and_its_own_token() {
        let mut conn = Conn::new(&Config::new(Transport::Bayeux), 1, 0, false);
        conn.line.carry = vec![1];
        let first = conn.token(7);
        assert_eq!(conn.turn_to(Lane::Command), Lane::Connect);
        assert!(conn.line.carry.is_empty());
        assert_ne!(conn.token(7), first);
        let second = conn.token(7);
        conn.forget_link();
        assert_ne!(conn.token(7), second, "what the old connection has to say is stale");
        assert_eq!(conn.turn_to(Lane::Connect), Lane::Command);
        assert_eq!((conn.token(7), conn.line.carry.len()), (first, 1));
    }
}
