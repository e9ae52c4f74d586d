//! Bodies: sized, chunked (RFC 9112 7.1), until close, or none.
//!
//! Only CRLF is accepted as a line end, because different readings of a body enable request smuggling.

use super::BodyLength;
use crate::{Failure, input};

/// The longest chunk-size line with its extensions, and the longest trailer line, both with CRLF.
pub const LINE_MAX: usize = 1024;

/// The most bytes of all trailers together.
pub const TRAILERS_MAX: usize = 8 * 1024;

/// The parts of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyEvent<'a> {
    /// Content, as far as it has arrived. Never empty.
    Data(&'a [u8]),
    /// A chunk has ended. This is unrelated to messages.
    ChunkEnd,
    /// The body has ended; what follows belongs to the next message.
    End,
}

/// The element at the front of the input, after framing has been removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Window {
    /// A number of content bytes, at least one. The caller takes them and calls [`BodyDecoder::consume`].
    Data(usize),
    ChunkEnd,
    End,
    /// More bytes are needed.
    More,
}

/// Removes the framing of one body.
#[derive(Clone, Debug)]
pub struct BodyDecoder {
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Sized { left: u64 },
    ChunkSize,
    Chunk { left: u64 },
    ChunkCrlf,
    Trailers { taken: u16 },
    UntilClose,
    Done,
}

impl BodyDecoder {
    /// A decoder for the body that a head announced.
    pub fn new(length: BodyLength) -> BodyDecoder {
        let state = match length {
            BodyLength::None => State::Sized { left: 0 },
            BodyLength::Sized(left) => State::Sized { left },
            BodyLength::Chunked => State::ChunkSize,
            BodyLength::UntilClose => State::UntilClose,
        };
        BodyDecoder { state }
    }

    /// Returns whether all content of a chunk has been taken and only its line end is missing. Some servers
    /// send the line end with the next chunk.
    pub fn awaits_line_end(&self) -> bool {
        matches!(self.state, State::ChunkCrlf)
    }

    /// Takes the next event. `None`: more bytes are needed, or the end was already reported. At most
    /// [`LINE_MAX`] bytes are left in `input` while the body continues.
    pub fn next<'a>(&mut self, input: &mut &'a mut [u8]) -> Result<Option<BodyEvent<'a>>, Failure> {
        Ok(match self.window(input)? {
            Window::Data(n) => {
                self.consume(n);
                Some(BodyEvent::Data(input::take(input, n)))
            }
            Window::ChunkEnd => Some(BodyEvent::ChunkEnd),
            Window::End => Some(BodyEvent::End),
            Window::More => None,
        })
    }

    /// Handles the peer's end. It ends a body that runs until close; any other body is incomplete.
    pub fn handle_eof(&mut self) -> Result<Option<BodyEvent<'static>>, Failure> {
        match self.state {
            State::Done => Ok(None),
            State::UntilClose => {
                self.state = State::Done;
                Ok(Some(BodyEvent::End))
            }
            _ => Err(Failure::ClosedEarly),
        }
    }

    /// Removes framing from the front of `input` and returns the next element. Content stays, so that an
    /// inner decoder can take a part of it.
    pub(crate) fn window(&mut self, input: &mut &mut [u8]) -> Result<Window, Failure> {
        loop {
            match self.state {
                State::Sized { left: 0 } => {
                    self.state = State::Done;
                    return Ok(Window::End);
                }
                State::Sized { left } | State::Chunk { left } if left > 0 => {
                    return Ok(content(input.len(), left));
                }
                State::UntilClose => return Ok(content(input.len(), u64::MAX)),
                State::ChunkSize => {
                    let Some(line) = line(input)? else { return Ok(Window::More) };
                    let size = chunk_size(&input[..line])?;
                    input::take(input, line + 2);
                    self.state = match size {
                        0 => State::Trailers { taken: 0 },
                        left => State::Chunk { left },
                    };
                }
                State::Chunk { .. } => self.state = State::ChunkCrlf,
                State::ChunkCrlf => match &**input {
                    [b'\r', b'\n', ..] => {
                        input::take(input, 2);
                        self.state = State::ChunkSize;
                        return Ok(Window::ChunkEnd);
                    }
                    [] | [b'\r'] => return Ok(Window::More),
                    _ => return Err(Failure::Body("chunk longer than its size")),
                },
                State::Trailers { taken } => {
                    let Some(line) = line(input)? else { return Ok(Window::More) };
                    input::take(input, line + 2);
                    if line == 0 {
                        self.state = State::Done;
                        return Ok(Window::End);
                    }
                    // Below TRAILERS_MAX + LINE_MAX, so 16 bits hold it.
                    let taken = taken + (line + 2) as u16;
                    if usize::from(taken) > TRAILERS_MAX {
                        return Err(Failure::Body("trailers too long"));
                    }
                    self.state = State::Trailers { taken };
                }
                State::Sized { .. } | State::Done => return Ok(Window::More),
            }
        }
    }

    /// Records that the caller took `n` bytes of content off the input.
    pub(crate) fn consume(&mut self, n: usize) {
        if let State::Sized { left } | State::Chunk { left } = &mut self.state {
            *left -= n as u64;
        }
    }
}

fn content(available: usize, left: u64) -> Window {
    match left.min(available as u64) {
        0 => Window::More,
        // Not above `available`, so it fits.
        n => Window::Data(n as usize),
    }
}

/// Returns the length of the line at the front, without its CRLF, or `None` if it is incomplete.
fn line(input: &[u8]) -> Result<Option<usize>, Failure> {
    let window = &input[..input.len().min(LINE_MAX)];
    match memchr::memchr2(b'\r', b'\n', window) {
        Some(at) if window[at] == b'\n' => Err(Failure::Body("bare LF")),
        Some(at) if at + 1 < window.len() => match window[at + 1] {
            b'\n' => Ok(Some(at)),
            _ => Err(Failure::Body("bare CR")),
        },
        _ if window.len() == LINE_MAX => Err(Failure::Body("line too long")),
        _ => Ok(None),
    }
}

/// RFC 9112 7.1: hex digits, then optional white space and extensions, which are ignored.
fn chunk_size(line: &[u8]) -> Result<u64, Failure> {
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    if !(1..=16).contains(&digits) {
        return Err(Failure::Body("chunk size"));
    }
    let (size, extension) = line.split_at(digits);
    if !matches!(extension.trim_ascii_start().first(), None | Some(b';')) {
        return Err(Failure::Body("chunk size"));
    }
    if extension.iter().any(|&b| b.is_ascii_control() && b != b'\t') {
        return Err(Failure::Body("chunk extension"));
    }
    Ok(size.iter().fold(0, |value, &b| value << 4 | u64::from((b as char).to_digit(16).unwrap_or(0))))
}
