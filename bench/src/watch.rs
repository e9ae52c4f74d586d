//! Looks at the receiving thread at exact instants, from beside it: the receiver itself reads
//! no clock and no `/proc` for it, so the floor stays a floor.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use pushmark_net::{Clock, Nanos};
use serde::{Deserialize, Serialize};

use crate::usage;

/// What had been used and received at one instant.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Look {
    pub(crate) at_ns: Nanos,
    /// Of the receiving thread.
    pub(crate) cpu_ns: u64,
    /// Of the receiving thread.
    pub(crate) wait_ns: u64,
    /// Of the threads that take records from it.
    pub(crate) other_cpu_ns: u64,
    pub(crate) rss_bytes: u64,
    pub(crate) steal_ticks: u64,
    /// Messages, if the receiver counts them in the shared number.
    pub(crate) messages: u64,
}

/// Starts to watch the calling thread; looks at each of `instants`, in order.
pub(crate) fn watch(instants: Vec<Nanos>, messages: Arc<AtomicU64>) -> JoinHandle<Vec<Look>> {
    let watched = rustix::thread::gettid().as_raw_nonzero().get();
    thread::spawn(move || {
        let own = rustix::thread::gettid().as_raw_nonzero().get();
        let look = |at_ns: Nanos| {
            thread::sleep(Duration::from_nanos(at_ns.saturating_sub(Clock::now())));
            let used = usage::of_thread(watched);
            Look {
                at_ns: Clock::now(),
                cpu_ns: used.cpu_ns,
                wait_ns: used.wait_ns,
                messages: messages.load(Ordering::Relaxed),
                other_cpu_ns: usage::of_other_threads(&[watched, own]),
                rss_bytes: usage::rss_bytes(),
                steal_ticks: usage::steal_ticks(),
            }
        };
        instants.into_iter().map(look).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_when_it_was_told_to() {
        let messages = Arc::new(AtomicU64::new(5));
        let start_ns = Clock::now();
        let instants = vec![start_ns + 20_000_000, start_ns + 40_000_000];
        let looks = watch(instants.clone(), messages).join().unwrap();
        assert_eq!(looks.len(), 2);
        assert!(looks.iter().zip(instants).all(|(look, at_ns)| look.at_ns >= at_ns && look.messages == 5));
        assert!(looks[0].rss_bytes > 0);
    }
}
