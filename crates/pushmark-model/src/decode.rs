//! Stamps in payloads that a target encodes: base64, percent-encoding, JSON escapes.
//!
//! A stamp is plain ASCII and passes unchanged through most envelopes. If a target encodes publications, a
//! byte search does not find the stamp. A [`Decoder`] undoes one encoding of a stream that arrives in pieces;
//! a [`Guess`] determines the encoding from the first messages.

mod escapes;
mod guess;
mod sextets;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use guess::{Guess, Guessed, looks_like};

use crate::stamp::{Scanner, Stamp};
use escapes::{Backslashes, Percents};
use sextets::Sextets;

/// How a target encodes publications.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decode {
    /// Base64 (RFC 4648 sections 4 and 5), at any alignment, with or without padding and line ends.
    Base64,
    /// Percent-encoding (RFC 3986 section 2.1), also applied repeatedly.
    Percent,
    /// JSON escapes (RFC 8259 section 7), also of JSON in JSON.
    Json,
}

impl Decode {
    /// All encodings.
    pub const ALL: [Decode; 3] = [Decode::Base64, Decode::Percent, Decode::Json];

    /// Returns the word used in files.
    pub fn name(self) -> &'static str {
        match self {
            Decode::Base64 => "base64",
            Decode::Percent => "percent",
            Decode::Json => "json",
        }
    }
}

/// Finds stamps in an encoded stream that arrives in pieces. Holds less than two stamps.
#[derive(Debug)]
pub struct Decoder {
    undo: Undo,
    plain: Vec<u8>,
    scanner: Scanner,
}

#[derive(Debug)]
enum Undo {
    /// Base64 is often inside JSON, where `/` and `+` may be escaped.
    Base64(Backslashes, Sextets),
    Percent(Percents),
    Json(Backslashes),
}

impl Decoder {
    /// Creates a decoder at the beginning of a message.
    pub fn new(decode: Decode) -> Decoder {
        let undo = match decode {
            Decode::Base64 => Undo::Base64(Backslashes::default(), Sextets::default()),
            Decode::Percent => Undo::Percent(Percents::default()),
            Decode::Json => Undo::Json(Backslashes::default()),
        };
        Decoder { undo, plain: Vec::new(), scanner: Scanner::default() }
    }

    /// Calls `found` for each stamp that is complete with these bytes.
    pub fn scan(&mut self, bytes: &[u8], mut found: impl FnMut(Stamp)) {
        self.plain.clear();
        match &mut self.undo {
            Undo::Base64(backslashes, sextets) => {
                backslashes.undo(bytes, &mut self.plain);
                for &byte in &self.plain {
                    if let Some(stamp) = sextets.next(byte) {
                        found(stamp);
                    }
                }
            }
            Undo::Percent(percents) => {
                percents.undo(bytes, &mut self.plain);
                self.scanner.scan(&self.plain, found);
            }
            Undo::Json(backslashes) => {
                backslashes.undo(bytes, &mut self.plain);
                self.scanner.scan(&self.plain, found);
            }
        }
    }
}

#[cfg(test)]
mod tests;
