//! What a coordinator and agents on other machines tell each other.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::environment::ServerRef;
use crate::monitor::Beside;
use crate::plan::ArmPlan;
use crate::run::CaseRef;

/// The version of these messages. An agent of another version is refused by name.
pub const VERSION: u32 = 4;

/// Drawn by an agent for each claim: an order that does not contain it was given to another or before.
pub type Challenge = [u8; 16];

/// An agent or a monitor: who and where it is, and what it can hold. JSON on the bus, so that people can read it there.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Card {
    /// Its name, which no other agent on the bus has.
    pub name: String,
    /// The version of pushmark.
    pub version: String,
    /// The version of the messages ([`VERSION`]).
    pub wire: u32,
    /// The name of its machine.
    pub host: String,
    /// What tells this machine and its network from every other (its boot and its network).
    pub machine: String,
    /// Labels given to it, for choosing agents.
    pub labels: BTreeMap<String, String>,
    /// CPUs that it may use.
    pub cpus: u32,
    /// Shards that it takes: its share of a run.
    pub threads: u32,
    /// Files that it may open.
    pub open_files: u64,
    /// Where it may send traffic, beside its own machine.
    pub targets: Vec<String>,
    /// Whose orders it takes; empty: anybody's, for its own machine only.
    pub trusts: Vec<String>,
    /// Where it answers clock probes.
    pub probe: SocketAddr,
    /// How its machine's wall clock is kept, in words. Nothing rests on it.
    #[serde(default)]
    pub wall_clock: String,
    /// The run that it works for; absent: none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub busy: Option<String>,
    /// It is a monitor: it watches a server beside it, and drives no clients.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub beside: Option<Beside>,
}

impl Card {
    /// Returns whether it has all of these labels.
    pub fn has(&self, labels: &[(String, String)]) -> bool {
        labels.iter().all(|(key, value)| self.labels.get(key) == Some(value))
    }
}

/// A question to one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Ask {
    /// Work for this coordinator alone. Answered by [`Answer::Claimed`].
    Claim {
        /// A name for the work, which no other has.
        claim: String,
        /// Who asks, for people.
        by: String,
        /// Its version of pushmark.
        version: String,
        /// Its version of these messages.
        wire: u32,
    },
    /// The coordinator is still there. Answered by [`Answer::Done`].
    Keep {
        /// The name of the work.
        claim: String,
    },
    /// An order. Answered by [`Answer::Done`].
    Order(Signed),
    /// Send pieces again, from this number on. Answered by [`Answer::Spooled`].
    Again {
        /// The name of the work.
        claim: String,
        /// The arm.
        arm: u32,
        /// The first missing piece.
        from: u64,
        /// The number after the last.
        to: u64,
    },
    /// The work is over. Answered by [`Answer::Done`].
    Release {
        /// The name of the work.
        claim: String,
        /// Every piece has arrived, so the spools are not needed any more.
        complete: bool,
    },
    /// Which spools are kept. Answered by [`Answer::Kept`].
    Kept,
    /// A part of a spool. Answered by [`Answer::Part`].
    Part {
        /// Its file.
        file: String,
        /// Where the part begins.
        from: u64,
    },
}

/// An agent's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// It works for the asking coordinator, whose orders must be like this.
    Claimed(Terms),
    /// It did as it was asked.
    Done,
    /// The number of pieces of the arm so far.
    Spooled(u64),
    /// It did not, and why.
    Refused(String),
    /// Its spools.
    Kept(Vec<KeptSpool>),
    /// The next bytes of a spool; none at its end.
    Part(Vec<u8>),
}

/// A spool that an agent has kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptSpool {
    /// The name of the file.
    pub file: String,
    /// The work that it is of.
    pub claim: String,
    /// Its length so far.
    pub bytes: u64,
    /// It is still being written.
    pub working: bool,
}

/// What the orders for a piece of work are like, drawn by the machine that is claimed for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// They contain this.
    pub challenge: Challenge,
    /// They are sealed to this key (X25519).
    pub seal_to: [u8; 32],
}

/// A part of what an agent says. All of its parts, joined, are one message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The arm.
    pub arm: u32,
    /// Its number, from 0 in each arm.
    pub number: u64,
    /// The message ends here.
    pub last: bool,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// An order and its signature.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Signed {
    /// A [`Letter`], as bytes.
    pub letter: Vec<u8>,
    /// The public key of its sender.
    pub key: [u8; 32],
    /// Over the letter.
    pub signature: Vec<u8>,
}

/// What is signed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Letter {
    /// The agent that it is to.
    pub agent: String,
    /// The name of the work.
    pub claim: String,
    /// The agent's challenge for this work.
    pub challenge: Challenge,
    /// Counts up, so that an order is taken once.
    pub number: u64,
    /// The order, as bytes, sealed to the agent's key for this work.
    pub order: Vec<u8>,
}

/// What a spool begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpoolHead {
    /// The name of the work.
    pub claim: String,
    /// The arm.
    pub arm: u32,
    /// The agent.
    pub agent: String,
    /// What was measured; absent in a monitor's.
    pub plan: Option<SpooledPlan>,
}

/// What an agent measured, as far as figures need it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpooledPlan {
    /// The arm without its words ([`ArmPlan::without_words`](crate::plan::ArmPlan::without_words)), as JSON.
    pub arm: String,
    /// The name of the agent's machine.
    pub host: String,
    /// The agent's version of pushmark.
    pub version: String,
    /// All shards of the arm.
    pub shards: u32,
    /// Those of this agent.
    pub own: Vec<u32>,
    /// The run that the arm is of: a [`SpooledRun`] as JSON; empty if it is not known.
    pub run: String,
}

/// The run that an arm is of, as far as it can be made again from spools. It holds no secret.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SpooledRun {
    /// Its name.
    pub name: String,
    /// When it began.
    pub started_at: String,
    /// The scenario as resolved.
    pub scenario: Value,
    /// The scenario's text as given.
    pub text: String,
    /// Its thresholds, the default ones included: `delivery.p99 < 50ms`.
    pub thresholds: Vec<String>,
    /// All of its arms without their words, in the order in which they are measured.
    pub arms: Vec<ArmPlan>,
    /// The server that was started for it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub server: Option<ServerRef>,
    /// The cell of a suite.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub case: Option<CaseRef>,
}
