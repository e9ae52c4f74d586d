//! What a line keeps of its current message while plain stamps are not enough to recognise it.

use pushmark_model::decode::{Decode, Decoder, Guess};

/// What is known of the current message beyond plain stamps.
#[derive(Debug)]
pub(crate) struct PayloadState {
    /// Its beginning, until the first stamp of this run is found in any message.
    pub(crate) begin: Vec<u8>,
    pub(crate) search: Search,
}

/// How its stamps are searched.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a PayloadState is boxed: its size is paid once, and seldom")]
pub(crate) enum Search {
    /// In every known way, until one of them finds a stamp.
    Guess(Guess),
    /// In the way that is known.
    Decoder(Decoder),
}

impl PayloadState {
    /// Begins the search, in every known way if `decode` is absent.
    pub(crate) fn new(decode: Option<Decode>) -> PayloadState {
        let search = match decode {
            Some(decode) => Search::Decoder(Decoder::new(decode)),
            None => Search::Guess(Guess::default()),
        };
        PayloadState { begin: Vec::new(), search }
    }
}
