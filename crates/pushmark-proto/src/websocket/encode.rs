//! Writes frames. A server's frame is the same for every subscriber; a client's is masked with its own key.

use super::{Opcode, mask};

/// Appends one whole frame (FIN set), masked if a key is given.
pub fn frame(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8], key: Option<[u8; 4]>) {
    header(out, opcode, true, payload.len() as u64, key);
    let start = out.len();
    out.extend_from_slice(payload);
    if let Some(key) = key {
        mask::apply(key, 0, &mut out[start..]);
    }
}

/// Appends one whole frame with a payload that `write` appends, without an extra buffer.
pub fn frame_with(out: &mut Vec<u8>, opcode: Opcode, key: Option<[u8; 4]>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    write(out);
    let len = out.len() - start;
    header(out, opcode, true, len as u64, key);
    let header_len = out.len() - start - len;
    out[start..].rotate_right(header_len);
    if let Some(key) = key {
        mask::apply(key, 0, &mut out[start + header_len..]);
    }
}

/// Appends a Close frame. The reason is cut so that the payload stays within 125 bytes.
pub fn close(out: &mut Vec<u8>, code: u16, reason: &str, key: Option<[u8; 4]>) {
    let reason = &reason[..reason.floor_char_boundary(123)];
    header(out, Opcode::Close, true, 2 + reason.len() as u64, key);
    let start = out.len();
    out.extend_from_slice(&code.to_be_bytes());
    out.extend_from_slice(reason.as_bytes());
    if let Some(key) = key {
        mask::apply(key, 0, &mut out[start..]);
    }
}

/// Appends a frame header (RFC 6455 5.2) with the length in its shortest form.
pub fn header(out: &mut Vec<u8>, opcode: Opcode, fin: bool, len: u64, key: Option<[u8; 4]>) {
    out.push(u8::from(fin) << 7 | opcode as u8);
    let masked = u8::from(key.is_some()) << 7;
    match len {
        0..126 => out.push(masked | len as u8),
        126..0x1_0000 => {
            out.push(masked | 126);
            out.extend_from_slice(&(len as u16).to_be_bytes());
        }
        _ => {
            out.push(masked | 127);
            out.extend_from_slice(&len.to_be_bytes());
        }
    }
    if let Some(key) = key {
        out.extend_from_slice(&key);
    }
}
