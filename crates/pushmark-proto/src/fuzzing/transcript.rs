//! The output of a machine, in a form that does not depend on how its input was split.

use crate::Failure;
use crate::http1::HEAD_MAX;

/// The output of a machine, and how it ended.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    said: Vec<Said>,
    /// The kind of failure that ended it.
    pub failure: Option<&'static str>,
    /// The input that was left. Empty after a failure.
    pub left: Vec<u8>,
    /// The bytes to be written.
    pub out: Vec<u8>,
}

#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// Adjacent pieces of the same kind are joined.
    Bytes(&'static str, Vec<u8>),
    Mark(String),
}

impl Transcript {
    /// Records a piece of content.
    pub fn bytes(&mut self, sort: &'static str, bytes: &[u8]) {
        assert!(!bytes.is_empty(), "an empty piece was reported");
        // The ready text is reported after the piece that completes it, and that piece may continue beyond
        // it. So the position of `ready` is compared by message only.
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

    /// Records any other event.
    pub fn mark(&mut self, what: impl Into<String>) {
        self.said.push(Said::Mark(what.into()));
    }

    /// One line for each output, with bytes escaped; a failure is last.
    pub fn lines(&self) -> Vec<String> {
        let said = self.said.iter().map(|said| match said {
            Said::Bytes(sort, bytes) => format!("{sort} {}", bytes.escape_ascii()),
            Said::Mark(what) => what.clone(),
        });
        said.chain(self.failure.map(|kind| format!("failure {kind}"))).collect()
    }

    /// Discards a message that a failure cut off. How much of it was reported before depends on how the bytes
    /// were split.
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

/// One call of a machine: reports at most one event and returns whether to call again. `None` as input means
/// the end of the connection.
pub trait Pull: FnMut(Option<&mut &mut [u8]>, &mut Transcript) -> Result<bool, Failure> {}

impl<F: FnMut(Option<&mut &mut [u8]>, &mut Transcript) -> Result<bool, Failure>> Pull for F {}

/// Feeds the pieces one after the other, each behind the unread rest, as the driver does.
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
        // Input after the end of a machine is not its own. The longest rest that a machine may leave is a
        // head.
        assert!(transcript.left.len() <= HEAD_MAX + piece.len(), "a machine left more than the bound");
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
