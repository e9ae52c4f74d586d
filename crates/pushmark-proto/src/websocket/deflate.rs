//! permessage-deflate (RFC 7692), as a client uses it: what it offers, what a server may agree to, and how
//! messages are inflated. A client's own messages stay as they are, which the RFC allows (6).

use flate2::{Decompress, FlushDecompress, Status};

use super::utf8::{Invalid, Utf8};
use crate::Failure;
use crate::http1::Headers;

/// What a client offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offer {
    /// The server is asked to compress each message by itself (7.1.1.1).
    pub no_context_takeover: bool,
    /// The server is asked for a window of 2^N bytes at most, 9 to 15 (7.1.2.1).
    pub window_bits: Option<u8>,
}

/// What a server agreed to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreed {
    /// It compresses each message by itself.
    pub no_context_takeover: bool,
}

impl Offer {
    /// Returns the value of `Sec-WebSocket-Extensions`.
    pub fn value(&self) -> String {
        let mut value = "permessage-deflate".to_owned();
        if self.no_context_takeover {
            value.push_str("; server_no_context_takeover");
        }
        if let Some(bits) = self.window_bits {
            value.push_str(&format!("; server_max_window_bits={bits}"));
        }
        value
    }

    /// Reads what a server agreed to; `None`: it compresses nothing.
    ///
    /// # Errors
    /// [`Failure::Handshake`] if it agreed to what was not offered (5.1, 7.1).
    pub fn agreed(&self, headers: Headers<'_>) -> Result<Option<Agreed>, Failure> {
        let refused = Err(Failure::Handshake("an extension that was not offered"));
        let mut extensions = headers.list("sec-websocket-extensions");
        let Some(extension) = extensions.next() else { return Ok(None) };
        if extensions.next().is_some() {
            return refused;
        }
        let mut parts = extension.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        if parts.next() != Some(&b"permessage-deflate"[..]) {
            return refused;
        }
        let mut agreed = Agreed::default();
        let (mut bits, mut seen) = (None, Vec::new());
        for part in parts {
            let mut pair = part.splitn(2, |&byte| byte == b'=');
            let name = pair.next().unwrap_or_default().trim_ascii();
            let value = pair.next().map(|value| value.trim_ascii());
            let value = value.map(|value| value.strip_prefix(b"\"").unwrap_or(value));
            let value = value.map(|value| value.strip_suffix(b"\"").unwrap_or(value));
            if seen.contains(&name) {
                return refused;
            }
            seen.push(name);
            match (name, value) {
                (b"server_no_context_takeover", None) => agreed.no_context_takeover = true,
                // The client compresses nothing, so it takes over nothing.
                (b"client_no_context_takeover", None) => {}
                (b"server_max_window_bits", Some(value)) => {
                    let number = std::str::from_utf8(value).ok().and_then(|text| text.parse::<u8>().ok());
                    let most = self.window_bits.unwrap_or(15);
                    match number.filter(|bits| (8..=most).contains(bits)) {
                        Some(number) => bits = Some(number),
                        None => return refused,
                    }
                }
                _ => return refused,
            }
        }
        let kept = (agreed.no_context_takeover || !self.no_context_takeover)
            && (bits.is_some() || self.window_bits.is_none());
        if kept { Ok(Some(agreed)) } else { refused }
    }
}

/// Most bytes that are inflated at a time.
const OUT_MAX: usize = 16 << 10;

/// What ends the compressed data of each message, and is not sent (7.2.2).
const TAIL: [u8; 4] = [0x00, 0x00, 0xff, 0xff];

/// What a step of inflation led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inflated {
    /// Payload of the message: [`Inflate::out`].
    Data,
    /// The rest is yet to arrive.
    More,
    /// The message is complete.
    End {
        /// Text rather than binary.
        text: bool,
    },
}

/// Inflates the messages of a connection.
#[derive(Debug)]
pub struct Inflate {
    agreed: Agreed,
    /// Absent between messages if each is compressed by itself.
    stream: Option<Box<Decompress>>,
    /// Compressed bytes that wait, and how many of them are used up.
    waiting: Vec<u8>,
    used: usize,
    out: Vec<u8>,
    /// The last step filled its room, so there may be more.
    filled: bool,
    /// The message has arrived: whether it is a text.
    ending: Option<bool>,
    /// Payload of the current message so far.
    length: u64,
    utf8: Utf8,
}

impl Inflate {
    /// For a new connection.
    pub fn new(agreed: Agreed) -> Inflate {
        Inflate {
            agreed,
            stream: None,
            waiting: Vec::new(),
            used: 0,
            out: Vec::new(),
            filled: false,
            ending: None,
            length: 0,
            utf8: Utf8::default(),
        }
    }

    /// Takes compressed payload of the current message. Call [`Inflate::step`] until it needs more.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
    }

    /// The message has arrived.
    pub fn end(&mut self, text: bool) {
        self.waiting.extend_from_slice(&TAIL);
        self.ending = Some(text);
    }

    /// Returns whether a step would make progress without more bytes.
    pub fn is_pending(&self) -> bool {
        self.used < self.waiting.len() || self.filled || self.ending.is_some()
    }

    /// Returns the payload of the last step.
    pub fn out(&self) -> &[u8] {
        &self.out
    }

    /// Takes the payload of the last step.
    pub fn take_out(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Gives its memory back.
    pub fn give_back(&mut self, out: Vec<u8>) {
        self.out = out;
    }

    /// Inflates a part of what waits. `text`: the message is one, if it has not ended yet.
    ///
    /// # Errors
    /// The data cannot be inflated, the message is longer than `message_max`, or a text is not UTF-8.
    pub fn step(&mut self, text: bool, message_max: u64) -> Result<Inflated, Failure> {
        let text = self.ending.unwrap_or(text);
        self.out.clear();
        self.out.reserve_exact(OUT_MAX);
        let stream = self.stream.get_or_insert_with(|| Box::new(Decompress::new(false)));
        self.filled = false;
        while self.out.len() < OUT_MAX {
            let (taken, made) = (stream.total_in(), self.out.len());
            let status = stream
                .decompress_vec(&self.waiting[self.used..], &mut self.out, FlushDecompress::Sync)
                .map_err(|_| Failure::Frame("compressed data that cannot be inflated"))?;
            let progress = stream.total_in() != taken || self.out.len() != made;
            self.used += (stream.total_in() - taken) as usize;
            if status == Status::StreamEnd {
                // A final block, which a message may have (7.2.3.5): what follows is a stream of its own.
                stream.reset(false);
            } else if !progress {
                break;
            }
            if self.used == self.waiting.len() && self.out.len() < self.out.capacity() {
                break;
            }
        }
        self.filled = self.out.len() >= OUT_MAX;
        if self.used == self.waiting.len() {
            self.waiting.clear();
            self.used = 0;
        }
        if !self.out.is_empty() {
            self.length += self.out.len() as u64;
            if self.length > message_max {
                return Err(Failure::MessageTooLarge);
            }
            if text {
                self.utf8.check(&self.out).map_err(|Invalid| Failure::Utf8)?;
            }
            return Ok(Inflated::Data);
        }
        let Some(text) = self.ending.take() else { return Ok(Inflated::More) };
        if self.used < self.waiting.len() {
            return Err(Failure::Frame("compressed data that cannot be inflated"));
        }
        self.utf8.end().map_err(|Invalid| Failure::Utf8)?;
        self.length = 0;
        self.out = Vec::new();
        if self.agreed.no_context_takeover {
            self.stream = None;
        }
        Ok(Inflated::End { text })
    }
}

#[cfg(test)]
mod tests {
    use flate2::{Compress, Compression, FlushCompress};
    use proptest::prelude::*;

    use super::*;

    fn agreed(offer: Offer, extension: &str) -> Result<Option<Agreed>, Failure> {
        let lines = format!("Sec-WebSocket-Extensions: {extension}\r\n\r\n");
        offer.agreed(Headers::new(lines.as_bytes()))
    }

    #[test]
    fn a_server_agrees_to_what_was_offered() {
        let plain = Offer::default();
        let strict = Offer { no_context_takeover: true, window_bits: Some(12) };
        assert_eq!(plain.value(), "permessage-deflate");
        assert_eq!(
            strict.value(),
            "permessage-deflate; server_no_context_takeover; server_max_window_bits=12"
        );
        let (takes_over, alone) = (Agreed::default(), Agreed { no_context_takeover: true });
        for (offer, extension, expected) in [
            (plain, "", Some(None)),
            (plain, "permessage-deflate", Some(Some(takes_over))),
            (plain, "permessage-deflate; client_no_context_takeover", Some(Some(takes_over))),
            (plain, "permessage-deflate;server_no_context_takeover", Some(Some(alone))),
            (plain, "permessage-deflate; server_max_window_bits=10", Some(Some(takes_over))),
            (plain, "permessage-deflate; server_max_window_bits=\"10\"", Some(Some(takes_over))),
            (plain, "permessage-deflate; server_max_window_bits", None),
            (plain, "permessage-deflate; server_max_window_bits=16", None),
            (plain, "permessage-deflate; client_max_window_bits=10", None),
            (plain, "permessage-deflate; other", None),
            (plain, "permessage-deflate; server_no_context_takeover; server_no_context_takeover", None),
            (plain, "permessage-deflate, permessage-deflate", None),
            (plain, "x-webkit-deflate-frame", None),
            (strict, "permessage-deflate", None),
            (strict, "permessage-deflate; server_no_context_takeover", None),
            (strict, "permessage-deflate; server_no_context_takeover; server_max_window_bits=13", None),
            (
                strict,
                "permessage-deflate; server_max_window_bits=9; server_no_context_takeover",
                Some(Some(alone)),
            ),
        ] {
            assert_eq!(agreed(offer, extension).ok(), expected, "{extension}");
        }
    }

    /// Compresses a message as a server does: a sync flush whose last four bytes are left out.
    fn compressed(stream: &mut Compress, message: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(message.len() * 2 + 64);
        let mut at = 0;
        loop {
            let before = stream.total_in();
            stream.compress_vec(&message[at..], &mut out, FlushCompress::Sync).unwrap();
            at += (stream.total_in() - before) as usize;
            if at == message.len() && out.len() < out.capacity() {
                break;
            }
            out.reserve(64);
        }
        assert!(out.ends_with(&TAIL));
        out.truncate(out.len() - TAIL.len());
        out
    }

    /// Inflates a message that arrives in pieces.
    fn inflated(inflate: &mut Inflate, pieces: &[&[u8]], text: bool) -> Result<Vec<u8>, Failure> {
        let mut all = Vec::new();
        let mut steps = |inflate: &mut Inflate| -> Result<bool, Failure> {
            while inflate.is_pending() {
                match inflate.step(text, 1 << 20)? {
                    Inflated::Data => all.extend_from_slice(inflate.out()),
                    Inflated::More => {}
                    Inflated::End { text: ended } => {
                        assert_eq!(ended, text);
                        return Ok(true);
                    }
                }
            }
            Ok(false)
        };
        for piece in pieces {
            inflate.feed(piece);
            assert!(!steps(inflate)?);
        }
        inflate.end(text);
        assert!(steps(inflate)?);
        Ok(all)
    }

    proptest! {
        /// However messages are compressed and cut, they are inflated to what they were.
        #[test]
        fn messages_come_back(
            messages in prop::collection::vec(prop::collection::vec(0u8..7, 1..60_000), 1..6),
            alone: bool,
            level in 0u32..=9,
            cut in 1usize..5_000,
        ) {
            let mut stream = Compress::new(Compression::new(level), false);
            let mut inflate = Inflate::new(Agreed { no_context_takeover: alone });
            for message in messages {
                if alone {
                    stream.reset();
                }
                let sent = compressed(&mut stream, &message);
                let pieces: Vec<&[u8]> = sent.chunks(cut).collect();
                prop_assert_eq!(inflated(&mut inflate, &pieces, false).unwrap(), message);
                prop_assert!(!inflate.is_pending());
                prop_assert_eq!(inflate.stream.is_none(), alone);
            }
        }

        /// Noise is refused or inflated, never endless.
        #[test]
        fn noise_ends(noise in prop::collection::vec(any::<u8>(), 0..400)) {
            let mut inflate = Inflate::new(Agreed::default());
            let _ = inflated(&mut inflate, &[&noise], false);
        }
    }

    #[test]
    fn the_example_of_the_rfc_and_a_final_block_are_inflated() {
        // 7.2.3.1, 7.2.3.4 (a final block), 7.2.3.5 (two blocks).
        let once = [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00];
        let last = [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00];
        let two = [0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00];
        let mut inflate = Inflate::new(Agreed::default());
        for message in [&once[..], &last, &two, &once] {
            assert_eq!(inflated(&mut inflate, &[message], true).unwrap(), b"Hello");
        }
    }

    #[test]
    fn a_bomb_and_a_text_that_is_none_are_refused() {
        let mut stream = Compress::new(Compression::best(), false);
        let bomb = compressed(&mut stream, &vec![b'x'; 2 << 20]);
        assert!(bomb.len() < 4_096);
        let mut inflate = Inflate::new(Agreed::default());
        assert_eq!(inflated(&mut inflate, &[&bomb], true), Err(Failure::MessageTooLarge));
        stream.reset();
        let broken = compressed(&mut stream, b"caf\xc3");
        let mut inflate = Inflate::new(Agreed::default());
        assert_eq!(inflated(&mut inflate, &[&broken], true), Err(Failure::Utf8));
    }
}
