//! Names of channels and patterns of them (section "Channels").

/// Handshake, alone in its request.
pub const HANDSHAKE: &str = "/meta/handshake";
/// The request that is held.
pub const CONNECT: &str = "/meta/connect";
/// Asks for the messages of channels.
pub const SUBSCRIBE: &str = "/meta/subscribe";
/// Takes that back.
pub const UNSUBSCRIBE: &str = "/meta/unsubscribe";
/// Ends the session.
pub const DISCONNECT: &str = "/meta/disconnect";

/// Longest name.
pub const NAME_MAX: usize = 1024;

/// Whether this is a channel's name or a pattern: segments of letters, digits and ``-_!~()$@``,
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

/// Ends in `*` or `**`: can be subscribed to, not published on.
pub fn is_pattern(name: &str) -> bool {
    name.ends_with("/*") || name.ends_with("/**")
}

/// Of the protocol itself.
pub fn is_meta(name: &str) -> bool {
    name == "/meta" || name.starts_with("/meta/")
}

/// From one client to the server and back, never broadcast.
pub fn is_service(name: &str) -> bool {
    name == "/service" || name.starts_with("/service/")
}

/// Whether a subscription hears a channel: `/a/*` takes one more segment, `/a/**` one or more.
/// Nothing but itself matches a channel of the protocol or a service.
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

/// The segments of a channel below another.
fn below<'c>(parent: &str, channel: &'c str) -> Option<&'c str> {
    channel.strip_prefix(parent)?.strip_prefix('/').filter(|rest| !rest.is_empty())
}

/// The patterns that hear a channel, widest first: `/**`, `/a/**`, … and at last `/a/b/*`. With
/// the channel itself that is every subscription a server has to look up.
pub fn patterns(channel: &str) -> impl Iterator<Item = String> {
    let public = !is_meta(channel) && !is_service(channel);
    let slashes = channel.match_indices('/').map(|(at, _)| at).filter(move |_| public);
    let last = channel.rfind('/').filter(|_| public).map(|at| format!("{}/*", &channel[..at]));
    slashes.map(|at| format!("{}/**", &channel[..at])).chain(last)
}
