//! How far a client is with its requests before the subscription, or with the one beside it.

use pushmark_model::template::Captures;
use pushmark_net::Link;
use pushmark_proto::client::Exchange;

/// Most bytes of an answer that are kept.
pub(crate) const BODY_MAX: usize = 256 << 10;

/// A client that makes its requests. They have a connection of their own.
#[derive(Debug, Default)]
pub(crate) struct Errand {
    /// The request that waits for its answer, or comes next: a position in `ArmPlan::requests`.
    pub(crate) at: usize,
    pub(crate) link: Option<Link>,
    /// TCP and TLS stand, and the request is written.
    pub(crate) asked: bool,
    pub(crate) exchange: Exchange,
    /// Bytes of an incomplete unit.
    pub(crate) carry: Vec<u8>,
    /// Bytes that did not fit into the socket.
    pub(crate) out: Vec<u8>,
    /// The answer so far.
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// What its requests took.
    pub(crate) captures: Captures,
}
