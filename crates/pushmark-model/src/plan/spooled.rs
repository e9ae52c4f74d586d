//! What of an arm's plan may stand beside its records on another machine's disk.

use super::{ArmPlan, Over, Publish, Subscribe};
use crate::message::Message;
use crate::secret::SecretValues;
use crate::template::Template;

impl ArmPlan {
    /// Returns the plan as far as figures need it: without anything that is sent. No template, header line, identity
    /// or key stands in it, since any of them may be a secret.
    #[must_use]
    pub fn without_words(&self) -> ArmPlan {
        let mut plan = ArmPlan {
            tls: None,
            before: Vec::new(),
            clients: None,
            secrets: SecretValues::default(),
            subscribe: wordless(&self.subscribe),
            publish: self.publish.as_ref().map(unsent),
            ..self.clone()
        };
        if let Some(hybrid) = &mut plan.hybrid {
            hybrid.poll = wordless(&hybrid.poll);
        }
        plan
    }
}

fn wordless(subscribe: &Subscribe) -> Subscribe {
    Subscribe {
        path: Template::parse("").expect("an empty text is a template"),
        headers: Vec::new(),
        body: None,
        subprotocol: String::new(),
        after_open: Vec::new(),
        steps: Vec::new(),
        ready: None,
        every: Vec::new(),
        answer: Vec::new(),
        respond: Vec::new(),
        ignore: None,
        peer: None,
        bayeux: None,
        ..subscribe.clone()
    }
}

fn unsent(publish: &Publish) -> Publish {
    let over = match publish.over {
        Over::Post => Over::Post,
        _ => Over::WebSocket {
            subprotocol: String::new(),
            after_open: Vec::new(),
            every: Vec::new(),
            answer: Vec::new(),
            separator: None,
            ready: None,
            refused: None,
        },
    };
    let body = Message::parse("").expect("an empty text is a message");
    Publish {
        path: Template::parse("").expect("an empty text is a template"),
        headers: Vec::new(),
        body,
        over,
        ..publish.clone()
    }
}
