//! Browsers with a connect that is held. A browser has few connections to a server, and two of
//! its sessions that both hold one would leave none for anything else.

use std::collections::HashMap;

/// How many connects are held, by browser; over all threads.
#[derive(Debug, Default)]
pub(crate) struct Browsers(HashMap<u64, u32>);

impl Browsers {
    /// A connect is held. A session without a browser is 0, and does not count.
    pub(crate) fn enter(&mut self, browser: u64) {
        if browser != 0 {
            *self.0.entry(browser).or_insert(0) += 1;
        }
    }

    /// It was answered.
    pub(crate) fn leave(&mut self, browser: u64) {
        if let Some(held) = self.0.get_mut(&browser) {
            *held -= 1;
            if *held == 0 {
                self.0.remove(&browser);
            }
        }
    }

    /// Whether any is.
    pub(crate) fn is_held(&self, browser: u64) -> bool {
        self.0.contains_key(&browser)
    }
}
