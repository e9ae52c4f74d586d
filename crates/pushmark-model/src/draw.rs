//! All random draws, from the seed alone: `run.json` is enough to repeat a run.
//!
//! A draw is a hash of (seed, purpose, index), not a stream: any agent can compute its own part of the crowd
//! without the rest.

/// The purpose of a draw; keeps independent draws independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The order of arms.
    ArmOrder,
    /// Nonce of run and arm.
    Nonce,
    /// The channels of a connection.
    Subscriptions,
    /// First poll of a poller.
    PollPhase,
    /// First publication of a channel.
    ChannelPhase,
    /// Poisson arrivals.
    Arrivals,
    /// Size of a publication.
    Size,
    /// The shard of a connection.
    Shard,
    /// Which connections carry kernel receive stamps.
    StampSample,
    /// Masking keys and handshake keys.
    Mask,
    /// Jitter of polls and reconnects.
    Jitter,
    /// Publications whose spread is kept.
    SpreadSample,
    /// Names, sizes, messages and packets of a conformance check.
    Check,
    /// The order of a suite's cases.
    CaseOrder,
    /// Reassignments of starts to two sets.
    Permutation,
    /// Padding of a publication whose content is checked.
    Padding,
    /// Prices of a demonstration.
    Quotes,
    /// Which side of a sitting begins a block.
    Side,
    /// `{uuid}` of templates.
    Uuid,
}

/// A generator for one purpose (SplitMix64: Steele, Lea and Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Draw {
    state: u64,
}

impl Draw {
    /// Creates the stream of `purpose` number `index` under `seed`.
    pub fn new(seed: u64, purpose: Purpose, index: u64) -> Draw {
        let mut draw = Draw { state: seed ^ (purpose as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) };
        let mixed = draw.next_u64() ^ index.wrapping_mul(0xd1b5_4a32_d192_ed03);
        Draw { state: mixed }
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform on [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform on 0..bound. Returns 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Shuffles in place (Fisher–Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }

    /// Returns `k` distinct numbers of 0..m, ascending (Floyd's sampling; k ≤ m).
    pub fn choose(&mut self, k: u32, m: u32) -> Vec<u32> {
        let mut chosen = std::collections::BTreeSet::new();
        for j in m - k.min(m)..m {
            let t = self.below(u64::from(j) + 1) as u32;
            if !chosen.insert(t) {
                chosen.insert(j);
            }
        }
        chosen.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_draws_the_same() {
        let a: Vec<_> = (0..8).map(|i| Draw::new(42, Purpose::PollPhase, i).next_u64()).collect();
        let b: Vec<_> = (0..8).map(|i| Draw::new(42, Purpose::PollPhase, i).next_u64()).collect();
        assert_eq!(a, b);
        assert_ne!(a[0], Draw::new(42, Purpose::ChannelPhase, 0).next_u64());
        assert_ne!(a[0], Draw::new(43, Purpose::PollPhase, 0).next_u64());
    }

    #[test]
    fn every_subset_is_as_likely() {
        let mut seen = [0u32; 10];
        for i in 0..10_000 {
            for channel in Draw::new(1, Purpose::Subscriptions, i).choose(3, 10) {
                seen[channel as usize] += 1;
            }
        }
        // 3,000 each; 5 standard deviations of a binomial are about 230.
        assert!(seen.iter().all(|&n| (2_770..3_230).contains(&n)), "{seen:?}");
    }

    #[test]
    fn exponential_has_mean_one() {
        let mut draw = Draw::new(7, Purpose::Arrivals, 0);
        let mean = (0..100_000).map(|_| draw.exponential()).sum::<f64>() / 100_000.0;
        assert!((mean - 1.0).abs() < 0.02, "{mean}");
    }
}
