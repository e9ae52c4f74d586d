//! Decides which responses a conversation accepts, and classifies the others by fault.

use super::Event;
use super::config::{Config, Transport};
use crate::Failure;
use crate::http1::ResponseHead;

/// Accepts the head of an HTTP response or returns the failure.
pub(super) fn accept<'a>(config: &Config, head: &ResponseHead<'a>) -> Result<Event<'a>, Failure> {
    let polls = matches!(config.transport, Transport::Poll | Transport::LongPoll);
    match head.status {
        304 if polls => {}
        // Some servers report an elapsed hold with this status.
        408 if config.transport == Transport::LongPoll => {}
        200..300 => {}
        status => return Err(refusal(status)),
    }
    if head.compressed() {
        return Err(Failure::Compressed);
    }
    Ok(opened(config, head))
}

/// Returns the event for an accepted head.
pub(super) fn opened<'a>(config: &Config, head: &ResponseHead<'a>) -> Event<'a> {
    Event::Opened { status: head.status, acknowledged: head.headers.text(config.ack_header) }
}

/// Returns the failure for a status that is not accepted.
pub(super) fn refusal(status: u16) -> Failure {
    match status {
        300..400 => Failure::Redirect(status),
        401 | 407 => Failure::Auth(status),
        400.. => Failure::Status(status),
        _ => Failure::Handshake("an unexpected status"),
    }
}
