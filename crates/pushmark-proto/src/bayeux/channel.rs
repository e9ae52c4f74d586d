//! Channel names and patterns (section "Channels").

/// The handshake; the only message in its request.
pub const HANDSHAKE: &str = "/meta/handshake";
/// The held request.
pub const CONNECT: &str = "/meta/connect";
/// Subscribes to channels.
pub const SUBSCRIBE: &str = "/meta/subscribe";
/// Ends subscriptions.
pub const UNSUBSCRIBE: &str = "/meta/unsubscribe";
/// Ends the session.
pub const DISCONNECT: &str = "/meta/disconnect";

/// The longest name.
pub const NAME_MAX: usize = 1024;

/// Returns whether `name` is a valid channel name or pattern: segments of letters, digits and ``-_!~()$@``,
/// each after a slash; the last one may be `*` or `**`.
pub fn valid(name: &str) -> bool {
    let Some(rest) = name.strip_prefix('/') else { return false };
    let segment = |segment: &str| !segment.is_empty() && segment.bytes().all(is_part);
    let (before, last) = rest.rsplit_once('/').map_or((None, rest), |(before, last)| (Some(before), last));
    name.len() <= NAME_MAX
        && before.is_none_or(|before| before.split('/').all(segment))
        && (matches!(last, "*" | "**") || segment(last))
}

fn is_part(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_!~()$@".contains(&byte)
}

/// Returns whether the name ends in `*` or `**`. A pattern can be subscribed to, but not published on.
pub fn is_pattern(name: &str) -> bool {
    name.ends_with("/*") || name.ends_with("/**")
}

/// Returns whether this is a channel of the protocol itself.
pub fn is_meta(name: &str) -> bool {
    name == "/meta" || name.starts_with("/meta/")
}

/// Returns whether this is a service channel: from one client to the server and back, never broadcast.
pub fn is_service(name: &str) -> bool {
    name == "/service" || name.starts_with("/service/")
}

/// Returns whether a subscription matches a channel: `/a/*` matches one more segment, `/a/**` one or more.
/// Only their own names match protocol and service channels.
pub fn matches(subscription: &str, channel: &str) -> bool {
    if subscription == channel {
        return !is_pattern(channel);
    }
    if is_meta(channel) || is_service(channel) {
        return false;
    }
    if let Some(parent) = subscription.strip_suffix("/**") {
        return below(parent, channel).is_some();
    }
    match subscription.strip_suffix("/*") {
        Some(parent) => below(parent, channel).is_some_and(|rest| !rest.contains('/')),
        None => false,
    }
}

/// Returns the segments of a channel below another.
fn below<'c>(parent: &str, channel: &'c str) -> Option<&'c str> {
    channel.strip_prefix(parent)?.strip_prefix('/').filter(|rest| !rest.is_empty())
}

/// Returns the patterns that match a channel, widest first: `/**`, `/a/**`, … and last `/a/b/*`. Together
/// with the channel itself these are all subscriptions that a server has to look up.
pub fn patterns(channel: &str) -> impl Iterator<Item = String> {
    let public = !is_meta(channel) && !is_service(channel);
    let slashes = channel.match_indices('/').map(|(at, _)| at).filter(move |_| public);
    let last = channel.rfind('/').filter(|_| public).map(|at| format!("{}/*", &channel[..at]));
    slashes.map(|at| format!("{}/**", &channel[..at])).chain(last)
}
