//! Connections go to the thread of their session: a client's connections may be accepted by any
//! thread, and its session lives in one.

use pushmark_net::{Clock, Interest, Nanos};
use pushmark_proto::bayeux::Message;

use super::{Carrier, Shard};
use crate::bayeux::ClientId;
use crate::connection::{BayeuxSocket, Carried, Connection, Moving, Talk};
use crate::stats::Counter;

/// How long to wait for a thread whose hatch is full: a turn of its loop.
const FULL_HATCH_NS: Nanos = 1_000_000;

/// What goes with a connection on its way between two threads.
#[derive(Debug)]
pub(crate) struct Moved {
    ordinal: u32,
    moving: Moving,
    /// Bytes that were read after the messages.
    inbound: Vec<u8>,
}

impl Shard {
    /// The thread where the sender's session lives, if that is another.
    pub(super) fn home_of(&self, messages: &[Message<'_>]) -> Option<usize> {
        let client_id = messages.iter().find_map(|message| message.client_id.as_deref())?;
        let thread = usize::from(ClientId::parse(client_id)?.thread);
        (thread != self.index && thread < self.shared.counters.len()).then_some(thread)
    }

    /// Marks a connection to go there with its messages, at the end of the turn.
    pub(super) fn begin_move(&mut self, carrier: &Carrier, thread: usize, body: Vec<u8>) {
        let Some(connection) = self.live(carrier.token) else { return };
        let carried = match std::mem::replace(&mut connection.talk, Talk::Request) {
            Talk::WebSocket(mut frames) => {
                frames.bayeux = Some(BayeuxSocket::default());
                Carried::Socket(frames)
            }
            _ => Carried::Request { keep_alive: carrier.keep_alive, cookie: carrier.cookie.clone() },
        };
        connection.talk = Talk::Moving(Box::new(Moving { thread, body, carried }));
        self.moving.push(carrier.token);
    }

    /// Sends off what is to go, once everything written to it has left.
    pub(in crate::shard) fn move_connections(&mut self) {
        self.move_again_ns = Nanos::MAX;
        let shared = self.shared.clone();
        for token in std::mem::take(&mut self.moving) {
            let Some(connection) = self.live(token) else { continue };
            if connection.outbox.is_some() {
                self.moving.push(token); // it is looked at again when its socket takes more
                continue;
            }
            let Talk::Moving(moving) = &connection.talk else { unreachable!("only such are on the list") };
            let Some(passing) = shared.pass(moving.thread, connection.link.fd()) else {
                self.moving.push(token);
                self.move_again_ns = Clock::now() + FULL_HATCH_NS;
                continue;
            };
            // The fd lives on in the hatch; here it ends, and with it its being watched.
            let Some(connection) = self.connections.remove(token) else { continue };
            // It fails only for a descriptor that is not watched, and this one is.
            let _ = self.poller.remove(connection.link.fd());
            self.ledger.counters.fall(Counter::Open);
            let Connection { ordinal, talk: Talk::Moving(moving), inbound, .. } = connection else {
                unreachable!("it was")
            };
            passing.with(Moved { ordinal, moving: *moving, inbound });
        }
    }

    /// Takes what came from other threads, and answers it.
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
                Carried::Request { keep_alive, cookie } => {
                    Carrier { token, socket: false, keep_alive, cookie }
                }
                Carried::Socket(frames) => {
                    connection.talk = Talk::WebSocket(frames);
                    Carrier::socket(token)
                }
            };
            connection.inbound = inbound;
            self.connections.insert(connection);
            self.ledger.count(Counter::Open);
            self.bayeux_arrived(&carrier, moving.body);
            self.revisit.push(token);
        }
    }
}
