//! Reaches a target by the templates of a scenario, and publishes.

use std::io::Write as _;
use std::process::{Child, Command, Stdio};

use pushmark_model::message::Message;
use pushmark_model::plan::{ArmPlan, CommandPlan, Over, Publish};
use pushmark_model::template::{Template, Values};
use pushmark_proto::websocket::Opcode;

use super::endpoint::Endpoint;
use super::outcome::{Miss, Outcome, Step, failed, holds, shown};
use super::talk::{data, values};
use super::trial::Trial;
use super::websocket::Socket;
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

/// Publishes on a connection that stays open: by requests, or by messages over a WebSocket.
pub(super) struct Publisher {
    way: Way,
    arm: ArmPlan,
    port: u16,
}

enum Way {
    Post(Box<Wire>),
    Feed(Box<Socket>),
    Command(Child),
}

impl Drop for Way {
    fn drop(&mut self) {
        if let Way::Command(child) = self {
            drop(child.stdin.take());
            // It has its lines: a command that does not end without more of them is ended.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Publisher {
    pub(super) fn open(t: &mut Trial<'_>, transport: &str) -> Step<Publisher> {
        let (arm, port) = foreign(t, transport)?;
        let arm = arm.clone();
        if let Some(Over::Command(command)) = arm.publish.as_ref().map(|publish| &publish.over) {
            let child = start(command, &values(&arm, port, &[]))?;
            return Ok(Publisher { way: Way::Command(child), arm, port });
        }
        let endpoint = Endpoint::to_publish(&arm, port).transpose();
        let wire = connect(t, endpoint.ok_or_else(|| failed("nothing says how to publish"))?)?;
        let way = match arm.publish.as_ref().map(|publish| (publish, &publish.over)) {
            Some((publish, Over::WebSocket { subprotocol, after_open, ready, .. })) => {
                let values = values(&arm, port, &[]);
                let mut lines = header_lines(publish, &values);
                if !subprotocol.is_empty() {
                    lines.push(format!("Sec-WebSocket-Protocol: {subprotocol}"));
                }
                let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
                let (mut socket, _) = Socket::open(wire, &publish.path.render_text(&values), &lines)?;
                for message in after_open {
                    send(&mut socket, message, &values)?;
                }
                let mut said = String::new();
                while ready.as_ref().is_some_and(|ready| !said.contains(ready.as_str())) {
                    said.push_str(&String::from_utf8_lossy(&data(socket.message()?)?));
                }
                Way::Feed(Box::new(socket))
            }
            _ => Way::Post(Box::new(wire)),
        };
        Ok(Publisher { way, arm, port })
    }

    pub(super) fn publish(&mut self, channel: &str, message: &[u8]) -> Outcome {
        let Some(publish) = &self.arm.publish else { return Ok(()) };
        let channels = [channel];
        let values = Values { message, ..values(&self.arm, self.port, &channels) };
        let wire = match &mut self.way {
            Way::Feed(socket) => return send(socket, &publish.body, &values),
            Way::Command(child) => return say(child, &publish.body.rendered(&values)),
            Way::Post(wire) => wire,
        };
        let lines = header_lines(publish, &values);
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let body = publish.body.rendered(&values);
        let answer = wire.ask(&publish.method, &publish.path.render_text(&values), &lines, &body)?;
        wire.journal
            .came(|| format!("{} {} bytes {}", answer.status, answer.body.len(), shown(&answer.body)));
        holds((200..300).contains(&answer.status), || format!("a publication is answered {}", answer.words()))
    }
}

/// Starts a command that publishes. Its output goes nowhere.
fn start(command: &CommandPlan, values: &Values<'_>) -> Step<Child> {
    let words: Vec<String> = command.start.iter().map(|word| word.render_text(values)).collect();
    let (program, arguments) = words.split_first().ok_or_else(|| failed("the command is empty"))?;
    let mut process = Command::new(program);
    process.args(arguments).envs(command.env.iter().map(|(name, value)| (name, value.render_text(values))));
    if let Some(folder) = &command.folder {
        process.current_dir(folder);
    }
    let silent = process.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    silent.spawn().map_err(|error| failed(format!("the command `{program}` cannot be started: {error}")))
}

fn say(child: &mut Child, line: &[u8]) -> Outcome {
    let written = match &mut child.stdin {
        Some(lines) => lines.write_all(&[line, b"\n"].concat()).and_then(|()| lines.flush()),
        None => Ok(()),
    };
    written.map_err(|error| failed(format!("the command takes no lines: {error}")))
}

fn header_lines(publish: &Publish, values: &Values<'_>) -> Vec<String> {
    let line = |(name, value): &(String, Template)| format!("{name}: {}", value.render_text(values));
    publish.headers.iter().map(line).collect()
}

fn send(socket: &mut Socket, message: &Message, values: &Values<'_>) -> Outcome {
    let opcode = if message.is_text() { Opcode::Text } else { Opcode::Binary };
    socket.send(opcode, &message.rendered(values))
}
