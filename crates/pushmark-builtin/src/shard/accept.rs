//! Accepts connections.

use pushmark_net::{Clock, Interest, Nanos};

use super::{LISTENER, Shard};
use crate::connection::Connection;
use crate::stats::Counter;

/// Connections accepted in one pass. The rest wait for the next pass.
const ACCEPTS_MAX: usize = 256;

/// How long connections wait when there is no room for them (descriptors, memory). The listener stays
/// readable, so an immediate retry would only waste processor time.
const NO_ROOM_PAUSE_NS: Nanos = 10_000_000;

impl Shard {
    pub(super) fn connections_waiting(&mut self) {
        for _ in 0..ACCEPTS_MAX {
            let Some(listener) = &self.listener else { return };
            match listener.accept() {
                Ok(None) => return,
                Ok(Some((link, _))) => {
                    let token = self.connections.next_token();
                    if self.poller.add(link.fd(), token, Interest::Read).is_err() {
                        self.ledger.count(Counter::AcceptFailed);
                        continue;
                    }
                    self.connections.insert(Connection::new(link));
                    self.ledger.count(Counter::Accepted);
                    self.ledger.count(Counter::Open);
                }
                Err(_) => {
                    self.ledger.count(Counter::AcceptFailed);
                    self.listen(Interest::None);
                    self.accept_again_ns = Clock::now() + NO_ROOM_PAUSE_NS;
                    return;
                }
            }
        }
    }

    pub(super) fn accept_again_if_due(&mut self) {
        if self.accept_again_ns != Nanos::MAX && Clock::now() >= self.accept_again_ns {
            self.accept_again_ns = Nanos::MAX;
            self.listen(Interest::Read);
        }
    }

    fn listen(&self, interest: Interest) {
        if let Some(listener) = &self.listener {
            // This fails only for a descriptor that is not watched; this one is watched.
            let _ = self.poller.modify(listener.fd(), LISTENER, interest);
        }
    }
}
