//! The session: which requests are allowed now, and how replies change its state.
//!
//! First a handshake, then a connect that is answered at once, then the subscription, then one connect after
//! the other. The subscription is a separate request, because it needs no held connect, and a server may hold
//! a whole batch that contains a connect.

use super::counts::Counts;
use super::incoming::ReplyFields;
use super::time_sync::TimeSync;
use crate::bayeux::{ConnectionType, Fields, Value, channel as names, ext};
use crate::client::Config;

/// The most bytes of publications that wait to be written, unless a single one is longer.
pub const PENDING_MAX: usize = 256 << 10;

/// The number of failed handshakes or connects in a row after which a session gives up.
pub const FAILURES_MAX: u8 = 8;

/// Why a publication was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpublished {
    /// The handshake is not yet answered, or the session has ended.
    NoSession,
    /// [`PENDING_MAX`] bytes already wait.
    Full,
    /// The channel cannot be published on, or the data is not JSON.
    Malformed,
}

/// One client's session with a server. It outlives its connections.
#[derive(Debug, Default)]
pub struct Session {
    pub(super) stage: Stage,
    pub(super) connect: Connect,
    pub(super) subscription: Subscription,
    pub(super) leaving: Leaving,
    /// The next connect requests an immediate response: the first connect, and those after a failure.
    pub(super) prompt: bool,
    /// Emit `Ready` once a connect succeeds: the connection is new and the session is not.
    pub(super) resumed: bool,
    /// The server grants the acknowledge extension.
    pub(super) acknowledges: bool,
    pub(super) failures: u8,
    /// Subscription replies that have not yet arrived.
    pub(super) subscribing: u16,
    pub(super) pause_ms: Option<u32>,
    pub(super) timeout_ms: Option<u32>,
    /// From the last advice.
    pub(super) interval_ms: i64,
    pub(super) next_id: u32,
    /// The id of the handshake. Replies to earlier requests belong to a session that is gone.
    pub(super) since_id: u32,
    /// The number of the last batch received.
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
    /// A handshake was sent.
    Handshaking,
    /// There is a client id, but no connect has succeeded yet.
    Connecting,
    Connected,
    /// Permanently.
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

    /// Returns the id that the server assigned. Empty before the handshake and after the session is gone.
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// Returns whether the server advised not to reconnect, or [`Session::disconnect`] ended the session.
    pub fn has_ended(&self) -> bool {
        self.stage == Stage::Ended
    }

    /// Returns whether a connect is waiting at the server.
    pub fn is_held(&self) -> bool {
        self.connect == Connect::Held
    }

    /// Returns whether the present or the next connect requests an immediate response.
    pub fn is_prompt(&self) -> bool {
        self.prompt
    }

    /// Returns whether the server granted the acknowledge extension to this session.
    pub fn acknowledges(&self) -> bool {
        self.acknowledges
    }

    /// Returns how long the server holds a connect, if the server reported it.
    pub fn timeout_ms(&self) -> Option<u32> {
        self.timeout_ms
    }

    /// Returns the pause before the next connect (or handshake), once. After it, the caller calls
    /// [`Session::pause_over`].
    pub fn take_pause_ms(&mut self) -> Option<u32> {
        self.pause_ms.take()
    }

    /// Ends the pause.
    pub fn pause_over(&mut self) {
        if self.connect == Connect::Paused {
            self.connect = Connect::Due;
        }
    }

    /// Returns `ext.pushmark.subscribed` of the reply that caused `Event::Ready`, once.
    pub fn take_acknowledged(&mut self) -> Option<Box<str>> {
        self.acknowledged.take()
    }

    /// Returns the counts since the last call.
    pub fn take_counts(&mut self) -> Counts {
        std::mem::take(&mut self.counts)
    }

    /// For the timesync extension: sets the time on the caller's clock, before anything is written or read.
    /// Not needed without the extension.
    pub fn set_time_ms(&mut self, now_ms: i64) {
        self.now_ms = now_ms;
    }

    /// Returns the state of the timesync extension, or `None` before its first answer.
    pub fn time_sync(&self) -> Option<&TimeSync> {
        self.time.as_deref()
    }

    /// Accepts a publication, which is written with the next request on its lane. `data` is JSON. Returns its
    /// id, which `Event::Published` repeats.
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
            .id(id)
            .text("clientId", &self.client_id)
            .raw("data", data)
            .end();
        Ok(id)
    }

    /// Ends the session: a `/meta/disconnect` is written next, and its reply causes `Event::Closed`. A
    /// session that has not begun ends at once.
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

    /// Returns what to read in replies.
    pub(super) fn look(&self, config: &Config, connection_type: ConnectionType) -> ReplyFields {
        let client_id = self.stage == Stage::Handshaking;
        ReplyFields { connection_type, data_max: config.message_max, client_id }
    }

    pub(super) fn time_request(&self) -> ext::TimeSyncRequest {
        self.time.as_deref().copied().unwrap_or_default().request(self.now_ms)
    }

    /// Handles the loss of the connection for handshake, subscription and connect. Between two requests the
    /// loss does not affect the session, unless the whole client is lost.
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
        // The next connect finds out at once whether the session still exists.
        self.prompt |= asked || client_lost;
        self.resumed |= asked || client_lost;
    }

    /// Handles the loss of the connection for publications and the disconnect.
    pub(super) fn command_lost(&mut self) {
        if self.leaving == Leaving::Asked {
            self.leaving = Leaving::Wanted;
        }
    }

    /// Returns an error text if a request on the connect lane was answered without its reply.
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
