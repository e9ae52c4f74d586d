//! Keys and masks: unpredictable is what RFC 6455 10.3 wants of browsers; an instrument wants
//! them reproducible, so they come from the run's seed.

/// SplitMix64 (Steele, Lea, Flood 2014): eight bytes of state, good enough to look random.
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
