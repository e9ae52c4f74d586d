//! What a machine said, in a form that does not depend on how its input was cut.

use crate::Failure;
use crate::http1::HEAD_MAX;

/// Everything a machine said, and how it ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    said: Vec<Said>,
    /// The kind of failure that ended it.
    pub failure: Option<&'static str>,
    /// What it left of its input. Empty after a failure.
    pub left: Vec<u8>,
    /// What it wanted written.
    pub out: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// Pieces of the same sort run together.
    Bytes(&'static str, Vec<u8>),
    Mark(String),
}

impl Transcript {
    /// Notes a piece of content.
    pub fn bytes(&mut self, sort: &'static str, bytes: &[u8]) {
        assert!(!bytes.is_empty(), "an empty piece was told");
        // The ready text is told after the piece that completes it, and a piece may go on beyond
        // it; so of the place of `ready` only the message counts.
        let run = match &mut self.said[..] {
            [.., Said::Bytes(last, all), Said::Mark(what)] if *last == sort && what == "ready" => Some(all),
            [.., Said::Bytes(last, all)] if *last == sort => Some(all),
            _ => None,
        };
        match run {
            Some(all) => all.extend_from_slice(bytes),
            None => self.said.push(Said::Bytes(sort, bytes.to_vec())),
        }
    }

    /// Notes anything else.
    pub fn mark(&mut self, what: impl Into<String>) {
        self.said.push(Said::Mark(what.into()));
    }

    /// A line for each thing said, bytes escaped; a failure last.
    pub fn lines(&self) -> Vec<String> {
        let said = self.said.iter().map(|said| match said {
            Said::Bytes(sort, bytes) => format!("{sort} {}", bytes.escape_ascii()),
            Said::Mark(what) => what.clone(),
        });
        said.chain(self.failure.map(|kind| format!("failure {kind}"))).collect()
    }

    /// A message cut off by a failure is to be forgotten; how much of it was told before
    /// depends on how the bytes came.
    fn fail(&mut self, failure: Failure) {
        while matches!(self.said.last(), Some(Said::Bytes(..)))
            || matches!(self.said.last(), Some(Said::Mark(what)) if what == "ready")
        {
            self.said.pop();
        }
        self.failure = Some(failure.kind());
        self.left.clear();
    }
}

/// One call of a machine: says at most one thing, and whether it is to be called again.
/// `None` for the input stands for the end of the connection.
pub trait Pull: FnMut(Option<&mut &mut [u8]>, &mut Transcript) -> Result<bool, Failure> {}

impl<F: FnMut(Option<&mut &mut [u8]>, &mut Transcript) -> Result<bool, Failure>> Pull for F {}

/// Feeds the pieces one after the other, with what was left in front, as the driver does.
pub fn replay<'p>(pieces: impl IntoIterator<Item = &'p [u8]>, mut pull: impl Pull) -> Transcript {
    let mut transcript = Transcript::default();
    for piece in pieces {
        let mut buffer = std::mem::take(&mut transcript.left);
        buffer.extend_from_slice(piece);
        let mut input = &mut buffer[..];
        loop {
            match pull(Some(&mut input), &mut transcript) {
                Ok(true) => {}
                Ok(false) => break,
                Err(failure) => {
                    transcript.fail(failure);
                    return transcript;
                }
            }
        }
        transcript.left = input.to_vec();
        // What comes after an ended machine is not its own; the longest that one may leave is a head.
        assert!(transcript.left.len() <= HEAD_MAX + piece.len(), "a machine left more than any may");
    }
    loop {
        match pull(None, &mut transcript) {
            Ok(true) => {}
            Ok(false) => return transcript,
            Err(failure) => {
                transcript.fail(failure);
                return transcript;
            }
        }
    }
}
