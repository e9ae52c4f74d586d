//! The documents of instrumented requests (CONTRACT 7.2): each answer says what the server did for it, by the
//! server's own clock. A document is one line; its bytes are kept until it is complete.

use pushmark_proto::client::Lane;
use pushmark_proto::json_pointer::Scan;

use crate::shard::Shard;

/// Most bytes of a line that are kept: more than a document with a payload of ordinary size has.
const LINE_MAX: usize = 1 << 20;

/// What a document says.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Document {
    /// From the arrival of the request to its answer, µs.
    held_us: u64,
    /// Requests registered when it arrived and when it was answered, whichever is more.
    registered: u64,
    /// Absent: the request timed out.
    emit: Option<Emit>,
}

/// The emit that the answer is part of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Emit {
    /// From its beginning until this request was reached, µs.
    reached_us: u64,
    /// Requests that receive the event.
    total: u64,
    /// The place of this one among them, from 1.
    place: u64,
}

impl Document {
    /// Reads a line; `None` if it is no such document.
    fn read(line: &[u8]) -> Option<Document> {
        let number = |pointer: &str| {
            let text = scan(line, pointer)?;
            text.parse::<f64>().ok().filter(|number| *number >= 0.0)
        };
        let between = |of: &str| {
            let (created, sent) = (number(&format!("{of}/created"))?, number(&format!("{of}/sent"))?);
            Some((sent - created).max(0.0) as u64)
        };
        let timed_out = scan(line, "/response/timeout").is_some_and(|text| text == "true");
        let emit = || {
            Some(Emit {
                reached_us: between("/response/event/timings")?,
                total: number("/response/event/connections/total")? as u64,
                place: number("/response/event/connections/place")? as u64,
            })
        };
        let (start, finish) = ("/response/connections/start", "/response/connections/finish");
        Some(Document {
            held_us: between("/response/timings")?,
            registered: number(start)?.max(number(finish)?) as u64,
            emit: if timed_out { None } else { Some(emit()?) },
        })
    }
}

/// Returns the value at a JSON pointer, as text.
fn scan(line: &[u8], pointer: &str) -> Option<String> {
    let mut scan = Scan::default();
    scan.look(pointer, line);
    scan.finish().map(|text| String::from_utf8_lossy(text).into_owned())
}

impl Shard {
    /// Reads the documents that a part of an answer completes, and keeps the rest.
    #[inline]
    pub(super) fn read_documents(&mut self, index: u32, lane: Lane, bytes: &[u8]) {
        if self.plan.arm.instrumented {
            self.keep_and_read(index, lane, bytes);
        }
    }

    #[cold]
    fn keep_and_read(&mut self, index: u32, lane: Lane, bytes: &[u8]) {
        let mut kept = std::mem::take(&mut self.crowd[index].line_mut(lane).kept);
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            if kept.len() + part.len() <= LINE_MAX {
                kept.extend_from_slice(part);
            }
            if part.ends_with(b"\n") {
                self.document(index, lane, &kept);
                kept.clear();
            }
        }
        self.crowd[index].line_mut(lane).kept = kept;
    }

    /// The answer is complete, and with it its last document.
    #[inline]
    pub(super) fn read_last_document(&mut self, index: u32, lane: Lane) {
        if self.plan.arm.instrumented {
            let kept = std::mem::take(&mut self.crowd[index].line_mut(lane).kept);
            self.document(index, lane, &kept);
        }
    }

    fn document(&mut self, index: u32, lane: Lane, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let document = Document::read(line);
        if document.is_some_and(|document| document.emit.is_none()) {
            // A time-out is no message, however long its document is.
            self.no_message(index, lane);
        }
        if !self.time.in_measure {
            return;
        }
        let record = &mut self.accounting.record;
        let Some(Document { held_us, registered, emit }) = document else {
            record.counts.documents_unreadable += 1;
            return;
        };
        record.counts.documents += 1;
        record.times.document_held.record_us(held_us);
        record.registered_max = record.registered_max.max(registered);
        let Some(Emit { reached_us, total, place }) = emit else {
            record.counts.documents_timed_out += 1;
            return;
        };
        record.times.document_emit.record_us(reached_us);
        if place == total {
            record.times.document_emit_duration.record_us(reached_us);
            record.counts.document_receivers += total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_says_what_the_server_did() {
        let line = br#"{"response":{"event":{"name":"c","timings":{"created":1500,"sent":2250,"duration":0.750},
            "connections":{"total":7,"place":3},"message":"{\"created\":9}"},"request":{"timings":{"sent":5}},
            "timings":{"created":1000,"sent":2250.5,"duration":1.250},"connections":{"start":3,"finish":8}}}"#;
        let emit = Some(Emit { reached_us: 750, total: 7, place: 3 });
        assert_eq!(Document::read(line), Some(Document { held_us: 1_250, registered: 8, emit }));
    }

    #[test]
    fn a_time_out_has_no_event() {
        let line = br#"{"response":{"timeout":true,"request":{},"timings":{"created":5,"sent":9},"connections":{"start":2,"finish":1}}}"#;
        assert_eq!(Document::read(line), Some(Document { held_us: 4, registered: 2, emit: None }));
    }

    #[test]
    fn what_lacks_a_part_is_no_document() {
        let whole = r#"{"response":{"event":{"timings":{"created":1,"sent":2},"connections":{"total":7,"place":3}},"timings":{"created":1,"sent":2},"connections":{"start":3,"finish":8}}}"#;
        assert!(Document::read(whole.as_bytes()).is_some());
        for part in ["event", "created", "sent", "total", "place", "start", "finish", "connections"] {
            let lacking = whole.replace(&format!("\"{part}\""), "\"x\"");
            assert_eq!(Document::read(lacking.as_bytes()), None, "{part}");
        }
        for other in ["", "{}", "[1]", "pm1", "{\"timeout\":true,\"hold_ms\":5}"] {
            assert_eq!(Document::read(other.as_bytes()), None, "{other}");
        }
    }
}
