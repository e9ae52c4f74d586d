//! Taking bytes off the front of the caller's buffer.
//!
//! The buffer is `&mut` because a server unmasks WebSocket payloads where they lie.

use std::mem;

/// Splits the first `n` bytes off; they live as long as the buffer, not as the call.
///
/// # Panics
/// If fewer than `n` bytes are there; callers look first.
pub(crate) fn take<'a>(input: &mut &'a mut [u8], n: usize) -> &'a mut [u8] {
    let (taken, rest) = mem::take(input).split_at_mut(n);
    *input = rest;
    taken
}
