//! Planted noise: a busy loop a CPU, whose share of it rises and falls over minutes, so that starts made
//! later meet another host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// From rest to the most and back.
const PERIOD: Duration = Duration::from_secs(150);
/// The most of a CPU that is taken.
const MOST: f64 = 0.8;
/// Length of one busy and idle cycle.
const SLICE: Duration = Duration::from_millis(40);

/// Busy loops until it is dropped.
pub(super) struct Noise {
    over: Arc<AtomicBool>,
    loops: Vec<JoinHandle<()>>,
}

impl Noise {
    /// A loop for each CPU.
    pub(super) fn plant() -> Noise {
        let over = Arc::new(AtomicBool::new(false));
        let began = Instant::now();
        let cpus = thread::available_parallelism().map_or(1, usize::from);
        let loops = (0..cpus).map(|_| {
            let over = Arc::clone(&over);
            thread::spawn(move || busy(began, &over))
        });
        Noise { loops: loops.collect(), over }
    }
}

impl Drop for Noise {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        for one in self.loops.drain(..) {
            let _ = one.join();
        }
    }
}

fn busy(began: Instant, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        let slice = Instant::now();
        let work = SLICE.mul_f64(share(began.elapsed()));
        while slice.elapsed() < work {
            std::hint::spin_loop();
        }
        thread::sleep(SLICE.saturating_sub(slice.elapsed()));
    }
}

/// The share of a CPU that is taken at this time: it rises evenly and falls again.
fn share(elapsed: Duration) -> f64 {
    let turn = elapsed.as_secs_f64() / PERIOD.as_secs_f64();
    MOST * (1.0 - (2.0 * turn.fract() - 1.0).abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_rises_and_falls_evenly() {
        let at = |turn: f64| share(PERIOD.mul_f64(turn));
        for (turn, expected) in [(0.0, 0.0), (0.25, 0.4), (0.5, 0.8), (0.75, 0.4), (1.0, 0.0), (1.25, 0.4)] {
            assert!((at(turn) - expected).abs() < 1e-6, "{turn}: {}", at(turn));
        }
    }
}
