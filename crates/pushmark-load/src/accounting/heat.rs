//! Heat cells of the last seconds, before they go into a record.

use pushmark_model::record::{HEAT_ROWS, Record};

#[derive(Debug)]
pub(super) struct HeatRing {
    cells: [[u64; HEAT_ROWS]; HeatRing::SECONDS],
    seconds: [u32; HeatRing::SECONDS],
}

impl Default for HeatRing {
    fn default() -> Self {
        HeatRing { cells: [[0; HEAT_ROWS]; HeatRing::SECONDS], seconds: [0; HeatRing::SECONDS] }
    }
}

impl HeatRing {
    const SECONDS: usize = 16;

    #[inline]
    pub(super) fn count(&mut self, second: u32, row: u8, record: &mut Record) {
        let slot = second as usize % HeatRing::SECONDS;
        if self.seconds[slot] != second {
            self.flush_slot(slot, record);
            self.seconds[slot] = second;
        }
        self.cells[slot][usize::from(row)] += 1;
    }

    pub(super) fn flush(&mut self, record: &mut Record) {
        for slot in 0..HeatRing::SECONDS {
            self.flush_slot(slot, record);
        }
    }

    fn flush_slot(&mut self, slot: usize, record: &mut Record) {
        for (row, cell) in self.cells[slot].iter_mut().enumerate().filter(|(_, cell)| **cell > 0) {
            *record.heat.entry((self.seconds[slot], row as u8)).or_default() += std::mem::take(cell);
        }
    }
}
