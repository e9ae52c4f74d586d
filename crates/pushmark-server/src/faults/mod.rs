//! What the server does wrong on request: the known answers the instrument is checked with.
//!
//! Every fault is deterministic. Those that strike one in N keep an exact count, so that the
//! total after `count` chances is `count / N`, rounded down. This file is the vocabulary, as
//! the command line writes it; `fate.rs` decides when each strikes.

pub(crate) mod fate;
mod spec;

use std::num::{NonZeroU64, NonZeroUsize};

pub use spec::SpecError;

/// All faults; the default has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Every delivery is written so long after it would have been.
    pub delay: Option<Delay>,
    /// Every thread stands still for a while.
    pub freeze: Option<Freeze>,
    /// One in N deliveries is not made.
    pub drop: Option<OneIn>,
    /// One in N deliveries is made twice; in two answers where a long poll carries it.
    pub dup: Option<OneIn>,
    /// One in N deliveries changes places with the next of its channel to the same subscriber.
    pub swap: Option<OneIn>,
    /// One in N deliveries lacks its last [`TRUNCATED_BYTES`] bytes, and so its stamp.
    pub truncate: Option<OneIn>,
    /// One in N deliveries has another first byte than was published: its padding is wrong, its
    /// stamp is not. A payload that is a stamp and nothing else has no padding to be wrong.
    pub corrupt: Option<OneIn>,
    /// One in N connections that ask to subscribe is reset.
    pub refuse: Option<OneIn>,
    /// One in N connections that ask to subscribe is never answered.
    pub half_open: Option<OneIn>,
    /// One in N connections that subscribed is reset at a set time, between publications.
    pub reset: Option<ResetAt>,
    /// Messages leave in pieces of so many bytes, one a millisecond.
    pub slow_write: Option<NonZeroUsize>,
    /// Every emitter falls silent, without a word, after so many publications on each channel.
    pub stop_emitters_after: Option<u64>,
}

/// Bytes a truncated message lacks at its end; what is left is no stamp.
pub const TRUNCATED_BYTES: usize = 10;

/// How often a fault strikes: `1/N`, the Nth chance first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneIn(pub NonZeroU64);

/// How late deliveries are: `5ms`, `table:1ms,2ms,5ms` or `bimodal:2ms,20ms,10`.
///
/// Publications are numbered by their stamp's sequence, those without a stamp by their order.
/// Where later publications have shorter delays they overtake earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delay {
    /// All alike, ns.
    Fixed(u64),
    /// By number of the publication, over and over, ns. Never empty.
    Table(Vec<u64>),
    /// Every `every`th publication `rare_ns`, all others `usual_ns`.
    Bimodal {
        /// Delay of most publications, ns.
        usual_ns: u64,
        /// Delay of every `every`th publication, ns.
        rare_ns: u64,
        /// How often the rare delay is taken.
        every: NonZeroU64,
    },
}

impl Delay {
    /// The delay of a publication, numbered from 0, ns.
    pub fn of(&self, number: u64) -> u64 {
        match self {
            Delay::Fixed(ns) => *ns,
            Delay::Table(table) => table[(number % table.len() as u64) as usize],
            Delay::Bimodal { rare_ns, every, .. } if (number + 1).is_multiple_of(every.get()) => *rare_ns,
            Delay::Bimodal { usual_ns, .. } => *usual_ns,
        }
    }
}

/// `S@T`: stand still for S, beginning T after the first publication (`2s@5s`). Emitters keep
/// their schedule and publish what they missed afterwards, each tick with its own due instant
/// (unless [`crate::Options::skip_late`] is set). A pass of writes is never interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freeze {
    /// How long, ns.
    pub for_ns: u64,
    /// When, ns after the first publication.
    pub after_ns: u64,
}

/// `1/N@T`: reset every Nth connection that subscribed, T after the first publication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResetAt {
    /// Which of the connections, counted in the order in which they first asked to subscribe.
    pub one_in: OneIn,
    /// When, ns after the first publication.
    pub after_ns: u64,
}

impl Faults {
    /// Whether single deliveries are tampered with.
    pub(crate) fn strike_deliveries(&self) -> bool {
        [self.drop, self.dup, self.swap, self.truncate, self.corrupt].iter().any(Option::is_some)
    }
}
