//! Waits for a condition with a deadline. No other code here sleeps.

use std::time::{Duration, Instant};

use crate::PATIENCE;

/// Repeats `ask` until it returns a value.
///
/// # Panics
/// If [`PATIENCE`] has passed; the message contains `what`.
pub fn until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, ask).unwrap_or_else(|| panic!("waited {} s for {what}", PATIENCE.as_secs()))
}

/// Repeats `ask` until it returns a value or the time has passed.
pub fn within<T>(patience: Duration, mut ask: impl FnMut() -> Option<T>) -> Option<T> {
    let deadline = Instant::now() + patience;
    loop {
        let answer = ask();
        if answer.is_some() || Instant::now() >= deadline {
            return answer;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
