//! WebSocket frames that pass through the proxy, in both directions.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;

use crate::fault::Fault;

/// The direction of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Up,
    Down,
}

/// One frame, unmasked.
#[derive(Clone, Debug)]
pub struct Frame {
    /// The first byte: FIN, reserved bits, opcode.
    pub first: u8,
    pub masked: bool,
    pub payload: Vec<u8>,
}

impl Frame {
    pub fn new(opcode: u8, payload: &[u8]) -> Frame {
        Frame { first: 0x80 | opcode, masked: false, payload: payload.to_vec() }
    }

    pub fn opcode(&self) -> u8 {
        self.first & 0xf
    }

    /// Takes one frame off the front.
    fn take(bytes: &mut Vec<u8>) -> Option<Frame> {
        let masked = bytes.get(1)? & 0x80 != 0;
        let (len, mut at) = match bytes[1] & 0x7f {
            126 => (u64::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?)), 4),
            127 => (u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?), 10),
            short => (u64::from(short), 2),
        };
        let key: [u8; 4] = if masked { bytes.get(at..at + 4)?.try_into().ok()? } else { [0; 4] };
        at += if masked { 4 } else { 0 };
        let end = at + len as usize;
        let payload = bytes.get(at..end)?.iter().enumerate().map(|(i, byte)| byte ^ key[i % 4]).collect();
        let frame = Frame { first: bytes[0], masked, payload };
        bytes.drain(..end);
        Some(frame)
    }

    fn bytes(&self) -> Vec<u8> {
        let mask = if self.masked { 0x80 } else { 0 };
        let mut bytes = vec![self.first];
        match self.payload.len() {
            len @ ..126 => bytes.push(mask | len as u8),
            len @ 126..65_536 => {
                bytes.push(mask | 126);
                bytes.extend_from_slice(&(len as u16).to_be_bytes());
            }
            len => {
                bytes.push(mask | 127);
                bytes.extend_from_slice(&(len as u64).to_be_bytes());
            }
        }
        if self.masked {
            // A mask key of zeros leaves the bytes unchanged.
            bytes.extend_from_slice(&[0; 4]);
        }
        bytes.extend_from_slice(&self.payload);
        bytes
    }
}

/// Relays until either side has ended. Frames that a fault sends back go to their sender.
pub fn relay(
    client: &TcpStream,
    server: &TcpStream,
    up: &[u8],
    down: &[u8],
    fault: &Arc<Fault>,
) -> Option<()> {
    let upward = (client.try_clone().ok()?, server.try_clone().ok()?, up.to_vec(), Arc::clone(fault));
    let thread = std::thread::spawn(move || {
        let (from, to, bytes, fault) = upward;
        one_way(Way::Up, from, to, bytes, &fault);
    });
    one_way(Way::Down, server.try_clone().ok()?, client.try_clone().ok()?, down.to_vec(), fault);
    thread.join().ok()?;
    None
}

fn one_way(
    way: Way,
    mut from: TcpStream,
    mut to: TcpStream,
    mut bytes: Vec<u8>,
    fault: &Fault,
) -> Option<()> {
    let mut buffer = [0; 64 * 1024];
    loop {
        let mut out = Vec::new();
        match &fault.frame {
            None => out.append(&mut bytes),
            Some(break_it) => {
                while let Some(frame) = Frame::take(&mut bytes) {
                    for mut frame in break_it(way, frame) {
                        // An answer in the server's place: only such frames are unmasked.
                        if way == Way::Up && !frame.masked && fault.answers_frames {
                            from.write_all(&frame.bytes()).ok()?;
                        } else {
                            frame.masked = way == Way::Up;
                            out.extend(frame.bytes());
                        }
                    }
                }
            }
        }
        let written = to.write_all(&out).is_ok();
        match from.read(&mut buffer) {
            Ok(read @ 1..) if written => bytes.extend_from_slice(&buffer[..read]),
            _ => {
                let _ = to.shutdown(Shutdown::Both);
                let _ = from.shutdown(Shutdown::Both);
                return None;
            }
        }
    }
}
