//! Keys and masks. RFC 6455 10.3 requires unpredictable ones from browsers. A measuring tool needs
//! reproducible ones, so they are derived from the run's seed.

/// SplitMix64 (Steele, Lea, Flood 2014): eight bytes of state and sufficiently random output.
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitMix64(pub(super) u64);

impl SplitMix64 {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    pub(super) fn mask(&mut self) -> [u8; 4] {
        (self.next() as u32).to_ne_bytes()
    }
}
