//! How a case ends, and the texts that compare the expected with the received value.

use std::fmt::{Debug, Display};

/// How a case ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Miss {
    /// The clause does not hold: what was received instead.
    Failed(String),
    /// The server does not offer something that the case needs: the clause or the feature.
    NotOffered(String),
}

/// The result of a step of a case.
pub(super) type Step<T> = Result<T, Miss>;

/// A case that ran to its end has passed.
pub(super) type Outcome = Step<()>;

/// The miss for received data that the clause does not allow.
pub(super) fn failed(came: impl Into<String>) -> Miss {
    Miss::Failed(came.into())
}

/// Fails unless both are the same.
pub(super) fn same<T: PartialEq + Debug>(what: impl Display, came: &T, wanted: &T) -> Outcome {
    if came == wanted {
        return Ok(());
    }
    Err(failed(format!(
        "{what}: {} where {} is wanted",
        brief(&format!("{came:?}")),
        brief(&format!("{wanted:?}"))
    )))
}

/// Fails unless it holds.
pub(super) fn holds(holds: bool, came: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(failed(came())) }
}

/// Fails unless the bytes are the message, and reports the first difference.
pub(super) fn same_bytes(what: impl Display, came: &[u8], wanted: &[u8]) -> Outcome {
    if came == wanted {
        return Ok(());
    }
    let at = came.iter().zip(wanted).take_while(|(a, b)| a == b).count();
    let around = |bytes: &[u8]| shown(&bytes[at.saturating_sub(8)..(at + 24).min(bytes.len())]);
    Err(failed(format!(
        "{what}: {} bytes where {} are wanted; they part at byte {at}: {} where {} is wanted",
        came.len(),
        wanted.len(),
        around(came),
        around(wanted),
    )))
}

/// Bytes for a person, at most a line.
pub(super) fn shown(bytes: &[u8]) -> String {
    brief(&format!("\"{}\"", bytes.escape_ascii()))
}

/// A text cut to a line.
pub(super) fn brief(text: &str) -> String {
    const MAX: usize = 300;
    match text.char_indices().nth(MAX) {
        Some((at, _)) => format!("{} … ({} bytes)", &text[..at], text.len()),
        None => text.to_owned(),
    }
}
