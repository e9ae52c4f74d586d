//! Takes bytes off the front of the caller's buffer.
//!
//! The buffer is `&mut` because a server unmasks WebSocket payloads in place.

use std::mem;

/// Splits off the first `n` bytes. They live as long as the buffer.
///
/// # Panics
/// If there are fewer than `n` bytes; callers check first.
pub(crate) fn take<'a>(input: &mut &'a mut [u8], n: usize) -> &'a mut [u8] {
    let (taken, rest) = mem::take(input).split_at_mut(n);
    *input = rest;
    taken
}
