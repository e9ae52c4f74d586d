//! Texts from a target that numbers do not cover: its refusals, and why connections ended.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decode::Decode;

/// Most bytes of a received message that are kept for display.
pub const SHOWN_MAX: usize = 256;

/// Most different endings that are counted separately.
pub const ENDS_MAX: usize = 8;

/// Name under which endings beyond [`ENDS_MAX`] are counted.
const OTHER: &str = "other";

/// Texts from the target, bounded in size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Words {
    /// A message without a stamp, received while no message had one of this run.
    pub came: Option<Came>,
    /// The decoding that undoes the target's encoding of publications; absent: no encoding was found.
    pub decoded: Option<Decode>,
    /// How subscribed connections were lost.
    pub lost: Ends,
    /// How attempts to subscribe failed.
    pub failed: Ends,
    /// The last data received on one of the connections that ended.
    pub last: Option<Last>,
    /// The target's answer to the first publication that it refused.
    pub refusal: Option<String>,
}

/// A message in which no stamp was found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Came {
    /// Its beginning, at most [`SHOWN_MAX`] bytes.
    pub begin: Vec<u8>,
    /// Its length in bytes.
    pub length: u32,
    /// Whether it was long enough for a payload of this run.
    pub could_be_ours: bool,
}

/// How connections ended, in the transport's words (`4401 token expired`, `HTTP 403`, `reset`), with counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends(pub BTreeMap<String, u64>);

impl Ends {
    /// Counts `n` connections that ended this way.
    pub fn add(&mut self, how: &str, n: u64) {
        if let Some(known) = self.0.get_mut(how) {
            *known += n;
            return;
        }
        let how = if self.0.len() < ENDS_MAX { how } else { OTHER };
        *self.0.entry(how.to_owned()).or_default() += n;
    }

    fn merge(&mut self, other: &Ends) {
        for (how, n) in &other.0 {
            self.add(how, *n);
        }
    }
}

/// The last data a target sent to a client whose connection ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Last {
    /// How it ended.
    pub how: String,
    /// The beginning of the last data, escaped and on one line.
    pub said: String,
}

impl Words {
    /// Keeps a message without a stamp. One that could be from this run is preferred; otherwise the latest is
    /// kept.
    pub fn came(&mut self, came: Came) {
        if came.could_be_ours || !self.came.as_ref().is_some_and(|kept| kept.could_be_ours) {
            self.came = Some(came);
        }
    }

    /// Records how a connection ended and what it received last. Keeps the first one that received anything.
    pub fn ended_after(&mut self, how: &str, said: impl FnOnce() -> String) {
        if self.last.is_none() {
            let said = said();
            self.last = (!said.is_empty()).then(|| Last { how: how.to_owned(), said });
        }
    }

    /// Adds the texts of another shard or interval.
    pub fn merge(&mut self, other: &Words) {
        if let Some(came) = &other.came {
            self.came(came.clone());
        }
        self.decoded = self.decoded.or(other.decoded);
        self.lost.merge(&other.lost);
        self.failed.merge(&other.failed);
        self.last = self.last.take().or_else(|| other.last.clone());
        self.refusal = self.refusal.take().or_else(|| other.refusal.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_be_ours_is_kept_and_ends_are_bounded() {
        let came = |length, could_be_ours| Came { begin: Vec::new(), length, could_be_ours };
        let mut words = Words::default();
        for (length, ours, kept) in [(1, false, 1), (2, false, 2), (200, true, 200), (3, false, 200)] {
            words.came(came(length, ours));
            assert_eq!(words.came.as_ref().map(|c| c.length), Some(kept));
        }
        let mut sum = Words::default();
        for code in 4_000..4_100 {
            words.lost.add(&code.to_string(), 1);
        }
        sum.merge(&words);
        sum.merge(&words);
        assert_eq!((sum.lost.0.len(), sum.lost.0["4000"]), (ENDS_MAX + 1, 2));
        assert_eq!(sum.lost.0.values().sum::<u64>(), 200);
    }

    #[test]
    fn the_first_that_was_told_anything_is_the_example() {
        let mut words = Words::default();
        for (how, said) in [("reset", ""), ("4401 expired", "welcome"), ("HTTP 403", "no")] {
            words.ended_after(how, || said.to_owned());
        }
        let mut sum = Words::default();
        sum.merge(&words);
        let last = sum.last.expect("one was told something");
        assert_eq!((last.how.as_str(), last.said.as_str()), ("4401 expired", "welcome"));
    }
}
