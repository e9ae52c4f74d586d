//! CONTRACT 1: names of channels, and valid messages.

use serde_json::json;

use super::chance::encoded;
use super::outcome::{Outcome, Step, same, same_bytes};
use super::subscriber::{PUSHED, Subscriber};
use super::trial::Trial;
use super::{Case, With};

/// Longest message (CONTRACT 1.2).
pub(super) const MESSAGE_MAX: usize = 1 << 20;

/// Reads the latest message of a channel over any transport that the server offers.
pub(super) fn latest(t: &mut Trial<'_>, channel: &str) -> Step<Vec<u8>> {
    t.needs("6.1")?;
    Ok(t.get(&format!("/poll?channel={}", encoded(channel)))?.is(200)?.body)
}

/// The pushing transports that the server offers.
pub(super) fn offered(t: &Trial<'_>) -> Vec<&'static str> {
    PUSHED.into_iter().filter(|transport| t.subject.speaks(transport)).collect()
}

/// One message to a subscriber of each transport.
fn relays(t: &mut Trial<'_>, transports: &[&str], message: &[u8]) -> Outcome {
    let channel = t.chance.odd_channel();
    let mut ears = Vec::new();
    for transport in transports {
        ears.push((transport, Subscriber::open(t, transport, std::slice::from_ref(&channel))?.0));
    }
    t.publish(&channel, message)?;
    for (transport, subscriber) in &mut ears {
        subscriber.hears(&format!("what came by {transport}"), message)?;
    }
    Ok(())
}

pub(super) const CASES: &[Case] = &[
    Case {
        id: "1.1/1",
        with: With::Others,
        wants: "a channel's name is 1 to 128 visible ASCII characters without , = \" \\",
        run: |t| {
            for _ in 0..8 {
                for name in [t.chance.odd_channel(), t.chance.long_channel()] {
                    let message = t.chance.line();
                    let told = t.publish(&name, &message)?;
                    same("channel", &told["channel"], &json!(name))?;
                    same_bytes("what was published there", &latest(t, &name)?, &message)?;
                }
            }
            Ok(())
        },
    },
    Case {
        id: "1.2/1",
        with: With::Others,
        wants: "a message is relayed byte for byte, with nothing added inside it",
        run: |t| {
            let transports = offered(t);
            if transports.is_empty() {
                let (channel, message) = (t.chance.channel(), t.chance.bytes(1_000));
                t.publish(&channel, &message)?;
                return same_bytes("the latest message", &latest(t, &channel)?, &message);
            }
            let text = t.chance.text_message();
            relays(t, &transports, &text)?;
            // Bytes that are not text, if a transport can carry them.
            let binary: Vec<&str> = transports.into_iter().filter(|&transport| transport != "sse").collect();
            let len = t.chance.between(1, 4_000);
            let bytes = t.chance.bytes(len);
            relays(t, &binary, &bytes)
        },
    },
    Case {
        id: "1.2/2",
        with: With::Others,
        wants: "a message may be 1 MiB",
        run: |t| {
            let transports = offered(t);
            let message = t.chance.line_of(MESSAGE_MAX as u64);
            if transports.is_empty() {
                let channel = t.chance.channel();
                t.publish(&channel, &message)?;
                return same_bytes("the latest message", &latest(t, &channel)?, &message);
            }
            relays(t, &transports, &message)
        },
    },
];
