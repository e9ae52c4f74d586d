//! Decodes bytes to frames and messages and checks every rule of RFC 6455 5.
//!
//! Payload is returned as it arrives, unmasked in place. Only frame headers and control frames wait in the
//! caller's buffer until they are complete.

use super::utf8::{Invalid, Utf8};
use super::{Opcode, Role, close, mask};
use crate::{Failure, input};

/// The most bytes left in `input` while more are needed: a masked control frame minus its last byte.
pub const LEFT_MAX: usize = 2 + 4 + CONTROL_MAX - 1;

/// Longest payload of a control frame (RFC 6455 5.5).
pub const CONTROL_MAX: usize = 125;

/// The reserved bits of a frame's first byte (RFC 6455 5.2).
const RESERVED: u8 = 0x70;

/// The one of them that says that the message is compressed (RFC 7692 6).
const RESERVED_COMPRESSED: u8 = 0x40;

/// The events of a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// Payload of the current message. Never empty.
    Data(&'a [u8]),
    /// The message is complete: its FIN frame has ended.
    MessageEnd {
        /// Text rather than binary.
        text: bool,
    },
    /// Must be answered with a pong with the same payload.
    Ping(&'a [u8]),
    /// An answer to a ping, or a heartbeat that needs no answer.
    Pong(&'a [u8]),
    /// The peer's last frame; bytes after it are dropped.
    Close {
        /// Absent if the frame contained none (1005).
        code: Option<u16>,
        /// Often empty.
        reason: &'a str,
    },
}

/// Reads the frames of one connection.
#[derive(Clone, Debug)]
pub struct Decoder {
    message_max: u64,
    /// Payload of the current message so far, including the whole current frame.
    message_len: u64,
    /// Remaining payload of the current data frame.
    frame_left: u64,
    key: [u8; 4],
    /// The position of the next byte in the frame's payload, modulo 4.
    key_at: u8,
    utf8: Utf8,
    role: Role,
    message: Message,
    /// The message that ended last.
    ended: Message,
    in_frame: bool,
    fin: bool,
    closed: bool,
    /// Messages may be compressed.
    deflates: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Message {
    None = 0,
    Text = 1,
    Binary = 2,
    /// The first header of a compressed message is next.
    Compressed = 4,
    CompressedText = 5,
    CompressedBinary = 6,
}

/// A parsed frame header.
struct Header {
    opcode: Opcode,
    fin: bool,
    len: u64,
    key: Option<[u8; 4]>,
    /// Its length in bytes, 2 to 14.
    size: usize,
}

impl Decoder {
    /// A decoder for the frames that `role` receives, with messages of at most `message_max` bytes.
    pub fn new(role: Role, message_max: u64) -> Decoder {
        Decoder {
            message_max,
            message_len: 0,
            frame_left: 0,
            key: [0; 4],
            key_at: 0,
            utf8: Utf8::default(),
            role,
            message: Message::None,
            ended: Message::None,
            in_frame: false,
            fin: false,
            closed: false,
            deflates: false,
        }
    }

    /// Messages may be compressed from now on (RFC 7692). Their payload is returned as it is, and is not checked
    /// to be UTF-8.
    pub fn accept_compressed(&mut self) {
        self.deflates = true;
    }

    /// Returns whether the current message is compressed; after its end, whether it was.
    pub fn is_compressed(&self) -> bool {
        let message = if self.message == Message::None { self.ended } else { self.message };
        matches!(message, Message::CompressedText | Message::CompressedBinary)
    }

    /// Returns whether the current message is a text.
    pub fn is_text(&self) -> bool {
        matches!(self.message, Message::Text | Message::CompressedText)
    }

    /// Takes the next event. `None`: more bytes are needed; at most [`LEFT_MAX`] are left.
    pub fn next<'a>(&mut self, input: &mut &'a mut [u8]) -> Result<Option<Event<'a>>, Failure> {
        self.next_part(input, |bytes| bytes.len())
    }

    /// Like [`Decoder::next`], but `part` decides how many bytes of the available payload are taken: at least
    /// one. It sees masked bytes if they were sent masked.
    pub(crate) fn next_part<'a>(
        &mut self,
        input: &mut &'a mut [u8],
        part: impl FnOnce(&[u8]) -> usize,
    ) -> Result<Option<Event<'a>>, Failure> {
        loop {
            if self.closed {
                // RFC 6455 1.4: bytes after a Close are discarded.
                *input = &mut [];
                return Ok(None);
            }
            if self.in_frame {
                match self.frame_left {
                    0 => match self.frame_ends()? {
                        Some(end) => return Ok(Some(end)),
                        None => continue,
                    },
                    _ if input.is_empty() => return Ok(None),
                    _ => return self.payload(input, part).map(Some),
                }
            }
            if input.first().is_some_and(|first| first & RESERVED != 0) {
                self.compressed_begins(&mut input[0])?;
            }
            let Some(header) = Header::parse(input, self.role)? else { return Ok(None) };
            if header.opcode.is_control() {
                return self.control(&header, input);
            }
            self.frame_begins(&header)?;
            input::take(input, header.size);
        }
    }

    /// Takes the reserved bit of a compressed message from a first byte. RFC 7692 6: it is that of a message, so
    /// it is in its first frame, a text or a binary one.
    #[cold]
    fn compressed_begins(&mut self, first: &mut u8) -> Result<(), Failure> {
        if !self.deflates || *first & RESERVED != RESERVED_COMPRESSED {
            return Err(Failure::Frame("reserved bit without an extension"));
        }
        if !matches!(Opcode::from_bits(*first & 0x0F), Some(Opcode::Text | Opcode::Binary)) {
            return Err(Failure::Frame("compressed frame that does not begin a message"));
        }
        if self.message != Message::None {
            return Err(Failure::Frame("new message inside a message"));
        }
        *first &= !RESERVED;
        self.message = Message::Compressed;
        Ok(())
    }

    fn frame_begins(&mut self, header: &Header) -> Result<(), Failure> {
        self.message = match (header.opcode, self.message) {
            (Opcode::Continuation, Message::None) => {
                return Err(Failure::Frame("continuation of nothing"));
            }
            (Opcode::Continuation, message) => message,
            (Opcode::Text, Message::None) => Message::Text,
            (_, Message::None) => Message::Binary,
            (Opcode::Text, Message::Compressed) => Message::CompressedText,
            (_, Message::Compressed) => Message::CompressedBinary,
            _ => return Err(Failure::Frame("new message inside a message")),
        };
        self.message_len = self.message_len.saturating_add(header.len);
        if self.message_len > self.message_max {
            return Err(Failure::MessageTooLarge);
        }
        self.frame_left = header.len;
        self.key = header.key.unwrap_or_default();
        self.key_at = 0;
        self.fin = header.fin;
        self.in_frame = true;
        Ok(())
    }

    fn payload<'a>(
        &mut self,
        input: &mut &'a mut [u8],
        part: impl FnOnce(&[u8]) -> usize,
    ) -> Result<Event<'a>, Failure> {
        // Not above `input.len()`, so it fits.
        let n = self.frame_left.min(input.len() as u64) as usize;
        let n = part(&input[..n]).min(n);
        let bytes = input::take(input, n);
        if self.role == Role::Server {
            mask::apply(self.key, usize::from(self.key_at), bytes);
            self.key_at = (usize::from(self.key_at) + n) as u8 % 4;
        }
        self.frame_left -= n as u64;
        if self.message == Message::Text {
            self.utf8.check(bytes).map_err(|Invalid| Failure::Utf8)?;
        }
        Ok(Event::Data(bytes))
    }

    fn frame_ends(&mut self) -> Result<Option<Event<'static>>, Failure> {
        self.in_frame = false;
        if !self.fin {
            return Ok(None);
        }
        let text = self.is_text();
        self.ended = std::mem::replace(&mut self.message, Message::None);
        self.message_len = 0;
        self.utf8.end().map_err(|Invalid| Failure::Utf8)?;
        Ok(Some(Event::MessageEnd { text }))
    }

    fn control<'a>(
        &mut self,
        header: &Header,
        input: &mut &'a mut [u8],
    ) -> Result<Option<Event<'a>>, Failure> {
        let len = header.len as usize; // at most CONTROL_MAX, as the header was checked
        if input.len() < header.size + len {
            return Ok(None);
        }
        input::take(input, header.size);
        let payload = input::take(input, len);
        if let Some(key) = header.key {
            mask::apply(key, 0, payload);
        }
        Ok(Some(match header.opcode {
            Opcode::Ping => Event::Ping(payload),
            Opcode::Pong => Event::Pong(payload),
            _ => {
                self.closed = true;
                let (code, reason) = close::parse(payload)?;
                Event::Close { code, reason }
            }
        }))
    }
}

impl Header {
    /// Returns `None` if it is incomplete. Rules are checked in the order of the bytes they need.
    #[inline(always)]
    fn parse(input: &[u8], role: Role) -> Result<Option<Header>, Failure> {
        let [first, second, rest @ ..] = input else { return Ok(None) };
        let opcode = Opcode::from_bits(first & 0x0F).ok_or(Failure::Frame("reserved opcode"))?;
        let fin = first & 0x80 != 0;
        match (role, second & 0x80 != 0) {
            (Role::Client, true) => return Err(Failure::Frame("masked frame from a server")),
            (Role::Server, false) => return Err(Failure::Frame("unmasked frame from a client")),
            _ => {}
        }
        let short = second & 0x7F;
        if opcode.is_control() && (!fin || usize::from(short) > CONTROL_MAX) {
            return Err(Failure::Frame("control frame that is fragmented or too long"));
        }
        let (len, rest, extended) = match short {
            126 => {
                let Some((len, rest)) = rest.split_first_chunk() else { return Ok(None) };
                (u64::from(u16::from_be_bytes(*len)), rest, 2)
            }
            127 => {
                let Some((len, rest)) = rest.split_first_chunk() else { return Ok(None) };
                (u64::from_be_bytes(*len), rest, 8)
            }
            _ => (u64::from(short), rest, 0),
        };
        match extended {
            2 if len < 126 => return Err(Failure::Frame("length not in its shortest form")),
            8 if len < 0x1_0000 => return Err(Failure::Frame("length not in its shortest form")),
            8 if len >> 63 != 0 => return Err(Failure::Frame("length of 64 bits")),
            _ => {}
        }
        let key = match role {
            Role::Client => None,
            Role::Server => {
                let Some(key) = rest.first_chunk() else { return Ok(None) };
                Some(*key)
            }
        };
        let size = 2 + extended + if key.is_some() { 4 } else { 0 };
        Ok(Some(Header { opcode, fin, len, key, size }))
    }
}
