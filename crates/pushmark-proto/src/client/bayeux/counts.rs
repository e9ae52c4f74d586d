//! What a session counts.

/// Counts since the last call of [`super::Session::take_counts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Handshakes requested, including the first.
    pub handshakes: u32,
    /// Connects requested.
    pub connects: u32,
    /// Connects answered without success.
    pub connects_failed: u32,
    /// Replies with code 402: the server does not know the session.
    pub unknown_client: u32,
    /// Advice to connect again. The client does so anyway.
    pub advice_retry: u32,
    /// Advice to make a new handshake, followed.
    pub advice_handshake: u32,
    /// Advice not to reconnect, followed.
    pub advice_none: u32,
    /// Pauses before a connect that advice asked for, followed.
    pub advice_interval: u32,
    /// Replies that report another connected client with the same cookies.
    pub multiple_clients: u32,
    /// Batches of the acknowledge extension received. The next connect acknowledges them.
    pub batches: u32,
    /// Publications answered with success.
    pub published: u32,
    /// Publications answered without success.
    pub published_failed: u32,
}
