//! Ctrl-C and SIGTERM stop the run; its results are kept and marked. A second Ctrl-C ends pushmark at once,
//! with every process that it started.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator;

use pushmark_console::exit::Exit;
use pushmark_console::stop;
use pushmark_host::server::process;

/// Whether to stop, and why.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    interrupted: Arc<AtomicBool>,
    terminated: Arc<AtomicBool>,
    /// The first signal ends the process, and no partial result is kept.
    at_once: bool,
}

impl Signals {
    /// Handles signals on a thread.
    ///
    /// # Errors
    /// Fails if the system refuses a handler or a thread.
    pub fn listen() -> io::Result<Signals> {
        Signals::default().heed()
    }

    /// The same for a command that keeps no partial result: the first signal ends it and every process that
    /// it started.
    ///
    /// # Errors
    /// Fails like [`Signals::listen`].
    pub fn listen_to_end() -> io::Result<Signals> {
        Signals { at_once: true, ..Signals::default() }.heed()
    }

    fn heed(self) -> io::Result<Signals> {
        let signals = self;
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
        let (exit, flag) = match signal {
            SIGINT => (Exit::Interrupted, &self.interrupted),
            _ => (Exit::Terminated, &self.terminated),
        };
        let again = flag.swap(true, Ordering::Relaxed);
        if self.at_once || (again && exit == Exit::Interrupted) {
            process::kill_all();
            std::process::exit(i32::from(exit.code()));
        }
        stop::hear(exit);
    }

    /// Returns how the process must end, if a signal asked for it.
    pub fn stopped(&self) -> Option<Exit> {
        if self.interrupted.load(Ordering::Relaxed) {
            Some(Exit::Interrupted)
        } else {
            self.terminated.load(Ordering::Relaxed).then_some(Exit::Terminated)
        }
    }
}

/// Returns whether the parent process did not set the signal to be ignored.
fn is_heard(signal: i32) -> bool {
    let status = procfs::process::Process::myself().and_then(|process| process.status());
    status.map_or(true, |status| status.sigign & (1 << (signal - 1)) == 0)
}
