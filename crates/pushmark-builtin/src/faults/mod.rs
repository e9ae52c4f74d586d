//! Faults on request: known errors that the measuring tool is checked against.
//!
//! Every fault is deterministic. Faults that affect one in N keep an exact count, so that the total after
//! `count` chances is `count / N`, rounded down. This file defines the faults as the command line writes
//! them; `fate.rs` decides when each strikes.

mod encode;
pub(crate) mod fate;
mod spec;

use std::num::{NonZeroU64, NonZeroUsize};

pub use encode::Encode;
pub use spec::SpecError;

/// All faults; none by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Every delivery is written this much later.
    pub delay: Option<Delay>,
    /// Every thread stops for a while.
    pub freeze: Option<Freeze>,
    /// One in N deliveries is dropped.
    pub drop: Option<OneIn>,
    /// One in N deliveries is made twice; for a long poll, in two answers.
    pub dup: Option<OneIn>,
    /// One in N deliveries is swapped with the next of its channel to the same subscriber.
    pub swap: Option<OneIn>,
    /// One in N deliveries lacks its last [`TRUNCATED_BYTES`] bytes, and so its stamp.
    pub truncate: Option<OneIn>,
    /// One in N deliveries has another first byte than published, so its padding is wrong and its stamp is
    /// not. A payload that consists of a stamp only has no padding to corrupt.
    pub corrupt: Option<OneIn>,
    /// One in N connections that subscribe is reset.
    pub refuse: Option<OneIn>,
    /// One in N connections that subscribe is never answered.
    pub half_open: Option<OneIn>,
    /// One in N subscribed connections is reset at a set time, between publications.
    pub reset: Option<ResetAt>,
    /// Messages are written in pieces of this size, one a millisecond.
    pub slow_write: Option<NonZeroUsize>,
    /// Every payload is delivered encoded, including its stamp.
    pub encode: Option<Encode>,
    /// One in N publications by request is answered with 503 and not published.
    pub refuse_publish: Option<OneIn>,
    /// One in N publications by request is published and still answered with 503.
    pub deny_publish: Option<OneIn>,
    /// One in N publications by request is published, and its connection is reset without an answer.
    pub hang_up: Option<OneIn>,
    /// Every emitter silently stops after this number of publications on each channel.
    pub stop_emitters_after: Option<u64>,
}

/// The bytes that a truncated message lacks at its end. The rest is not a stamp.
pub const TRUNCATED_BYTES: usize = 10;

/// How often a fault strikes: `1/N`, first at the Nth chance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OneIn(pub NonZeroU64);

/// How late deliveries are: `5ms`, `table:1ms,2ms,5ms` or `bimodal:2ms,20ms,10`.
///
/// Publications are numbered by the sequence of their stamp, or without a stamp by their order. Later
/// publications with shorter delays overtake earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delay {
    /// The same for all, ns.
    Fixed(u64),
    /// By the number of the publication, repeating, ns. Never empty.
    Table(Vec<u64>),
    /// Every `every`th publication `rare_ns`, all others `usual_ns`.
    Bimodal {
        /// Delay of most publications, ns.
        usual_ns: u64,
        /// Delay of every `every`th publication, ns.
        rare_ns: u64,
        /// The interval of the rare delay.
        every: NonZeroU64,
    },
}

impl Delay {
    /// Returns the delay of a publication, numbered from 0, ns.
    pub fn of(&self, number: u64) -> u64 {
        match self {
            Delay::Fixed(ns) => *ns,
            Delay::Table(table) => table[(number % table.len() as u64) as usize],
            Delay::Bimodal { rare_ns, every, .. } if (number + 1).is_multiple_of(every.get()) => *rare_ns,
            Delay::Bimodal { usual_ns, .. } => *usual_ns,
        }
    }
}

/// `S@T`: stop for S, beginning T after the first publication (`2s@5s`). Emitters keep their schedule and
/// afterwards publish the missed ticks, each with its own due instant (unless [`crate::Options::skip_late`]
/// is set). A pass of writes is never interrupted.
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
    /// Which connections, counted in the order in which they first subscribed.
    pub one_in: OneIn,
    /// When, ns after the first publication.
    pub after_ns: u64,
}

impl Faults {
    /// Returns whether faults affect single deliveries.
    pub(crate) fn strike_deliveries(&self) -> bool {
        [self.drop, self.dup, self.swap, self.truncate, self.corrupt].iter().any(Option::is_some)
    }
}
