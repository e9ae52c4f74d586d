//! Masking (RFC 6455 5.3): exclusive or with four bytes, eight at a time.

/// Masks or unmasks `bytes`, whose first byte is at `offset` in its frame's payload.
pub fn apply(mask: [u8; 4], offset: usize, bytes: &mut [u8]) {
    let mut mask = mask;
    mask.rotate_left(offset % 4);
    let mut word = [0; 8];
    word[..4].copy_from_slice(&mask);
    word[4..].copy_from_slice(&mask);
    let word = u64::from_ne_bytes(word);

    let (words, tail) = bytes.as_chunks_mut::<8>();
    for eight in words {
        *eight = (u64::from_ne_bytes(*eight) ^ word).to_ne_bytes();
    }
    for (byte, key) in tail.iter_mut().zip(mask.iter().cycle()) {
        *byte ^= key;
    }
}
