//! The cost of a feed for a server without subscribers.

use serde::{Deserialize, Serialize};

/// The feed alone: published as in measure, after the crowd has disconnected, without any subscriber.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ingest {
    /// Publications sent in the window.
    pub published: u64,
    /// CPU of the server's process tree in the window.
    pub server_cpu_us: u64,
    /// CPU of this process in the window.
    pub generator_cpu_us: u64,
    /// Length of the window.
    pub window_us: u64,
}
