//! Sessions for resumption, received by the clients of a crowd.
//!
//! Clients share them, because a ticket does not identify the client that received it. A new client takes
//! none, so the ramp of a crowd consists of full handshakes.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard};

use rustls::NamedGroup;
use rustls::client::{ClientSessionStore, Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;

/// The sessions with one host.
#[derive(Debug)]
pub(super) struct Sessions {
    kept: Mutex<Kept>,
    tickets_max: usize,
}

#[derive(Debug, Default)]
struct Kept {
    /// TLS 1.3, newest last. Each ticket is used once (RFC 8446 C.4).
    tickets: VecDeque<Tls13ClientSessionValue>,
    /// TLS 1.2. Any number of clients may use it.
    session: Option<Tls12ClientSessionValue>,
    group: Option<NamedGroup>,
}

impl Sessions {
    /// Keeps at most `tickets_max` tickets and drops the oldest beyond that.
    pub(super) fn new(tickets_max: usize) -> Sessions {
        Sessions { kept: Mutex::default(), tickets_max }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no thread panics with the sessions")
    }
}

impl ClientSessionStore for Sessions {
    fn set_kx_hint(&self, _: ServerName<'static>, group: NamedGroup) {
        self.kept().group = Some(group);
    }

    fn kx_hint(&self, _: &ServerName<'_>) -> Option<NamedGroup> {
        self.kept().group
    }

    fn set_tls12_session(&self, _: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.kept().session = Some(value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.kept().session.clone()
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {
        self.kept().session = None;
    }

    fn insert_tls13_ticket(&self, _: ServerName<'static>, value: Tls13ClientSessionValue) {
        let mut kept = self.kept();
        if kept.tickets.len() >= self.tickets_max {
            kept.tickets.pop_front();
        }
        kept.tickets.push_back(value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.kept().tickets.pop_back()
    }
}

/// The session store of a new client: it stores sessions but finds none.
#[derive(Debug)]
pub(super) struct Newcomer(pub(super) std::sync::Arc<Sessions>);

impl ClientSessionStore for Newcomer {
    fn set_kx_hint(&self, host: ServerName<'static>, group: NamedGroup) {
        self.0.set_kx_hint(host, group);
    }

    fn kx_hint(&self, host: &ServerName<'_>) -> Option<NamedGroup> {
        self.0.kx_hint(host)
    }

    fn set_tls12_session(&self, host: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.0.set_tls12_session(host, value);
    }

    fn tls12_session(&self, _: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        None
    }

    fn remove_tls12_session(&self, host: &ServerName<'static>) {
        self.0.remove_tls12_session(host);
    }

    fn insert_tls13_ticket(&self, host: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.0.insert_tls13_ticket(host, value);
    }

    fn take_tls13_ticket(&self, _: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        None
    }
}
