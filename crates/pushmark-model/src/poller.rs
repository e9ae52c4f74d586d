//! How the generator's threads wait and read.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How the generator's threads wait for data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Poller {
    /// epoll reports which connections can be read, and each is read with a separate call.
    #[default]
    Epoll,
    /// io_uring delivers the data with the notification (multishot receive, Linux 6.1). If the system does
    /// not support it, epoll is used, and the run reports that.
    IoUring,
}

impl Poller {
    /// Returns the name in scenarios and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Poller::Epoll => "epoll",
            Poller::IoUring => "io_uring",
        }
    }
}
