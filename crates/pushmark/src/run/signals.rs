//! Ctrl-C and SIGTERM: stop, keep and mark what was measured. A second Ctrl-C ends at once, and
//! everything that was started with us.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;

use crate::exit::Exit;
use crate::server::process;

/// Whether to stop, and why.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    interrupted: Arc<AtomicBool>,
    terminated: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on, on a thread of its own.
    ///
    /// # Errors
    /// The system's, where it refuses a handler or a thread.
    pub fn listen() -> io::Result<Signals> {
        let signals = Signals::default();
        let told = signals.clone();
        let mut wanted = vec![SIGINT, SIGTERM];
        // A terminal that closes ends a run, except one that `nohup` holds.
        wanted.extend(is_heard(SIGHUP).then_some(SIGHUP));
        let mut coming = iterator::Signals::new(wanted)?;
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            for signal in coming.forever() {
                told.hear(signal);
            }
        })?;
        Ok(signals)
    }

    fn hear(&self, signal: i32) {
        if signal != SIGINT {
            self.terminated.store(true, Ordering::Relaxed);
        } else if self.interrupted.swap(true, Ordering::Relaxed) {
            process::kill_all();
            std::process::exit(i32::from(Exit::Interrupted.code()));
        }
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

/// Whether a signal was left to us by whoever started this process.
fn is_heard(signal: i32) -> bool {
    let status = procfs::process::Process::myself().and_then(|process| process.status());
    status.map_or(true, |status| status.sigign & (1 << (signal - 1)) == 0)
}
