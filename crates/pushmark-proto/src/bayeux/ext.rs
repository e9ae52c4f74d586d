//! The `ext` field: the acknowledge and timesync extensions, and pushmark's own.
//!
//! The first two are CometD's. Servers that do not support them leave them unanswered, and then they are off.

use std::borrow::Cow;

use super::Value;

/// `ext.ack`: whether the extension is requested or granted, or the number of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// In handshakes: `true`, or an object with `enabled`.
    Enabled(bool),
    /// In a connect's reply: the batch that it closes. In its request: the last batch received.
    Batch(i64),
}

/// Reads `ext.ack`.
pub fn ack(ext: Value<'_>) -> Option<Ack> {
    let value = ext.get("ack")?;
    let enabled = value.as_bool().or_else(|| value.get("enabled")?.as_bool()).map(Ack::Enabled);
    enabled.or_else(|| value.as_i64().map(Ack::Batch))
}

/// `ext.timesync` as a client sends it: clocks in ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSyncRequest {
    /// The client's clock at the time of sending.
    pub tc: i64,
    /// The client's estimate of the one-way lag.
    pub l: i64,
    /// The client's estimate of the server's clock minus its own.
    pub o: i64,
}

impl TimeSyncRequest {
    /// Reads `ext.timesync` of a request.
    pub fn read(ext: Value<'_>) -> Option<TimeSyncRequest> {
        let value = ext.get("timesync")?;
        let number = |key| value.get(key).and_then(Value::as_i64);
        Some(TimeSyncRequest { tc: number("tc")?, l: number("l").unwrap_or(0), o: number("o").unwrap_or(0) })
    }

    /// Appends the object.
    pub fn write(&self, out: &mut Vec<u8>) {
        object(out, &[("tc", self.tc), ("l", self.l), ("o", self.o)]);
    }
}

/// `ext.timesync` of a server's reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSyncReply {
    /// The client's clock, copied from the request.
    pub tc: i64,
    /// The server's clock when the request arrived.
    pub ts: i64,
    /// How long the server held the request.
    pub p: i64,
    /// The error of the client's estimate.
    pub a: i64,
}

impl TimeSyncReply {
    /// Makes the reply to a request that arrived at `ts` and is answered `p` later.
    pub fn to(request: TimeSyncRequest, ts: i64, p: i64) -> TimeSyncReply {
        let believed = request.tc.saturating_add(request.o).saturating_add(request.l);
        TimeSyncReply { tc: request.tc, ts, p, a: believed.saturating_sub(ts) }
    }

    /// Reads `ext.timesync` of a reply.
    pub fn read(ext: Value<'_>) -> Option<TimeSyncReply> {
        let value = ext.get("timesync")?;
        let number = |key| value.get(key).and_then(Value::as_i64);
        Some(TimeSyncReply {
            tc: number("tc")?,
            ts: number("ts")?,
            p: number("p").unwrap_or(0),
            a: number("a").unwrap_or(0),
        })
    }

    /// Appends the object.
    pub fn write(&self, out: &mut Vec<u8>) {
        object(out, &[("tc", self.tc), ("ts", self.ts), ("p", self.p), ("a", self.a)]);
    }
}

/// Reads `ext.pushmark.subscribed` from the reply to a subscription: the last sequence of each subscribed
/// channel, as `name=17,…`. Other transports carry it in a header field.
pub fn subscribed(ext: Value<'_>) -> Option<Cow<'_, str>> {
    ext.get("pushmark")?.get("subscribed")?.as_str()
}

fn object(out: &mut Vec<u8>, members: &[(&str, i64)]) {
    for (at, (name, number)) in members.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"{\"" } else { b",\"" });
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        super::write::integer(out, *number);
    }
    out.push(b'}');
}
