//! What the target of a feed says. Refusals are told, and its last words stand beside the end of a connection.

use pushmark_model::plan::Wait;
use pushmark_model::template::Values;

/// Most bytes of a message that are compared and shown.
const KEPT_MAX: usize = 4 << 10;

/// Most characters of a message that are shown.
const SHOWN_MAX: usize = 200;

/// The messages of a target over one connection of a feed.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// The beginning of the current message.
    message: Vec<u8>,
    /// The current message confirms the connection: it says nothing of publications.
    confirms: bool,
    last: Option<String>,
}

impl Heard {
    pub(super) fn data(&mut self, bytes: &[u8]) {
        let room = KEPT_MAX - self.message.len();
        self.message.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    pub(super) fn confirms(&mut self) {
        self.confirms = true;
    }

    /// The message was a heartbeat.
    pub(super) fn heartbeat(&mut self) {
        self.message.clear();
    }

    /// The message is complete. Returns its words if it refuses a publication.
    pub(super) fn end(&mut self, refused: Option<&Wait>) -> Option<String> {
        let confirms = std::mem::take(&mut self.confirms);
        let refuses = refused.is_some_and(|like| like.matched(&self.message, &Values::default()).is_some());
        let words = (refuses || !confirms).then(|| shown(&self.message));
        self.message.clear();
        self.last = words.clone();
        words.filter(|_| refuses)
    }

    /// Returns ` after it said "…"`, of a connection that ended; empty if it said nothing. Forgets it.
    pub(super) fn last_words(&mut self) -> String {
        self.message.clear();
        self.last.take().map_or(String::new(), |last| format!(" after it said {last}"))
    }
}

fn shown(message: &[u8]) -> String {
    let text = String::from_utf8_lossy(message);
    let cut: String = text.trim_end_matches(['\0', '\n', '\r']).chars().take(SHOWN_MAX).collect();
    format!("{cut:?}")
}

#[cfg(test)]
mod tests {
    use pushmark_model::message::Message;
    use pushmark_model::plan::Until;

    use super::*;

    fn like(prefix: &str) -> Wait {
        let until = Until::Prefix(Message::parse(prefix).unwrap());
        Wait { until, within_ns: 0, captures: Vec::new() }
    }

    #[test]
    fn a_refusal_in_pieces_is_told_and_is_the_last_that_was_said() {
        let refused = like("ERROR");
        let mut heard = Heard::default();
        heard.confirms();
        heard.data(b"CONNECTED\n\n\0");
        assert_eq!(heard.end(Some(&refused)), None);
        assert_eq!(heard.last_words(), "", "a confirmation says nothing of publications");
        for piece in ["ER", "ROR\nmessage:no\n", "\n\0"] {
            heard.data(piece.as_bytes());
        }
        let told = r#""ERROR\nmessage:no""#;
        assert_eq!(heard.end(Some(&refused)).as_deref(), Some(told));
        heard.heartbeat();
        assert_eq!(heard.last_words(), format!(" after it said {told}"));
        assert_eq!(heard.last_words(), "");
    }

    #[test]
    fn other_messages_are_the_last_words_and_no_refusals() {
        let mut heard = Heard::default();
        heard.data(&[b'x'; 3 * KEPT_MAX]);
        assert_eq!(heard.end(Some(&like("ERROR"))), None);
        assert_eq!(heard.last_words().len(), " after it said \"\"".len() + SHOWN_MAX);
        heard.data(b"{\"result\":1}");
        assert_eq!(heard.end(None), None);
        assert_eq!(heard.last_words(), r#" after it said "{\"result\":1}""#);
    }
}
