//! Targets that serve subscriptions correctly, and publications wrongly.

use std::time::Duration;

use crate::kind::{Kind, kind, serve_honestly};
use crate::wire::Wire;

const HONEST: &[&str] = &["sse", "websocket"];
const HEARD: &[i32] = &[3, 6, 99];
const DELIVERED: &[i32] = &[0, 3, 6, 99];

/// Serves subscriptions correctly, and each connection of the publisher with `publish`.
fn publishing(name: &'static str, publish: impl Fn(&mut Wire) -> Option<()> + Send + Sync + 'static) -> Kind {
    kind(name, HONEST, serve_honestly).publish(publish).ends(HEARD)
}

/// Like [`publishing`], with publications over WebSockets that stay open.
fn feeding(name: &'static str, feed: impl Fn(&mut Wire) -> Option<()> + Send + Sync + 'static) -> Kind {
    publishing(name, feed).feeds()
}

/// Takes and publishes each message, and answers like this: its deliveries count all the same.
fn answered(name: &'static str, answer: &'static str) -> Kind {
    publishing(name, move |wire| {
        loop {
            let asked = wire.request()?;
            wire.hub.publish(&asked.body);
            wire.send(answer)?;
        }
    })
    .ends(DELIVERED)
}

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        publishing("publications are never answered", |wire| wire.silence()),
        publishing("publications are never read", |wire| wire.stand_still()),
        publishing("publications meet an end", |_| None),
        publishing("publications meet a reset", |wire| {
            wire.request()?;
            wire.reset()
        }),
        publishing("publications are asked to go on without end", |wire| {
            wire.request()?;
            wire.flood("HTTP/1.1 100 Continue\r\n\r\n")
        }),
        publishing("publications are answered without end", |wire| {
            wire.answer("HTTP/1.1 200 OK\r\n\r\n")?;
            wire.flood("accepted ")
        }),
        publishing("publications are answered with a head without end", |wire| {
            wire.answer("HTTP/1.1 200 OK\r\n")?;
            wire.flood("X-More: and more\r\n")
        }),
        publishing("publications are answered a byte at a time", |wire| {
            wire.request()?;
            wire.drip("HTTP/1.1 200 OK\r\nX: y\r\n", Duration::from_millis(20))
        }),
        publishing("publications are answered before they are made", |wire| {
            wire.flood("HTTP/1.1 204 No Content\r\n\r\n")
        }),
        publishing("publications are refused without end", |wire| {
            wire.answer("HTTP/1.1 500 \x1b[31mNo\r\n\r\n")?;
            wire.flood("\x1b[2J\x07no ")
        }),
        answered("publications are answered with garbage", "\x1b[31m\x00garbage\r\n\r\n"),
        answered(
            "publications are redirected in a circle",
            "HTTP/1.1 307 Again\r\nLocation: /publish\r\nContent-Length: 0\r\n\r\n",
        ),
        answered(
            "publications are answered with a length of 2^64",
            "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551616\r\n\r\n",
        ),
        answered(
            "publications are answered with two lengths",
            "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        ),
        answered(
            "publications are answered with a switch of protocols",
            "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        ),
        answered(
            "publications are answered in a wrong coding",
            "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\n\x1f\x08z",
        ),
        feeding("a feed that is upgraded without end", |wire| {
            wire.answer("HTTP/1.1 101 Switching Protocols\r\n")?;
            wire.flood("X-More: and more\r\n")
        }),
        feeding("a feed that is never upgraded", |wire| wire.silence()),
        feeding("a feed that is pinged without end, and pongs are not read", |wire| {
            wire.upgrade()?;
            wire.flood(b"\x89\x00")
        }),
        feeding("a feed that is not read", |wire| {
            wire.upgrade()?;
            wire.stand_still()
        })
        .publisher("rate = \"2000/s\"\nsize = \"64KiB\""),
        feeding("a feed that is told without end", |wire| {
            wire.upgrade()?;
            wire.flood(b"\x81\x02ok")
        }),
        feeding("a feed that gets frames of 2^64 - 1 bytes", |wire| {
            wire.upgrade()?;
            wire.send(b"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff")?;
            wire.silence()
        }),
        feeding("a feed that is reset again and again", |wire| {
            wire.upgrade()?;
            wire.reset()
        }),
        publishing("the way to publish closes, and thousands wait", |wire| {
            // One connection with a pending answer: all publications that become due meanwhile wait.
            wire.request()?;
            crate::tool::pass(Duration::from_millis(2500));
            wire.close_port();
            wire.reset()
        })
        .load("duration = \"3s\"")
        // Sixty thousand publications are tracked at the same time.
        .peak_max_mib(96)
        .publisher("connections = 1\nrate = \"20000/s\"\ntimeout = \"10s\""),
    ]
}
