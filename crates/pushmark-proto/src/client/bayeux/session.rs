//! The session: what may be asked now, and what replies make of it.
//!
//! Handshake, a connect that is answered at once, the subscription, then one connect after the
//! other. The subscription goes in a request of its own: it needs no held connect, and a server
//! may hold a whole batch for the sake of a connect in it.

use super::counts::Counts;
use super::incoming::Look;
use super::time_sync::TimeSync;
use crate::bayeux::{ConnectionType, Fields, Value, channel as names, ext};
use crate::client::Config;

/// Most bytes of publications that wait to be written, unless one alone is longer.
pub const PENDING_MAX: usize = 256 << 10;

/// Handshakes, or connects, without success in a row after which a session gives up.
pub const FAILURES_MAX: u8 = 8;

/// Why a publication was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpublished {
    /// The handshake is not answered yet, or the session has ended.
    NoSession,
    /// [`PENDING_MAX`] bytes wait already.
    Full,
    /// Neither a channel that can be published on, nor JSON.
    Malformed,
}

/// One client's session with a server. Outlives its connections.
#[derive(Debug, Default)]
pub struct Session {
    pub(super) stage: Stage,
    pub(super) connect: Connect,
    pub(super) subscription: Subscription,
    pub(super) leaving: Leaving,
    /// The next connect is to be answered at once: the first, and those after a failure.
    pub(super) prompt: bool,
    /// Tell `Ready` once a connect succeeds: the connection is new, the session is not.
    pub(super) resumed: bool,
    /// The server grants the acknowledge extension.
    pub(super) acknowledges: bool,
    pub(super) failures: u8,
    /// Replies to subscriptions still to come.
    pub(super) subscribing: u16,
    pub(super) pause_ms: Option<u32>,
    pub(super) timeout_ms: Option<u32>,
    /// As advised last.
    pub(super) interval_ms: i64,
    pub(super) next_id: u32,
    /// The handshake's; replies to what was asked before it are of a session that is gone.
    pub(super) since_id: u32,
    /// The number of the last batch that came.
    pub(super) batch: i64,
    pub(super) client_id: Box<str>,
    pub(super) acknowledged: Option<Box<str>>,
    /// Publications ready to be sent, with commas between them.
    pub(super) pending: Vec<u8>,
    pub(super) pending_count: u32,
    pub(super) now_ms: i64,
    pub(super) time: Option<Box<TimeSync>>,
    pub(super) counts: Counts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Stage {
    /// A handshake is due.
    #[default]
    Unconnected,
    /// A handshake is asked for.
    Handshaking,
    /// There is a client id; no connect has succeeded yet.
    Connecting,
    Connected,
    /// For good.
    Ended,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Connect {
    #[default]
    Due,
    /// Until [`Session::pause_over`].
    Paused,
    Held,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Subscription {
    #[default]
    Wanted,
    Asked,
    Stands,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Leaving {
    #[default]
    No,
    Wanted,
    Asked,
}

impl Session {
    pub(super) fn new() -> Session {
        Session { next_id: 1, batch: -1, prompt: true, ..Session::default() }
    }

    /// The id that the server gave; empty before the handshake and after its session is gone.
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The server said not to come back, or the session was ended by [`Session::disconnect`].
    pub fn has_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// A connect is with the server.
    pub fn is_held(&self) -> bool {
        self.connect == Connect::Held
    }

    /// The connect that is with the server, or comes next, asks to be answered at once.
    pub fn is_prompt(&self) -> bool {
        self.prompt
    }

    /// The server granted the acknowledge extension to this session.
    pub fn acknowledges(&self) -> bool {
        self.acknowledges
    }

    /// How long the server holds a connect, where it said so.
    pub fn timeout_ms(&self) -> Option<u32> {
        self.timeout_ms
    }

    /// The pause before the next connect (or handshake), once: the caller lets it pass and calls
    /// [`Session::pause_over`].
    pub fn take_pause_ms(&mut self) -> Option<u32> {
        self.pause_ms.take()
    }

    /// The pause is over.
    pub fn pause_over(&mut self) {
        if self.connect == Connect::Paused {
            self.connect = Connect::Due;
        }
    }

    /// `ext.pushmark.subscribed` of the reply that `Event::Ready` told of, once.
    pub fn take_acknowledged(&mut self) -> Option<Box<str>> {
        self.acknowledged.take()
    }

    /// What was counted since the last call.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// For the timesync extension: the time on a clock of the caller's, before anything is
    /// written or read. Without the extension it need not be told.
    pub fn set_time_ms(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// What the timesync extension tells; absent before its first answer.
    pub fn time_sync(&self) -> Option<&TimeSync> {
        self.time.as_deref()
    }

    /// Takes a publication, to be written with the next request on its lane. `data` is JSON.
    /// Gives its id, by which `Event::Published` names it.
    pub fn publish(&mut self, channel: &str, data: &[u8]) -> Result<u32, Unpublished> {
        if !self.has_client_id() || self.leaving != Leaving::No {
            return Err(Unpublished::NoSession);
        }
        let possible = names::valid(channel) && !names::is_meta(channel) && !names::is_pattern(channel);
        if !possible || Value::parse(data).is_err() {
            return Err(Unpublished::Malformed);
        }
        if !self.pending.is_empty() && self.pending.len() + data.len() > PENDING_MAX {
            return Err(Unpublished::Full);
        }
        if !self.pending.is_empty() {
            self.pending.push(b',');
        }
        let id = self.take_id();
        self.pending_count += 1;
        Fields::new(&mut self.pending, channel)
            .with("id", |out| super::requests::write_id(out, id))
            .text("clientId", &self.client_id)
            .raw("data", data)
            .end();
        Ok(id)
    }

    /// Ends the session: a `/meta/disconnect` is written next, and `Event::Closed` tells of its
    /// reply. A session that has not begun just ends.
    pub fn disconnect(&mut self) {
        match self.stage {
            Stage::Unconnected | Stage::Handshaking => self.stage = Stage::Ended,
            Stage::Connecting | Stage::Connected if self.leaving == Leaving::No => {
                self.leaving = Leaving::Wanted;
            }
            _ => {}
        }
    }

    pub(super) fn has_client_id(&self) -> bool {
        matches!(self.stage, Stage::Connecting | Stage::Connected)
    }

    pub(super) fn take_id(&mut self) -> u32 {
        let id = self.next_id;
        self.next_id = self.next_id.wrapping_add(1);
        id
    }

    /// What is looked for in replies.
    pub(super) fn look(&self, config: &Config, connection_type: ConnectionType) -> Look {
        let client_id = self.stage == Stage::Handshaking;
        Look { connection_type, data_max: config.message_max, client_id }
    }

    pub(super) fn time_request(&self) -> ext::TimeSyncRequest {
        self.time.as_deref().copied().unwrap_or_default().request(self.now_ms)
    }

    /// The connection that carried handshake, subscription and connect is gone. Between two
    /// requests that is nothing to a session, unless its client takes itself for lost.
    pub(super) fn connect_lost(&mut self, client_lost: bool) {
        let asked = self.unanswered().is_some();
        if self.stage == Stage::Handshaking {
            self.stage = Stage::Unconnected;
        }
        if self.subscription == Subscription::Asked {
            self.subscription = Subscription::Wanted;
        }
        if self.connect == Connect::Held {
            self.connect = Connect::Due;
        }
        // Whether the session still stands is found out at once.
        self.prompt |= asked || client_lost;
        self.resumed |= asked || client_lost;
    }

    /// The connection that carried publications and the disconnect is gone.
    pub(super) fn command_lost(&mut self) {
        if self.leaving == Leaving::Asked {
            self.leaving = Leaving::Wanted;
        }
    }

    /// A request on the connect lane was answered without the reply that it is for.
    pub(super) fn unanswered(&self) -> Option<&'static str> {
        if self.stage == Stage::Handshaking {
            Some("no reply to the handshake")
        } else if self.subscription == Subscription::Asked {
            Some("no reply to the subscription")
        } else if self.connect == Connect::Held {
            Some("no reply to the connect")
        } else {
            None
        }
    }
}
