//! Publishes a market's quotes at their instants, over one WebSocket (CONTRACT 6.6).

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use pushmark_net::Clock;
use pushmark_proto::http1::write;
use pushmark_proto::websocket::{Opcode, encode, handshake};

use super::Market;

/// Time for pages to be opened before the first quote.
const LEAD_NS: u64 = 200_000_000;

/// Publishes until the server goes away.
///
/// # Errors
/// Fails if the server is not reachable or is not a WebSocket server.
pub fn publish(market: Market, server: SocketAddr) -> io::Result<()> {
    let mut stream = connect(server)?;
    let opened_ns = (Clock::now() + LEAD_NS) / 1_000 * 1_000;
    let mut out = Vec::new();
    for quote in market {
        let due_ns = opened_ns + quote.due_ns;
        std::thread::sleep(Duration::from_nanos(due_ns.saturating_sub(Clock::now())));
        let text = format!("publish {}\n{}", quote.channel, quote.message(opened_ns));
        out.clear();
        // RFC 6455 5.3: a client masks. A zero key is enough because there is no intermediary.
        encode::frame(&mut out, Opcode::Text, text.as_bytes(), Some([0; 4]));
        if stream.write_all(&out).is_err() {
            // It was stopped.
            return Ok(());
        }
    }
    Ok(())
}

fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut out = Vec::new();
    write::request_line(&mut out, "GET", "/ws");
    write::header(&mut out, "Host", &server.to_string());
    handshake::write_request_headers(&mut out, &handshake::key([0; 16]), "");
    write::head_end(&mut out);
    stream.write_all(&out)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    match head.starts_with(b"HTTP/1.1 101 ") {
        true => Ok(stream),
        false => Err(io::Error::other("the server grants no WebSocket")),
    }
}
