//! The stamp: 48 bytes of safe ASCII that make any payload measurable.
//!
//! `pm1:RRRRRR:PP:CCCC:SSSSSSS:DDDDDDDDDD:TTTTTTTTTT`, every field base 36: nonce of run and arm, publisher
//! incarnation, channel index, sequence from 0, due and sent in µs of `CLOCK_MONOTONIC`. It is at the end of
//! the payload, survives JSON, XML and any envelope, and is found by a byte search.

use std::sync::LazyLock;

use memchr::memmem;

/// Length of a stamp in bytes.
pub const STAMP_LEN: usize = 48;

/// The first bytes of every stamp: format and version.
pub const PREFIX: &[u8; 4] = b"pm1:";

/// Largest nonce + 1: six base-36 digits.
pub const NONCES: u32 = 36u32.pow(6);

/// Most channels a stamp can name: four base-36 digits.
pub const CHANNELS_MAX: u32 = 36u32.pow(4);

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// The contents of a stamp: the identity and times of the publication it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Drawn for each run and arm; messages with another nonce are `foreign`. Below [`NONCES`].
    pub nonce: u32,
    /// The incarnation of the publisher (a restarted emitter continues counting). Below 1,296.
    pub publisher: u16,
    /// Index of the channel in the plan. Below [`CHANNELS_MAX`].
    pub channel: u32,
    /// Number of the publication on its channel, from 0. Seven digits: below 78 × 10⁹.
    pub sequence: u64,
    /// When the schedule planned it, µs of `CLOCK_MONOTONIC` where the run was started.
    pub due_us: u64,
    /// Just before its first write, µs of `CLOCK_MONOTONIC`.
    pub sent_us: u64,
}

impl Stamp {
    /// Writes the 48 bytes. A value wider than its field keeps only its low digits.
    pub fn write(&self, out: &mut [u8; STAMP_LEN]) {
        out[..4].copy_from_slice(PREFIX);
        let mut at = 4;
        for (value, width) in [
            (u64::from(self.nonce), 6),
            (u64::from(self.publisher), 2),
            (u64::from(self.channel), 4),
            (self.sequence, 7),
            (self.due_us, 10),
            (self.sent_us, 10),
        ] {
            write_base36(value, &mut out[at..at + width]);
            at += width;
            if at < STAMP_LEN {
                out[at] = b':';
                at += 1;
            }
        }
    }

    /// Returns it with its instants on a clock that is this far ahead, µs.
    #[must_use]
    pub fn on_clock_ahead(self, ahead_us: i64) -> Stamp {
        let moved = |us: u64| us.saturating_add_signed(ahead_us);
        Stamp { due_us: moved(self.due_us), sent_us: moved(self.sent_us), ..self }
    }

    /// Parses the 48 bytes; `None` if any byte is not valid in a stamp.
    pub fn parse(bytes: &[u8; STAMP_LEN]) -> Option<Stamp> {
        if &bytes[..4] != PREFIX {
            return None;
        }
        for colon in [10, 13, 18, 26, 37] {
            if bytes[colon] != b':' {
                return None;
            }
        }
        Some(Stamp {
            nonce: read_base36(&bytes[4..10])? as u32,
            publisher: read_base36(&bytes[11..13])? as u16,
            channel: read_base36(&bytes[14..18])? as u32,
            sequence: read_base36(&bytes[19..26])?,
            due_us: read_base36(&bytes[27..37])?,
            sent_us: read_base36(&bytes[38..48])?,
        })
    }
}

/// Fills `payload` with padding of the stamp's own alphabet and ends it with `stamp`.
///
/// # Panics
/// If the payload is shorter than [`STAMP_LEN`]; scenarios refuse such sizes.
pub fn write_payload(stamp: &Stamp, payload: &mut [u8]) {
    let (padding, tail) = payload.split_at_mut(payload.len() - STAMP_LEN);
    for (i, byte) in padding.iter_mut().enumerate() {
        *byte = DIGITS[i % 36];
    }
    stamp.write(tail.try_into().expect("split at STAMP_LEN"));
}

fn write_base36(mut value: u64, out: &mut [u8]) {
    for digit in out.iter_mut().rev() {
        *digit = DIGITS[(value % 36) as usize];
        value /= 36;
    }
}

/// The value of each byte as a digit; 255: not a digit.
const VALUES: [u8; 256] = {
    let mut values = [255; 256];
    let mut digit = 0;
    while digit < 36 {
        values[DIGITS[digit] as usize] = digit as u8;
        digit += 1;
    }
    values
};

fn read_base36(digits: &[u8]) -> Option<u64> {
    let mut value = 0u64;
    let mut bits = 0;
    for &digit in digits {
        let digit = VALUES[digit as usize];
        bits |= digit;
        value = value * 36 + u64::from(digit);
    }
    // One test for all digits: almost all stamps are valid. No digit has the bits above 63, and 255 has.
    (bits < 64).then_some(value)
}

/// Finds stamps in a byte stream that arrives in pieces.
///
/// Holds at most 47 bytes: the tail of the last piece that may begin a stamp. Empty (no allocation) while
/// nothing is pending, so an idle connection has no buffer.
#[derive(Debug, Default)]
pub struct Scanner {
    carry: Vec<u8>,
}

impl Scanner {
    /// Calls `found` for each complete stamp in `bytes`, joined to the pending bytes.
    pub fn scan(&mut self, mut bytes: &[u8], mut found: impl FnMut(Stamp)) {
        let mut spare = Vec::new();
        // The pending tail is short: it is completed to at most one stamp, then the scan continues in place.
        // Input that consists only of beginnings of stamps takes one round for each.
        while !self.carry.is_empty() {
            let carried = self.carry.len();
            let wanted = STAMP_LEN - carried;
            let taken = wanted.min(bytes.len());
            self.carry.extend_from_slice(&bytes[..taken]);
            let mut joined = std::mem::take(&mut self.carry);
            let rest_len = scan_slice(&joined, &mut found).len();
            let consumed = joined.len() - rest_len;
            if consumed >= carried {
                // Nothing of the old tail is pending: the rest is entirely in `bytes`.
                bytes = &bytes[consumed - carried..];
                joined.clear();
                spare = joined;
                break;
            }
            joined.drain(..consumed);
            self.carry = joined;
            bytes = &bytes[taken..];
            if bytes.is_empty() {
                return;
            }
        }
        let rest = scan_slice(bytes, &mut found);
        if !rest.is_empty() {
            spare.extend_from_slice(rest);
            self.carry = spare;
        }
    }

    /// Discards a partial stamp: called at the end of a message, because stamps do not span messages.
    pub fn reset(&mut self) {
        self.carry = Vec::new();
    }

    /// Returns the number of bytes held for a stamp that may still be completed.
    pub fn pending(&self) -> usize {
        self.carry.len()
    }
}

/// The search for [`PREFIX`], prepared once: preparing it costs as much as searching a message.
static FINDER: LazyLock<memmem::Finder<'static>> = LazyLock::new(|| memmem::Finder::new(PREFIX));

/// Scans a slice; returns the tail (≤ 47 bytes) that may begin a stamp.
fn scan_slice<'a>(mut bytes: &'a [u8], found: &mut impl FnMut(Stamp)) -> &'a [u8] {
    let finder = &*FINDER;
    loop {
        match finder.find(bytes) {
            Some(at) => {
                let candidate = &bytes[at..];
                let Some(whole) = candidate.first_chunk::<STAMP_LEN>() else {
                    return candidate;
                };
                match Stamp::parse(whole) {
                    Some(stamp) => {
                        found(stamp);
                        bytes = &candidate[STAMP_LEN..];
                    }
                    None => bytes = &candidate[PREFIX.len()..],
                }
            }
            None => {
                // A prefix may be split: keep the longest tail that begins one.
                for keep in (1..PREFIX.len()).rev() {
                    if bytes.len() >= keep && bytes[bytes.len() - keep..] == PREFIX[..keep] {
                        return &bytes[bytes.len() - keep..];
                    }
                }
                return &[];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn begins_of_stamps_without_end_take_no_room() {
        let begins = PREFIX.repeat(1 << 20);
        let mut scanner = Scanner::default();
        // The second piece receives a tail that is not completed until its end.
        for piece in begins.chunks(1 << 21) {
            scanner.scan(piece, |stamp| panic!("{stamp:?}"));
            assert!(scanner.pending() < STAMP_LEN);
        }
        let mut whole = [0; STAMP_LEN];
        stamp(3).write(&mut whole);
        let mut found = Vec::new();
        scanner.scan(&whole, |stamp| found.push(stamp));
        assert_eq!(found, [stamp(3)]);
    }

    fn stamp(sequence: u64) -> Stamp {
        Stamp {
            nonce: 123_456,
            publisher: 7,
            channel: 42,
            sequence,
            due_us: 9_000_000_000,
            sent_us: 9_000_000_123,
        }
    }

    fn payload(sequence: u64, size: usize) -> Vec<u8> {
        let mut bytes = vec![0; size];
        write_payload(&stamp(sequence), &mut bytes);
        bytes
    }

    #[test]
    fn a_stamp_reads_back_as_written() {
        let mut bytes = [0; STAMP_LEN];
        stamp(78_364_164_095).write(&mut bytes);
        assert_eq!(Stamp::parse(&bytes), Some(stamp(78_364_164_095)));
        assert_eq!(&bytes[..11], b"pm1:002n9c:");
    }

    #[test]
    fn a_changed_byte_is_no_stamp() {
        let mut bytes = [0; STAMP_LEN];
        stamp(1).write(&mut bytes);
        for at in 0..STAMP_LEN {
            let mut damaged = bytes;
            damaged[at] = b'"';
            assert_eq!(Stamp::parse(&damaged), None, "byte {at}");
        }
    }

    #[test]
    fn padding_never_looks_like_a_stamp() {
        let mut found = Vec::new();
        Scanner::default().scan(&payload(5, 4096), |s| found.push(s.sequence));
        assert_eq!(found, [5]);
    }

    #[test]
    fn a_false_start_does_not_hide_the_stamp_behind_it() {
        let mut bytes = b"pm1:pm1:xx:pm1:".to_vec();
        bytes.extend(payload(9, 48));
        let mut found = Vec::new();
        Scanner::default().scan(&bytes, |s| found.push(s.sequence));
        assert_eq!(found, [9]);
    }

    proptest! {
        #[test]
        fn any_split_finds_the_same_stamps(cuts in prop::collection::vec(1usize..70, 0..40), noise in "[pm1:a-c]{0,60}") {
            let mut bytes = noise.clone().into_bytes();
            for n in 0..6 {
                bytes.extend(payload(n, 48 + (n as usize * 13) % 40));
                bytes.extend(noise.bytes().take(n as usize * 3));
            }
            let mut whole = Vec::new();
            Scanner::default().scan(&bytes, |s| whole.push(s));
            let mut split = Vec::new();
            let mut scanner = Scanner::default();
            let mut rest = &bytes[..];
            for cut in cuts {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                scanner.scan(now, |s| split.push(s));
                prop_assert!(scanner.pending() < STAMP_LEN);
                rest = later;
            }
            scanner.scan(rest, |s| split.push(s));
            prop_assert_eq!(whole, split);
        }
    }
}
