//! A publication in the framing of each transport, encoded once and shared by all subscribers.

use std::sync::Arc;

use pushmark_proto::bayeux;
use pushmark_proto::http1::write;
use pushmark_proto::sse;
use pushmark_proto::websocket::{Opcode, encode};

use crate::faults::TRUNCATED_BYTES;
use crate::frame::Frame;
use crate::publication::Publication;

/// The framing of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    /// The payload and a line end: one chunk.
    Stream,
    /// An event with its cursor as id: one chunk.
    Sse,
    /// One text frame, or a binary frame if the payload is not UTF-8.
    WebSocket,
    /// A JSON string, for use in a document. Invalid UTF-8 is replaced.
    Text,
    /// A Bayeux message, for use in an array.
    Event,
    /// An array of one Bayeux message in a text frame.
    EventFrame,
}

/// The number of framings.
const FRAMINGS: usize = Framing::EventFrame as usize + 1;

/// A publication and its frames so far.
#[derive(Debug)]
pub(crate) struct Framed {
    /// What was published.
    pub(crate) publication: Arc<Publication>,
    /// The instrumented requests that receive it, over all threads.
    pub(crate) requests: u64,
    text: Option<bool>,
    /// By framing, complete and cut short.
    frames: [[Option<Frame>; 2]; FRAMINGS],
}

impl Framed {
    pub(crate) fn new(publication: Arc<Publication>) -> Framed {
        Framed { publication, requests: 0, text: None, frames: Default::default() }
    }

    /// Returns the payload; with `cut`, without its last bytes.
    pub(crate) fn payload(&self, cut: bool) -> &[u8] {
        let payload = &self.publication.payload;
        match cut {
            true => &payload[..payload.len().saturating_sub(TRUNCATED_BYTES)],
            false => payload,
        }
    }

    /// Returns the bytes for a subscriber.
    pub(crate) fn frame(&mut self, framing: Framing, cut: bool, scratch: &mut Vec<u8>) -> Frame {
        if self.frames[framing as usize][usize::from(cut)].is_none() {
            let frame = self.encode(framing, cut, scratch);
            self.frames[framing as usize][usize::from(cut)] = Some(frame);
        }
        self.frames[framing as usize][usize::from(cut)].clone().expect("just made")
    }

    /// Returns whether JSON can contain it unchanged (CONTRACT 6.7).
    pub(crate) fn is_text(&mut self) -> bool {
        let payload = &self.publication.payload;
        *self.text.get_or_insert_with(|| std::str::from_utf8(payload).is_ok())
    }

    fn event(&self, cut: bool, out: &mut Vec<u8>) {
        let fields = bayeux::Fields::new(out, &format!("/{}", self.publication.name));
        let payload = self.payload(cut);
        match self.publication.json && !cut {
            true => fields.raw("data", payload).end(),
            false => fields.text("data", &String::from_utf8_lossy(payload)).end(),
        }
    }

    fn encode(&self, framing: Framing, cut: bool, scratch: &mut Vec<u8>) -> Frame {
        let payload = self.payload(cut);
        scratch.clear();
        match framing {
            Framing::Stream => {
                scratch.extend_from_slice(payload);
                scratch.push(b'\n');
                chunked(scratch)
            }
            Framing::Sse => {
                let mut id = Vec::with_capacity(20);
                write::decimal(&mut id, self.publication.cursor);
                sse::encode::id(scratch, &id);
                sse::encode::data(scratch, payload);
                chunked(scratch)
            }
            Framing::WebSocket => {
                let text = std::str::from_utf8(payload).is_ok();
                let opcode = if text { Opcode::Text } else { Opcode::Binary };
                encode::frame(scratch, opcode, payload, None);
                Frame::from(&scratch[..])
            }
            Framing::Text => {
                bayeux::quote(scratch, &String::from_utf8_lossy(payload));
                Frame::from(&scratch[..])
            }
            Framing::Event => {
                self.event(cut, scratch);
                Frame::from(&scratch[..])
            }
            Framing::EventFrame => {
                scratch.push(b'[');
                self.event(cut, scratch);
                scratch.push(b']');
                let mut frame = Vec::with_capacity(scratch.len() + 10);
                encode::frame(&mut frame, Opcode::Text, scratch, None);
                Frame::from(frame)
            }
        }
    }
}

fn chunked(content: &[u8]) -> Frame {
    let mut chunk = Vec::with_capacity(content.len() + 12);
    write::chunk(&mut chunk, content);
    Frame::from(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publication::Message;

    fn frame(payload: &[u8], framing: Framing, cut: bool) -> Vec<u8> {
        let publication = Publication::new(0, Arc::from("c"), 42, Message::from(payload));
        Framed::new(Arc::new(publication)).frame(framing, cut, &mut Vec::new()).to_vec()
    }

    #[test]
    fn each_transport_has_its_frame() {
        let payload = b"hello, everyone";
        assert_eq!(frame(payload, Framing::Stream, false), b"10\r\nhello, everyone\n\r\n");
        assert_eq!(frame(payload, Framing::Sse, false), b"1e\r\nid: 42\ndata: hello, everyone\n\n\r\n");
        assert_eq!(frame(payload, Framing::WebSocket, false), b"\x81\x0fhello, everyone");
        assert_eq!(frame(payload, Framing::WebSocket, true), b"\x81\x05hello");
        assert_eq!(frame(b"\"\n", Framing::Text, false), br#""\"\n""#);
        assert_eq!(frame(b"\"", Framing::Event, false), br#"{"channel":"/c","data":"\""}"#);
        assert_eq!(frame(b"x", Framing::EventFrame, false), b"\x81\x1d[{\"channel\":\"/c\",\"data\":\"x\"}]");
        assert_eq!(frame(b"\xff", Framing::WebSocket, false), b"\x82\x01\xff");
    }
}
