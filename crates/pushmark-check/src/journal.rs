//! What a client says, and in a live conversation also what it hears.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A line of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Time since the conversation began.
    pub at: Duration,
    /// Who: `→` the client sends, `←` the target sends, `·` pushmark says.
    pub text: String,
}

/// The requests of a case, in order: a failure shows the last of them. Of a live conversation everything, to who
/// looks on.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal(Arc<Mutex<Vec<String>>>, Option<(Instant, Sender<Line>)>);

impl Journal {
    /// A journal whose lines are shown as they are written.
    pub(super) fn live(said: Sender<Line>) -> Journal {
        Journal(Arc::default(), Some((Instant::now(), said)))
    }

    /// What the client does.
    pub(super) fn note(&self, line: String) {
        match &self.1 {
            // Who looks on may have gone.
            Some((began, said)) => drop(said.send(Line { at: began.elapsed(), text: directed(line) })),
            None => self.0.lock().unwrap_or_else(PoisonError::into_inner).push(line),
        }
    }

    /// What the target does: told only of a live conversation.
    pub(super) fn came(&self, line: impl FnOnce() -> String) {
        if self.1.is_some() {
            self.note(format!("← {}", line()));
        }
    }

    /// What pushmark makes of it: told only of a live conversation.
    pub(super) fn remark(&self, line: String) {
        if self.1.is_some() {
            self.note(line);
        }
    }

    /// The last lines, oldest first.
    pub(super) fn tail(&self, lines: usize) -> Vec<String> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all[all.len().saturating_sub(lines)..].to_vec()
    }
}

/// A line without an arrow is what the client sends.
fn directed(line: String) -> String {
    if line.starts_with(['←', '·']) { line } else { format!("→ {line}") }
}
