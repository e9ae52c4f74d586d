//! The advice of a server: what the client should do next (section "advice").

use super::{ConnectionType, Value};

/// The action after a connect or after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reconnect {
    /// Connect again, with the same client id.
    Retry,
    /// Make a new handshake: the session is gone.
    Handshake,
    /// Do not reconnect.
    None,
}

impl Reconnect {
    /// The name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Reconnect::Retry => "retry",
            Reconnect::Handshake => "handshake",
            Reconnect::None => "none",
        }
    }
}

/// Advice. Absent fields are `None`. `hosts` is ignored, so that only the named target is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// An unknown value counts as absent.
    pub reconnect: Option<Reconnect>,
    /// The shortest pause before the next connect, ms. Negative: do not connect.
    pub interval_ms: Option<i64>,
    /// How long the server holds a connect, ms. From a client: how long it wants this connect held.
    pub timeout_ms: Option<i64>,
    /// Another client with the same cookies is connected already.
    pub multiple_clients: bool,
}

impl Advice {
    /// Advises to connect again after this pause, with connects held for `timeout_ms`.
    pub fn retry(interval_ms: i64, timeout_ms: i64) -> Advice {
        Advice {
            reconnect: Some(Reconnect::Retry),
            interval_ms: Some(interval_ms),
            timeout_ms: Some(timeout_ms),
            ..Advice::default()
        }
    }

    /// Advises a new handshake, because the session is unknown.
    pub fn handshake() -> Advice {
        Advice { reconnect: Some(Reconnect::Handshake), ..Advice::default() }
    }

    /// Advises not to reconnect.
    pub fn none() -> Advice {
        Advice { reconnect: Some(Reconnect::None), ..Advice::default() }
    }

    /// Reads the object. Members under the connection type's name override the general ones.
    pub fn read(value: Value<'_>, connection_type: ConnectionType) -> Advice {
        let mut advice = Advice::default();
        advice.take(value);
        if let Some(special) = value.get(connection_type.name()) {
            advice.take(special);
        }
        advice
    }

    fn take(&mut self, value: Value<'_>) {
        for (key, value) in value.members() {
            match &*key {
                "reconnect" => {
                    let all = [Reconnect::Retry, Reconnect::Handshake, Reconnect::None];
                    let name = value.as_str().unwrap_or_default();
                    self.reconnect = all.into_iter().find(|reconnect| reconnect.name() == name);
                }
                "interval" => self.interval_ms = value.as_i64(),
                "timeout" => self.timeout_ms = value.as_i64(),
                "multiple-clients" => self.multiple_clients = value.as_bool().unwrap_or(false),
                _ => {}
            }
        }
    }
}
