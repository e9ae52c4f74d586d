//! The Bayeux state of a thread (CONTRACT 6.7): sessions, their names, and channel patterns. `shard/bayeux/`
//! reads and answers the messages.
//!
//! A session outlives its connections, and its requests may use several of them. It stays in the thread that
//! made it. A connection with messages for a session of another thread moves to that thread.

pub(crate) mod browsers;
pub(crate) mod client_id;
pub(crate) mod patterns;
pub(crate) mod session;

pub(crate) use browsers::Browsers;
pub(crate) use client_id::{ClientId, Secrets};
pub(crate) use patterns::Patterns;
pub(crate) use session::{Connect, Event, Session};

use crate::hub::is_channel_name;

/// Marks session tokens in lists and timers that also contain connection tokens. A connection token would
/// have this bit only with two thousand million connections.
pub(crate) const SESSION: u64 = 1 << 31;

/// The most sessions of one thread, about half a kilobyte each. Beyond it handshakes are refused, so that
/// clients that never connect hold at most 128 MiB for the lifetime of a session.
pub(crate) const SESSIONS_MAX: usize = 1 << 18;

/// The most subscriptions of one session. Beyond it subscriptions are refused.
pub(crate) const SUBSCRIPTIONS_MAX: usize = 4096;

/// Returns the contract's channel for a Bayeux channel: `c` for `/c`. Returns `None` for an invalid name. The
/// contract allows more characters than Bayeux; all of them are accepted.
pub(crate) fn contract_channel(name: &str) -> Option<&str> {
    let channel = name.strip_prefix('/')?;
    let segments = || channel.split('/');
    let plain = segments().all(|segment| !segment.is_empty() && !matches!(segment, "*" | "**"));
    (plain && is_channel_name(channel)).then_some(channel)
}

/// Returns whether a name is a pattern: a channel followed by `/*` or `/**`.
pub(crate) fn is_pattern(name: &str) -> bool {
    let parent = name.strip_suffix("/**").or_else(|| name.strip_suffix("/*"));
    parent.is_some_and(|parent| parent.is_empty() || contract_channel(parent).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart() {
        assert_eq!(contract_channel("/a/b"), Some("a/b"));
        for name in ["", "a", "/", "/a/", "//a", "/a//b", "/a/*", "/*/a", "/**", "/a b"] {
            assert_eq!(contract_channel(name), None, "{name}");
        }
        for name in ["/*", "/**", "/a/*", "/a/b/**"] {
            assert!(is_pattern(name), "{name}");
        }
        for name in ["/a", "/a*", "/*/a", "/*/*", "//*", "a/*", "*"] {
            assert!(!is_pattern(name), "{name}");
        }
    }
}
