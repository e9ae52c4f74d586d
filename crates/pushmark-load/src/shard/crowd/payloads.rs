//! How payloads arrive: as they were published, encoded, or not recognisable.
//!
//! Until a stamp of this run is found in some message, every message is searched in every known way
//! (`pushmark_model::decode`). The beginning of a message without a stamp is kept, to be shown. The first
//! stamp found decides the search from then on: payloads that arrive as they were sent need only the
//! plain search.

use pushmark_model::decode::{Decode, Guessed};
use pushmark_model::plan::{ArmPlan, Size};
use pushmark_model::record::{Came, SHOWN_MAX};
use pushmark_model::stamp::{STAMP_LEN, Stamp};
use pushmark_model::transport::Transport;
use pushmark_proto::client::Lane;

use crate::payload_state::{PayloadState, Search};
use crate::shard::Shard;

/// What a shard knows of the payloads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Payloads {
    decode: Option<Decode>,
    /// A stamp of this run was found, or none is expected.
    known: bool,
    /// A shorter message or body is not a publication of this run.
    shortest: u32,
}

impl Payloads {
    pub(crate) fn of(arm: &ArmPlan) -> Payloads {
        let shortest = match arm.publisher.as_ref().map(|p| p.size) {
            // A target's answer without a message has its own text. A payload would be about as long as
            // it was published, even if something was cut off.
            Some(Size::Fixed(size) | Size::Uniform(size, _))
                if matches!(arm.transport, Transport::Poll | Transport::LongPoll) =>
            {
                (size / 8 * 7).max(STAMP_LEN as u32)
            }
            Some(_) => STAMP_LEN as u32,
            None => u32::MAX,
        };
        Payloads { decode: arm.decode, known: arm.publisher.is_none(), shortest }
    }

    /// Whether a search for plain stamps finds every stamp.
    #[inline]
    pub(crate) fn are_plain(self) -> bool {
        self.known && self.decode.is_none()
    }

    /// Whether a stamp of this run was found, or none is expected.
    #[inline]
    pub(crate) fn known(self) -> bool {
        self.known
    }

    /// Whether a message of this length can be a publication of this run.
    #[inline]
    pub(crate) fn could_be(self, length: u32) -> bool {
        length >= self.shortest
    }
}

impl Shard {
    /// Returns the stamps in a part of a message if the plain search does not find them; `None` if it
    /// does, as far as is known.
    #[cold]
    pub(super) fn encoded_stamps(&mut self, index: u32, lane: Lane, bytes: &[u8]) -> Option<Vec<Stamp>> {
        let Shard { crowd, seen, accounting, plan, .. } = self;
        let payloads = &mut seen.payloads;
        let nonce = plan.arm.nonce;
        let line = crowd[index].line_mut(lane);
        let mut sight = line.sight.take().unwrap_or_else(|| Box::new(PayloadState::new(payloads.decode)));
        if !payloads.known {
            let room = SHOWN_MAX - sight.begin.len();
            sight.begin.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
        // Another client's message may have decided the encoding while this one was incomplete.
        if let (Some(decode), Search::Guess(guess)) = (payloads.decode, &mut sight.search) {
            sight.search = Search::Decoder(std::mem::take(guess).into_decoder(decode));
        }
        let stamps = match &mut sight.search {
            Search::Decoder(decoder) => {
                let mut stamps = Vec::new();
                decoder.scan(bytes, |stamp| stamps.push(stamp));
                payloads.known |= stamps.iter().any(|stamp| stamp.nonce == nonce);
                Some(stamps)
            }
            Search::Guess(guess) => match guess.look(bytes, nonce) {
                Guessed::Nothing => None,
                Guessed::Plain => {
                    payloads.known = true;
                    return None;
                }
                Guessed::Coded(decode, stamps) => {
                    (payloads.known, payloads.decode) = (true, Some(decode));
                    sight.search = Search::Decoder(std::mem::take(guess).into_decoder(decode));
                    Some(stamps)
                }
            },
        };
        accounting.record.words.decoded = payloads.decode.filter(|_| payloads.known);
        line.sight = Some(sight);
        stamps
    }

    /// The message was a heartbeat that is answered: it does not count as a message.
    pub(super) fn no_message(&mut self, index: u32, lane: Lane) {
        let line = self.crowd[index].line_mut(lane);
        (line.length, line.sight) = (0, None);
    }

    /// A complete message has no stamp. Its beginning is kept until a stamp is found in some message.
    pub(super) fn unstamped(&mut self, index: u32, lane: Lane) {
        if self.seen.ignored.contains(&index) {
            return;
        }
        let line = self.crowd[index].line_mut(lane);
        let length = line.length;
        let could_be_ours = self.seen.payloads.could_be(length);
        let counts = &mut self.accounting.record.counts;
        counts.unstamped_all += u64::from(could_be_ours);
        counts.unstamped += u64::from(could_be_ours && self.time.in_measure);
        if let Some(sight) = line.sight.take().filter(|_| !self.seen.payloads.known) {
            let came = Came { begin: sight.begin, length, could_be_ours };
            self.accounting.record.words.came(came);
        }
    }
}
