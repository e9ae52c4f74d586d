//! The frames of a spool. Before the bytes of each stand their number and a checksum, so that what a disk or a copy has
//! changed is told, and where.
//!
//! A frame that a cut file ends in is told from a damaged one: its length has a checksum of its own.

use std::io::{self, Read};

use pushmark_model::frame::FRAME_MAX;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes before those of a frame: their number, their CRC-32, and the CRC-32 of these two. Little endian.
const HEAD: usize = 12;

/// What stands at a place.
#[derive(Debug)]
pub(crate) enum Frame<T> {
    /// A value.
    Whole(T),
    /// The end, possibly in the middle of a frame that was being written.
    End,
    /// Bytes that are not those that were written.
    Damaged,
}

/// Returns a value as a frame.
///
/// # Errors
/// Fails if it is too long.
pub(crate) fn framed<T: Serialize>(value: &T) -> io::Result<Vec<u8>> {
    let body = postcard::to_stdvec(value).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).ok().filter(|&length| length <= FRAME_MAX);
    let length =
        length.ok_or_else(|| io::Error::other(format!("a frame of {} bytes is too long", body.len())))?;
    let mut bytes = Vec::with_capacity(HEAD + body.len());
    bytes.extend_from_slice(&length.to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
    let head = crc32fast::hash(&bytes);
    bytes.extend_from_slice(&head.to_le_bytes());
    bytes.extend_from_slice(&body);
    Ok(bytes)
}

/// Reads the next frame.
///
/// # Errors
/// Fails if the system does.
pub(crate) fn next<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Frame<T>> {
    let mut head = [0; HEAD];
    if !is_filled(from, &mut head)? {
        return Ok(Frame::End);
    }
    let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (length, body, own) = (number(0), number(4), number(8));
    if crc32fast::hash(&head[..8]) != own || length > FRAME_MAX {
        return Ok(Frame::Damaged);
    }
    let mut bytes = vec![0; length as usize];
    if !is_filled(from, &mut bytes)? {
        return Ok(Frame::End);
    }
    if crc32fast::hash(&bytes) != body {
        return Ok(Frame::Damaged);
    }
    // Whole bytes that are no such value were written by another version.
    Ok(postcard::from_bytes(&bytes).map_or(Frame::Damaged, Frame::Whole))
}

/// Fills a buffer. Returns false if the input ends before it is full.
fn is_filled(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Frame<Vec<u8>> {
        next(&mut &bytes[..]).unwrap()
    }

    #[test]
    fn every_flipped_bit_is_damage_and_every_cut_an_end() {
        let value: Vec<u8> = (0..200).collect();
        let whole = framed(&value).unwrap();
        assert!(matches!(read(&whole), Frame::Whole(found) if found == value));
        for bit in 0..8 * whole.len() {
            let mut flipped = whole.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert!(matches!(read(&flipped), Frame::Damaged), "bit {bit}");
        }
        for length in 0..whole.len() {
            assert!(matches!(read(&whole[..length]), Frame::End), "{length} bytes");
        }
    }

    #[test]
    fn zeros_are_damage() {
        assert!(matches!(read(&[0; 64]), Frame::Damaged));
    }
}
