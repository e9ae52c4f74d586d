//! The opening handshake (RFC 6455 4) for each role.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::deflate::{Agreed, Offer};
use crate::Failure;
use crate::http1::{RequestHead, ResponseHead, write};

/// A `Sec-WebSocket-Key`: sixteen bytes in base64.
pub type Key = [u8; 24];

/// RFC 6455 1.3.
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Returns the key for sixteen random bytes.
pub fn key(nonce: [u8; 16]) -> Key {
    let mut key = [0; 24];
    encode(&nonce, &mut key);
    key
}

/// Returns the `Sec-WebSocket-Accept` for a key.
pub fn accept(key: &[u8]) -> [u8; 28] {
    let mut digest = sha1_smol::Sha1::new();
    digest.update(key);
    digest.update(GUID);
    let mut accept = [0; 28];
    encode(&digest.digest().bytes(), &mut accept);
    accept
}

fn encode(bytes: &[u8], out: &mut [u8]) {
    // Both outputs above have exactly the length that base64 gives their inputs.
    STANDARD.encode_slice(bytes, out).expect("the output has the encoded length");
}

/// Client: appends the header fields that request the upgrade.
pub fn write_request_headers(out: &mut Vec<u8>, key: &Key, subprotocol: &str) {
    out.extend_from_slice(b"Connection: Upgrade\r\nUpgrade: websocket\r\n");
    out.extend_from_slice(b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ");
    out.extend_from_slice(key);
    out.extend_from_slice(b"\r\n");
    if !subprotocol.is_empty() {
        write::header(out, "Sec-WebSocket-Protocol", subprotocol);
    }
}

/// Client: checks the 101 (RFC 6455 4.1) to a request without extensions. If subprotocols were offered, the
/// server must select one, as browsers require.
pub fn check_response(head: &ResponseHead<'_>, key: &Key, offered: &str) -> Result<(), Failure> {
    if head.headers.list("sec-websocket-extensions").next().is_some() {
        return Err(Failure::Handshake("an extension that was not offered"));
    }
    check_upgrade(head, key, offered)
}

/// Client: as [`check_response`], with the offer of compression. Returns what the server agreed to.
pub fn check_compressed(
    head: &ResponseHead<'_>,
    key: &Key,
    offered: &str,
    offer: &Offer,
) -> Result<Option<Agreed>, Failure> {
    check_upgrade(head, key, offered)?;
    offer.agreed(head.headers)
}

fn check_upgrade(head: &ResponseHead<'_>, key: &Key, offered: &str) -> Result<(), Failure> {
    let headers = head.headers;
    if head.status != 101 {
        return Err(Failure::Handshake("no switch to WebSocket"));
    }
    if !headers.find("upgrade").is_some_and(|v| v.eq_ignore_ascii_case(b"websocket")) {
        return Err(Failure::Handshake("Upgrade is not websocket"));
    }
    if !headers.has_token("connection", "upgrade") {
        return Err(Failure::Handshake("Connection is not Upgrade"));
    }
    if headers.find("sec-websocket-accept") != Some(&accept(key)) {
        return Err(Failure::Handshake("Sec-WebSocket-Accept does not match the key"));
    }
    let mut wanted = offered.split(',').map(str::trim).filter(|name| !name.is_empty()).peekable();
    match headers.text("sec-websocket-protocol") {
        None if wanted.peek().is_none() => Ok(()),
        None => Err(Failure::Handshake("no subprotocol was selected")),
        Some(picked) if wanted.any(|name| name == picked) => Ok(()),
        Some(_) => Err(Failure::Handshake("a subprotocol that was not offered")),
    }
}

/// Server: an acceptable request for a WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upgrade<'a> {
    key: &'a [u8],
    /// The offered subprotocols, comma-separated, or empty.
    pub subprotocols: &'a str,
}

impl<'a> Upgrade<'a> {
    /// Returns `None` for an ordinary request. An error must be answered with 400 (426 for the version).
    pub fn parse(head: &RequestHead<'a>) -> Result<Option<Upgrade<'a>>, Failure> {
        let headers = head.headers;
        if !headers.has_token("upgrade", "websocket") {
            return Ok(None);
        }
        if head.method != "GET" || head.minor == 0 {
            return Err(Failure::Handshake("not a GET of HTTP/1.1"));
        }
        if !headers.has_token("connection", "upgrade") {
            return Err(Failure::Handshake("Connection is not Upgrade"));
        }
        if headers.find("sec-websocket-version") != Some(b"13") {
            return Err(Failure::Handshake("Sec-WebSocket-Version is not 13"));
        }
        let key = headers.find("sec-websocket-key").unwrap_or_default();
        // Sixteen bytes are 24 of base64. The decoder's estimate needs three more bytes of room.
        if STANDARD.decode_slice(key, &mut [0; 18]) != Ok(16) {
            return Err(Failure::Handshake("Sec-WebSocket-Key is not sixteen bytes"));
        }
        let subprotocols = headers.text("sec-websocket-protocol").unwrap_or("");
        Ok(Some(Upgrade { key, subprotocols }))
    }

    /// Appends the 101. `subprotocol`: the selected one, or empty. `headers`: complete lines of the caller.
    pub fn write_response(&self, out: &mut Vec<u8>, subprotocol: &str, headers: &str) {
        write::status_line(out, 101);
        out.extend_from_slice(b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: ");
        out.extend_from_slice(&accept(self.key));
        out.extend_from_slice(b"\r\n");
        if !subprotocol.is_empty() {
            write::header(out, "Sec-WebSocket-Protocol", subprotocol);
        }
        out.extend_from_slice(headers.as_bytes());
        write::head_end(out);
    }
}
