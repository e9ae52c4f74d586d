//! What a thread remembers of Bayeux (CONTRACT 6.7): sessions, their names, and patterns of
//! channels. How messages are read and answered is `shard/bayeux/`.
//!
//! A session outlives its connections, and its requests may come over several of them. It lives
//! in the thread that made it; a connection that speaks for a session of another thread is
//! handed over to that thread.

pub(crate) mod browsers;
pub(crate) mod client_id;
pub(crate) mod patterns;
pub(crate) mod session;

pub(crate) use browsers::Browsers;
pub(crate) use client_id::{ClientId, Secrets};
pub(crate) use patterns::Patterns;
pub(crate) use session::{Connect, Event, Session};

use crate::hub::is_channel_name;

/// Marks the token of a session in lists and timers that connections share with them: this bit
/// of a connection's token would need two thousand million connections.
pub(crate) const SESSION: u64 = 1 << 31;

/// Most sessions of one thread. Beyond it handshakes are refused.
pub(crate) const SESSIONS_MAX: usize = 1 << 20;

/// Most subscriptions of one session. Beyond it subscriptions are refused.
pub(crate) const SUBSCRIPTIONS_MAX: usize = 4096;

/// The channel of the contract that a Bayeux channel stands for: `c` of `/c`. `None` for what
/// is no channel. The contract allows more characters than Bayeux; all of them are taken.
pub(crate) fn contract_channel(name: &str) -> Option<&str> {
    let channel = name.strip_prefix('/')?;
    let segments = || channel.split('/');
    let plain = segments().all(|segment| !segment.is_empty() && !matches!(segment, "*" | "**"));
    (plain && is_channel_name(channel)).then_some(channel)
}

/// Whether a name stands for many channels: a channel, and `/*` or `/**` after it.
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
