//! Stamps that are invented, of other runs, repeated, or impossible.

use pushmark_model::stamp::{STAMP_LEN, Stamp, write_payload};

use serde_json::Value;

use crate::kind::{CLIENTS, EVENT_STREAM, Kind, PUBLISHED, holds, kind};
use crate::wire::Wire;
use crate::{fate, websocket};

const PUSH: &[&str] = &["sse", "websocket", "stream"];
const HEARD: &[i32] = &[3, 6, 99];
/// All intended deliveries.
const ALL: f64 = PUBLISHED * CLIENTS as f64;

/// Returns a target that sends the first publication's stamp with a change, as fast as the client takes
/// it.
fn forged(name: &'static str, change: fn(u64, &mut Stamp)) -> Kind {
    kind(name, PUSH, move |wire| forge(wire, change)).ends(HEARD)
}

pub(crate) fn kinds() -> Vec<Kind> {
    vec![
        forged("each message without end", |_, _| {}).judged(|arm| {
            let (came, clients) = (came(arm), CLIENTS as f64);
            holds(came <= clients, || format!("{came} came, at most one for each client"))
        }),
        forged("stamps of other runs without end", |n, stamp| stamp.nonce ^= n as u32 % 1000 + 1)
            .judged(nothing_came),
        forged("stamps of channels nobody has", |n, stamp| stamp.channel = 1 + n as u32 % 1_000_000)
            .judged(nothing_came),
        forged("sequences of the future", |n, stamp| stamp.sequence = 1_000_000 + n).judged(nothing_came),
        forged("sequences of 2^32 and more", |n, stamp| stamp.sequence = (1 << 32) + n % 10)
            .judged(nothing_came),
        forged("the highest sequences there are", |n, stamp| stamp.sequence = 36_u64.pow(7) - 1 - n % 1000)
            .judged(nothing_came),
        forged("sequences in order, before they are due", |n, stamp| stamp.sequence = n),
        forged("sequences far from one another", |n, stamp| stamp.sequence = n.wrapping_mul(40_503) % 65_000),
        forged("instants of the beginning", |_, stamp| (stamp.due_us, stamp.sent_us) = (0, 0))
            .judged(nothing_came),
        forged("instants of the end", |_, stamp| {
            (stamp.due_us, stamp.sent_us) = (36_u64.pow(10) - 1, 36_u64.pow(10) - 1);
        })
        .judged(nothing_came),
        forged("instants that differ by all there is", |n, stamp| {
            (stamp.due_us, stamp.sent_us) =
                if n % 2 == 0 { (stamp.due_us, 36_u64.pow(10) - 1) } else { (stamp.due_us, 0) };
        }),
        kind("every message twice", PUSH, |wire| say(wire, |message| vec![message.to_vec(); 2]))
            .patient()
            .ends(&[0, 6, 99])
            .judged(|arm| {
                let (came, again) = (came(arm), fate(arm, "duplicate"));
                holds(came == ALL && again == ALL, || format!("{came} came, {again} of them twice"))
            }),
        kind("1,000 stamps in a message", &["sse", "websocket"], |wire| {
            say(wire, |message| vec![message.repeat(1000)])
        })
        .patient()
        .ends(&[0, 6, 99])
        .judged(|arm| {
            let (came, again) = (came(arm), fate(arm, "duplicate"));
            holds(came == ALL && again == 0.0, || format!("{came} came, {again} of them again"))
        }),
        kind("stamps that are cut short", PUSH, |wire| {
            say(wire, |message| vec![message[..message.len() - 1].to_vec()])
        })
        .says("the target changes what is published")
        .ends(&[3]),
        kind("stamps' begins without end", PUSH, |wire| say(wire, |_| vec![b"pm1:".repeat(1 << 16)]))
            .ends(HEARD),
        kind("half the clients hear the future", &["sse", "websocket"], |wire| {
            forge(wire, |n, stamp| stamp.sequence = 1_000_000 + n)
        })
        .half(),
    ]
}

/// Returns the deliveries that were counted as received.
fn came(arm: &Value) -> f64 {
    fate(arm, "delivered") + fate(arm, "late")
}

fn nothing_came(arm: &Value) -> Result<(), String> {
    holds(came(arm) == 0.0, || format!("{} deliveries were counted, and none was made", came(arm)))
}

/// Sends the first publication's stamp with a change, as fast as the client takes it.
fn forge(wire: &mut Wire, change: fn(u64, &mut Stamp)) -> Option<()> {
    let ws = greet(wire)?;
    let message = wire.published(1)?.swap_remove(0);
    let stamp: &[u8; STAMP_LEN] = message.last_chunk()?;
    let stamp = Stamp::parse(stamp).expect("it is ours");
    for round in 0_u64.. {
        let mut many = Vec::new();
        for n in round * 500..(round + 1) * 500 {
            let mut forged = stamp;
            change(n, &mut forged);
            let mut payload = vec![0; message.len()];
            write_payload(&forged, &mut payload);
            many.extend(frame(&ws, &payload));
        }
        wire.send(many)?;
        wire.breathe();
    }
    None
}

/// Sends these messages for each publication.
fn say(wire: &mut Wire, messages: impl Fn(&[u8]) -> Vec<Vec<u8>>) -> Option<()> {
    let ws = greet(wire)?;
    wire.relay(|message| messages(message).iter().flat_map(|message| frame(&ws, message)).collect())
}

#[derive(Clone, Copy)]
enum Over {
    EventStream,
    WebSocket,
}

fn greet(wire: &mut Wire) -> Option<Over> {
    let asked = wire.request()?;
    if String::from_utf8_lossy(&asked.head).to_lowercase().contains("upgrade: websocket") {
        wire.send(Wire::grant(&asked))?;
        return Some(Over::WebSocket);
    }
    wire.send(EVENT_STREAM)?;
    Some(Over::EventStream)
}

fn frame(over: &Over, message: &[u8]) -> Vec<u8> {
    match over {
        Over::EventStream => [b"data: ", message, b"\n\n"].concat(),
        Over::WebSocket => websocket::text(message),
    }
}
