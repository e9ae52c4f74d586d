//! One client of the crowd: its session, its connection if it has one, and its state.
//!
//! Between messages a client owns no buffer. The vectors of a line are empty unless a message is split over
//! two reads or a write did not fit. A second line is boxed while it is open.

use pushmark_model::refresh::Refresh;
use pushmark_model::stamp::Scanner;
use pushmark_net::{Interest, Link, Nanos};
use pushmark_proto::client::{Client, Config, Lane};
use pushmark_proto::json_pointer::Scan;

use crate::before::Errand;
use crate::job::Job;
use crate::never::NEVER;
use crate::payload_state::PayloadState;
use crate::steps::Steps;
use crate::token::{self, Owner};

/// The state of a line. The state of the first line is the state of its client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Its turn in the ramp has not come.
    #[default]
    Waiting,
    /// The handshake of TCP or TLS is in progress.
    Connecting,
    /// The request is sent. The answer has not begun, or (polls) is not complete.
    Asked,
    /// A push transport that is established.
    Open,
    /// Between two polls, or between two attempts.
    Resting,
    /// Ended, without another attempt.
    Gone,
}

/// One connection of a client, and its state.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) link: Option<Link>,
    /// Bytes of an incomplete unit. They are parsed again, in front of the next bytes.
    pub(crate) carry: Vec<u8>,
    /// Bytes that did not fit into the socket.
    pub(crate) out: Vec<u8>,
    pub(crate) scanner: Scanner,
    /// What the scanner cannot find in the current message.
    pub(crate) sight: Option<Box<PayloadState>>,
    /// Length of the current message so far.
    pub(crate) length: u32,
    /// The current message so far, if its content is compared or its document is read.
    pub(crate) kept: Vec<u8>,
    /// The search for the target's own timestamp in the current message.
    pub(crate) own_stamp: Option<Box<Scan>>,
    /// When the current wait times out.
    pub(crate) give_up_ns: Nanos,
    /// Sent instant of the newest stamp in this answer, µs.
    pub(crate) newest_sent_us: u64,
    /// Number of the connection among its client's connections. A token with another number is stale.
    pub(crate) generation: u32,
    /// Stamps in the current message or answer.
    pub(crate) stamps: u16,
    /// The first of these stamps (channel, sequence), and the others. A stamp that occurs twice in a message
    /// counts once.
    pub(crate) first_stamp: (u32, u32),
    pub(crate) more_stamps: Vec<(u32, u32)>,
    /// How many of these stamps are new.
    pub(crate) news: u16,
    pub(crate) phase: Phase,
    /// Bytes were read and are not parsed yet, so it is not known which of them must be carried.
    pub(crate) unparsed: bool,
    /// A byte was received on this connection.
    pub(crate) answered: bool,
    /// An answer was completed on this connection before: the connection is reused.
    pub(crate) reused: bool,
    /// The poller waits for room to write.
    pub(crate) writing: bool,
    /// The connection is not read because its target does not read what it is sent.
    pub(crate) held: bool,
    /// The current message is the one that confirmed the subscription.
    pub(crate) greeting: bool,
}

impl Default for Line {
    fn default() -> Line {
        Line {
            link: None,
            carry: Vec::new(),
            out: Vec::new(),
            scanner: Scanner::default(),
            sight: None,
            length: 0,
            kept: Vec::new(),
            own_stamp: None,
            give_up_ns: NEVER,
            newest_sent_us: 0,
            generation: 0,
            stamps: 0,
            first_stamp: (0, 0),
            more_stamps: Vec::new(),
            news: 0,
            phase: Phase::default(),
            unparsed: false,
            answered: false,
            reused: false,
            writing: false,
            held: false,
            greeting: false,
        }
    }
}

/// The second line of a client that has one, and its purpose: the commands of a Bayeux session, or polls
/// beside a push connection.
#[derive(Debug, Default)]
pub(crate) struct Side {
    pub(crate) line: Line,
    /// Publications that wait for this line.
    pub(crate) jobs: Vec<Job>,
    /// Publications that are written and not yet answered.
    pub(crate) unanswered: u32,
    /// When the target last let this line go on: it connected, or was answered.
    pub(crate) free_ns: Nanos,
    /// Since when this line is idle.
    pub(crate) idle_since_ns: Nanos,
    /// Since when the line waits for its turn to open; `None` if it does not.
    pub(crate) queued_ns: Option<Nanos>,
    /// How long it waited for that since its last publication: pushmark's own bound.
    pub(crate) bound_ns: Nanos,
    /// The client that polls over this line, beside a push connection.
    poller: Option<Box<Client>>,
    /// States that a poll received before the push connection did, newest first (channel, sequence).
    pub(crate) found: Vec<(u32, u32)>,
}

impl Side {
    /// Whether this line is used for polls.
    pub(crate) fn polls(&self) -> bool {
        self.poller.is_some()
    }
}

/// What an assumed subscription was counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Assumed {
    Opened,
    Reconnected,
}

/// One client.
#[derive(Debug)]
pub(crate) struct Conn {
    pub(crate) client: Client,
    /// The line of [`Lane::Connect`], the only one of most clients.
    pub(crate) first: Line,
    /// The line of [`Lane::Command`].
    pub(crate) side: Option<Box<Side>>,
    /// How far it is with the steps of its subscription, and what it took, if there is any of both.
    pub(crate) steps: Option<Box<Steps>>,
    /// The requests before its subscription, while it makes them.
    pub(crate) errand: Option<Box<Errand>>,
    /// When this attempt was due.
    pub(crate) due_ns: Nanos,
    /// When the last request was written.
    pub(crate) asked_ns: Nanos,
    /// When the last message or answer was complete; 0 if there was none yet.
    pub(crate) heard_ns: Nanos,
    /// When the client polls or reconnects next.
    pub(crate) next_ns: Nanos,
    /// Current gap between polls (adaptive polling changes it).
    pub(crate) refresh: Refresh,
    /// Its number in the plan.
    pub(crate) number: u32,
    /// Connections so far.
    generations: u32,
    /// Pause the server asked for before a reconnection.
    pub(crate) retry_ms: u32,
    /// Attempts since the connection was last established.
    pub(crate) attempts: u8,
    pub(crate) subscribed: bool,
    /// It has made the requests before its subscription.
    pub(crate) prepared: bool,
    /// The subscription is assumed: no head has been received on this connection.
    pub(crate) assumed: Option<Assumed>,
    pub(crate) ever_subscribed: bool,
    /// Its socket carries kernel receive stamps.
    pub(crate) stamped: bool,
    /// The server told the client not to reconnect.
    pub(crate) dismissed: bool,
    /// The last request is a connect that the server holds (Bayeux).
    pub(crate) held: bool,
}

impl Conn {
    pub(crate) fn new(config: &Config, seed: u64, number: u32, stamped: bool) -> Conn {
        Conn {
            client: Client::new(config, seed),
            first: Line::default(),
            side: None,
            steps: None,
            errand: None,
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
            prepared: false,
            assumed: None,
            ever_subscribed: false,
            stamped,
            dismissed: false,
            held: false,
        }
    }

    /// The line of a lane. The second must be there.
    #[inline]
    pub(crate) fn line(&self, lane: Lane) -> &Line {
        match lane {
            Lane::Connect => &self.first,
            Lane::Command => &self.side.as_ref().expect("a second line").line,
        }
    }

    /// As [`Conn::line`], to change it.
    #[inline]
    pub(crate) fn line_mut(&mut self, lane: Lane) -> &mut Line {
        match lane {
            Lane::Connect => &mut self.first,
            Lane::Command => &mut self.side.as_mut().expect("a second line").line,
        }
    }

    /// Whether the connection of a lane is still the one with this generation. A second line that is gone is
    /// not.
    #[inline]
    pub(crate) fn is_current(&self, lane: Lane, generation: u32) -> bool {
        match lane {
            Lane::Connect => self.first.generation == generation,
            Lane::Command => self.side.as_ref().is_some_and(|side| side.line.generation == generation),
        }
    }

    /// The second line, which is made if it is not there.
    pub(crate) fn side_or_new(&mut self) -> &mut Side {
        if self.side.is_none() {
            let generation = self.next_generation();
            self.side.get_or_insert_default().line.generation = generation;
        }
        self.side.as_mut().expect("just made")
    }

    /// Adds a second line, over which the client polls beside its push connection.
    pub(crate) fn add_poller(&mut self, config: &Config, seed: u64) {
        let generation = self.next_generation();
        let side = self.side.get_or_insert_default();
        side.line.generation = generation;
        side.poller = Some(Box::new(Client::new(config, seed)));
    }

    /// Returns the client that speaks on a lane, and the lane as that client sees it. The client that polls
    /// beside a push connection has a single lane.
    #[inline]
    pub(crate) fn client_on(&mut self, lane: Lane) -> (&mut Client, Lane) {
        match (lane, &mut self.side) {
            (Lane::Command, Some(side)) => match &mut side.poller {
                Some(poller) => (poller, Lane::Connect),
                None => (&mut self.client, lane),
            },
            _ => (&mut self.client, lane),
        }
    }

    /// The token of a lane's connection.
    pub(crate) fn token(&self, index: u32, lane: Lane) -> u64 {
        let owner = match lane {
            Lane::Connect => Owner::Client,
            Lane::Command => Owner::Side,
        };
        token::pack(owner, self.line(lane).generation, index)
    }

    /// Whether a lane's connection carries kernel receive stamps.
    #[inline]
    pub(crate) fn is_stamped(&self, lane: Lane) -> bool {
        self.stamped && lane == Lane::Connect
    }

    /// How the poller watches a lane's connection for data. A kernel stamp needs a read call of the client,
    /// and so does decrypting TLS.
    pub(crate) fn arrivals(&self, lane: Lane) -> Interest {
        let own = self.is_stamped(lane) || matches!(self.line(lane).link, Some(Link::Tls(_)));
        if own { Interest::Arrivals } else { Interest::Bytes }
    }

    /// Drops a lane's connection. The session stays.
    pub(crate) fn forget_link(&mut self, lane: Lane) -> Option<Link> {
        let (client, seen) = self.client_on(lane);
        client.lane_lost(seen);
        let generation = self.next_generation();
        let line = self.line_mut(lane);
        let (phase, newest_sent_us) = (line.phase, line.newest_sent_us);
        let fresh = Line { generation, phase, newest_sent_us, ..Line::default() };
        std::mem::replace(line, fresh).link
    }

    /// Makes the token of the first line's connection stale, and returns the generation of the next.
    pub(crate) fn renew(&mut self) -> u32 {
        self.first.generation = self.next_generation();
        self.first.generation
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
        let line = &conn.first;
        assert_eq!(
            line.carry.capacity()
                + line.kept.capacity()
                + line.out.capacity()
                + line.more_stamps.capacity()
                + line.scanner.pending(),
            0
        );
        assert!(conn.side.is_none());
        // Together with 56 bytes of accounts for each subscription, this is well below the promised 1 KiB.
        assert!(size_of::<Conn>() <= 512, "{} bytes", size_of::<Conn>());
    }

    #[test]
    fn the_second_line_has_its_own_state_and_its_own_token() {
        let mut conn = Conn::new(&Config::new(Transport::Bayeux), 1, 0, false);
        conn.first.carry = vec![1];
        let first = conn.token(7, Lane::Connect);
        assert!(!conn.is_current(Lane::Command, 0), "there is no second line");
        assert!(conn.side_or_new().line.carry.is_empty());
        let (second, generation) = (conn.token(7, Lane::Command), conn.line(Lane::Command).generation);
        assert_ne!(second, first);
        assert!(conn.is_current(Lane::Command, generation));
        conn.forget_link(Lane::Command);
        assert_ne!(conn.token(7, Lane::Command), second, "what the old connection has to say is stale");
        assert!(!conn.is_current(Lane::Command, generation));
        assert_eq!((conn.token(7, Lane::Connect), conn.line(Lane::Connect).carry.len()), (first, 1));
    }
}
