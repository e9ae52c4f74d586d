//! The seconds of an arm: the last ones in memory, older ones set aside, so that an hour needs no more
//! memory than a minute.

use std::collections::BTreeMap;
use std::io;

use pushmark_model::second::{Second, SetAside};

use pushmark_host::aside::Aside;

/// Seconds in memory: more than any reader looks back while records arrive.
const HELD_MAX: usize = 120;
/// Cells of the heat map in memory; beyond this number only those of the last [`HELD_MAX`] seconds stay.
const CELLS_MAX: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct Seconds {
    held: BTreeMap<u32, Second>,
    aside: Aside<SetAside>,
}

/// Deliveries by second and row.
type Heat = BTreeMap<(u32, u8), u64>;

impl Seconds {
    /// A second is complete.
    pub(super) fn insert(&mut self, number: u32, second: Second) {
        self.held.insert(number, second);
        while self.held.len() > HELD_MAX {
            let Some((number, oldest)) = self.held.pop_first() else { return };
            let what = SetAside::Second(number, Box::new(oldest));
            if self.aside.put(&what).is_err()
                && let SetAside::Second(number, oldest) = what
            {
                // If the file cannot be written, it stays in memory.
                self.held.insert(number, *oldest);
                return;
            }
        }
    }

    /// Sets the older part of a heat map aside if it has grown too large.
    pub(super) fn cool(&mut self, heat: &mut Heat) {
        let Some((&(newest, _), _)) = heat.last_key_value().filter(|_| heat.len() > CELLS_MAX) else {
            return;
        };
        let recent = heat.split_off(&(newest.saturating_sub(HELD_MAX as u32), 0));
        let old = std::mem::replace(heat, recent);
        if !old.is_empty()
            && self.aside.put(&SetAside::Heat(old.iter().map(|(&k, &n)| (k, n)).collect())).is_err()
        {
            heat.extend(old);
        }
    }

    /// Those in memory.
    pub(super) fn held(&self) -> &BTreeMap<u32, Second> {
        &self.held
    }

    /// Returns everything: the arm is over.
    ///
    /// # Errors
    /// Fails if the file cannot be read; everything read until then is restored.
    pub(super) fn recall(&mut self, heat: &mut Heat) -> io::Result<()> {
        let Seconds { held, aside } = self;
        aside.take(|what| match what {
            SetAside::Second(number, second) => {
                held.insert(number, *second);
            }
            SetAside::Heat(cells) => {
                for (cell, n) in cells {
                    *heat.entry(cell).or_default() += n;
                }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: u32) -> Second {
        Second { received: u64::from(number), histogram: vec![number as u8; 1_000], ..Second::default() }
    }

    #[test]
    fn an_hour_is_held_as_two_minutes_and_comes_back_whole() {
        let (mut seconds, mut heat) = (Seconds::default(), Heat::default());
        for number in 0..3_600 {
            seconds.insert(number, second(number));
            for row in 0..20 {
                *heat.entry((number, row)).or_default() += u64::from(row) + 1;
            }
            // A record that arrived long after its time.
            *heat.entry((number / 2, 29)).or_default() += 1;
            seconds.cool(&mut heat);
            assert!(seconds.held().len() <= HELD_MAX && heat.len() <= CELLS_MAX, "{number}");
        }
        assert_eq!(seconds.held().keys().next_back(), Some(&3_599));
        seconds.recall(&mut heat).unwrap();
        assert!(seconds.held().iter().map(|(n, s)| (*n, s.clone())).eq((0..3_600).map(|n| (n, second(n)))));
        let (mut usual, mut late) = (0, 0);
        for (&(_, row), &n) in &heat {
            *(if row == 29 { &mut late } else { &mut usual }) += n;
        }
        assert_eq!((usual, late), (3_600 * 210, 3_600));
        assert_eq!((heat[&(7, 3)], heat[&(7, 29)]), (4, 2));
    }

    #[test]
    fn a_short_run_needs_no_file() {
        let (mut seconds, mut heat) = (Seconds::default(), Heat::from([((0, 1), 2)]));
        seconds.insert(0, second(0));
        seconds.cool(&mut heat);
        seconds.recall(&mut heat).unwrap();
        assert_eq!((seconds.held().len(), heat.len()), (1, 1));
    }
}
