//! Checks of targets without the contract. Each transport must deliver each message once, whole and in order,
//! in valid frames. It must answer a ping, and a client that reconnects must resume.
//!
//! The templates of a scenario describe how to reach a target. A target may wrap a message, so the checks
//! search for the message within the received bytes.

use pushmark_model::plan::{Cursor, Plan};
use pushmark_proto::websocket::Opcode;

use super::endpoint::Endpoint;
use super::listener::{Conversation, Listener, count};
use super::outcome::{Miss, Outcome, brief, holds, shown};
use super::publisher::Publisher;
use super::talk::{Talk, data};
use super::target::Foreign;
use super::trial::{Trial, stamped, stamps};
use super::websocket::Message;
use super::{Case, Row, Subject, With};

impl Subject {
    /// A running target that is reached by the templates of a plan. Of the clauses that its row says it
    /// lacks, only 3.8 matters here: requests are then not cut into packets.
    ///
    /// # Errors
    /// Fails if a name has no address, or cannot be the name in a certificate.
    pub fn foreign(name: &str, plan: &Plan, port: u16, lacks: &[String]) -> anyhow::Result<Subject> {
        let arms = plan.arms.clone();
        let first = arms.first().ok_or_else(|| anyhow::anyhow!("no transport is asked for"))?;
        let endpoint = Endpoint::to_subscribe(first, port)?;
        Ok(Subject {
            name: name.to_owned(),
            endpoint,
            transports: arms.iter().map(|arm| arm.transport.name().to_owned()).collect(),
            lacks: lacks.to_vec(),
            row: None::<Row>,
            launch: None,
            foreign: Some(Foreign { arms, port }),
        })
    }
}

/// The sequences of one publisher: a target with a single channel sends every message to every client.
fn sequences(listener: &Listener, nonce: u32) -> Vec<u64> {
    let heard = stamps(&listener.whole());
    heard.iter().filter(|stamp| stamp.nonce == nonce).map(|stamp| stamp.sequence).collect()
}

/// A channel: the target's own first one if it names them, else a new one.
fn name(t: &mut Trial<'_>) -> String {
    let arms = t.subject.foreign.iter().flat_map(|foreign| &foreign.arms);
    let own = arms.flat_map(|arm| arm.subscriptions.names.first()).next().cloned();
    own.unwrap_or_else(|| t.chance.channel().replace(['.', '-'], ""))
}

fn delivers(t: &mut Trial<'_>, transport: &str) -> Outcome {
    let channel = name(t);
    let mut publisher = Publisher::open(t, transport)?;
    let mut listener = Listener::open(t, transport, &channel)?;
    let nonce = t.chance.nonce();
    let mut messages = Vec::new();
    for sequence in 0..8 {
        let size = t.chance.between(48, 1_500) as usize;
        let message = stamped(nonce, 0, sequence, size);
        publisher.publish(&channel, &message)?;
        listener.until(&message)?;
        messages.push(message);
    }
    listener.more();
    let whole = listener.whole();
    let polls = transport == "poll";
    for message in &messages {
        // A client that polls again for the latest message receives it again.
        let times = count(&whole, message);
        holds(times == 1 || polls && times > 1, || format!("{} came {times} times", shown(message)))?;
    }
    Ok(())
}

fn orders(t: &mut Trial<'_>, transport: &str) -> Outcome {
    const COUNT: u64 = 60;
    let channel = name(t);
    let mut publisher = Publisher::open(t, transport)?;
    let mut listener = Listener::open(t, transport, &channel)?;
    if transport == "long-poll" && listener.arm.subscribe.cursor == Cursor::None {
        return Err(Miss::NotOffered("it has no cursor: a message between two polls is lost".into()));
    }
    let nonce = t.chance.nonce();
    let messages: Vec<Vec<u8>> = (0..COUNT).map(|sequence| stamped(nonce, 0, sequence, 64)).collect();
    for message in &messages {
        publisher.publish(&channel, message)?;
    }
    messages.iter().try_for_each(|message| listener.until(message))?;
    let heard = sequences(&listener, nonce);
    holds(heard.iter().copied().eq(0..COUNT), || brief(&format!("the order {heard:?}")))
}

/// Publishes messages of lengths near those at which a frame's header or a buffer changes.
fn frames(t: &mut Trial<'_>, transport: &str) -> Outcome {
    let channel = name(t);
    let mut publisher = Publisher::open(t, transport)?;
    let mut listener = Listener::open(t, transport, &channel)?;
    let nonce = t.chance.nonce();
    for (sequence, size) in (0..).zip([125, 126, 127, 4_096, 16_385, 65_535, 65_536]) {
        let message = stamped(nonce, 0, sequence, size);
        publisher.publish(&channel, &message)?;
        // A violation of the transport's format fails when it is read.
        listener.until(&message)?;
        if matches!(transport, "sse" | "websocket") {
            let one = listener.heard.iter().any(|piece| count(piece, &message) == 1);
            holds(one, || format!("a message of {size} bytes is not within one event or message"))?;
        }
    }
    Ok(())
}

fn resumes(t: &mut Trial<'_>, transport: &str) -> Outcome {
    let channel = name(t);
    let mut publisher = Publisher::open(t, transport)?;
    let mut listener = Listener::open(t, transport, &channel)?;
    let nonce = t.chance.nonce();
    let first = stamped(nonce, 0, 0, 64);
    publisher.publish(&channel, &first)?;
    listener.until(&first)?;
    let id = |listener: &Listener| match &listener.conversation {
        Conversation::Sse(events) => events.last_id(),
        _ => String::new(),
    };
    let first_id = id(&listener);
    let second = stamped(nonce, 1, 0, 64);
    publisher.publish(&channel, &second)?;
    listener.until(&second)?;
    let last_event_id = id(&listener);
    if !last_event_id.is_empty() && last_event_id == first_id {
        return Err(Miss::NotOffered("its events all have the same id".into()));
    }
    let Listener { arm, port, cursor, conversation, .. } = listener;
    drop(conversation);
    if cursor.is_empty() && last_event_id.is_empty() {
        return Err(Miss::NotOffered("it gives no cursor and no event id".into()));
    }
    let missed: Vec<Vec<u8>> = (1..6).map(|sequence| stamped(nonce, 0, sequence, 64)).collect();
    for message in &missed {
        publisher.publish(&channel, message)?;
    }
    let mut again = Listener::resume(t, arm, port, &channel, &cursor, &last_event_id)?;
    missed.iter().try_for_each(|message| again.until(message))?;
    let heard = sequences(&again, nonce);
    holds(heard == [1, 2, 3, 4, 5], || format!("{heard:?} where 1 to 5 were missed"))
}

fn pings(t: &mut Trial<'_>) -> Outcome {
    let channel = name(t);
    let mut listener = Listener::open(t, "websocket", &channel)?;
    let Conversation::WebSocket(Talk { socket, .. }) = &mut listener.conversation else { return Ok(()) };
    for _ in 0..3 {
        let len = t.chance.between(1, 125);
        let payload = t.chance.bytes(len);
        socket.send(Opcode::Ping, &payload)?;
        loop {
            match socket.message()? {
                Message::Pong(came) => break super::outcome::same_bytes("a Pong", &came, &payload)?,
                other => drop(data(other)?),
            }
        }
    }
    Ok(())
}

const DELIVERS: &str = "each message arrives once, byte for byte";
const ORDERS: &str = "messages of one publisher arrive in order";
const FRAMES: &str = "messages of any length are sent in valid frames of the transport";
const RESUMES: &str = "a client that reconnects gets each missed message once, then new messages";

const fn case(id: &'static str, wants: &'static str, run: fn(&mut Trial<'_>) -> Outcome) -> Case {
    Case { id, wants, with: With::Others, run }
}

pub(super) const CASES: &[Case] = &[
    case("poll/delivers", "the latest message arrives, byte for byte", |t| delivers(t, "poll")),
    case("long-poll/delivers", DELIVERS, |t| delivers(t, "long-poll")),
    case("long-poll/orders", ORDERS, |t| orders(t, "long-poll")),
    case("long-poll/frames", FRAMES, |t| frames(t, "long-poll")),
    case("long-poll/resumes", RESUMES, |t| resumes(t, "long-poll")),
    case("stream/delivers", DELIVERS, |t| delivers(t, "stream")),
    case("stream/orders", ORDERS, |t| orders(t, "stream")),
    case("stream/frames", FRAMES, |t| frames(t, "stream")),
    case("sse/delivers", DELIVERS, |t| delivers(t, "sse")),
    case("sse/orders", ORDERS, |t| orders(t, "sse")),
    case("sse/frames", FRAMES, |t| frames(t, "sse")),
    case("sse/resumes", RESUMES, |t| resumes(t, "sse")),
    case("websocket/delivers", DELIVERS, |t| delivers(t, "websocket")),
    case("websocket/orders", ORDERS, |t| orders(t, "websocket")),
    case("websocket/frames", FRAMES, |t| frames(t, "websocket")),
    case("websocket/pings", "a ping is answered with its payload", pings),
];
