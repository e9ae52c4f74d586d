//! Determines from the first messages how a target encodes payloads.

use super::{Decode, Decoder};
use crate::stamp::{Scanner, Stamp};

/// One message, scanned with every decoder at once.
#[derive(Debug)]
pub struct Guess {
    scanner: Scanner,
    decoders: [Decoder; 3],
}

/// The result for a part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Guessed {
    /// No stamp of this run so far.
    Nothing,
    /// A stamp of this run as it was published.
    Plain,
    /// Stamps of this run, found with this decoder.
    Coded(Decode, Vec<Stamp>),
}

impl Default for Guess {
    fn default() -> Guess {
        Guess { scanner: Scanner::default(), decoders: Decode::ALL.map(Decoder::new) }
    }
}

impl Guess {
    /// Scans the next part of the message for stamps of this nonce.
    pub fn look(&mut self, bytes: &[u8], nonce: u32) -> Guessed {
        let mut plain = false;
        self.scanner.scan(bytes, |stamp| plain |= stamp.nonce == nonce);
        if plain {
            return Guessed::Plain;
        }
        for (decode, decoder) in Decode::ALL.into_iter().zip(&mut self.decoders) {
            let mut stamps = Vec::new();
            decoder.scan(bytes, |stamp| stamps.push(stamp));
            if stamps.iter().any(|stamp| stamp.nonce == nonce) {
                return Guessed::Coded(decode, stamps);
            }
        }
        Guessed::Nothing
    }

    /// Returns the decoder of one encoding, which has read the message so far.
    pub fn into_decoder(self, decode: Decode) -> Decoder {
        let [base64, percent, json] = self.decoders;
        match decode {
            Decode::Base64 => base64,
            Decode::Percent => percent,
            Decode::Json => json,
        }
    }
}

/// Describes what a message without a stamp looks like; `None` if it is like nothing known.
pub fn looks_like(message: &[u8]) -> Option<&'static str> {
    let has = |text: &[u8]| memchr::memmem::find(message, text).is_some();
    let escapes = |mark: &[u8], digits: usize| {
        let hex = |at: usize| message.get(at + mark.len()..at + mark.len() + digits);
        let whole = |at: &usize| hex(*at).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
        memchr::memmem::find_iter(message, mark).filter(whole).count() >= 4
    };
    if message.starts_with(&[0x1f, 0x8b]) {
        return Some("gzip");
    }
    if matches!(message, [0x78, 0x01 | 0x5e | 0x9c | 0xda, ..]) {
        return Some("zlib");
    }
    if has(b"H4sI") {
        return Some("gzip in base64");
    }
    if escapes(b"\\u", 4) {
        return Some("\\u escapes");
    }
    if escapes(b"%", 2) {
        return Some("percent-encoding");
    }
    if std::str::from_utf8(&message[..message.len().saturating_sub(3)]).is_err() {
        return Some("binary data");
    }
    let digit = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/-_=".contains(byte);
    let longest = message.split(|byte| !digit(byte)).max_by_key(|run| run.len()).unwrap_or_default();
    let mixed = longest.iter().any(u8::is_ascii_uppercase) && longest.iter().any(u8::is_ascii_lowercase);
    (longest.len() >= 40 && mixed).then_some("base64")
}
