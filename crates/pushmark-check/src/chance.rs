//! Random names, messages and packet boundaries of a case. They depend only on the seed and the
//! number of the case, so that a failure can be repeated with `--seed` and `--only`.

use pushmark_model::draw::{Draw, Purpose};

/// Characters that a channel name may have in addition to letters and digits (CONTRACT 1.1).
const MARKS: &[u8] = b"!#$%&'()*+-./:;<>?@[]^_`{|}~";
/// Characters without a special meaning in any transport.
const PLAIN: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

/// The random side of one case.
#[derive(Clone, Debug)]
pub(super) struct Chance {
    draw: Draw,
    /// Makes names new: a server that ran before has seen those of an earlier check.
    tag: String,
    names: u32,
    /// Nothing is cut: the server lacks CONTRACT 3.8.
    whole: bool,
}

impl Chance {
    /// Creates the random source of one case.
    pub(super) fn new(seed: u64, case: &str, tag: &str) -> Chance {
        // FNV-1a: any number that differs between cases will do.
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let index = case.bytes().fold(0xcbf2_9ce4_8422_2325, hash);
        Chance { draw: Draw::new(seed, Purpose::Check, index), tag: tag.to_owned(), names: 0, whole: false }
    }

    /// Another stream of the same case, for another connection.
    pub(super) fn fork(&mut self) -> Chance {
        let draw = Draw::new(self.draw.next_u64(), Purpose::Check, 0);
        Chance { draw, tag: self.tag.clone(), names: 0, whole: self.whole }
    }

    /// Cuts nothing from now on.
    pub(super) fn keep_whole(&mut self) {
        self.whole = true;
    }

    /// Uniform on `low..=high`.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.draw.below(high - low + 1)
    }

    fn text(&mut self, alphabet: &[u8], len: u64) -> String {
        (0..len).map(|_| alphabet[self.draw.below(alphabet.len() as u64) as usize] as char).collect()
    }

    /// A new channel: letters, digits, `-` and `_`.
    pub(super) fn channel(&mut self) -> String {
        let len = self.between(1, 12);
        self.named(PLAIN, len)
    }

    /// A channel of any characters that a name may have.
    pub(super) fn odd_channel(&mut self) -> String {
        let len = self.between(8, 40);
        self.named(&[MARKS, PLAIN].concat(), len)
    }

    /// A channel with a name of the maximum length.
    pub(super) fn long_channel(&mut self) -> String {
        let short = self.named(PLAIN, 1);
        let more = self.text(PLAIN, 128 - short.len() as u64);
        short + &more
    }

    fn named(&mut self, alphabet: &[u8], len: u64) -> String {
        self.names += 1;
        // Numbers between words: no two names of a case are equal, or a prefix of one another.
        format!("{}{}-{}.", self.text(alphabet, len), self.tag, self.names)
    }

    /// `count` channels in the order of their names.
    pub(super) fn channels(&mut self, count: usize) -> Vec<String> {
        let mut names: Vec<String> = (0..count).map(|_| self.channel()).collect();
        names.sort_unstable();
        names
    }

    /// A message of one line of ASCII.
    pub(super) fn line(&mut self) -> Vec<u8> {
        let len = self.between(1, 400);
        self.line_of(len)
    }

    /// A line of the given length in bytes.
    pub(super) fn line_of(&mut self, len: u64) -> Vec<u8> {
        self.text(PLAIN, len).into_bytes()
    }

    /// A message of several lines in several scripts: UTF-8, without CR.
    pub(super) fn text_message(&mut self) -> Vec<u8> {
        const PIECES: [&str; 12] =
            ["a", "Z", " ", "\n", ":", "data: x", "é", "ß", "日本", "🦀", "\t", "\\\"<&>"];
        let len = self.between(1, 200);
        let mut text = String::new();
        for _ in 0..len {
            text.push_str(PIECES[self.draw.below(PIECES.len() as u64) as usize]);
        }
        text.into_bytes()
    }

    /// A message of any bytes, never UTF-8.
    pub(super) fn bytes(&mut self, len: u64) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..len.max(1)).map(|_| self.draw.next_u64() as u8).collect();
        // A byte that does not occur in UTF-8.
        let at = self.draw.below(bytes.len() as u64) as usize;
        bytes[at] = 0xff;
        bytes
    }

    /// The nonce of a publisher of stamps.
    pub(super) fn nonce(&mut self) -> u32 {
        self.draw.below(u64::from(pushmark_model::stamp::NONCES)) as u32
    }

    /// The positions at which a piece of this length is cut: ascending, empty if it stays whole.
    pub(super) fn cuts(&mut self, len: usize) -> Vec<usize> {
        match self.draw.below(8) {
            _ if self.whole => Vec::new(),
            0 if len <= 512 => (1..len).collect(),
            0..=3 => {
                let count = self.between(1, 4);
                let mut cuts: Vec<usize> =
                    (0..count).map(|_| self.draw.below(len.max(1) as u64) as usize).collect();
                cuts.sort_unstable();
                cuts.dedup();
                cuts.retain(|&cut| cut > 0);
                cuts
            }
            _ => Vec::new(),
        }
    }
}

/// A channel's name encoded for a query (RFC 3986 2.1).
pub(super) fn encoded(name: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~".contains(&b);
    name.bytes().map(|b| if plain(b) { (b as char).to_string() } else { format!("%{b:02X}") }).collect()
}

/// Names comma-separated, as `channel=` takes them.
pub(super) fn list(names: &[String]) -> String {
    names.iter().map(|name| encoded(name)).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_draws_the_same_again_and_another_case_does_not() {
        let draw = |seed, case| {
            let mut chance = Chance::new(seed, case, "t");
            (chance.odd_channel(), chance.bytes(9), chance.cuts(400))
        };
        assert_eq!(draw(1, "6.2/1"), draw(1, "6.2/1"));
        assert_ne!(draw(1, "6.2/1"), draw(2, "6.2/1"));
        assert_ne!(draw(1, "6.2/1"), draw(1, "6.2/2"));
    }

    #[test]
    fn names_are_names_and_bytes_are_no_text() {
        let mut chance = Chance::new(3, "x", "0abc");
        for _ in 0..200 {
            for name in [chance.channel(), chance.odd_channel(), chance.long_channel()] {
                assert!((1..=128).contains(&name.len()), "{name}");
                assert!(name.bytes().all(|b| b.is_ascii_graphic() && !b",=\"\\".contains(&b)), "{name}");
            }
            let len = chance.between(1, 50);
            assert!(String::from_utf8(chance.bytes(len)).is_err());
            assert!(!chance.text_message().contains(&b'\r'));
            assert!(chance.cuts(100).is_sorted());
        }
        assert_eq!(chance.long_channel().len(), 128);
        assert_eq!(encoded("a/%é"), "a%2F%25%C3%A9");
    }
}
