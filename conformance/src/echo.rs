//! WebSocket echoes on our framing, one for each role. The Autobahn cases talk to them.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};

use pushmark_proto::Failure;
use pushmark_proto::http1::{HEAD_MAX, RequestHead, ResponseHead};
use pushmark_proto::websocket::handshake::{self, Upgrade};
use pushmark_proto::websocket::{Decoder, Event, Opcode, Role, encode};

use crate::PATIENCE;

/// The longest message of the cases is 16 MiB. It must not fail because of its size.
const MESSAGE_MAX: u64 = 64 << 20;

/// Serves echoes until the process ends, with one thread for each connection.
///
/// # Panics
/// If no port is free.
pub fn serve() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("the port is bound");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Cases that break the protocol end in errors. The cases judge these errors, so they are ignored
            // here.
            std::thread::spawn(move || accept(stream));
        }
    });
    address
}

fn accept(mut stream: TcpStream) -> io::Result<()> {
    prepare(&stream)?;
    let mut input = Vec::new();
    let taken = loop {
        read_more(&mut stream, &mut input)?;
        if let Some((head, len)) = RequestHead::parse(&input).map_err(broken)? {
            let upgrade = Upgrade::parse(&head).map_err(broken)?;
            let upgrade = upgrade.ok_or_else(|| io::Error::other("not a WebSocket"))?;
            let mut out = Vec::new();
            upgrade.write_response(&mut out, "", "");
            stream.write_all(&out)?;
            break len;
        }
    };
    input.drain(..taken);
    echo(stream, input, Role::Server, |_| {})
}

/// Connects to `target` and echoes received messages until the connection ends. Calls `heard` with each
/// message.
///
/// # Errors
/// A connection error, or an invalid handshake.
pub fn connect(address: SocketAddr, target: &str, heard: impl FnMut(&[u8])) -> io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    prepare(&stream)?;
    let key = handshake::key(*b"sixteen bytes ok");
    let mut out = format!("GET {target} HTTP/1.1\r\nHost: {address}\r\n").into_bytes();
    handshake::write_request_headers(&mut out, &key, "");
    out.extend_from_slice(b"\r\n");
    stream.write_all(&out)?;
    let mut input = Vec::new();
    let taken = loop {
        read_more(&mut stream, &mut input)?;
        if let Some((head, len)) = ResponseHead::parse(&input, HEAD_MAX).map_err(broken)? {
            handshake::check_response(&head, &key, "").map_err(broken)?;
            break len;
        }
    };
    input.drain(..taken);
    echo(stream, input, Role::Client, heard)
}

/// Echoes messages, answers pings and Close, and fails the connection as RFC 6455 7.1.7 requires.
fn echo(
    mut stream: TcpStream,
    mut input: Vec<u8>,
    role: Role,
    mut heard: impl FnMut(&[u8]),
) -> io::Result<()> {
    let key = (role == Role::Client).then_some([0x12, 0x34, 0x56, 0x78]);
    let mut decoder = Decoder::new(role, MESSAGE_MAX);
    let mut message = Vec::new();
    loop {
        let mut out = Vec::new();
        let mut rest = &mut input[..];
        let over = loop {
            match decoder.next(&mut rest) {
                Ok(Some(Event::Data(data))) => message.extend_from_slice(data),
                Ok(Some(Event::MessageEnd { text })) => {
                    heard(&message);
                    let opcode = if text { Opcode::Text } else { Opcode::Binary };
                    encode::frame(&mut out, opcode, &message, key);
                    message.clear();
                }
                Ok(Some(Event::Ping(payload))) => encode::frame(&mut out, Opcode::Pong, payload, key),
                Ok(Some(Event::Pong(_))) => {}
                Ok(Some(Event::Close { code, .. })) => {
                    match code {
                        Some(code) => encode::close(&mut out, code, "", key),
                        None => encode::frame(&mut out, Opcode::Close, &[], key),
                    }
                    break true;
                }
                Ok(None) => break false,
                Err(failure) => {
                    encode::close(&mut out, failure.close_code().unwrap_or(1002), "", key);
                    break true;
                }
            }
        };
        let left = rest.len();
        input.drain(..input.len() - left);
        stream.write_all(&out)?;
        if over {
            return end(stream, role);
        }
        read_more(&mut stream, &mut input)?;
    }
}

/// RFC 6455 7.1.1: the server closes first. Unread bytes are read first, because closing with unread bytes
/// resets the connection and loses the Close.
fn end(mut stream: TcpStream, role: Role) -> io::Result<()> {
    if role == Role::Server {
        stream.shutdown(Shutdown::Write)?;
    }
    let mut buffer = [0; 16 * 1024];
    while stream.read(&mut buffer)? > 0 {}
    Ok(())
}

fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))
}

fn read_more(stream: &mut TcpStream, input: &mut Vec<u8>) -> io::Result<()> {
    let mut buffer = [0; 64 * 1024];
    match stream.read(&mut buffer)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        n => {
            input.extend_from_slice(&buffer[..n]);
            Ok(())
        }
    }
}

fn broken(failure: Failure) -> io::Error {
    io::Error::other(failure)
}
