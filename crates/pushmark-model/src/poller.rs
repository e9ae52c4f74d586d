//! How the generator's threads wait and read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What tells a thread that something has arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Poller {
    /// epoll tells which connections can be read, and each is read by a call of its own.
    #[default]
    Epoll,
    /// io_uring brings what was read with the news (multishot receive, Linux 6.1). Where the system
    /// has none, epoll takes its place, and the run says so.
    IoUring,
}

impl Poller {
    /// As scenarios and command lines have it.
    pub fn name(self) -> &'static str {
        match self {
            Poller::Epoll => "epoll",
            Poller::IoUring => "io_uring",
        }
    }
}
