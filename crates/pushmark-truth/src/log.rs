//! The truth log of a server (`serve --truth FILE`), read back.

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use anyhow::Context as _;

/// The server's account of one publication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Publication {
    pub(super) channel: String,
    pub(super) sequence: u64,
    pub(super) due_us: u64,
    /// When its publisher sent it.
    pub(super) sent_us: u64,
    /// Subscriptions when it was published.
    pub(super) subscribers: u64,
    /// Written deliveries, including the second of a duplicate.
    pub(super) written: u64,
    pub(super) dropped: u64,
    pub(super) duplicated: u64,
    pub(super) swapped: u64,
    pub(super) truncated: u64,
    pub(super) listening: u64,
    pub(super) in_flight: u64,
    pub(super) deaf: u64,
    pub(super) corrupted: u64,
}

impl Publication {
    /// Subscribers that received it, each counted once.
    pub(super) fn heard(&self) -> u64 {
        self.written - self.duplicated
    }
}

/// One delivery: sequence on its channel, and when its write began and ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) channel: String,
    pub(super) sequence: u64,
    pub(super) at_us: u64,
    pub(super) done_us: u64,
}

/// A whole log.
#[derive(Clone, Debug, Default)]
pub(super) struct TruthLog {
    pub(super) publications: Vec<Publication>,
    pub(super) writes: Vec<Write>,
}

impl TruthLog {
    pub(super) fn read(path: &Path) -> anyhow::Result<TruthLog> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("the server left no truth log at {}", path.display()))?;
        TruthLog::parse(&text).with_context(|| format!("{} is no truth log", path.display()))
    }

    fn parse(text: &str) -> anyhow::Result<TruthLog> {
        let mut log = TruthLog::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let fields: Vec<&str> = line.split(',').collect();
            let at = |n: usize| *fields.get(n).unwrap_or(&"");
            let number = |n: usize| at(n).parse::<u64>().with_context(|| format!("field {n} of `{line}`"));
            match at(0) {
                // A publication without a stamp does not belong to the run.
                "publication" if !at(3).is_empty() => log.publications.push(Publication {
                    channel: at(2).to_owned(),
                    sequence: number(3)?,
                    due_us: number(4)?,
                    sent_us: number(5)?,
                    subscribers: number(6)?,
                    written: number(7)?,
                    dropped: number(8)?,
                    duplicated: number(9)?,
                    swapped: number(10)?,
                    truncated: number(11)?,
                    listening: number(13)?,
                    in_flight: number(14)?,
                    deaf: number(15)?,
                    corrupted: number(16)?,
                }),
                "delivery" if !at(2).is_empty() => log.writes.push(Write {
                    channel: at(1).to_owned(),
                    sequence: number(2)?,
                    at_us: number(4)?,
                    done_us: number(5)?,
                }),
                _ => {}
            }
        }
        Ok(log)
    }

    /// The log of the publications with these sequences, on every channel.
    pub(super) fn between(&self, sequences: Range<u64>) -> TruthLog {
        let has = |sequence: u64| sequences.contains(&sequence);
        TruthLog {
            publications: self.publications.iter().filter(|p| has(p.sequence)).cloned().collect(),
            writes: self.writes.iter().filter(|w| has(w.sequence)).cloned().collect(),
        }
    }

    /// The sum of a column over the publications of each channel from the `first` on: those of the measure
    /// phase, which is the last to publish. They are found by sequence number, so that publications that were
    /// never sent do not shift the others.
    pub(super) fn sum_from(&self, first: u64, column: impl Fn(&Publication) -> u64) -> u64 {
        self.publications.iter().filter(|p| p.sequence >= first).map(column).sum()
    }

    /// The sequence of the first of the last `count` publications, if there is one channel and all were sent.
    pub(super) fn first_of_last(&self, count: u64) -> u64 {
        let sent = self.publications.iter().map(|p| p.sequence + 1).max();
        sent.unwrap_or(0).saturating_sub(count)
    }

    /// Microseconds from due to each write of the publications of each channel from the `first` on.
    pub(super) fn delays_us_from(&self, first: u64) -> Vec<u64> {
        self.since_from(first, |publication| publication.due_us, |write| write.at_us)
    }

    /// The same to the end of each write.
    pub(super) fn delays_done_us_from(&self, first: u64) -> Vec<u64> {
        self.since_from(first, |publication| publication.due_us, |write| write.done_us)
    }

    /// The same, counted from when each was sent: the time in the server and on the way to it.
    pub(super) fn service_us_from(&self, first: u64) -> Vec<u64> {
        self.since_from(first, |publication| publication.sent_us, |write| write.at_us)
    }

    fn since_from(&self, first: u64, since: fn(&Publication) -> u64, to: fn(&Write) -> u64) -> Vec<u64> {
        let since_us = self.instants_us(since);
        let delay = |w: &Write| Some(to(w).saturating_sub(*since_us.get(&(w.channel.as_str(), w.sequence))?));
        self.writes.iter().filter(|w| w.sequence >= first).filter_map(delay).collect()
    }

    fn instants_us(&self, of: fn(&Publication) -> u64) -> HashMap<(&str, u64), u64> {
        self.publications.iter().map(|p| ((p.channel.as_str(), p.sequence), of(p))).collect()
    }

    /// Microseconds from due to each write.
    pub(super) fn delays_us(&self) -> Vec<u64> {
        self.delays_us_by(|_| ()).into_iter().map(|((), us)| us).collect()
    }

    /// The same, each with the value of `group` for its sequence.
    pub(super) fn delays_us_by<G>(&self, group: impl Fn(u64) -> G) -> Vec<(G, u64)> {
        let due = self.instants_us(|publication| publication.due_us);
        let delay = |w: &Write| {
            let due_us = due.get(&(w.channel.as_str(), w.sequence))?;
            Some((group(w.sequence), w.at_us.saturating_sub(*due_us)))
        };
        self.writes.iter().filter_map(delay).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_read_by_its_columns() {
        let log = TruthLog::parse(
            "# pushmark.truth/1\n\
             publication,1,c0,0,100,110,2,2,0,0,0,0,0,2,0,0,0\n\
             publication,2,c0,1,200,210,2,3,1,2,0,0,0,1,0,1,3\n\
             delivery,c0,0,1,115,120\ndelivery,c0,1,2,260,261\ntotal,written,5\n",
        )
        .unwrap();
        assert_eq!((log.publications.len(), log.writes.len()), (2, 2));
        assert_eq!(log.sum_from(1, |p| p.dropped + p.deaf), 2);
        assert_eq!(log.sum_from(0, Publication::heard), 3);
        assert_eq!(log.sum_from(0, |p| p.corrupted), 3);
        assert_eq!(log.delays_us(), [15, 60]);
        assert_eq!(log.delays_us_from(1), [60]);
        assert_eq!(log.delays_done_us_from(0), [20, 61]);
        assert_eq!(log.service_us_from(0), [5, 50]);
        assert!(TruthLog::parse("publication,1,c0,x,1").is_err());
    }

    #[test]
    fn a_part_of_a_log_has_the_same_sequences_of_every_channel() {
        let mut text = String::new();
        for (channel, published) in [("a", 5), ("b", 7)] {
            for sequence in 0..published {
                text += &format!("publication,1,{channel},{sequence},100,110,1,1,0,0,0,0,0,1,0,0,0\n");
                text += &format!("delivery,{channel},{sequence},1,120,121\n");
            }
        }
        let part = TruthLog::parse(&text).unwrap().between(2..6);
        let of = |channel: &str| -> Vec<u64> {
            part.publications.iter().filter(|p| p.channel == channel).map(|p| p.sequence).collect()
        };
        assert_eq!((of("a"), of("b")), (vec![2, 3, 4], vec![2, 3, 4, 5]));
        assert_eq!(part.writes.len(), 7);
    }
}
