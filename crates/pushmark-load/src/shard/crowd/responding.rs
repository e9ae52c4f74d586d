//! Requests that a long poller makes after certain answers, such as heartbeats (`respond`). Its next poll waits for
//! theirs, so that a client has one thing to do at a time.

use pushmark_model::template::Values;

use crate::never::NEVER;
use crate::shard::Shard;
use crate::steps::MESSAGE_MAX;

impl Shard {
    /// Keeps the bytes of an answer until it is whole.
    #[cold]
    pub(super) fn keep_answer(&mut self, index: u32, bytes: &[u8]) {
        let kept = self.seen.answers.entry(index).or_default();
        let room = MESSAGE_MAX - kept.len();
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// Whether the whole answer has a part that is responded to. Then the request begins.
    pub(super) fn responds(&mut self, index: u32) -> bool {
        let Some(answer) = self.seen.answers.remove(&index) else { return false };
        let subscribe = &self.plan.arm.subscribe;
        let separator = subscribe.separator;
        let parts: Vec<&[u8]> = match separator {
            Some(separator) => answer.split(|byte| *byte == separator).collect(),
            None => vec![&answer],
        };
        let is = |on: Vec<u8>| {
            let lines = separator == Some(b'\n');
            parts.iter().any(|part| *part == on || lines && part.strip_suffix(b"\r") == Some(&on[..]))
        };
        let mut responses = subscribe.respond.iter();
        let Some(nth) = responses.position(|respond| is(respond.on.rendered(&Values::default()))) else {
            return false;
        };
        let at = self.plan.arm.request_of_response(nth);
        self.ask_beside(index, at);
        true
    }

    /// The request has its answer: the client polls again.
    pub(super) fn responded(&mut self, index: u32) {
        self.crowd[index].first.give_up_ns = NEVER;
        self.crowd.to_ask.push_back(index);
    }
}
