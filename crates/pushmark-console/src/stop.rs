//! Stop signals for code that waits: for a started server, an answer, or a page.
//!
//! A wait that may take longer than a fraction of a second polls this module. The
//! command decides what is kept of a stopped run.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use crate::exit::{Ending, Exit};

/// A signal is noticed within this time.
const LOOK: Duration = Duration::from_millis(20);

/// Number of stop signals received.
static HEARD: AtomicU32 = AtomicU32::new(0);
/// The first of them was SIGINT.
static INTERRUPTED: AtomicU32 = AtomicU32::new(0);

/// Records a signal and the exit code for it.
pub fn hear(exit: Exit) {
    if HEARD.fetch_add(1, Ordering::Relaxed) == 0 && exit == Exit::Interrupted {
        INTERRUPTED.store(1, Ordering::Relaxed);
    }
}

/// Returns the number of stop signals received.
pub fn heard() -> u32 {
    HEARD.load(Ordering::Relaxed)
}

/// Returns the exit code if a stop signal was received.
fn exit() -> Option<Exit> {
    let interrupted = INTERRUPTED.load(Ordering::Relaxed) == 1;
    (heard() > 0).then_some(if interrupted { Exit::Interrupted } else { Exit::Terminated })
}

/// Makes the error of a wait that a signal ended.
pub fn ended(what: &str) -> anyhow::Error {
    Ending::error(exit().unwrap_or(Exit::Terminated), format!("stopped by a signal while {what}"))
}

/// Runs a blocking function in a thread. Returns `None` if a signal arrives during the call; the thread
/// then ends by itself. An earlier signal does not end the call: such a call is part of the shutdown and
/// has its own time limit.
pub fn unless_told<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let before = heard();
    let (tell, told) = channel();
    let run = move || drop(tell.send(work()));
    if std::thread::Builder::new().name("asking".into()).spawn(run).is_err() {
        return None;
    }
    loop {
        match told.recv_timeout(LOOK) {
            Ok(done) => return Some(done),
            Err(RecvTimeoutError::Timeout) if heard() == before => {}
            Err(_) => return None,
        }
    }
}
