//! Heads that never end, are too long, or are not HTTP.

use std::time::Duration;

use crate::kind::{HTTP, Kind, kind};

const PAUSE: Duration = Duration::from_millis(20);

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        kind("a head without end", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\n")?;
            wire.flood("X-More: and more\r\n")
        }),
        kind("a header line without end", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 OK\r\nX-Long: ")?;
            wire.flood("x")
        }),
        kind("a status line without end", HTTP, |wire| {
            wire.answer("HTTP/1.1 200 ")?;
            wire.flood("OK and ")
        }),
        kind("1xx without end", HTTP, |wire| {
            wire.request()?;
            wire.flood("HTTP/1.1 100 Continue\r\n\r\n")
        }),
        kind("1xx of all numbers, then a head without end", HTTP, |wire| {
            wire.request()?;
            for status in (100..200).filter(|&status| status != 101) {
                wire.send(format!("HTTP/1.1 {status} Wait\r\n\r\n"))?;
            }
            wire.send("HTTP/1.1 200 OK\r\n")?;
            wire.flood("A: b\r\n")
        }),
        kind("line ends without end", HTTP, |wire| {
            wire.request()?;
            wire.flood("\r\n")
        }),
        kind("zeros without end", HTTP, |wire| {
            wire.request()?;
            wire.flood([0; 64])
        }),
        kind("a head, a byte at a time", HTTP, |wire| {
            wire.request()?;
            wire.drip("HTTP/1.1 200 OK\r\nX: y\r\n", PAUSE)
        }),
        kind("1xx, a byte at a time", HTTP, |wire| {
            wire.request()?;
            wire.drip("HTTP/1.1 102 Processing\r\n\r\n", PAUSE)
        }),
        kind("10,000 cookies", HTTP, |wire| {
            let cookies: String = (0..10_000).map(|n| format!("Set-Cookie: c{n}={n}\r\n")).collect();
            wire.answer(format!("HTTP/1.1 200 OK\r\n{cookies}\r\n"))?;
            wire.silence()
        })
        .target("cookies = true"),
        kind("30 new cookies in each answer", &["poll", "long-poll"], |wire| {
            for answer in 0_u64.. {
                let cookies: String =
                    (0..30).map(|n| format!("Set-Cookie: c{answer}-{n}=value\r\n")).collect();
                wire.answer(format!("HTTP/1.1 200 OK\r\n{cookies}Content-Length: 0\r\n\r\n"))?;
            }
            None
        })
        .target("cookies = true")
        .ends(&[6, 99]),
        kind("cookies with commands for a terminal", HTTP, |wire| {
            wire.answer(
                "HTTP/1.1 403 \x1b[31mred\x1b[0m\x07\r\nSet-Cookie: \x1b]0;title\x07\r\n\r\n\x1b[2J\u{9b}31m",
            )?;
            wire.silence()
        })
        .target("cookies = true"),
        kind("no HTTP, but HTTP/2", HTTP, |wire| {
            // Empty SETTINGS, then a PING.
            wire.answer(b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x06\0\0\0\0\0\0\0\0\0\0\0\0")?;
            wire.silence()
        }),
        kind("HTTP/2's preface", HTTP, |wire| {
            wire.answer("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")?;
            wire.silence()
        }),
        kind("HTTP/0.9", HTTP, |wire| {
            wire.answer("<html>hello</html>\n")?;
            wire.half_close()
        }),
        kind("HTTP of a version that is none", HTTP, |wire| {
            wire.answer("HTTP/9.9 200 OK\r\n\r\n")?;
            wire.silence()
        }),
        kind("statuses that are none", HTTP, |wire| {
            wire.answer("HTTP/1.1 99999999999999999999 OK\r\n\r\n")?;
            wire.silence()
        }),
        kind("garbage", HTTP, |wire| {
            let garbage: Vec<u8> =
                (0..1 << 20_u32).map(|n: u32| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
            wire.answer(garbage)?;
            wire.silence()
        }),
        kind("colours and bells in place of HTTP", HTTP, |wire| {
            wire.answer("\x1b[31;5m\x07\x1b]8;;http://x\x1b\\ \u{202e}\u{9b}2J\r\n\r\n")?;
            wire.silence()
        }),
        kind("a redirect to itself", HTTP, |wire| {
            loop {
                wire.answer("HTTP/1.1 302 Found\r\nLocation: /hear\r\nContent-Length: 0\r\n\r\n")?;
            }
        })
        .says("redirect"),
        kind("a redirect with commands for a terminal", HTTP, |wire| {
            wire.answer("HTTP/1.1 301 Moved\r\nLocation: \x1b[2Jhttp://x/\r\nContent-Length: 0\r\n\r\n")?;
            wire.silence()
        }),
        kind("a switch of protocols unasked", HTTP, |wire| {
            wire.answer("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n")?;
            wire.flood("\u{1}\u{2}")
        }),
        kind("an answer before it was asked for", HTTP, |wire| {
            wire.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")?;
            wire.silence()
        })
        .ends(&[3, 6, 99]),
        kind("ten thousand answers to each request", &["poll", "long-poll"], |wire| {
            loop {
                wire.answer("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx".repeat(10_000))?;
            }
        })
        .ends(&[3, 6, 99]),
    ]
}
