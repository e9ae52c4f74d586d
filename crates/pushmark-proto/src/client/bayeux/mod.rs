//! Bayeux 1.0 as a client speaks it, over HTTP (long polling) and over a WebSocket.
//!
//! # For the driver
//!
//! A client of Bayeux asks of its own accord: what it asks next depends on what it heard. So the
//! driver asks *it*, after every round of `handle_input`, for each [`Lane`]:
//!
//! ```text
//! connection made       client.write_request(config, request, out)       = write_lane(Lane::Connect, ..)
//! bytes on a lane       client.handle_lane(config, lane, input, out)     until None
//! then, for each lane   if client.wants(lane): on a connection that lane_reusable(lane) says can
//!                       carry it, else on a new one: client.write_lane(config, lane, request, out)
//! then                  if let Some(ms) = session.take_pause_ms(): after so long
//!                       session.pause_over(), and ask again what is wanted
//! peer closed           client.handle_lane_eof(config, lane)             until None
//! connection gone       client.lane_lost(lane), or for the client as a whole connection_lost()
//! ```
//!
//! A lane whose connection ends between two requests (the server keeps none alive, or the second
//! one was idle) is lost without a word. After [`super::Client::connection_lost`], or where an
//! answer was outstanding, the next connect asks to be answered at once, and `Ready` tells that
//! the session still stands.
//!
//! * [`Lane::Connect`] carries handshake, subscription and connects, one after the other; the
//!   connect is held by the server most of the time. Its connection is there for the whole session.
//! * [`Lane::Command`] carries publications and the disconnect while a connect is held. Its
//!   connection is opened when that lane first wants something and closed (`lane_lost`) after a
//!   second without anything to do, so that a crowd does not need twice the descriptors.
//! * Over a WebSocket there is only [`Lane::Connect`]: everything goes over the one connection.
//!   [`Lane::Command`] never wants anything.
//!
//! `request` names the target, the authority and header fields of one's own; its method is
//! `POST` (`GET` for the upgrade) whatever it says. Its body is the array of channels to subscribe
//! to ([`write_channels`]) and is read only where [`super::Client::will_subscribe`] says so just
//! before; over a WebSocket what is wanted is written on the connection and the rest of the
//! request is not looked at. The session keeps no channels: they are the driver's.
//!
//! # What comes
//!
//! | event | when |
//! |---|---|
//! | `Opened` | each answer's head; the 101 |
//! | `Data`, `MessageEnd` | an event's payload, JSON as it was sent; in any answer, on any lane |
//! | `Ready` | the subscription was accepted ([`Session::take_acknowledged`]); or it outlived its connection, and a connect on the new one succeeded |
//! | `Published` | a publication was answered |
//! | `Forgotten` | 402, or advice to make a new handshake: the subscription is gone until `Ready` comes again |
//! | `Answered` | over HTTP: the answer on this lane is complete |
//! | `Closed` | advice not to come back, or the reply to the disconnect; [`Session::has_ended`] says that it is for good. Over a WebSocket also its Close |
//!
//! Payload is handed on as it passes. The one thing that is not known then: a reply that has
//! `data` (none does) would be taken for an event up to its end, where `Published` stands in
//! place of `MessageEnd`.
//!
//! # Memory
//!
//! A session is a few hundred bytes, boxed, with its client id and one cookie jar. A lane keeps
//! bytes of a reply only while a field that it looks into (never the payload) is split over two
//! reads; publications wait in a buffer until they are written.

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

pub(crate) use incoming::Look;
pub(crate) use reader::{Part, Reader};

pub(super) use super::Context;
pub(super) use polling::Polling;
pub(super) use websocket::WebSocket;

/// One of a client's connections, by what it is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lane {
    /// Handshake, subscription, the held connect. The only one of other transports.
    #[default]
    Connect,
    /// What cannot wait for the held connect: publications, the disconnect.
    Command,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_small() {
        // What a client of the crowd has on the heap, its id and its cookies aside.
        assert!(size_of::<Polling>() <= 512, "over HTTP {} bytes", size_of::<Polling>());
        assert!(size_of::<WebSocket>() <= 640, "over a WebSocket {} bytes", size_of::<WebSocket>());
    }
}
