//! How long a check waits for what must come.

use std::time::Duration;

/// Longest wait for anything that must arrive.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
