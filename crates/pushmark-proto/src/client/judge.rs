//! Which answers a conversation goes on with, and whose fault the others are.

use super::Event;
use super::config::{Config, Transport};
use crate::Failure;
use crate::http1::ResponseHead;

/// Accepts the head of an answer over HTTP, or says why not.
pub(super) fn accept<'a>(config: &Config, head: &ResponseHead<'a>) -> Result<Event<'a>, Failure> {
    let polls = matches!(config.transport, Transport::Poll | Transport::LongPoll);
    match head.status {
        304 if polls => {}
        // A server's way to say that nothing came in time.
        408 if config.transport == Transport::LongPoll => {}
        200..300 => {}
        status => return Err(refusal(status)),
    }
    if head.compressed() {
        return Err(Failure::Compressed);
    }
    Ok(opened(config, head))
}

/// The event for a head that was accepted.
pub(super) fn opened<'a>(config: &Config, head: &ResponseHead<'a>) -> Event<'a> {
    Event::Opened { status: head.status, acknowledged: head.headers.text(config.ack_header) }
}

/// Why a status is no success.
pub(super) fn refusal(status: u16) -> Failure {
    match status {
        300..400 => Failure::Redirect(status),
        401 | 407 => Failure::Auth(status),
        400.. => Failure::Status(status),
        _ => Failure::Handshake("a status that means nothing here"),
    }
}
