//! Reaches a target by the templates of a scenario, and publishes.

use pushmark_model::plan::ArmPlan;
use pushmark_model::template::{Template, Values};

use super::endpoint::Endpoint;
use super::outcome::{Miss, Outcome, Step, failed, holds};
use super::talk::values;
use super::trial::Trial;
use super::wire::Wire;

pub(super) fn connect(t: &mut Trial<'_>, endpoint: anyhow::Result<Endpoint>) -> Step<Wire> {
    let endpoint = endpoint.map_err(|error| failed(error.to_string()))?;
    Wire::connect(&endpoint, None, t.chance.fork(), t.journal.clone())
}

/// Returns an arm of the target, and the port of one that was started.
pub(super) fn arm_of<'t>(t: &Trial<'t>, transport: &str) -> Step<(&'t ArmPlan, u16)> {
    let foreign = t.subject.foreign.as_ref();
    let arm = foreign.and_then(|target| target.arms.iter().find(|arm| arm.transport.name() == transport));
    let (Some(arm), Some(foreign)) = (arm, foreign) else {
        return Err(Miss::NotOffered(format!("it has no {transport}")));
    };
    Ok((arm, foreign.port))
}

/// Returns an arm that says how to publish.
pub(super) fn foreign<'t>(t: &Trial<'t>, transport: &str) -> Step<(&'t ArmPlan, u16)> {
    let (arm, port) = arm_of(t, transport)?;
    if arm.publish.is_none() {
        return Err(Miss::NotOffered("nothing says how to publish: [target.publish]".into()));
    }
    Ok((arm, port))
}

/// Publishes on a connection that stays open.
pub(super) struct Publisher {
    wire: Wire,
    arm: ArmPlan,
    port: u16,
}

impl Publisher {
    pub(super) fn open(t: &mut Trial<'_>, transport: &str) -> Step<Publisher> {
        let (arm, port) = foreign(t, transport)?;
        let endpoint = Endpoint::to_publish(arm, port).transpose();
        let wire = connect(t, endpoint.ok_or_else(|| failed("nothing says how to publish"))?)?;
        Ok(Publisher { wire, arm: arm.clone(), port })
    }

    pub(super) fn publish(&mut self, channel: &str, message: &[u8]) -> Outcome {
        let Some(publish) = &self.arm.publish else { return Ok(()) };
        let channels = [channel];
        let values = Values { message, ..values(&self.arm, self.port, &channels) };
        let line = |(name, value): &(String, Template)| format!("{name}: {}", value.render_text(&values));
        let lines: Vec<String> = publish.headers.iter().map(line).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let mut body = Vec::new();
        publish.body.render(&values, &mut body);
        let answer = self.wire.ask(&publish.method, &publish.path.render_text(&values), &lines, &body)?;
        holds((200..300).contains(&answer.status), || format!("a publication is answered {}", answer.words()))
    }
}
