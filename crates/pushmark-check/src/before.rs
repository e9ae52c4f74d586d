//! The requests that a client makes before it subscribes, one after the other, and as steps of its subscription.

use std::time::Duration;

use pushmark_model::plan::Before;
use pushmark_model::template::Captures;

use super::endpoint::Endpoint;
use super::outcome::{Step, brief, failed, holds, shown};
use super::publisher::connect;
use super::talk::Of;
use super::trial::Trial;
use super::wire::Wire;

/// Makes those before the subscription. Returns what they took.
pub(super) fn prepare(t: &mut Trial<'_>, of: Of<'_>) -> Step<Captures> {
    let mut captures = Captures::default();
    for (n, before) in of.arm.before.iter().enumerate() {
        let name = format!("request {} before the subscription ({})", n + 1, before.in_words());
        let taken = ask(t, Of { captures: &captures, ..of }, before, &name)?;
        captures.extend(taken);
    }
    Ok(captures)
}

/// Makes a request, which has this name. Returns what it took.
fn ask(t: &mut Trial<'_>, of: Of<'_>, request: &Before, name: &str) -> Step<Captures> {
    send(t, of, request)?.answer(request, name)
}

/// A request that was sent, and the connection on which its answer comes.
pub(super) struct Sent(Wire);

/// Sends a request.
pub(super) fn send(t: &mut Trial<'_>, of: Of<'_>, request: &Before) -> Step<Sent> {
    let tls = of.arm.tls.as_ref().filter(|_| request.tls);
    let mut wire = connect(t, Endpoint::new(&request.host, request.port.unwrap_or(of.port), tls))?;
    let channels = [of.channel];
    let values = of.values(&channels);
    let lines = request.headers.iter().map(|(name, value)| format!("{name}: {}", value.render_text(&values)));
    let lines: Vec<String> = lines.collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let body = request.body.as_ref().map(|body| body.rendered(&values)).unwrap_or_default();
    wire.send(&request.method, &request.path.render_text(&values), &lines, &body)?;
    Ok(Sent(wire))
}

impl Sent {
    /// Whether its answer begins within this time.
    pub(super) fn is_answered(&mut self, within: Duration) -> bool {
        self.0.is_quiet(within).is_err()
    }

    /// Reads the answer. Returns what it took.
    pub(super) fn answer(self, request: &Before, name: &str) -> Step<Captures> {
        let Sent(mut wire) = self;
        let answer = wire.answer()?;
        wire.journal
            .came(|| format!("{} {} bytes {}", answer.status, answer.body.len(), shown(&answer.body)));
        holds(request.expects(answer.status), || format!("{name}: answered {}", answer.words()))?;
        let taken = request.captured(&answer.headers, &answer.body);
        let taken = taken
            .map_err(|missing| failed(format!("{name}: no `{missing}` in its answer: {}", answer.words())))?;
        let took: String =
            taken.iter().map(|(name, value)| brief(&format!(", {name} = {value:?}"))).collect();
        wire.journal.remark(format!("· {name}: answered{took}"));
        Ok(taken)
    }
}
