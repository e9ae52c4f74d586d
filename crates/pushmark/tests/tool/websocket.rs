//! The server side of a WebSocket in a test, on a connection of a [`super::http::Target`].

use std::io::{self, Read, Write};

use pushmark_proto::websocket::handshake::accept;
use pushmark_proto::websocket::{Opcode, encode};

use super::http::{Answer, Request};

/// Answers an upgrade.
pub fn upgrade(request: &Request, answer: &mut Answer<'_>) -> io::Result<()> {
    let accepted = accept(request.header("sec-websocket-key").as_bytes());
    let accepted = String::from_utf8_lossy(&accepted);
    write!(
        answer.stream,
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accepted}\r\n\r\n"
    )
}

/// Sends a text.
pub fn text(answer: &mut Answer<'_>, text: &[u8]) -> io::Result<()> {
    let mut out = Vec::new();
    encode::frame(&mut out, Opcode::Text, text, None);
    answer.stream.write_all(&out)
}

/// Sends a close frame with a reason, and ends the connection.
pub fn close(answer: &mut Answer<'_>, code: u16, reason: &str) -> io::Result<()> {
    let mut out = Vec::new();
    encode::close(&mut out, code, reason, None);
    answer.stream.write_all(&out)?;
    answer.stream.shutdown(std::net::Shutdown::Write)?;
    // Reads what the client still sends, so that no reset overtakes the reason.
    let _ = io::copy(answer.stream, &mut io::sink());
    Err(io::ErrorKind::ConnectionAborted.into())
}

/// Reads the next frame of a client, without its mask; an error if the connection ends.
pub fn next(answer: &mut Answer<'_>) -> io::Result<Vec<u8>> {
    let mut head = [0; 2];
    answer.stream.read_exact(&mut head)?;
    let length = match head[1] & 0x7f {
        126 => {
            let mut length = [0; 2];
            answer.stream.read_exact(&mut length)?;
            usize::from(u16::from_be_bytes(length))
        }
        127 => return Err(io::ErrorKind::InvalidData.into()),
        length => usize::from(length),
    };
    let mut key = [0; 4];
    answer.stream.read_exact(&mut key)?;
    let mut payload = vec![0; length];
    answer.stream.read_exact(&mut payload)?;
    payload.iter_mut().zip(key.into_iter().cycle()).for_each(|(byte, key)| *byte ^= key);
    Ok(payload)
}
