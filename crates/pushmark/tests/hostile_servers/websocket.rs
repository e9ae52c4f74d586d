//! Frames that no WebSocket server may send, and too many of the allowed ones.

use std::time::Duration;

use pushmark_proto::websocket::{Opcode, encode};

use crate::kind::{Kind, kind};
use crate::wire::Wire;

const WS: &[&str] = &["websocket"];
const HEARD: &[i32] = &[3, 6, 99];

/// Returns a target that opens a WebSocket and sends these bytes once.
fn once(name: &'static str, bytes: &'static [u8]) -> Kind {
    kind(name, WS, move |wire| {
        wire.upgrade()?;
        wire.send(bytes)?;
        wire.silence()
    })
    .ends(HEARD)
}

/// Returns a target that opens a WebSocket, sends `begin` once and `again` for ever, and reads nothing.
fn endless(name: &'static str, begin: &'static [u8], again: &'static [u8]) -> Kind {
    kind(name, WS, move |wire| {
        wire.upgrade()?;
        wire.send(begin)?;
        wire.flood(again)
    })
    .ends(HEARD)
}

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        once("a frame of 2^63 bytes", b"\x82\x7f\x80\0\0\0\0\0\0\0"),
        once("a frame of 2^64 - 1 bytes", b"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff"),
        once("a frame with its first reserved bit", b"\xc1\x01x"),
        once("a frame with all reserved bits", b"\xf1\x01x"),
        once("a frame with an opcode that is none", b"\x83\x01x"),
        once("a frame with a mask, from a server", b"\x81\x81\x01\x02\x03\x04x"),
        once("a length that is longer than need be", b"\x81\x7e\x00\x01x"),
        once("a ping of 126 bytes", b"\x89\x7e\x00\x7e"),
        once("a ping in fragments", b"\x09\x01x"),
        once("a text that is not UTF-8", b"\x81\x04\xff\xfe\xed\xa0"),
        once("a text that ends within a character", b"\x81\x01\xc3"),
        once("a continuation of nothing", b"\x80\x01x"),
        once("a text within a text", b"\x01\x01x\x81\x01y"),
        once("a close of 1 byte", b"\x88\x01\x03"),
        once("a close with a code that is none", b"\x88\x02\x00\x01"),
        once("a close whose reason is a command for a terminal", b"\x88\x09\x03\xe8\x1b[31m\x07\x1b"),
        once("a close whose reason is not UTF-8", b"\x88\x04\x03\xe8\xff\xfe"),
        endless("a frame of 2^62 bytes", b"\x82\x7f\x40\0\0\0\0\0\0\0", b"x"),
        endless("a text of 2^62 bytes that is a stamp's begin", b"\x81\x7f\x40\0\0\0\0\0\0\0", b"pm1:"),
        endless("fragments without end", b"\x01\x01x", b"\x00\x01x"),
        endless("empty fragments without end", b"\x01\x00", b"\x00\x00"),
        endless("empty texts without end", b"", b"\x81\x00"),
        endless("texts nobody published, as fast as they are taken", b"", b"\x81\x09junk junk"),
        endless("closes without end", b"", b"\x88\x02\x03\xe8"),
        endless("pings, and pongs are not read", b"", b"\x89\x7dxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
        endless("empty pings, and pongs are not read", b"", b"\x89\x00"),
        endless("pings between fragments without end", b"\x01\x01x", b"\x89\x01p\x00\x01x"),
        endless("pongs without end", b"", b"\x8a\x01p"),
        endless("garbage after an upgrade", b"", b"\xb7\x31\x9e\x04\xff\x00\x81"),
        kind("pings, and pongs are read", WS, |wire| {
            wire.upgrade()?;
            loop {
                wire.send(b"\x89\x04ping".repeat(1000))?;
                // Waits until some pongs have arrived.
                wire.more()?;
                wire.forget();
            }
        })
        .ends(HEARD),
        kind("questions without end, and answers are not read", WS, |wire| {
            wire.upgrade()?;
            wire.flood(b"\x81\x01?")
        })
        .subscribe(", answer = [{ on = \"?\", send = \"an answer that is longer than what it answers\" }]")
        // Each question makes sixteen times its bytes of answers. When its clients are held back, a ring
        // holds at most 4 MiB of questions.
        .peak_max_mib(160)
        .ends(HEARD),
        kind("a target that does not read what its clients publish", WS, |wire| {
            wire.upgrade()?;
            wire.stand_still()
        })
        .subscribe(", publish = \"{message}\"")
        .publisher("mode = \"peer\"\nrate = \"2000/s\"\nsize = \"64KiB\"")
        .ends(HEARD),
        kind("a frame's header, a byte at a time", WS, |wire| {
            wire.upgrade()?;
            wire.drip(b"\x82\x7f\0\0\0\0\0\0\0\x01x", Duration::from_millis(5))
        })
        .ends(HEARD),
        kind("an upgrade without end", WS, |wire| {
            wire.answer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n")?;
            wire.flood("X-More: and more\r\n")
        }),
        kind("an upgrade with a wrong Sec-WebSocket-Accept", WS, |wire| {
            refused(wire, "Sec-WebSocket-Accept: AAAAAAAAAAAAAAAAAAAAAAAAAAA=\r\n")
        })
        .says("Sec-WebSocket-Accept"),
        kind("an upgrade without Sec-WebSocket-Accept", WS, |wire| refused(wire, ""))
            .says("Sec-WebSocket-Accept"),
        kind("an upgrade with an extension unasked", WS, |wire| {
            let granted = granted(wire)?;
            wire.send(granted.replace("\r\n\r\n", "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"))?;
            wire.silence()
        })
        .ends(HEARD),
        kind("an upgrade with a subprotocol unasked", WS, |wire| {
            let granted = granted(wire)?;
            wire.send(granted.replace("\r\n\r\n", "\r\nSec-WebSocket-Protocol: \x1b[31mred\r\n\r\n"))?;
            wire.silence()
        })
        .ends(HEARD),
        kind("200 in place of an upgrade", WS, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\n\r\n")?;
            wire.flood("<html>")
        })
        .says("200"),
        kind("an upgrade asked for again and again", WS, |wire| {
            wire.answer("HTTP/1.1 426 Upgrade Required\r\nUpgrade: websocket\r\nContent-Length: 0\r\n\r\n")?;
            wire.silence()
        })
        .says("426"),
        kind("a WebSocket that stands still", WS, |wire| {
            wire.upgrade()?;
            wire.stand_still()
        })
        .ends(HEARD),
        endless("half the clients are pinged without end", b"", b"\x89\x00").half(),
        endless("half the clients hear fragments without end", b"\x01\x01x", b"\x00\x01x").half(),
        once("half the clients get a frame of 2^64 - 1 bytes", b"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff")
            .half(),
    ]
}

/// Returns a whole text message.
pub(crate) fn text(message: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    encode::frame(&mut frame, Opcode::Text, message, None);
    frame
}

fn refused(wire: &mut Wire, accept: &str) -> Option<()> {
    wire.answer(format!(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n{accept}\r\n"
    ))?;
    wire.silence()
}

/// Returns the correct answer to an upgrade.
fn granted(wire: &mut Wire) -> Option<String> {
    let asked = wire.request()?;
    Some(String::from_utf8(Wire::grant(&asked)).expect("ASCII"))
}
