//! The requests that a client makes before it subscribes, one after the other.

use pushmark_model::plan::ArmPlan;
use pushmark_model::template::{Captures, Values};

use super::endpoint::Endpoint;
use super::outcome::{Step, brief, failed, holds, shown};
use super::publisher::connect;
use super::talk::values;
use super::trial::Trial;

/// Makes them. Returns what they took.
pub(super) fn prepare(t: &mut Trial<'_>, arm: &ArmPlan, port: u16, channel: &str) -> Step<Captures> {
    let mut captures = Captures::default();
    for (n, before) in arm.before.iter().enumerate() {
        let tls = arm.tls.as_ref().filter(|_| before.tls);
        let mut wire = connect(t, Endpoint::new(&before.host, before.port.unwrap_or(port), tls))?;
        let channels = [channel];
        let values = Values { captures: Some(&captures), ..values(arm, port, &channels) };
        let lines =
            before.headers.iter().map(|(name, value)| format!("{name}: {}", value.render_text(&values)));
        let lines: Vec<String> = lines.collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let body = before.body.as_ref().map(|body| body.rendered(&values)).unwrap_or_default();
        let answer = wire.ask(&before.method, &before.path.render_text(&values), &lines, &body)?;
        wire.journal
            .came(|| format!("{} {} bytes {}", answer.status, answer.body.len(), shown(&answer.body)));
        let request = format!("request {} before the subscription ({})", n + 1, before.in_words());
        holds(before.expects(answer.status), || format!("{request}: answered {}", answer.words()))?;
        let taken = before.captured(&answer.headers, &answer.body);
        let taken = taken
            .map_err(|name| failed(format!("{request}: no `{name}` in its answer: {}", answer.words())))?;
        let took: String =
            taken.iter().map(|(name, value)| brief(&format!(", {name} = {value:?}"))).collect();
        wire.journal.remark(format!("· {request}: answered{took}"));
        captures.extend(taken);
    }
    Ok(captures)
}
