//! Stamps in base64, at any alignment: a search by bits.
//!
//! Four digits of base64 are three bytes, and the position of a stamp within such a group is not known. So
//! the search compares its first 32 bits after every digit, at each of the three places where a byte can end
//! there. It needs neither the beginning of the base64 text nor a guess of its position.

use crate::stamp::{PREFIX, STAMP_LEN, Stamp};

/// Searches for stamps, one digit at a time. Holds less than a stamp.
#[derive(Debug, Default)]
pub(super) struct Sextets {
    /// The last bits, newest in the lowest place.
    bits: u64,
    /// A partial stamp: its bytes, and the number of bits after them.
    begun: Vec<u8>,
    behind: u32,
}

/// Marks a byte that ends a base64 text.
const END: u8 = 255;
/// Marks a byte between digits that is ignored: MIME and others wrap their lines.
const NOTHING: u8 = 254;

/// The value of each byte; the digits of both alphabets (RFC 4648, tables 1 and 2).
const VALUES: [u8; 256] = {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [END; 256];
    let mut digit = 0;
    while digit < 64 {
        values[digits[digit] as usize] = digit as u8;
        digit += 1;
    }
    values[b'-' as usize] = 62;
    values[b'_' as usize] = 63;
    values[b'\r' as usize] = NOTHING;
    values[b'\n' as usize] = NOTHING;
    values
};

impl Sextets {
    /// Takes the next byte of a text. Returns the stamp that it completes.
    #[inline]
    pub(super) fn next(&mut self, byte: u8) -> Option<Stamp> {
        match VALUES[usize::from(byte)] {
            NOTHING => return None,
            END => {
                *self = Sextets { begun: std::mem::take(&mut self.begun), ..Sextets::default() };
                self.begun.clear();
                return None;
            }
            digit => self.bits = self.bits << 6 | u64::from(digit),
        }
        if self.begun.is_empty() {
            let begins = |behind: &u32| (self.bits >> behind) as u32 == u32::from_be_bytes(*PREFIX);
            if let Some(behind) = [0, 2, 4].into_iter().find(begins) {
                self.begun.extend_from_slice(PREFIX);
                self.behind = behind;
            }
            return None;
        }
        self.behind += 6;
        if self.behind < 8 {
            return None;
        }
        self.behind -= 8;
        self.begun.push((self.bits >> self.behind) as u8);
        let whole = self.begun.first_chunk::<STAMP_LEN>()?;
        let stamp = Stamp::parse(whole);
        // A false start may contain the true one.
        let from = match stamp {
            None => memchr::memmem::find(&self.begun[1..], PREFIX).map(|at| at + 1),
            Some(_) => None,
        };
        self.begun.drain(..from.unwrap_or(STAMP_LEN));
        stamp
    }
}
