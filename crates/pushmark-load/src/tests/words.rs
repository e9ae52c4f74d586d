//! Messages as each transport frames them, framed at random: chunks, fragments, line ends, comments.

use pushmark_model::draw::Draw;
use pushmark_model::stamp::{STAMP_LEN, Stamp, write_payload};
use pushmark_proto::http1::write;
use pushmark_proto::websocket::{Opcode, encode};

/// What was sent. A driver that loses nothing receives the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Told {
    pub(super) stamps: u64,
    pub(super) messages: u64,
    pub(super) payload_bytes: u64,
}

impl std::ops::AddAssign for Told {
    fn add_assign(&mut self, other: Told) {
        self.stamps += other.stamps;
        self.messages += other.messages;
        self.payload_bytes += other.payload_bytes;
    }
}

/// Returns a size from 1 byte to 70 KiB. All magnitudes occur, and few sizes are round.
pub(super) fn size(draw: &mut Draw) -> usize {
    let most = [10, 64, 300, 1_500, 4_000, 20_000, 70 << 10]
        [[0, 1, 2, 2, 2, 3, 3, 4, 5, 6][draw.below(10) as usize]];
    1 + draw.below(most) as usize
}

/// Returns a payload of this size, with a stamp if there is room for one.
pub(super) fn payload(size: usize, sequence: &mut u64, told: &mut Told) -> Vec<u8> {
    let mut payload = vec![b'x'; size];
    if size >= STAMP_LEN {
        let stamp = Stamp { nonce: 77, publisher: 0, channel: 0, sequence: *sequence, due_us: 1, sent_us: 1 };
        write_payload(&stamp, &mut payload);
        *sequence += 1;
        told.stamps += 1;
    }
    told.payload_bytes += size as u64;
    payload
}

/// Appends `bytes` as chunks of any sizes, with the last chunk of a body if it `ends`.
pub(super) fn chunked(draw: &mut Draw, bytes: &[u8], ends: bool, out: &mut Vec<u8>) {
    for chunk in pieces(draw, bytes) {
        write::chunk(out, chunk);
    }
    if ends {
        write::last_chunk(out);
    }
}

/// Returns one event: sometimes with a comment or an id, with any line ends, with its data on one line or
/// two.
pub(super) fn event(draw: &mut Draw, payload: &[u8], told: &mut Told) -> Vec<u8> {
    let end: &[u8] = [b"\n".as_slice(), b"\r\n", b"\r"][draw.below(3) as usize];
    let mut event = Vec::new();
    let mut line = |parts: &[&[u8]]| event.extend(parts.iter().chain(&[end]).copied().flatten());
    if draw.below(3) == 0 {
        line(&[b": a comment"]);
    }
    if draw.below(3) == 0 {
        line(&[b"id: ", draw.below(1 << 40).to_string().as_bytes()]);
    }
    // A stamp is at the end of its payload, and on one line.
    let room = payload.len().saturating_sub(STAMP_LEN);
    if room > 0 && draw.below(2) == 0 {
        let (first, second) = payload.split_at(draw.below(room as u64) as usize);
        line(&[b"data: ", first]);
        line(&[b"event: named"]);
        line(&[b"data:", second]);
        told.payload_bytes += 1;
    } else {
        line(&[b"data: ", payload]);
    }
    line(&[]);
    event
}

/// Appends one text message in fragments, with pings and pongs between them.
pub(super) fn text(draw: &mut Draw, payload: &[u8], out: &mut Vec<u8>) {
    let mut fragments = pieces(draw, payload);
    if draw.below(2) == 0 {
        fragments = vec![payload];
    }
    let last = fragments.len() - 1;
    for (n, fragment) in fragments.into_iter().enumerate() {
        let opcode = if n == 0 { Opcode::Text } else { Opcode::Continuation };
        encode::header(out, opcode, n == last, fragment.len() as u64, None);
        out.extend_from_slice(fragment);
        if draw.below(4) == 0 {
            let control = if draw.below(3) == 0 { Opcode::Pong } else { Opcode::Ping };
            encode::frame(out, control, &[b'p'; 125][..draw.below(126) as usize], None);
        }
    }
}

/// Appends one text message in one frame.
pub(super) fn whole_text(payload: &[u8], out: &mut Vec<u8>) {
    encode::frame(out, Opcode::Text, payload, None);
}

/// Appends the head of an answer and a whole body.
pub(super) fn answer(draw: &mut Draw, body: &[u8], out: &mut Vec<u8>) {
    if draw.below(8) == 0 {
        out.extend_from_slice(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n");
    }
    write::status_line(out, 200);
    write::header(out, "Some-Header", &"h".repeat(draw.below(300) as usize + 1));
    if draw.below(2) == 0 {
        write::header(out, "Transfer-Encoding", "chunked");
        write::head_end(out);
        chunked(draw, body, true, out);
    } else {
        write::header_number(out, "Content-Length", body.len() as u64);
        write::head_end(out);
        out.extend_from_slice(body);
    }
}

/// Cuts the bytes anywhere. Returns at least one piece.
fn pieces<'b>(draw: &mut Draw, mut bytes: &'b [u8]) -> Vec<&'b [u8]> {
    let mut pieces = Vec::new();
    while bytes.len() > 1 && pieces.len() < 5 && draw.below(3) > 0 {
        let (piece, rest) = bytes.split_at(1 + draw.below(bytes.len() as u64 - 1) as usize);
        pieces.push(piece);
        bytes = rest;
    }
    pieces.push(bytes);
    pieces
}
