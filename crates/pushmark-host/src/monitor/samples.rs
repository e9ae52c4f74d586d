//! The samples: the last minutes in memory, earlier ones in a file.

use std::io;

use super::snapshot::Sample;
use crate::aside::Aside;

/// Samples in memory: some 40 KiB.
const HELD_MAX: usize = 256;

/// All samples, oldest first.
#[derive(Debug, Default)]
pub(super) struct Samples {
    held: Vec<Sample>,
    aside: Aside<Vec<Sample>>,
}

impl Samples {
    /// One more.
    pub(super) fn push(&mut self, sample: Sample) {
        // If the file cannot be written, samples stay in memory, and the next attempt is after as many more.
        let full = !self.held.is_empty() && self.held.len().is_multiple_of(HELD_MAX);
        if full && self.aside.put(&self.held).is_ok() {
            self.held.clear();
        }
        self.held.push(sample);
    }

    /// The newest.
    pub(super) fn latest(&self) -> Sample {
        self.held.last().copied().unwrap_or_default()
    }

    /// Takes all samples out. Returns an error too if some that were set aside cannot be read again.
    pub(super) fn take(&mut self) -> (Vec<Sample>, io::Result<()>) {
        let mut all = Vec::new();
        let read = self.aside.take(|older| all.extend(older));
        all.append(&mut self.held);
        (all, read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_come_back_in_order_and_few_are_held() {
        let mut samples = Samples::default();
        let sample = |n| Sample { t_ns: n, host_busy_ns: (n % 2 == 0).then_some(n), ..Sample::default() };
        for n in 0..1_000 {
            samples.push(sample(n));
            assert!(samples.held.len() <= HELD_MAX);
            assert_eq!(samples.latest().t_ns, n);
        }
        let (all, read) = samples.take();
        assert!(read.is_ok());
        assert!(all.into_iter().eq((0..1_000).map(sample)));
    }
}
