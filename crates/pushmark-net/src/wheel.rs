//! A hierarchical timer wheel with 8 levels of 64 slots, for many timers at low cost.
//!
//! A slot of the nearest level spans 2^17 ns (131 µs), and a slot of each further level 64 times more;
//! together they span all of `u64`. Insert is O(1). A distant timer moves to a nearer level at most 7 times
//! before it fires. The slots only sort timers: each timer keeps its exact instant and never fires before it,
//! and [`Wheel::next_ns`] is exact, too. Timers of one slot fire in no particular order. Timers cannot be
//! cancelled. The caller's token goes stale instead ([`crate::Slab`]) and costs 24 bytes until its time.

use crate::Nanos;

const TICK_BITS: u32 = 17;
const LEVEL_BITS: u32 = 6;
const SLOTS: usize = 1 << LEVEL_BITS;
const LEVELS: usize = (u64::BITS - TICK_BITS).div_ceil(LEVEL_BITS) as usize;

/// Timers kept in memory if none is pending. A larger burst is freed.
const KEPT_WHEN_EMPTY: usize = 1024;

const NONE: u32 = u32::MAX;

/// Instants, and the tokens to report at these instants.
#[derive(Debug)]
pub struct Wheel {
    /// Every timer before this tick has fired.
    now_tick: u64,
    levels: Box<[Level; LEVELS]>,
    /// Timers of all slots, as linked lists through `next`; freed ones form a list too.
    timers: Vec<Timer>,
    free_head: u32,
    pending: usize,
}

#[derive(Clone, Copy, Debug)]
struct Level {
    /// Bit n: slot n holds a timer.
    occupied: u64,
    heads: [u32; SLOTS],
    /// Earliest instant in each occupied slot.
    earliest_ns: [Nanos; SLOTS],
}

#[derive(Clone, Copy, Debug)]
struct Timer {
    at_ns: Nanos,
    token: u64,
    next: u32,
}

impl Wheel {
    /// An empty wheel that begins at `start_ns`.
    pub fn new(start_ns: Nanos) -> Wheel {
        let empty = Level { occupied: 0, heads: [NONE; SLOTS], earliest_ns: [Nanos::MAX; SLOTS] };
        Wheel {
            now_tick: start_ns >> TICK_BITS,
            levels: Box::new([empty; LEVELS]),
            timers: Vec::new(),
            free_head: NONE,
            pending: 0,
        }
    }

    /// Reports `token` at the first [`Wheel::expire`] at or after `at_ns`. `at_ns` may be in the past.
    ///
    /// # Panics
    /// At 2³² − 1 timers pending at once.
    pub fn insert(&mut self, at_ns: Nanos, token: u64) {
        let index = match self.free_head {
            NONE => {
                let index = u32::try_from(self.timers.len()).expect("fewer than 2^32 timers");
                assert!(index != NONE, "fewer than 2^32 - 1 timers");
                self.timers.push(Timer { at_ns, token, next: NONE });
                index
            }
            index => {
                self.free_head = self.timers[index as usize].next;
                self.timers[index as usize] = Timer { at_ns, token, next: NONE };
                index
            }
        };
        self.pending += 1;
        self.place(index);
    }

    /// Calls `fired` with the token of each timer due at `now_ns`, and removes these timers.
    pub fn expire(&mut self, now_ns: Nanos, mut fired: impl FnMut(u64)) {
        let target_tick = (now_ns >> TICK_BITS).max(self.now_tick);
        while let Some((level, slot, slot_tick)) = self.nearest_slot() {
            if slot_tick > target_tick {
                break;
            }
            self.now_tick = self.now_tick.max(slot_tick);
            let mut index = self.take(level, slot);
            // Only the present slot can hold timers that are not yet due.
            let mut kept = false;
            while index != NONE {
                let timer = self.timers[index as usize];
                if timer.at_ns <= now_ns {
                    self.free(index);
                    fired(timer.token);
                } else {
                    self.place(index);
                    kept |= level == 0;
                }
                index = timer.next;
            }
            if kept {
                break;
            }
        }
        self.now_tick = target_tick;
        if self.pending == 0 && self.timers.capacity() > KEPT_WHEN_EMPTY {
            self.timers = Vec::new();
            self.free_head = NONE;
        }
    }

    /// Returns the earliest pending instant, which bounds the loop's wait, or `None` if no timer is pending.
    pub fn next_ns(&self) -> Option<Nanos> {
        // Within a level, slots are ordered by time; across levels they may not be.
        self.levels
            .iter()
            .filter(|level| level.occupied != 0)
            .map(|level| level.earliest_ns[level.occupied.trailing_zeros() as usize])
            .min()
    }

    /// Returns the number of pending timers.
    pub fn len(&self) -> usize {
        self.pending
    }

    /// Returns whether no timer is pending.
    pub fn is_empty(&self) -> bool {
        self.pending == 0
    }

    /// Puts a timer into the slot of the highest digit (base 64) in which it differs from now. So a level
    /// never wraps: its occupied slots are all at or after the present digit.
    fn place(&mut self, index: u32) {
        let at_ns = self.timers[index as usize].at_ns;
        let tick = (at_ns >> TICK_BITS).max(self.now_tick);
        let differs = tick ^ self.now_tick;
        let level = (differs.checked_ilog2().unwrap_or(0) / LEVEL_BITS) as usize;
        let slot = (tick >> (level as u32 * LEVEL_BITS)) as usize % SLOTS;
        let home = &mut self.levels[level];
        self.timers[index as usize].next = home.heads[slot];
        home.heads[slot] = index;
        home.occupied |= 1 << slot;
        home.earliest_ns[slot] = home.earliest_ns[slot].min(at_ns);
    }

    /// Returns the occupied slot that begins first, and its first tick.
    fn nearest_slot(&self) -> Option<(usize, usize, u64)> {
        // A timer of a nearer level shares more digits with now, so it is before all timers of the further
        // levels.
        let level = self.levels.iter().position(|level| level.occupied != 0)?;
        let slot = self.levels[level].occupied.trailing_zeros() as usize;
        let below = level as u32 * LEVEL_BITS;
        let above = below + LEVEL_BITS;
        let high = self.now_tick.checked_shr(above).map_or(0, |digits| digits << above);
        Some((level, slot, high | (slot as u64) << below))
    }

    fn take(&mut self, level: usize, slot: usize) -> u32 {
        let home = &mut self.levels[level];
        home.occupied &= !(1 << slot);
        home.earliest_ns[slot] = Nanos::MAX;
        std::mem::replace(&mut home.heads[slot], NONE)
    }

    fn free(&mut self, index: u32) {
        self.timers[index as usize].next = self.free_head;
        self.free_head = index;
        self.pending -= 1;
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;

    use proptest::prelude::*;

    use super::*;

    const HOUR_NS: u64 = 3_600_000_000_000;

    fn fired_at(wheel: &mut Wheel, now_ns: Nanos) -> Vec<u64> {
        let mut tokens = Vec::new();
        wheel.expire(now_ns, |token| tokens.push(token));
        tokens.sort_unstable();
        tokens
    }

    #[test]
    fn nothing_fires_early_not_even_by_a_nanosecond() {
        let mut wheel = Wheel::new(1_000);
        wheel.insert(1_234_567, 1);
        assert_eq!(wheel.next_ns(), Some(1_234_567));
        assert_eq!(fired_at(&mut wheel, 1_234_566), []);
        assert_eq!(wheel.next_ns(), Some(1_234_567));
        assert_eq!(fired_at(&mut wheel, 1_234_567), [1]);
        assert_eq!(wheel.next_ns(), None);
    }

    #[test]
    fn a_timer_in_the_past_fires_at_once() {
        let mut wheel = Wheel::new(HOUR_NS);
        wheel.insert(5, 1);
        assert_eq!(fired_at(&mut wheel, HOUR_NS), [1]);
    }

    #[test]
    fn hours_and_the_end_of_time_are_reached() {
        let mut wheel = Wheel::new(0);
        wheel.insert(9 * HOUR_NS, 1);
        wheel.insert(u64::MAX, 2);
        assert_eq!(fired_at(&mut wheel, 9 * HOUR_NS - 1), []);
        assert_eq!(fired_at(&mut wheel, 9 * HOUR_NS), [1]);
        assert_eq!(fired_at(&mut wheel, u64::MAX), [2]);
    }

    #[test]
    fn memory_of_a_burst_is_given_back() {
        let mut wheel = Wheel::new(0);
        (0..100_000).for_each(|n| wheel.insert(n, n));
        assert_eq!(fired_at(&mut wheel, 200_000).len(), 100_000);
        assert!(wheel.is_empty() && wheel.timers.capacity() <= KEPT_WHEN_EMPTY);
    }

    #[derive(Clone, Debug)]
    enum Step {
        Insert { after_ns: u64 },
        Pass { ns: u64 },
        PassToNext,
    }

    fn spans_ns() -> impl Strategy<Value = u64> {
        // Each power of two is equally likely, so that every level and border is covered.
        (0u32..52, any::<u64>()).prop_map(|(bits, random)| random & ((1 << bits) - 1))
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => spans_ns().prop_map(|after_ns| Step::Insert { after_ns }),
            2 => spans_ns().prop_map(|ns| Step::Pass { ns }),
            2 => Just(Step::PassToNext),
        ];
        prop::collection::vec(step, 0..120)
    }

    proptest! {
        #[test]
        fn it_fires_what_a_heap_would(start_ns in any::<u32>(), steps in steps()) {
            let mut now_ns = u64::from(start_ns);
            let mut wheel = Wheel::new(now_ns);
            let mut heap = BinaryHeap::new();
            for (n, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Insert { after_ns } => {
                        wheel.insert(now_ns + after_ns, n as u64);
                        heap.push(Reverse((now_ns + after_ns, n as u64)));
                    }
                    Step::Pass { ns } => now_ns += ns,
                    Step::PassToNext => now_ns = wheel.next_ns().unwrap_or(now_ns).max(now_ns),
                }
                let mut expected = Vec::new();
                while let Some(&Reverse((at_ns, token))) = heap.peek() {
                    if at_ns > now_ns { break; }
                    expected.push(token);
                    heap.pop();
                }
                expected.sort_unstable();
                prop_assert_eq!(fired_at(&mut wheel, now_ns), expected);
                prop_assert_eq!(wheel.next_ns(), heap.peek().map(|r| r.0.0));
                prop_assert_eq!(wheel.len(), heap.len());
            }
        }
    }
}
