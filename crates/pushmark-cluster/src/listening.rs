//! What a coordinator makes of an agent's pieces, and of their absence. It knows no bus and no clock: time is told.

use pushmark_model::cluster::Piece;

use crate::pieces::Pieces;

/// Time without a word after which an agent is asked for what it has.
const SILENT_AFTER_NS: u64 = 2_500_000_000;
/// Time between two such questions.
const ASK_EVERY_NS: u64 = 1_000_000_000;
/// Time after the end of the arm's plan after which a silent agent is lost: before, it may be measuring behind a
/// broken wire.
const LOST_AFTER_NS: u64 = 8_000_000_000;

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Ask for the pieces from this number on, up to the other.
    Ask {
        /// The first missing one.
        from: u64,
        /// The number after the last.
        to: u64,
    },
    /// Tell people that nothing is heard of it.
    Silent,
    /// Tell people that it is back.
    Back,
    /// Give it up: nothing was heard for this time, ns.
    Lost(u64),
}

/// The way to one agent, for one arm.
#[derive(Debug)]
pub struct Listening {
    pieces: Pieces,
    /// The last sign of life.
    word_ns: u64,
    /// The last question.
    asked_ns: u64,
    is_silent: bool,
    /// Pieces that the agent is known to have.
    known: u64,
    /// When the plan is over.
    ends_ns: u64,
}

impl Listening {
    /// Listens from now on, to an arm whose plan ends then.
    pub fn new(now_ns: u64, ends_ns: u64) -> Listening {
        Listening {
            pieces: Pieces::default(),
            word_ns: now_ns,
            asked_ns: now_ns,
            is_silent: false,
            known: 0,
            ends_ns,
        }
    }

    /// The plan of the arm is over then.
    pub fn ends(&mut self, ends_ns: u64) {
        self.ends_ns = ends_ns;
    }

    /// Takes a piece. Returns the messages that are complete now, in order.
    pub fn take(&mut self, now_ns: u64, piece: Piece) -> Vec<Vec<u8>> {
        self.word_ns = now_ns;
        self.pieces.take(piece)
    }

    /// The agent has answered a question: it lives, and has this number of pieces.
    pub fn answered(&mut self, now_ns: u64, known: u64) {
        self.word_ns = now_ns;
        self.known = self.known.max(known);
    }

    /// Returns what is to be done now, if anything is; ask until nothing is.
    pub fn due(&mut self, now_ns: u64) -> Option<Due> {
        let quiet_ns = now_ns.saturating_sub(self.word_ns);
        let is_silent = quiet_ns > SILENT_AFTER_NS;
        if is_silent != self.is_silent {
            self.is_silent = is_silent;
            return Some(if is_silent { Due::Silent } else { Due::Back });
        }
        if is_silent && now_ns > self.ends_ns.saturating_add(LOST_AFTER_NS) {
            return Some(Due::Lost(quiet_ns));
        }
        let from = self.pieces.next();
        let known = Some(self.known).filter(|known| *known > from);
        let missing = self.pieces.missing_to().or(known);
        if (missing.is_some() || is_silent) && now_ns.saturating_sub(self.asked_ns) > ASK_EVERY_NS {
            self.asked_ns = now_ns;
            return Some(Due::Ask { from, to: missing.unwrap_or(u64::MAX) });
        }
        None
    }
}
