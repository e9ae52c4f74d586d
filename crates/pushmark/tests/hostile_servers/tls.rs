//! Targets that do not speak TLS where TLS is expected.

use std::time::Duration;

use crate::kind::{Kind, kind};
use crate::wire::Wire;

const TLS: &[&str] = &["sse", "websocket", "long-poll", "bayeux"];

fn over_tls(name: &'static str, serve: impl Fn(&mut Wire) -> Option<()> + Send + Sync + 'static) -> Kind {
    kind(name, TLS, serve).secure()
}

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        over_tls("HTTP where TLS is expected", |wire| {
            wire.send("HTTP/1.1 400 Bad Request\r\n\r\nThis is no TLS\x1b[2J")?;
            wire.silence()
        }),
        over_tls("garbage where TLS is expected", |wire| wire.flood(b"\xb7\x31\x9e\x04\xff\x00\x81")),
        over_tls("a TLS alert", |wire| {
            wire.send(b"\x15\x03\x03\x00\x02\x02\x28")?;
            wire.silence()
        }),
        over_tls("TLS warnings without end", |wire| wire.flood(b"\x15\x03\x03\x00\x02\x01\x5a")),
        over_tls("a TLS record of 64 KiB", |wire| {
            wire.send(b"\x16\x03\x03\xff\xff")?;
            wire.flood("x")
        }),
        over_tls("a handshake message of 16 MiB", |wire| {
            // The first record of a ServerHello with a length of 2^24 - 1 bytes, and its pieces.
            let record = [&b"\x16\x03\x03\x40\x00"[..], &[0x5a; 0x4000]].concat();
            wire.send([&b"\x16\x03\x03\x00\x04\x02\xff\xff\xff"[..], &record].concat())?;
            wire.flood(record)
        }),
        over_tls("empty TLS records without end", |wire| wire.flood(b"\x16\x03\x03\x00\x00")),
        over_tls("changes of cipher without end", |wire| wire.flood(b"\x14\x03\x03\x00\x01\x01")),
        over_tls("a handshake without a word", |wire| wire.silence()),
        over_tls("a handshake, a byte at a time", |wire| {
            wire.drip(b"\x16\x03\x03\x00\x7a\x02\x00\x00\x76\x03\x03", Duration::from_millis(20))
        }),
        over_tls("a reset within the handshake", |wire| {
            wire.more()?;
            wire.reset()
        }),
        over_tls("an end within the handshake", |wire| wire.more()),
    ]
}
