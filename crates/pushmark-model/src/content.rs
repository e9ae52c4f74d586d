//! Self-checked content: padding drawn from the seed for each publication, so that a receiver can check
//! whether it is unchanged. The stamp identifies the publication.

use memchr::memmem;

use crate::draw::{Draw, Purpose};
use crate::stamp::{PREFIX, STAMP_LEN, Stamp};

/// Digits of one draw: 36¹² is below 2⁶⁴.
const DIGITS_A_DRAW: usize = 12;

/// Fills `padding` for the publication of `stamp` under `seed`, in the stamp's alphabet.
pub fn draw_padding(seed: u64, stamp: &Stamp, padding: &mut [u8]) {
    let mut draw = Draw::new(seed, Purpose::Padding, u64::from(stamp.channel) << 40 ^ stamp.sequence);
    for piece in padding.chunks_mut(DIGITS_A_DRAW) {
        let mut number = draw.next_u64();
        for byte in piece {
            *byte = b"0123456789abcdefghijklmnopqrstuvwxyz"[(number % 36) as usize];
            number /= 36;
        }
    }
}

/// Returns how many publications in a message differ from what was published. `size_of` returns the size of a
/// payload. Counts only publications for which `judged` is true: those of this run and its measure phase.
pub fn corrupt(
    message: &[u8],
    seed: u64,
    judged: impl Fn(&Stamp) -> bool,
    size_of: impl Fn(&Stamp) -> usize,
) -> u64 {
    let mut corrupt = 0;
    let mut drawn = Vec::new();
    for at in memmem::find_iter(message, PREFIX) {
        let stamp = message[at..].first_chunk::<STAMP_LEN>().and_then(Stamp::parse);
        let Some(stamp) = stamp.filter(|stamp| judged(stamp)) else { continue };
        drawn.resize(size_of(&stamp).saturating_sub(STAMP_LEN), 0);
        draw_padding(seed, &stamp, &mut drawn);
        corrupt += u64::from(!message[..at].ends_with(&drawn));
    }
    corrupt
}

/// Like [`corrupt`], for a message that is incomplete: checks the complete publications, and shortens `kept`
/// to the bytes that a publication of at most `size_max` bytes may still need before its stamp.
pub fn corrupt_so_far(
    kept: &mut Vec<u8>,
    size_max: usize,
    seed: u64,
    judged: impl Fn(&Stamp) -> bool,
    size_of: impl Fn(&Stamp) -> usize,
) -> u64 {
    let corrupt = corrupt(kept, seed, judged, size_of);
    kept.drain(..kept.len().saturating_sub(size_max.max(STAMP_LEN) - 1));
    // Publications that were checked are not checked again; padding never contains the beginning of a stamp.
    let mut whole: Vec<usize> = memmem::find_iter(kept, PREFIX).collect();
    whole.retain(|at| at + STAMP_LEN <= kept.len());
    for at in whole {
        kept[at + PREFIX.len() - 1] = 0;
    }
    corrupt
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: usize = 128;

    fn payload(channel: u32, sequence: u64) -> Vec<u8> {
        let stamp = Stamp { nonce: 7, publisher: 0, channel, sequence, due_us: 5, sent_us: 6 };
        let mut payload = vec![0; SIZE];
        let (padding, tail) = payload.split_at_mut(SIZE - STAMP_LEN);
        draw_padding(42, &stamp, padding);
        stamp.write(tail.try_into().unwrap());
        payload
    }

    fn corrupt_in(message: &[u8]) -> u64 {
        corrupt(message, 42, |stamp| stamp.nonce == 7, |_| SIZE)
    }

    #[test]
    fn what_was_published_is_whole_in_any_envelope() {
        let message = [b"[{\"data\":\"", &payload(0, 3)[..], b"\"},\"", &payload(1, 0)[..], b"\"]"].concat();
        assert_eq!(corrupt_in(&message), 0);
        assert_ne!(payload(0, 3)[..80], payload(0, 4)[..80], "each publication has its own padding");
    }

    #[test]
    fn one_changed_byte_one_lost_and_a_swap_are_seen() {
        let good = payload(0, 3);
        for at in [0, 40, SIZE - STAMP_LEN - 1] {
            let mut bad = good.clone();
            bad[at] = if bad[at] == b'0' { b'1' } else { b'0' };
            assert_eq!(corrupt_in(&bad), 1, "byte {at}");
        }
        assert_eq!(corrupt_in(&good[1..]), 1);
        // The stamp of one publication after the data of another.
        let swapped = [&payload(0, 3)[..SIZE - STAMP_LEN], &payload(0, 4)[SIZE - STAMP_LEN..]].concat();
        assert_eq!(corrupt_in(&[&good[..], &swapped].concat()), 1);
    }

    #[test]
    fn what_is_not_judged_is_not_counted() {
        let spoiled = &payload(0, 3)[1..];
        assert_eq!(corrupt(spoiled, 42, |stamp| stamp.nonce == 8, |_| SIZE), 0);
        assert_eq!(corrupt(spoiled, 42, |stamp| stamp.nonce == 7, |_| SIZE), 1);
    }

    #[test]
    fn a_message_judged_in_pieces_is_judged_as_a_whole() {
        let good = |n: u64| payload(0, n);
        let spoiled = |n: u64| payload(0, n)[1..].to_vec();
        let message: Vec<u8> = (0..200)
            .flat_map(|n| if n % 7 == 0 { spoiled(n) } else { good(n) }.into_iter().chain(*b"\",\""))
            .collect();
        let whole = corrupt_in(&message);
        assert_eq!(whole, 29);
        for piece in [1, 47, 48, 49, 127, 128, 1_000] {
            let (mut kept, mut found) = (Vec::new(), 0);
            for bytes in message.chunks(piece) {
                kept.extend_from_slice(bytes);
                found += corrupt_so_far(&mut kept, SIZE, 42, |stamp| stamp.nonce == 7, |_| SIZE);
                assert!(kept.len() < SIZE);
            }
            assert_eq!(found + corrupt_in(&kept), whole, "in pieces of {piece}");
        }
    }
}
