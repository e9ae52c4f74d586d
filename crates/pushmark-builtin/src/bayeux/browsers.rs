//! Browsers with a held connect. A browser has few connections to a server, and two sessions that each hold
//! one would leave none for other requests.

use std::collections::HashMap;

/// The number of held connects by browser, over all threads.
#[derive(Debug, Default)]
pub(crate) struct Browsers(HashMap<u64, u32>);

impl Browsers {
    /// Counts a held connect. Browser 0 means none and does not count.
    pub(crate) fn enter(&mut self, browser: u64) {
        if browser != 0 {
            *self.0.entry(browser).or_insert(0) += 1;
        }
    }

    /// Counts its answer.
    pub(crate) fn leave(&mut self, browser: u64) {
        if let Some(held) = self.0.get_mut(&browser) {
            *held -= 1;
            if *held == 0 {
                self.0.remove(&browser);
            }
        }
    }

    /// Returns whether a connect of this browser is held.
    pub(crate) fn is_held(&self, browser: u64) -> bool {
        self.0.contains_key(&browser)
    }
}
