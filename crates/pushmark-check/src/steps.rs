//! The steps by which a listener subscribes, over whatever its transport is.

use std::time::{Duration, Instant};

use pushmark_model::plan::{Since, Step as Asked, Wait};
use pushmark_model::template::Captures;

use super::before;
use super::listener::Listener;
use super::outcome::{Outcome, Step, brief, holds, shown};
use super::patience::PATIENCE;
use super::trial::Trial;

/// No wait, where a socket needs one.
const MOMENT: Duration = Duration::from_millis(1);
/// How long the client listens at a time, before it looks whether its time is over.
const LOOK: Duration = Duration::from_millis(50);

impl Listener {
    /// Follows the steps of the subscription.
    pub(super) fn follow(&mut self, t: &mut Trial<'_>) -> Outcome {
        let steps = self.arm().subscribe.steps.clone();
        for (n, Asked { send, request, wait }) in steps.iter().enumerate() {
            if let Some(send) = send {
                self.say(send)?;
            }
            if let Some(request) = request {
                let name = format!("the request of step {} ({})", n + 1, request.in_words());
                let mut sent = before::send(t, self.of(), request)?;
                self.listens_until(|| sent.is_answered(LOOK))?;
                let taken = sent.answer(request, &name)?;
                self.captures.extend(taken);
            }
            if let Some(wait) = wait {
                let captures = self.awaits(n + 1, wait)?;
                self.captures.extend(captures);
            }
        }
        Ok(())
    }

    /// Listens until something else has come. What the target says meanwhile may be what the step awaits.
    fn listens_until(&mut self, mut has_come: impl FnMut() -> bool) -> Outcome {
        let (started, mut early) = (Instant::now(), Vec::new());
        while !has_come() && started.elapsed() < PATIENCE {
            while !self.is_quiet(MOMENT) {
                early.push(self.next()?);
            }
        }
        self.early.extend(early);
        Ok(())
    }

    /// Listens until what a step awaits has come. Returns what it took.
    fn awaits(&mut self, step: usize, wait: &Wait) -> Step<Captures> {
        let (started, mut since) = (Instant::now(), Since::default());
        loop {
            let left = Duration::from_nanos(wait.within_ns).saturating_sub(started.elapsed());
            holds(!left.is_zero(), || {
                let came = shown(since.bytes());
                format!("step {step}: {} did not come in time; received {came}", wait.in_words())
            })?;
            if self.is_quiet(left.min(LOOK)) {
                continue;
            }
            let message = self.next()?;
            let of = self.of();
            let matched = since.matched(wait, &message, &of.values(&[of.channel]));
            if let Some(captures) = matched {
                let took = captures.iter().map(|(name, value)| brief(&format!(", {name} = {value:?}")));
                let took: String = took.collect();
                self.journal().remark(format!("· step {step}: that is {}{took}", wait.in_words()));
                return Ok(captures);
            }
        }
    }
}
