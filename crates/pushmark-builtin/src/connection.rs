//! One connection: its socket, the state of its conversation, and pending messages.
//!
//! While idle, it owns no buffer. Partial input and unwritten output are kept only while they exist.

use std::io;
use std::sync::Arc;

use pushmark_net::{Interest, Link, Nanos};
use pushmark_proto::http1::{BodyDecoder, HEAD_MAX};
use pushmark_proto::websocket;

use crate::answer_cache::AnswerCache;
use crate::frame::Frame;
use crate::framing::Framing;
use crate::kept::Kept;
use crate::ledger::Ledger;
use crate::outbox::{Outbox, Overflow, Piece};
use crate::publication::Publication;
use crate::request::Intent;
use crate::rules::Rules;
use crate::stats::Counter;

/// The most bytes of answers that wait for a client that does not read them. Beyond it, nothing more is read
/// from the client. The answer that exceeds the bound is kept whole. The bound is one read's worth, so a
/// client that reads its answers is never stopped.
const SAID_MAX: usize = 64 * 1024;

/// The most bytes of an answer that are written at once. The rest is written when the socket has its turn, so
/// that a thousand long answers delay no other client.
const SAID_AT_ONCE_MAX: usize = 64 * 1024;

/// One peer.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) link: Link,
    /// Its number in the order in which connections first subscribed, from 1; 0: not yet.
    pub(crate) ordinal: u32,
    pub(crate) talk: Conversation,
    /// Whether `subscriptions` are in their channels' lists now.
    pub(crate) listed: bool,
    /// A long poll between two requests.
    pub(crate) away: Away,
    /// To be closed after everything is written.
    pub(crate) closing: bool,
    /// To be closed at the end of the turn: nothing is read or written any more.
    pub(crate) doomed: bool,
    /// The interest the poller watches it for.
    pub(crate) watched: Interest,
    /// Subscribed channels; of a long poll also between requests.
    pub(crate) subscriptions: Box<[Subscription]>,
    /// Bytes of an incomplete request.
    pub(crate) inbound: Kept,
    /// Received requests wait until the client has read the earlier answers.
    pub(crate) stalled: bool,
    /// Since when the client has been due to finish something: an incomplete request, or an unread last
    /// answer; 0: nothing.
    pub(crate) begun_ns: Nanos,
    /// Output that could not be written yet.
    pub(crate) outbox: Option<Box<Outbox>>,
    /// Messages held back by faults.
    pub(crate) debts: Option<Box<Debts>>,
    /// Its earliest pending timer; `Nanos::MAX` if none.
    pub(crate) timer_ns: Nanos,
    /// When waiting output may leave: the next piece of a slow write, or the collected batch; 0: nothing
    /// waits for its time.
    pub(crate) pace_ns: Nanos,
}

/// The state of a conversation.
#[derive(Debug)]
pub(crate) enum Conversation {
    /// Ready for a request.
    Request,
    /// The body of a request is incomplete.
    Body(Box<Pending>),
    /// A long poll is held.
    Held(Hold),
    /// The connect of this Bayeux session is held.
    Connect(u64),
    /// It carries messages for a Bayeux session of another thread, and moves there at the end of the turn.
    Moving(Box<Moving>),
    /// An instrumented request waits for events.
    Registered(Box<Registered>),
    /// Messages are sent until the connection ends.
    Stream,
    /// Messages are sent until the connection ends.
    Sse,
    /// Messages are sent both ways.
    WebSocket(Box<Frames>),
    /// It is never answered: half-open, by a fault.
    Mute,
}

/// A request with an incomplete body.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) intent: Intent,
    pub(crate) keep_alive: bool,
    /// The request contains the token that changes require.
    pub(crate) trusted: bool,
    pub(crate) decoder: BodyDecoder,
    pub(crate) body: Kept,
}

/// A long poll that waits for a publication.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    /// When the request arrived.
    pub(crate) since_ns: Nanos,
    /// The deadline for its answer.
    pub(crate) until_ns: Nanos,
    pub(crate) keep_alive: bool,
    /// The client sends cursors, so it misses nothing between two requests.
    pub(crate) with_cursor: bool,
}

/// An instrumented request (CONTRACT 7).
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    /// `comet`: events are sent until the connection ends. Otherwise the first event is the answer.
    pub(crate) comet: bool,
    pub(crate) keep_alive: bool,
    /// When it arrived.
    pub(crate) since_ns: Nanos,
    /// The deadline for its answer; `Nanos::MAX` for a comet request.
    pub(crate) until_ns: Nanos,
    /// Registered requests over all channels when it was registered, including itself.
    pub(crate) start: u64,
    /// Its document as received, on one line.
    pub(crate) asked: Box<[u8]>,
}

/// The receiving side of a WebSocket.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) decoder: websocket::Decoder,
    /// The message so far.
    pub(crate) message: Kept,
    /// It may publish.
    pub(crate) trusted: bool,
    /// Set if its messages are Bayeux messages; `None` if they are a peer's.
    pub(crate) bayeux: Option<BayeuxSocket>,
}

/// A WebSocket with Bayeux.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BayeuxSocket {
    /// The session of the last connect.
    pub(crate) session: Option<u64>,
}

/// The data that moves to another thread with a connection.
#[derive(Debug)]
pub(crate) struct Moving {
    /// The destination.
    pub(crate) thread: usize,
    /// The Bayeux messages to be answered there.
    pub(crate) body: Vec<u8>,
    /// Their carrier.
    pub(crate) carried: Carried,
}

/// The carrier of Bayeux messages.
#[derive(Debug)]
pub(crate) enum Carried {
    /// A request, with this cookie.
    Request { keep_alive: bool, trusted: bool, cookie: Option<String> },
    /// A WebSocket.
    Socket(Box<Frames>),
}

/// A subscribed channel, and the position in that channel's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Subscription {
    pub(crate) channel: u32,
    pub(crate) position: u32,
}

/// Whether a long poll is between two requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Away {
    /// It is not a long poll, or a request is here.
    No,
    /// It will request what it misses.
    InFlight,
    /// It misses messages published now.
    Deaf,
}

/// Messages held back, by faults or for a batch.
#[derive(Debug, Default)]
pub(crate) struct Debts {
    /// First halves of swaps, at most one for each channel. Each leaves after the next message of its
    /// channel.
    pub(crate) held_back: Vec<Arc<Publication>>,
    /// Duplicates for the next answer of a long poll. Two copies in one answer would count once.
    pub(crate) again: Vec<Arc<Publication>>,
    /// Not a fault: the messages collected for a held poll's batch, and whether each is cut short.
    pub(crate) collected: Vec<(Arc<Publication>, bool)>,
    /// Their bytes.
    pub(crate) collected_bytes: usize,
    /// The header line that acknowledges publications before the batch in that poll's answer.
    pub(crate) acknowledgement: String,
}

/// Why a connection must end.
#[derive(Debug)]
pub(crate) enum CloseReason {
    /// It is gone, or broken.
    Lost,
    /// Its queue was full.
    Overflow,
}

impl From<io::Error> for CloseReason {
    fn from(_: io::Error) -> CloseReason {
        CloseReason::Lost
    }
}

impl From<Overflow> for CloseReason {
    fn from(_: Overflow) -> CloseReason {
        CloseReason::Overflow
    }
}

impl Connection {
    pub(crate) fn new(link: Link) -> Connection {
        Connection {
            link,
            ordinal: 0,
            talk: Conversation::Request,
            listed: false,
            away: Away::No,
            closing: false,
            doomed: false,
            watched: Interest::Read,
            subscriptions: Box::default(),
            inbound: Kept::default(),
            stalled: false,
            begun_ns: 0,
            outbox: None,
            debts: None,
            timer_ns: Nanos::MAX,
            pace_ns: 0,
        }
    }

    /// Returns the present framing of its messages, or `None` if it receives none, or receives them as
    /// answers.
    pub(crate) fn framing(&self) -> Option<Framing> {
        match &self.talk {
            Conversation::Stream => Some(Framing::Stream),
            Conversation::Sse => Some(Framing::Sse),
            Conversation::WebSocket(frames) if frames.bayeux.is_some() => Some(Framing::EventFrame),
            Conversation::WebSocket(_) => Some(Framing::WebSocket),
            _ => None,
        }
    }

    /// Returns whether its subscription continues after a message.
    pub(crate) fn lasts(&self) -> bool {
        match &self.talk {
            Conversation::Registered(registered) => registered.comet,
            _ => self.framing().is_some(),
        }
    }

    /// Returns whether the next message answers a held poll.
    pub(crate) fn is_held(&self) -> bool {
        match &self.talk {
            Conversation::Held(_) => true,
            Conversation::Registered(registered) => !registered.comet,
            _ => false,
        }
    }

    /// Returns the numbers of its channels.
    pub(crate) fn channels(&self) -> Vec<u32> {
        self.subscriptions.iter().map(|subscription| subscription.channel).collect()
    }

    /// Returns whether reading is paused: the client does not read its answers, or sends requests ahead of a
    /// held answer.
    pub(crate) fn is_full(&self) -> bool {
        self.inbound.len() >= HEAD_MAX || self.takes_no_answers()
    }

    /// Returns whether it is watched for input.
    pub(crate) fn is_read(&self) -> bool {
        matches!(self.watched, Interest::Read | Interest::Both)
    }

    /// Returns whether more answers wait for it than allowed.
    pub(crate) fn takes_no_answers(&self) -> bool {
        self.outbox.as_ref().is_some_and(|outbox| outbox.said() >= SAID_MAX)
    }

    /// Returns whether a request or a message has arrived only in part.
    pub(crate) fn is_half_told(&self) -> bool {
        match &self.talk {
            Conversation::Request => !self.inbound.is_empty() && !self.stalled,
            Conversation::Body(_) => true,
            Conversation::WebSocket(frames) => !self.inbound.is_empty() || !frames.message.is_empty(),
            _ => false,
        }
    }

    /// Writes a part of the conversation, in order with waiting output. It is never dropped.
    pub(crate) fn say(
        &mut self,
        bytes: &[u8],
        rules: &Rules,
        ledger: &mut Ledger,
    ) -> Result<(), CloseReason> {
        let written = self.begin_saying(bytes)?;
        if written < bytes.len() {
            let piece = Piece { bytes: Frame::from(&bytes[written..]), delivery: None };
            self.outbox.get_or_insert_default().push(&piece, 0, rules, ledger)?;
        }
        Ok(())
    }

    /// Writes an answer that other connections share: its unwritten rest is shared memory.
    pub(crate) fn say_shared(
        &mut self,
        answer: &mut AnswerCache,
        rules: &Rules,
        ledger: &mut Ledger,
    ) -> Result<(), CloseReason> {
        let written = self.begin_saying(answer.bytes())?;
        if written < answer.bytes().len() {
            let piece = Piece { bytes: answer.frame(), delivery: None };
            self.outbox.get_or_insert_default().push(&piece, written, rules, ledger)?;
        }
        Ok(())
    }

    /// Writes the first part at once: nothing if output already waits, and not all of a long answer.
    fn begin_saying(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.outbox {
            None => self.link.write(&bytes[..bytes.len().min(SAID_AT_ONCE_MAX)]),
            Some(_) => Ok(0),
        }
    }

    /// Answers a ping. While output waits, only the last ping is answered (RFC 6455 5.5.3).
    pub(crate) fn pong(
        &mut self,
        bytes: &[u8],
        rules: &Rules,
        ledger: &mut Ledger,
    ) -> Result<(), CloseReason> {
        let Some(outbox) = &mut self.outbox else { return self.say(bytes, rules, ledger) };
        if outbox.pong(Frame::from(bytes)) {
            ledger.count(Counter::PongsSkipped);
        }
        Ok(())
    }

    /// Writes messages in one call as far as they fit. The rest waits, within `rules`.
    pub(crate) fn send(
        &mut self,
        pieces: &[Piece],
        rules: &Rules,
        ledger: &mut Ledger,
    ) -> Result<(), CloseReason> {
        let (mut whole, mut partly) = (0, 0);
        if self.outbox.is_none() && rules.pace.is_none() {
            let at_ns = ledger.write_begins();
            let mut written = match pieces {
                [piece] => self.link.write(&piece.bytes)?,
                _ => {
                    let slices: Vec<_> = pieces.iter().map(|piece| io::IoSlice::new(&piece.bytes)).collect();
                    self.link.write_vectored(&slices)?
                }
            };
            for piece in pieces {
                if written < piece.bytes.len() {
                    break;
                }
                written -= piece.bytes.len();
                whole += 1;
                if let Some(cursor) = piece.delivery {
                    ledger.written(cursor, self.ordinal, at_ns);
                }
            }
            partly = written;
        }
        for piece in &pieces[whole..] {
            let outbox = self.outbox.get_or_insert_default();
            let written = std::mem::take(&mut partly);
            outbox.push(piece, written, rules, ledger)?;
        }
        Ok(())
    }

    /// Collects messages for its next batch.
    pub(crate) fn collect(
        &mut self,
        pieces: &[Piece],
        rules: &Rules,
        ledger: &mut Ledger,
    ) -> Result<(), CloseReason> {
        let outbox = self.outbox.get_or_insert_default();
        for piece in pieces {
            outbox.push(piece, 0, rules, ledger)?;
        }
        Ok(())
    }

    /// Returns whether a held poll's batch has begun.
    pub(crate) fn has_collected(&self) -> bool {
        self.debts.as_ref().is_some_and(|debts| !debts.collected.is_empty())
    }

    /// Returns the number of waiting messages.
    pub(crate) fn waiting(&self) -> usize {
        self.outbox.as_ref().map_or(0, |outbox| outbox.deliveries())
    }

    /// Writes waiting output, at most `bytes_max`.
    pub(crate) fn flush(&mut self, bytes_max: usize, ledger: &mut Ledger) -> io::Result<()> {
        let Some(outbox) = &mut self.outbox else { return Ok(()) };
        outbox.flush(&mut self.link, bytes_max, self.ordinal, ledger)?;
        if outbox.is_empty() {
            self.outbox = None;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_connection_is_small() {
        // 15,000 connections are 3 MB; the kernel's share of each is ten times more.
        assert!(size_of::<Connection>() <= 208, "{} bytes", size_of::<Connection>());
    }
}
