//! Waiting for a condition with a deadline: the one place here that sleeps.

use std::time::{Duration, Instant};

use crate::PATIENCE;

/// Asks again and again until there is an answer.
///
/// # Panics
/// When [`PATIENCE`] is at its end; the message says what was waited for.
pub fn until<T>(what: &str, ask: impl FnMut() -> Option<T>) -> T {
    within(PATIENCE, ask).unwrap_or_else(|| panic!("waited {} s for {what}", PATIENCE.as_secs()))
}

/// Asks again and again until there is an answer, or the time has passed.
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
