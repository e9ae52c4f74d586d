//! Bodies with wrong lengths, and wrong chunks.

use std::time::Duration;

use crate::kind::{HTTP, Kind, kind};
use crate::wire::Wire;

const PAUSE: Duration = Duration::from_millis(20);

/// Exit codes for bodies that never end and contain no publication: the connection is established, but
/// nothing is delivered.
const HEARD: &[i32] = &[3, 6, 99];

pub(crate) fn kinds() -> Vec<Kind> {
    let mut kinds = vec![
        kind("a body of 2 GiB", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\nContent-Length: 2147483648\r\n\r\n")?;
            wire.flood("x")
        })
        .ends(HEARD),
        kind("a body of 2^64 - 1 bytes", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n")?;
            wire.flood("x")
        })
        .ends(HEARD),
        kind("a body that ends with the connection, without end", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\n\r\n")?;
            wire.flood("x")
        })
        .ends(HEARD),
        kind("a body that is compressed, unasked", HTTP, |wire| {
            wire.answer(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n\x1f\x08zzzzzzz",
            )?;
            wire.silence()
        })
        .says("compressed"),
        kind("a gzip of zeros without end", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")?;
            wire.flood([0; 512])
        })
        .says("compressed"),
        kind("a body, a byte at a time", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")?;
            wire.drip("x", PAUSE)
        })
        .ends(HEARD),
        kind("a body that stops at the half", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf of it")?;
            wire.half_close()
        })
        .ends(HEARD),
        kind("bodies of 16 MiB as fast as they are asked for", &["poll", "long-poll"], |wire| {
            loop {
                wire.answer("HTTP/1.1 200 OK\r\nContent-Length: 16777216\r\n\r\n")?;
                for _ in 0..1024 {
                    wire.send([b'x'; 16 << 10])?;
                }
            }
        })
        .ends(HEARD),
        kind("chunks of 1 byte", HTTP, |wire| {
            wire.answer(CHUNKED)?;
            wire.flood("1\r\nx\r\n")
        })
        .ends(HEARD),
        kind("chunks, a byte at a time", HTTP, |wire| {
            wire.answer(CHUNKED)?;
            wire.drip("1\r\nx\r\n", PAUSE)
        })
        .ends(HEARD),
        kind("a chunk of 2^64 - 1 bytes", HTTP, |wire| {
            wire.answer(CHUNKED)?;
            wire.send("FFFFFFFFFFFFFFFF\r\n")?;
            wire.flood("x")
        })
        .ends(HEARD),
        kind("a chunk extension without end", HTTP, |wire| {
            wire.answer(CHUNKED)?;
            wire.send("1;a=\"")?;
            wire.flood("b")
        })
        .ends(HEARD),
        kind("a chunk size of zeros without end", HTTP, |wire| {
            wire.answer(CHUNKED)?;
            wire.flood("0")
        })
        .ends(HEARD),
        kind("trailers without end", HTTP, |wire| {
            wire.answer(CHUNKED)?;
            wire.send("0\r\n")?;
            wire.flood("X-Trailer: and more\r\n")
        })
        .ends(HEARD),
    ];
    let lengths: [(&str, &str); 6] = [
        ("a length of 2^64", "Content-Length: 18446744073709551616"),
        ("a length below 0", "Content-Length: -1"),
        ("two lengths that differ", "Content-Length: 1\r\nContent-Length: 2"),
        ("a length that is a list", "Content-Length: 1, 2"),
        ("a length in hexadecimal", "Content-Length: 0x10"),
        ("a coding that is none", "Transfer-Encoding: xchunked, identity"),
    ];
    kinds.extend(lengths.map(|(name, field)| {
        kind(name, HTTP, move |wire| {
            wire.answer(format!("HTTP/1.1 200 OK\r\n{field}\r\n\r\nx"))?;
            wire.silence()
        })
        .ends(HEARD)
    }));
    let chunks: [(&str, &str); 6] = [
        ("a chunk size beyond 2^64", "10000000000000000\r\n"),
        ("a chunk size below 0", "-1\r\n"),
        ("a chunk size that is none", "zz\r\n"),
        ("a chunk without its end", "1\r\nxy"),
        ("a chunk size with a command for a terminal", "\x1b[31m\r\n"),
        ("a chunk size that is empty", "\r\n\r\n"),
    ];
    kinds.extend(chunks.map(|(name, bytes)| kind(name, HTTP, move |wire| broken(wire, bytes)).ends(HEARD)));
    kinds
}

const CHUNKED: &str = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

fn broken(wire: &mut Wire, chunk: &str) -> Option<()> {
    wire.answer(CHUNKED)?;
    wire.send(chunk)?;
    wire.silence()
}
