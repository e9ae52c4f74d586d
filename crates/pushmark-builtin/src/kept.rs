//! Bytes of incomplete requests, and a count of those that this thread holds.

use std::cell::Cell;
use std::ops::Deref;

/// The most bytes of incomplete requests and messages in one thread. At this bound a request that needs to be
/// kept is refused: 16 of the longest bodies at once, or 4,096 of the longest heads.
pub(crate) const KEPT_MAX: usize = 64 << 20;

thread_local! {
    static KEPT: Cell<usize> = const { Cell::new(0) };
}

/// Bytes kept until more arrive. While empty, it owns nothing.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    bytes: Vec<u8>,
    /// The bytes counted for it.
    counted: usize,
}

/// There is no room for more bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom;

impl Kept {
    /// Keeps these bytes.
    pub(crate) fn of(bytes: &[u8]) -> Result<Kept, NoRoom> {
        let mut kept = Kept::default();
        kept.add(bytes)?;
        Ok(kept)
    }

    /// Adds all of these bytes, or none of them.
    pub(crate) fn add(&mut self, more: &[u8]) -> Result<(), NoRoom> {
        if KEPT.get() + more.len() > KEPT_MAX {
            return Err(NoRoom);
        }
        self.bytes.extend_from_slice(more);
        self.count();
        Ok(())
    }

    /// Takes the bytes out. They are not counted any more.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        let bytes = std::mem::take(&mut self.bytes);
        self.count();
        bytes
    }

    fn count(&mut self) {
        let now = self.bytes.capacity();
        KEPT.set(KEPT.get() + now - self.counted);
        self.counted = now;
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        KEPT.set(KEPT.get() - self.counted);
    }
}

impl Deref for Kept {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_counted_until_it_is_given_away() {
        let before = KEPT.get();
        let mut one = Kept::of(&[1; 1000]).unwrap();
        let two = Kept::of(&[2; 500]).unwrap();
        assert!(KEPT.get() >= before + 1500);
        assert_eq!((one.add(&vec![0; KEPT_MAX]), one.len()), (Err(NoRoom), 1000));
        assert_eq!(one.take(), [1; 1000]);
        assert!(KEPT.get() < before + 1000);
        drop((one, two));
        assert_eq!(KEPT.get(), before);
    }
}
