//! What must not appear in a result: literal credentials of a scenario.
//!
//! A value that names `{client.NAME}` holds no secret itself; the table it comes from is
//! never written.

use serde_json::Value;

use super::Scenario;

/// What stands in place of a secret.
const REDACTED: &str = "(not written)";

/// Shorter texts are no secrets, and replacing them would deface a result.
const LEN_MIN: usize = 4;

/// The literal secrets of a scenario.
#[derive(Clone, Default)]
pub struct Secrets(Vec<String>);

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

impl Secrets {
    /// A text without them.
    pub fn redact(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, REDACTED))
    }

    /// A value without them, all the way down.
    pub fn redact_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.redact(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_value(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.redact_value(field)),
            _ => {}
        }
    }

    fn add(&mut self, name: &str, value: &str) {
        if is_secret_name(name) && !value.contains('{') && value.len() >= LEN_MIN {
            self.0.push(value.to_owned());
        }
    }

    fn add_url(&mut self, url: &str) {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            self.add(name, value);
        }
    }
}

/// Names of headers, parameters and variables whose values are credentials.
fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["auth", "cookie", "token", "secret", "password", "passwd", "key", "session", "credential", "signature"]
        .iter()
        .any(|part| name.contains(part))
        && !name.starts_with("sec-websocket")
}

impl Scenario {
    /// Its literal secrets: values of headers, URL parameters and environment variables named like credentials.
    pub fn secrets(&self) -> Secrets {
        let mut secrets = Secrets::default();
        let target = &self.target;
        let subscribes = target.subscribe.iter().flat_map(|set| {
            set.transports().into_iter().filter_map(|transport| set.of(transport)).collect::<Vec<_>>()
        });
        let mut headers: Vec<(&String, &String)> = target.headers.iter().collect();
        for subscribe in subscribes {
            headers.extend(&subscribe.headers);
            secrets.add_url(&subscribe.url);
        }
        if let Some(publish) = &target.publish {
            headers.extend(&publish.headers);
            secrets.add_url(&publish.url);
            secrets.add_url(publish.websocket.as_ref().map_or("", |feed| &feed.url));
        }
        headers.extend(target.process.iter().flat_map(|process| &process.env));
        for (name, value) in headers {
            secrets.add(name, value);
        }
        // Longest first: a secret that holds another goes whole.
        secrets.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets
    }

    /// The scenario for `run.json`: as resolved, without secrets.
    pub fn redacted_value(&self) -> Value {
        let mut value = serde_json::to_value(self).expect("a scenario is plain data");
        self.secrets().redact_value(&mut value);
        value
    }

    /// A plan of this scenario for `run.json`: without secrets, the clients' table, certificates and keys.
    pub fn redacted_plan(&self, plan: &crate::plan::Plan) -> Value {
        let mut plan = plan.clone();
        for arm in &mut plan.arms {
            arm.clients = None;
            arm.tls = arm.tls.as_ref().map(crate::plan::Tls::without_files);
        }
        let mut value = serde_json::to_value(plan).expect("a plan is plain data");
        self.secrets().redact_value(&mut value);
        value
    }
}
