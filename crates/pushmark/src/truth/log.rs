//! The truth log of a server (`serve --truth FILE`), read back.

use std::collections::HashMap;
use std::path::Path;

use anyhow::Context as _;

/// What the server says of one publication.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Publication {
    pub(super) channel: String,
    pub(super) sequence: u64,
    pub(super) due_us: u64,
    /// Subscriptions when it went out.
    pub(super) subscribers: u64,
    /// Deliveries written, the second of a duplicate among them.
    pub(super) written: u64,
    pub(super) dropped: u64,
    pub(super) duplicated: u64,
    pub(super) swapped: u64,
    pub(super) listening: u64,
    pub(super) in_flight: u64,
    pub(super) deaf: u64,
    pub(super) corrupted: u64,
}

impl Publication {
    /// Subscribers that heard it, each once.
    pub(super) fn heard(&self) -> u64 {
        self.written - self.duplicated
    }
}

/// One delivery: sequence on its channel, and when its write began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Write {
    pub(super) channel: String,
    pub(super) sequence: u64,
    pub(super) at_us: u64,
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
                // A publication without a stamp is none of the run's.
                "publication" if !at(3).is_empty() => log.publications.push(Publication {
                    channel: at(2).to_owned(),
                    sequence: number(3)?,
                    due_us: number(4)?,
                    subscribers: number(6)?,
                    written: number(7)?,
                    dropped: number(8)?,
                    duplicated: number(9)?,
                    swapped: number(10)?,
                    listening: number(13)?,
                    in_flight: number(14)?,
                    deaf: number(15)?,
                    corrupted: number(16)?,
                }),
                "delivery" if !at(2).is_empty() => log.writes.push(Write {
                    channel: at(1).to_owned(),
                    sequence: number(2)?,
                    at_us: number(4)?,
                }),
                _ => {}
            }
        }
        Ok(log)
    }

    /// The sum of a column over the last `count` publications of each channel: those of the
    /// measure phase, which is the last to publish.
    pub(super) fn sum_of_last(&self, count: u64, column: impl Fn(&Publication) -> u64) -> u64 {
        let mut all: HashMap<&str, u64> = HashMap::new();
        for publication in &self.publications {
            let n = all.entry(&publication.channel).or_default();
            *n = (*n).max(publication.sequence + 1);
        }
        let counted = |p: &&Publication| p.sequence + count >= all[p.channel.as_str()];
        self.publications.iter().filter(counted).map(column).sum()
    }

    /// Microseconds from due to each write.
    pub(super) fn delays_us(&self) -> Vec<u64> {
        self.delays_us_by(|_| ()).into_iter().map(|((), us)| us).collect()
    }

    /// The same, each with what `group` makes of its sequence.
    pub(super) fn delays_us_by<G>(&self, group: impl Fn(u64) -> G) -> Vec<(G, u64)> {
        let due: HashMap<(&str, u64), u64> =
            self.publications.iter().map(|p| ((p.channel.as_str(), p.sequence), p.due_us)).collect();
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
             delivery,c0,0,1,115\ndelivery,c0,1,2,260\ntotal,written,5\n",
        )
        .unwrap();
        assert_eq!((log.publications.len(), log.writes.len()), (2, 2));
        assert_eq!(log.sum_of_last(1, |p| p.dropped + p.deaf), 2);
        assert_eq!(log.sum_of_last(2, Publication::heard), 3);
        assert_eq!(log.sum_of_last(2, |p| p.corrupted), 3);
        assert_eq!(log.delays_us(), [15, 60]);
        assert!(TruthLog::parse("publication,1,c0,x,1").is_err());
    }
}
