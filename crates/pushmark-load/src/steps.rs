//! How far a client is with the steps of its subscription.

use pushmark_model::plan::Since;
use pushmark_model::template::Captures;

/// Most bytes of a message that are kept to be compared.
pub(crate) const MESSAGE_MAX: usize = 256 << 10;

/// The state of a client that follows steps.
#[derive(Debug, Default)]
pub(crate) struct Steps {
    /// The step that waits, or that comes next.
    pub(crate) at: usize,
    /// It waits for a message.
    pub(crate) waits: bool,
    /// The current message so far.
    pub(crate) message: Vec<u8>,
    /// What came since the step waits.
    pub(crate) since: Since,
    /// What its steps took.
    pub(crate) captures: Captures,
}
