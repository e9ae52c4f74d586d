//! Client ids: they contain a thread, a session in it, and an unpredictable secret.

use std::hash::{BuildHasher as _, RandomState};

/// A `clientId` (Bayeux: at least 128 random bits, never used twice): 52 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientId {
    /// The thread of the session.
    pub(crate) thread: u16,
    /// The session's token in this thread.
    pub(crate) token: u64,
    /// The secret that only this client knows.
    pub(crate) secret: u128,
}

/// Digits of an id.
const DIGITS: usize = 4 + 16 + 32;

impl ClientId {
    /// Parses an id. Returns `None` if it is not an id of this server.
    pub(crate) fn parse(text: &str) -> Option<ClientId> {
        if text.len() != DIGITS || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        Some(ClientId {
            thread: u16::from_str_radix(&text[..4], 16).ok()?,
            token: u64::from_str_radix(&text[4..20], 16).ok()?,
            secret: u128::from_str_radix(&text[20..], 16).ok()?,
        })
    }

    /// Returns the text used in messages.
    pub(crate) fn text(&self) -> String {
        format!("{:04x}{:016x}{:032x}", self.thread, self.token, self.secret)
    }
}

/// Generates secrets: SipHash of a counter, keyed with random numbers of the operating system.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    keys: [RandomState; 2],
    count: u64,
}

impl Secrets {
    /// Returns the next secret.
    pub(crate) fn next(&mut self) -> u128 {
        self.count += 1;
        let [high, low] = self.keys.each_ref().map(|key| key.hash_one(self.count));
        u128::from(high) << 64 | u128::from(low)
    }
}

/// Returns a hash that identifies a browser by its cookie value, whether this or another server set the
/// cookie.
pub(crate) fn browser(key: &RandomState, cookie: &str) -> u64 {
    key.hash_one(cookie)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_back() {
        let id = ClientId { thread: 3, token: 7 << 32 | 5, secret: u128::MAX - 9 };
        assert_eq!(ClientId::parse(&id.text()), Some(id));
        for text in ["", "abc", &"g".repeat(DIGITS), &"0".repeat(DIGITS + 1)] {
            assert_eq!(ClientId::parse(text), None, "{text}");
        }
    }

    #[test]
    fn secrets_differ() {
        let (mut one, mut other) = (Secrets::default(), Secrets::default());
        let (first, second) = (one.next(), one.next());
        assert!(first != second && first != other.next());
        assert!(first >> 64 != first & u128::from(u64::MAX), "two halves of their own");
    }
}
