//! Frames: the transfer format of plans and records between processes. A length (u32, little endian) and that
//! many bytes of [postcard](https://postcard.jamesmunns.com/wire-format).

use std::io::{self, Read, Write};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// Longest frame accepted: far above any record, so that a corrupt stream is distinguished from a large
/// record.
pub const FRAME_MAX: u32 = 64 << 20;

/// Writes one frame.
pub fn write<T: Serialize>(to: &mut impl Write, value: &T) -> io::Result<()> {
    let body = postcard::to_stdvec(value).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).ok().filter(|&l| l <= FRAME_MAX);
    let length =
        length.ok_or_else(|| io::Error::other(format!("a frame of {} bytes is too long", body.len())))?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(&body)
}

/// Reads one frame; `None` at a clean end.
pub fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match from.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_le_bytes(length);
    if length > FRAME_MAX {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a frame of {length} bytes is too long"),
        ));
    }
    let mut body = vec![0; length as usize];
    from.read_exact(&mut body)?;
    postcard::from_bytes(&body).map(Some).map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::Record;

    #[test]
    fn a_record_survives_the_journey_bit_for_bit() {
        let mut record = Record { shard: 3, second: 9, ..Record::default() };
        for n in 0..1_000 {
            record.times.latency.record_us(n * n);
        }
        record.times.latency.record_negative_us(5);
        record.heat.insert((1, 2), 3);
        let mut wire = Vec::new();
        write(&mut wire, &record).unwrap();
        write(&mut wire, &record).unwrap();
        let mut from = wire.as_slice();
        let first: Record = read(&mut from).unwrap().unwrap();
        assert_eq!(first.times.latency.encoded(), record.times.latency.encoded());
        assert_eq!((first.shard, first.second, first.heat), (3, 9, record.heat));
        assert!(read::<Record>(&mut from).unwrap().is_some() && read::<Record>(&mut from).unwrap().is_none());
    }

    #[test]
    fn a_torn_length_is_refused() {
        let error = read::<Record>(&mut [0xff; 8].as_slice()).unwrap_err().to_string();
        assert_eq!(error, "a frame of 4294967295 bytes is too long");
    }
}
