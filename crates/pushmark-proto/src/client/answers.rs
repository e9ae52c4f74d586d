//! Recognises application heartbeats, such as Engine.IO's `2`, without storing the message.

use super::config::ANSWERS_MAX;

/// How far the current message matches each configured heartbeat.
#[derive(Clone, Copy, Debug)]
pub(super) struct Answers {
    /// Bytes of the message so far.
    at: u32,
    /// One bit for each heartbeat that the message still matches.
    alive: u16,
}

impl Default for Answers {
    fn default() -> Answers {
        Answers { at: 0, alive: u16::MAX }
    }
}

impl Answers {
    /// Compares the next bytes of the message.
    pub(super) fn look(&mut self, answers: &[(Vec<u8>, Option<Vec<u8>>)], bytes: &[u8]) {
        if answers.is_empty() || self.alive == 0 {
            return;
        }
        let at = self.at as usize;
        for (i, (heartbeat, _)) in answers.iter().take(ANSWERS_MAX).enumerate() {
            if !heartbeat.get(at..).is_some_and(|rest| rest.starts_with(bytes)) {
                self.alive &= !(1 << i);
            }
        }
        if answers.len() < ANSWERS_MAX {
            self.alive &= (1 << answers.len()) - 1;
        }
        self.at = self.at.saturating_add(bytes.len() as u32);
    }

    /// Ends the message. Returns the number of its answer if it was a heartbeat.
    pub(super) fn message_ends(&mut self, answers: &[(Vec<u8>, Option<Vec<u8>>)]) -> Option<usize> {
        let Answers { at, alive } = std::mem::take(self);
        let is_it = |(i, (heartbeat, _)): (usize, &(Vec<u8>, _))| {
            alive & 1 << i != 0 && heartbeat.len() == at as usize
        };
        answers.iter().take(ANSWERS_MAX).enumerate().position(is_it)
    }
}
