//! Recognises application heartbeats, such as Engine.IO's `2`, without storing the message.
//!
//! A heartbeat is a whole message, or one part of a message whose parts a separator divides: some servers send
//! several commands, and their pings among them, in one frame.

use super::config::{ANSWERS_MAX, Config};

/// How far the current part matches each configured heartbeat, and what the message contained so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answers {
    /// Bytes of the part so far. What is longer than this can tell is no heartbeat.
    at: u16,
    /// One bit for each heartbeat that the part still matches.
    alive: u16,
    /// The line so far ends with a carriage return, which is not compared yet.
    cr: bool,
    /// One bit for each heartbeat of the message that is not answered yet.
    found: u16,
    /// The message contained a heartbeat.
    beat: bool,
    /// It contained something else.
    other: bool,
    /// The message has ended, and not all of its events are reported.
    ending: bool,
    /// It was a text message.
    text: bool,
}

impl Default for Answers {
    fn default() -> Answers {
        Answers {
            at: 0,
            alive: u16::MAX,
            cr: false,
            found: 0,
            beat: false,
            other: false,
            ending: false,
            text: false,
        }
    }
}

impl Answers {
    /// Compares the next bytes of the message.
    #[inline]
    pub(super) fn look(&mut self, config: &Config, bytes: &[u8]) {
        if config.answers.is_empty() {
            return;
        }
        let Some(separator) = config.separator else { return self.compare(config, bytes) };
        // Most messages are one part, longer than any heartbeat and its carriage return. Without a branch for each byte
        // the search is a few vector instructions.
        let divided = bytes.iter().fold(false, |found, byte| found | (*byte == separator));
        if !divided && config.answers.iter().all(|(on, _)| bytes.len() > on.len() + 1) {
            (self.at, self.alive) = (1, 0);
            return;
        }
        self.look_at_parts(config, separator, bytes);
    }

    fn look_at_parts(&mut self, config: &Config, separator: u8, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(at) = memchr::memchr(separator, rest) {
            self.compare_part(config, separator, &rest[..at]);
            self.part_ends(config);
            rest = &rest[at + 1..];
        }
        self.compare_part(config, separator, rest);
    }

    /// Ends the message. Returns whether there is nothing to answer in it.
    #[inline]
    pub(super) fn message_ends(&mut self, config: &Config, text: bool) -> bool {
        if self.alive == 0 && !self.beat {
            *self = Answers::default();
            return true;
        }
        // A message without a separator is one part, even an empty one.
        self.other |= config.separator.is_none() && self.at == 0;
        self.part_ends(config);
        (self.ending, self.text) = (true, text);
        false
    }

    /// Returns whether a message has ended, and not all of its events are reported.
    pub(super) fn is_ending(&self) -> bool {
        self.ending
    }

    /// Returns whether the message was a text.
    pub(super) fn is_text(&self) -> bool {
        self.text
    }

    /// Returns the number of the next heartbeat to answer, each once a message.
    pub(super) fn next(&mut self) -> Option<usize> {
        let n = self.found.trailing_zeros() as usize;
        self.found &= self.found.wrapping_sub(1);
        (n < u16::BITS as usize).then_some(n)
    }

    /// Returns whether the message was nothing but heartbeats, and forgets it.
    pub(super) fn end(&mut self) -> bool {
        let Answers { beat, other, .. } = std::mem::take(self);
        beat && !other
    }

    /// Lines may end with CR LF: a CR at the end of a line is no part of a heartbeat.
    fn compare_part(&mut self, config: &Config, separator: u8, bytes: &[u8]) {
        if self.alive == 0 || bytes.is_empty() {
            return;
        }
        if std::mem::take(&mut self.cr) {
            // The line goes on behind it.
            self.compare(config, b"\r");
        }
        let line = bytes.strip_suffix(b"\r").filter(|_| separator == b'\n');
        self.cr = line.is_some();
        self.compare(config, line.unwrap_or(bytes));
    }

    fn compare(&mut self, config: &Config, bytes: &[u8]) {
        if self.alive == 0 || bytes.is_empty() {
            return;
        }
        let (answers, at) = (&config.answers, self.at as usize);
        for (i, (heartbeat, _)) in answers.iter().take(ANSWERS_MAX).enumerate() {
            if !heartbeat.get(at..).is_some_and(|rest| rest.starts_with(bytes)) {
                self.alive &= !(1 << i);
            }
        }
        if answers.len() < ANSWERS_MAX {
            self.alive &= (1 << answers.len()) - 1;
        }
        let at = u16::try_from(bytes.len()).ok().and_then(|length| self.at.checked_add(length));
        (self.at, self.alive) = at.map_or((u16::MAX, 0), |at| (at, self.alive));
    }

    fn part_ends(&mut self, config: &Config) {
        let (at, alive) = (self.at, self.alive);
        (self.at, self.alive, self.cr) = (0, u16::MAX, false);
        if at == 0 {
            return;
        }
        let is_it = |(i, (heartbeat, _)): (usize, &(Vec<u8>, _))| {
            alive & 1 << i != 0 && heartbeat.len() == at as usize
        };
        match config.answers.iter().take(ANSWERS_MAX).enumerate().position(is_it) {
            Some(n) => (self.found, self.beat) = (self.found | 1 << n, true),
            None => self.other = true,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::client::Transport;

    fn config(separator: Option<u8>, heartbeats: &[&str]) -> Config {
        let answers = heartbeats.iter().map(|on| (on.as_bytes().to_vec(), None)).collect();
        Config { answers, separator, ..Config::new(Transport::WebSocket) }
    }

    /// The heartbeats of a message that arrives in these pieces, and whether it was nothing else.
    fn heard(config: &Config, pieces: &[&[u8]]) -> (Vec<usize>, bool) {
        let mut answers = Answers::default();
        pieces.iter().for_each(|piece| answers.look(config, piece));
        answers.message_ends(config, true);
        let found = std::iter::from_fn(|| answers.next()).collect();
        (found, answers.end())
    }

    #[test]
    fn a_whole_message_is_compared_without_a_separator() {
        let config = config(None, &["2", "ping"]);
        for (message, expected) in [
            ("2", (vec![0], true)),
            ("ping", (vec![1], true)),
            ("2\n", (vec![], false)),
            ("pin", (vec![], false)),
            ("pings", (vec![], false)),
            ("", (vec![], false)),
        ] {
            assert_eq!(heard(&config, &[message.as_bytes()]), expected, "{message:?}");
        }
    }

    #[test]
    fn parts_are_compared_with_a_separator() {
        let lines = config(Some(b'\n'), &["{}", "PING"]);
        for (message, expected) in [
            ("{}", (vec![0], true)),
            ("{}\n", (vec![0], true)),
            ("PING\r\n", (vec![1], true)),
            ("{\"push\":1}\n{}", (vec![0], false)),
            ("{}\n{\"push\":1}", (vec![0], false)),
            ("{}\nPING\n{}\n", (vec![0, 1], true)),
            ("\n\n", (vec![], false)),
            ("PINGS\n", (vec![], false)),
        ] {
            assert_eq!(heard(&lines, &[message.as_bytes()]), expected, "{message:?}");
        }
        let records = config(Some(0x1e), &["{\"type\":6}"]);
        assert_eq!(heard(&records, &[b"{\"type\":6}\x1e"]), (vec![0], true));
        assert_eq!(heard(&records, &[b"{\"type\":1}\x1e{\"type\":6}\x1e"]), (vec![0], false));
    }

    #[test]
    fn long_heartbeats_are_as_good_as_short_ones() {
        for length in [1, 63, 64, 65, 127, 300] {
            let on = "h".repeat(length);
            let lines = config(Some(b'\n'), &[&on]);
            let more = "h".repeat(length + 1);
            for (message, expected) in [
                (on.clone(), (vec![0], true)),
                (format!("{on}\r"), (vec![0], true)),
                (format!("{on}\r\r"), (vec![], false)),
                (format!("{on}\rx"), (vec![], false)),
                (more.clone(), (vec![], false)),
                (format!("{more}\n{on}"), (vec![0], false)),
            ] {
                assert_eq!(heard(&lines, &[message.as_bytes()]), expected, "{length}: {message:?}");
            }
        }
    }

    proptest! {
        /// However a message is cut, the same heartbeats are found as by splitting it as a whole.
        #[test]
        fn cuts_change_nothing(parts in prop::collection::vec("(ab|ba|b|abc|a?)\r?", 0..6), cut in 1usize..5) {
            let config = config(Some(b'\n'), &["ab", "b", "abc"]);
            let message = parts.join("\n");
            let pieces: Vec<&[u8]> = message.as_bytes().chunks(cut).collect();
            let plain: Vec<String> = parts.iter().map(|part| part.replace('\r', "")).collect();
            let known = ["ab", "b", "abc"];
            let found: Vec<usize> =
                (0..3).filter(|&n| plain.iter().any(|part| part == known[n])).collect();
            let other = plain.iter().any(|part| !part.is_empty() && !known.contains(&part.as_str()));
            prop_assert_eq!(heard(&config, &pieces), (found.clone(), !found.is_empty() && !other));
        }
    }
}
