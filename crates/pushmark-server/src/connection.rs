//! One connection: its socket, where its conversation stands, and what it owes and is owed.
//!
//! Idle, it owns no buffer: what is half read or not yet written is kept only while it is.

use std::io;
use std::num::NonZeroUsize;
use std::rc::Rc;
use std::sync::Arc;

use pushmark_net::{Interest, Link, Nanos};
use pushmark_proto::http1::BodyDecoder;
use pushmark_proto::websocket;

use crate::framing::Framing;
use crate::ledger::Ledger;
use crate::options::QueuePolicy;
use crate::outbox::{Outbox, Overflow, Piece};
use crate::publication::Publication;
use crate::request::Intent;

/// One peer.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) link: Link,
    /// Counted from 1 in the order in which connections first asked to subscribe; 0: not yet.
    pub(crate) ordinal: u32,
    pub(crate) talk: Talk,
    /// Whether `subscriptions` stand in their channels' lists now.
    pub(crate) listed: bool,
    /// A long poll between two requests.
    pub(crate) away: Away,
    /// To be closed once everything is written.
    pub(crate) closing: bool,
    /// Marked to be closed at the end of the turn: nothing is read or written any more.
    pub(crate) doomed: bool,
    /// What the poller watches it for.
    pub(crate) watched: Interest,
    /// Channels it hears; of a long poll also between requests.
    pub(crate) subscriptions: Box<[Subscription]>,
    /// Bytes of a request that is not whole yet.
    pub(crate) inbound: Vec<u8>,
    /// What could not be written yet.
    pub(crate) outbox: Option<Box<Outbox>>,
    /// Messages that faults owe it.
    pub(crate) debts: Option<Box<Debts>>,
    /// The earliest timer pending for it; `Nanos::MAX`: none.
    pub(crate) timer_ns: Nanos,
    /// When what waits may leave: the next piece of a slow write, or what was collected for a
    /// batch; 0: nothing waits for its time.
    pub(crate) pace_ns: Nanos,
}

/// Where a conversation stands.
#[derive(Debug)]
pub(crate) enum Talk {
    /// A request may begin.
    Request,
    /// The body of a request is under way.
    Body(Box<Pending>),
    /// A long poll is held.
    Held(Hold),
    /// The connect of this Bayeux session is held.
    Connect(u64),
    /// It speaks for a Bayeux session of another thread, and goes there at the end of the turn.
    Moving(Box<Moving>),
    /// An instrumented request waits for events.
    Registered(Box<Registered>),
    /// Messages flow until the connection ends.
    Stream,
    /// Messages flow until the connection ends.
    Sse,
    /// Messages flow both ways.
    WebSocket(Box<Frames>),
    /// It is never answered: half-open, by fault.
    Mute,
}

/// A request whose body is not whole yet.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) intent: Intent,
    pub(crate) keep_alive: bool,
    pub(crate) decoder: BodyDecoder,
    pub(crate) body: Vec<u8>,
}

/// A long poll that waits for a publication.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hold {
    /// When the request came.
    pub(crate) since_ns: Nanos,
    /// When it is answered at the latest.
    pub(crate) until_ns: Nanos,
    pub(crate) keep_alive: bool,
    /// It sends cursors, so it misses nothing between two requests.
    pub(crate) with_cursor: bool,
}

/// An instrumented request (CONTRACT 7).
#[derive(Clone, Debug)]
pub(crate) struct Registered {
    /// `comet`: events flow until the connection ends. Otherwise the first is the answer.
    pub(crate) comet: bool,
    pub(crate) keep_alive: bool,
    /// When it came.
    pub(crate) since_ns: Nanos,
    /// When it is answered at the latest; of a comet request `Nanos::MAX`.
    pub(crate) until_ns: Nanos,
    /// Requests registered over all channels when it was, itself among them.
    pub(crate) start: u64,
    /// Its document as received, on one line.
    pub(crate) asked: Box<[u8]>,
}

/// The receiving side of a WebSocket.
#[derive(Debug)]
pub(crate) struct Frames {
    pub(crate) decoder: websocket::Decoder,
    /// The message so far.
    pub(crate) message: Vec<u8>,
    /// Its messages are Bayeux messages; `None`: they are a peer's.
    pub(crate) bayeux: Option<BayeuxSocket>,
}

/// A WebSocket that speaks Bayeux.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct BayeuxSocket {
    /// The session whose connect came last.
    pub(crate) session: Option<u64>,
}

/// What goes to another thread with a connection.
#[derive(Debug)]
pub(crate) struct Moving {
    /// Where to.
    pub(crate) thread: usize,
    /// The Bayeux messages that are to be answered there.
    pub(crate) body: Vec<u8>,
    /// What carries them.
    pub(crate) carried: Carried,
}

/// What carries Bayeux messages.
#[derive(Debug)]
pub(crate) enum Carried {
    /// A request, with this cookie.
    Request { keep_alive: bool, cookie: Option<String> },
    /// A WebSocket.
    Socket(Box<Frames>),
}

/// A channel it hears, and its position in that channel's list.
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
    /// It will ask for what it misses.
    InFlight,
    /// It misses what is published now.
    Deaf,
}

/// Messages kept back: by faults, or for a batch.
#[derive(Debug, Default)]
pub(crate) struct Debts {
    /// Halves of swaps, at most one for each channel; each leaves after the next of its channel.
    pub(crate) held_back: Vec<Arc<Publication>>,
    /// Duplicates that a long poll gets in its next answer: twice in one would count once.
    pub(crate) again: Vec<Arc<Publication>>,
    /// No fault: what a held poll's batch has collected, and whether it is cut short.
    pub(crate) collected: Vec<(Arc<Publication>, bool)>,
    /// The header line in which that poll's answer tells what was published before it.
    pub(crate) acknowledgement: String,
}

/// What bounds the writing to one subscriber.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) queue_max: usize,
    pub(crate) queue_policy: QueuePolicy,
    /// `--slow-write`: bytes that may leave each millisecond.
    pub(crate) pace: Option<NonZeroUsize>,
    /// How long messages are collected; 0: not at all.
    pub(crate) batch_ns: Nanos,
}

/// Why a connection cannot go on.
#[derive(Debug)]
pub(crate) enum Parting {
    /// It is gone, or broken.
    Lost,
    /// Its queue was full.
    Overflow,
}

impl From<io::Error> for Parting {
    fn from(_: io::Error) -> Parting {
        Parting::Lost
    }
}

impl From<Overflow> for Parting {
    fn from(_: Overflow) -> Parting {
        Parting::Overflow
    }
}

impl Connection {
    pub(crate) fn new(link: Link) -> Connection {
        Connection {
            link,
            ordinal: 0,
            talk: Talk::Request,
            listed: false,
            away: Away::No,
            closing: false,
            doomed: false,
            watched: Interest::Read,
            subscriptions: Box::default(),
            inbound: Vec::new(),
            outbox: None,
            debts: None,
            timer_ns: Nanos::MAX,
            pace_ns: 0,
        }
    }

    /// How messages are framed for it now; `None` where none flow, or as answers.
    pub(crate) fn framing(&self) -> Option<Framing> {
        match &self.talk {
            Talk::Stream => Some(Framing::Stream),
            Talk::Sse => Some(Framing::Sse),
            Talk::WebSocket(frames) if frames.bayeux.is_some() => Some(Framing::EventFrame),
            Talk::WebSocket(_) => Some(Framing::WebSocket),
            _ => None,
        }
    }

    /// Whether its subscription outlives a message.
    pub(crate) fn lasts(&self) -> bool {
        match &self.talk {
            Talk::Registered(registered) => registered.comet,
            _ => self.framing().is_some(),
        }
    }

    /// Whether a poll is held that the next message answers.
    pub(crate) fn is_held(&self) -> bool {
        match &self.talk {
            Talk::Held(_) => true,
            Talk::Registered(registered) => !registered.comet,
            _ => false,
        }
    }

    /// The numbers of the channels it hears.
    pub(crate) fn channels(&self) -> Vec<u32> {
        self.subscriptions.iter().map(|subscription| subscription.channel).collect()
    }

    /// Writes a part of the conversation: never dropped, but in order with what waits.
    pub(crate) fn say(&mut self, bytes: &[u8], ledger: &mut Ledger) -> Result<(), Parting> {
        let written = if self.outbox.is_none() { self.link.write(bytes)? } else { 0 };
        if written < bytes.len() {
            let piece = Piece { bytes: Rc::from(&bytes[written..]), delivery: None };
            let outbox = self.outbox.get_or_insert_default();
            outbox.push(piece, 0, usize::MAX, QueuePolicy::DropOldest, ledger)?;
        }
        Ok(())
    }

    /// Writes messages in one call where they fit; what does not fit waits, within `rules`.
    pub(crate) fn send(
        &mut self,
        pieces: &[Piece],
        rules: &Rules,
        ledger: &mut Ledger,
    ) -> Result<(), Parting> {
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
            outbox.push(piece.clone(), written, rules.queue_max, rules.queue_policy, ledger)?;
        }
        Ok(())
    }

    /// Collects messages for its next batch.
    pub(crate) fn collect(
        &mut self,
        pieces: &[Piece],
        rules: &Rules,
        ledger: &mut Ledger,
    ) -> Result<(), Parting> {
        let outbox = self.outbox.get_or_insert_default();
        for piece in pieces {
            outbox.push(piece.clone(), 0, rules.queue_max, rules.queue_policy, ledger)?;
        }
        Ok(())
    }

    /// Whether a held poll's batch has begun.
    pub(crate) fn has_collected(&self) -> bool {
        self.debts.as_ref().is_some_and(|debts| !debts.collected.is_empty())
    }

    /// Messages that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.outbox.as_ref().map_or(0, |outbox| outbox.deliveries())
    }

    /// Writes what waits, at most `bytes_max`.
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
        // 15,000 of them are 3 MB; the kernel's share of each is ten times more.
        assert!(size_of::<Connection>() <= 208, "{} bytes", size_of::<Connection>());
    }
}
