//! Bayeux 1.0 for clients, over HTTP (long polling) and over a WebSocket.
//!
//! # For the driver
//!
//! A Bayeux client decides itself what to request next, based on what it received. After every round of
//! `handle_input` the driver therefore checks each [`Lane`]:
//!
//! ```text
//! connection made       client.write_request(config, request, out)       = write_lane(Lane::Connect, ..)
//! bytes on a lane       client.handle_lane(config, lane, input, out)     until None
//! then, for each lane   if client.wants(lane): on a connection that lane_reusable(lane) says can
//!                       carry it, else on a new one: client.write_lane(config, lane, request, out)
//! then                  if let Some(ms) = session.take_pause_ms(): after it
//!                       session.pause_over(), and check each lane again
//! peer closed           client.handle_lane_eof(config, lane)             until None
//! connection gone       client.lane_lost(lane), or for the client as a whole connection_lost()
//! ```
//!
//! A lane whose connection ends between two requests (the server closes it, or the second one was idle) is
//! lost without an event. After [`super::Client::connection_lost`], or if a response was outstanding, the
//! next connect asks for an immediate response, and `Ready` reports that the session still exists.
//!
//! * [`Lane::Connect`] carries handshake, subscription and connects, one after the other. The server holds
//!   the connect most of the time. Its connection exists for the whole session.
//! * [`Lane::Command`] carries publications and the disconnect while a connect is held. Its connection is
//!   opened at the first command and closed (`lane_lost`) after an idle second, so that a crowd does not need
//!   twice the descriptors.
//! * Over a WebSocket there is only [`Lane::Connect`], which carries everything. [`Lane::Command`] is never
//!   used.
//!
//! `request` holds the target, the authority and the caller's header fields. Its method is ignored: it is
//! always `POST` (`GET` for the upgrade). Its body is the array of channels to subscribe to
//! ([`write_channels`]). The body is read only if [`super::Client::will_subscribe`] returned true just
//! before. Over an open WebSocket the message is written on the connection and the rest of the request is
//! ignored. The session stores no channels; the driver does.
//!
//! # Events
//!
//! | event | when |
//! |---|---|
//! | `Opened` | each answer's head; the 101 |
//! | `Data`, `MessageEnd` | an event's payload, JSON as it was sent; in any answer, on any lane |
//! | `Ready` | the subscription was accepted ([`Session::take_acknowledged`]); or a connect on a new connection succeeded and the subscription still exists |
//! | `Published` | a publication was answered |
//! | `Forgotten` | 402, or advice to make a new handshake: the subscription is gone until the next `Ready` |
//! | `Answered` | over HTTP: the answer on this lane is complete |
//! | `Closed` | advice not to come back, or the reply to the disconnect; [`Session::has_ended`] reports that this is final. Over a WebSocket also its Close |
//!
//! Payload is passed on as it arrives. This has one consequence: a reply with `data` (no server sends one)
//! looks like an event until its end, where `Published` appears instead of `MessageEnd`.
//!
//! # Memory
//!
//! A session is a few hundred bytes, boxed, with its client id and one cookie jar. A lane stores bytes of a
//! reply only while a field that it reads (never the payload) is split over two reads. Publications wait in a
//! buffer until they are written.

mod counts;
mod incoming;
mod polling;
mod reader;
mod replies;
mod requests;
mod session;
mod time_sync;
mod websocket;

pub use counts::Counts;
pub use requests::write_channels;
pub use session::{FAILURES_MAX, PENDING_MAX, Session, Unpublished};
pub use time_sync::TimeSync;

pub(crate) use incoming::ReplyFields;
pub(crate) use reader::{Part, Reader};

pub(super) use super::Context;
pub(super) use polling::Polling;
pub(super) use websocket::WebSocket;

/// One of a client's connections, by its purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    /// Handshake, subscription and the held connect. Other transports have only this lane.
    #[default]
    Connect,
    /// Messages that cannot wait for the held connect: publications, the disconnect.
    Command,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_small() {
        // A crowd's client on the heap, without its id and its cookies.
        assert!(size_of::<Polling>() <= 512, "over HTTP {} bytes", size_of::<Polling>());
        assert!(size_of::<WebSocket>() <= 640, "over a WebSocket {} bytes", size_of::<WebSocket>());
    }
}
