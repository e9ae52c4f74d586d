//! Ctrl-C and SIGTERM: stop, keep and mark what was measured. A second Ctrl-C ends at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::exit::Exit;

/// Whether to stop, and why.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    interrupted: Arc<AtomicBool>,
    terminated: Arc<AtomicBool>,
}

impl Signals {
    /// Listens for both signals from now on.
    ///
    /// # Errors
    /// The system's, where it refuses a handler.
    pub fn listen() -> std::io::Result<Signals> {
        let signals = Signals::default();
        // Registered first: it acts only when the flag was set by an earlier Ctrl-C.
        flag::register_conditional_shutdown(
            SIGINT,
            i32::from(Exit::Interrupted.code()),
            Arc::clone(&signals.interrupted),
        )?;
        flag::register(SIGINT, Arc::clone(&signals.interrupted))?;
        flag::register(SIGTERM, Arc::clone(&signals.terminated))?;
        Ok(signals)
    }

    /// How the process must end, if it was told to.
    pub fn stopped(&self) -> Option<Exit> {
        if self.interrupted.load(Ordering::Relaxed) {
            Some(Exit::Interrupted)
        } else {
            self.terminated.load(Ordering::Relaxed).then_some(Exit::Terminated)
        }
    }
}
