//! What a session counts.

/// Counts since they were last taken ([`super::Session::take_counts`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Handshakes asked for, the first one among them.
    pub handshakes: u32,
    /// Connects asked for.
    pub connects: u32,
    /// Connects answered without success.
    pub connects_failed: u32,
    /// Replies with code 402: the server does not know the session.
    pub unknown_client: u32,
    /// Advice to connect again. Nothing to obey: that is what a client does.
    pub advice_retry: u32,
    /// Advice to make a new handshake, obeyed.
    pub advice_handshake: u32,
    /// Advice not to come back, obeyed.
    pub advice_none: u32,
    /// Pauses before a connect that advice asked for, obeyed.
    pub advice_interval: u32,
    /// Replies that say that another client with the same cookies is connected.
    pub multiple_clients: u32,
    /// Batches of the acknowledge extension that came and are acknowledged by the next connect.
    pub batches: u32,
    /// Publications that were answered with success, and without.
    pub published: u32,
    /// Those refused.
    pub published_failed: u32,
}
