//! Waiting for a condition with a deadline: the one place here that sleeps.

use std::time::{Duration, Instant};

use crate::PATIENCE;

/// Asks again and again until there is an answer.
///
/// # Panics
/// When [`PATIENCE`] is at its end; the message says what was waited for.
pub fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited {} s for {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(5));
    }
}
