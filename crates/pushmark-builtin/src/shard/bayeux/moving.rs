//! Moves connections to the thread of their session. Any thread may accept a client's connections, but its
//! session belongs to one thread.

use pushmark_net::{Clock, Interest, Nanos};
use pushmark_proto::bayeux::Message;

use super::{Carrier, Shard};
use crate::bayeux::ClientId;
use crate::connection::{BayeuxSocket, Carried, Connection, Conversation, Moving};
use crate::kept::Kept;
use crate::shard::Ending;
use crate::shared::Moved;
use crate::stats::Counter;

/// How long to wait for a thread whose channel is full: one turn of its loop.
const FULL_HATCH_NS: Nanos = 1_000_000;

impl Shard {
    /// Returns the thread of the sender's session, if it is another thread.
    pub(super) fn home_of(&self, messages: &[Message<'_>]) -> Option<usize> {
        let client_id = messages.iter().find_map(|message| message.client_id.as_deref())?;
        let thread = usize::from(ClientId::parse(client_id)?.thread);
        (thread != self.index && thread < self.shared.counters.len()).then_some(thread)
    }

    /// Marks a connection to move to that thread with its messages at the end of the turn.
    pub(super) fn begin_move(&mut self, carrier: &Carrier, thread: usize, body: Vec<u8>) {
        let Some(connection) = self.live(carrier.token) else { return };
        let carried = match std::mem::replace(&mut connection.talk, Conversation::Request) {
            Conversation::WebSocket(mut frames) => {
                frames.bayeux = Some(BayeuxSocket::default());
                Carried::Socket(frames)
            }
            _ => {
                let &Carrier { keep_alive, trusted, ref cookie, .. } = carrier;
                Carried::Request { keep_alive, trusted, cookie: cookie.clone() }
            }
        };
        connection.talk = Conversation::Moving(Box::new(Moving { thread, body, carried }));
        self.moving.push(carrier.token);
    }

    /// Sends the marked connections, once all their output has been written.
    pub(in crate::shard) fn move_connections(&mut self) {
        self.move_again_ns = Nanos::MAX;
        let shared = self.shared.clone();
        for token in std::mem::take(&mut self.moving) {
            let Some(connection) = self.live(token) else { continue };
            if connection.outbox.is_some() {
                self.moving.push(token); // retried when its socket takes more
                continue;
            }
            let Conversation::Moving(moving) = &connection.talk else {
                unreachable!("only such are on the list")
            };
            let Some(passing) = shared.pass(moving.thread, connection.link.fd()) else {
                self.moving.push(token);
                self.move_again_ns = Clock::now() + FULL_HATCH_NS;
                continue;
            };
            // The descriptor stays open in the channel. Here it is closed and not watched any more.
            let Some(connection) = self.connections.remove(token) else { continue };
            // This fails only for a descriptor that is not watched; this one is watched.
            let _ = self.poller.remove(connection.link.fd());
            self.ledger.counters.fall(Counter::Open);
            let Connection { ordinal, talk: Conversation::Moving(moving), mut inbound, .. } = connection
            else {
                unreachable!("it was")
            };
            passing.with(Moved { ordinal, moving: *moving, inbound: inbound.take() });
        }
    }

    /// Takes the connections from other threads, and answers their messages.
    pub(in crate::shard) fn take_moved(&mut self) {
        for moved in self.shared.take_moved(self.index) {
            let (link, Moved { ordinal, moving, inbound }) = moved;
            let token = self.connections.next_token();
            let watched =
                link.and_then(|link| self.poller.add(link.fd(), token, Interest::Read).map(|()| link));
            let Ok(link) = watched else {
                self.ledger.count(Counter::AcceptFailed);
                continue;
            };
            let mut connection = Connection::new(link);
            connection.ordinal = ordinal;
            let carrier = match moving.carried {
                Carried::Request { keep_alive, trusted, cookie } => {
                    Carrier { token, socket: false, keep_alive, trusted, cookie }
                }
                Carried::Socket(frames) => {
                    let trusted = frames.trusted;
                    connection.talk = Conversation::WebSocket(frames);
                    Carrier::socket(token, trusted)
                }
            };
            let kept = Kept::of(&inbound).map(|kept| connection.inbound = kept);
            self.connections.insert(connection);
            self.ledger.count(Counter::Open);
            if kept.is_err() {
                self.ledger.count(Counter::KeptFull);
                self.doom(token, Ending::Reset);
                continue;
            }
            self.bayeux_arrived(&carrier, moving.body);
            self.revisit.push_back(token);
        }
    }
}
