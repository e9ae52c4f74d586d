//! Self-checked data: padding that is drawn from the seed for each publication, so that whoever
//! hears it can tell whether it is what was published. The stamp says which publication that was.

use memchr::memmem;

use crate::draw::{Draw, Purpose};
use crate::stamp::{PREFIX, STAMP_LEN, Stamp};

/// Digits of one draw: 36¹² is below 2⁶⁴.
const DIGITS_A_DRAW: usize = 12;

/// Fills `padding` as `stamp`'s publication has it under `seed`; the stamp's own alphabet.
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

/// How many of the publications in a message are not what was published. `size_of` is the size of
/// a payload; stamps of another run (`nonce`) are not ours to judge.
pub fn corrupt(message: &[u8], nonce: u32, seed: u64, size_of: impl Fn(&Stamp) -> usize) -> u64 {
    let mut corrupt = 0;
    let mut drawn = Vec::new();
    for at in memmem::find_iter(message, PREFIX) {
        let stamp = message[at..].first_chunk::<STAMP_LEN>().and_then(Stamp::parse);
        let Some(stamp) = stamp.filter(|stamp| stamp.nonce == nonce) else { continue };
        drawn.resize(size_of(&stamp).saturating_sub(STAMP_LEN), 0);
        draw_padding(seed, &stamp, &mut drawn);
        corrupt += u64::from(!message[..at].ends_with(&drawn));
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
        corrupt(message, 7, 42, |_| SIZE)
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
        // The stamp of one publication behind the data of another.
        let swapped = [&payload(0, 3)[..SIZE - STAMP_LEN], &payload(0, 4)[SIZE - STAMP_LEN..]].concat();
        assert_eq!(corrupt_in(&[&good[..], &swapped].concat()), 1);
    }

    #[test]
    fn another_runs_stamp_is_not_judged() {
        assert_eq!(corrupt(&payload(0, 3), 8, 42, |_| SIZE), 0);
    }
}
