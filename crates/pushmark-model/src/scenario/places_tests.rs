//! Every key of the schema that holds a text follows the rule, new keys included.

use super::*;

/// Returns the mistakes of a scenario.
fn told(text: &str) -> Vec<ScenarioError> {
    Scenario::parse(text, &[]).err().unwrap_or_default()
}

fn said(text: &str) -> String {
    let line = |e: ScenarioError| format!("{}: {} [{}]", e.key, e.message, e.nearest.unwrap_or_default());
    told(text).into_iter().map(line).collect::<Vec<_>>().join("; ")
}

/// Returns the paths of all texts that the schema allows, with `*` for names and indexes of the user.
fn text_keys() -> Vec<String> {
    let schema = crate::scenario::schema();
    let mut found = Vec::new();
    walk(&schema, &schema, &mut Vec::new(), &mut found);
    found.sort();
    found.dedup();
    found
}

fn walk(root: &Value, node: &Value, path: &mut Vec<String>, found: &mut Vec<String>) {
    if let Some(to) = node.get("$ref").and_then(Value::as_str) {
        return walk(root, root.pointer(&to[1..]).expect("a definition"), path, found);
    }
    for list in ["anyOf", "oneOf", "allOf"] {
        for choice in node.get(list).and_then(Value::as_array).into_iter().flatten() {
            walk(root, choice, path, found);
        }
    }
    let types = node.get("type");
    let is_text = types
        .is_some_and(|t| t == "string" || t.as_array().is_some_and(|all| all.contains(&"string".into())));
    if is_text && node.get("enum").is_none() && node.get("const").is_none() && node.get("pattern").is_none() {
        found.push(path.join("."));
    }
    let mut below = |name: &str, node: &Value| {
        path.push(name.to_owned());
        walk(root, node, path, found);
        path.pop();
    };
    for (name, node) in node.get("properties").and_then(Value::as_object).into_iter().flatten() {
        below(name, node);
    }
    for (key, name) in [("additionalProperties", "*"), ("items", "*")] {
        if let Some(node) = node.get(key).filter(|node| node.is_object()) {
            below(name, node);
        }
    }
}

/// Returns a document with one key set, and the other keys that it requires.
fn with(path: &str, text: &str) -> Value {
    let mut root = serde_json::json!({});
    let segments: Vec<&str> = path.split('.').collect();
    let mut node = &mut root;
    for (n, segment) in segments.iter().enumerate() {
        let is_last = n + 1 == segments.len();
        let is_list = ["after_open", "steps", "every", "answer", "respond", "start", "stop", "args", "names"];
        let child = |next: Option<&&str>| match next {
            None => Value::String(text.to_owned()),
            Some(_) if is_list.contains(segment) => Value::Array(vec![]),
            Some(_) => serde_json::json!({}),
        };
        node = match node {
            Value::Array(items) => {
                items.push(if is_last { Value::String(text.to_owned()) } else { serde_json::json!({}) });
                items.last_mut().expect("just pushed")
            }
            Value::Object(fields) => {
                let name = if *segment == "*" { "x" } else { segment };
                fields.entry(name).or_insert_with(|| child(segments.get(n + 1)))
            }
            _ => unreachable!("a path goes through tables and lists"),
        };
    }
    root
}

/// Whether the key need not reject a place: it is not sent, or its value has a unit or fixed choices and
/// rejects every other text.
fn is_other(key: &str, errors: &[ScenarioError]) -> bool {
    let path: Vec<String> = key.split('.').map(str::to_owned).collect();
    use_of(&path) == Use::NotSent
        || errors.iter().any(|e| e.message.contains("cannot be") || e.message.contains("no choice"))
}

#[test]
fn no_key_sends_an_unknown_place_as_it_stands() {
    let keys = text_keys();
    assert!(keys.len() > 40, "the walk sees the schema: {keys:?}");
    for wanted in ["target.subscribe.websocket.answer.*.send", "target.process.env.*", "target.headers.*"] {
        assert!(keys.iter().any(|key| key == wanted), "{wanted} in {keys:?}");
    }
    let mut kept = 0;
    for key in &keys {
        let text = toml::to_string(&with(key, "a{chanel}b")).unwrap();
        // Keys required by the place are checked by `check` only: read without it.
        let errors = match super::source::read::<Scenario>(&text, &[]) {
            Err(errors) => errors,
            Ok((scenario, _)) => {
                let mut errors = Vec::new();
                check(&scenario, &mut errors);
                errors
            }
        };
        let refused = errors.iter().any(|e| e.found.as_deref() == Some("{chanel}"));
        // Keys that lack required neighbours are read with them below.
        let lacks = errors.iter().any(|e| e.message.contains("needs the key"));
        kept += usize::from(refused);
        assert!(refused || lacks || is_other(key, &errors), "{key}: {text}: {errors:?}");
    }
    assert!(kept > 15, "{kept} of {keys:?}");
}

const WEBSOCKET: &str = "[target.subscribe.websocket]\nurl = \"ws://h/\"\n";

#[test]
fn keys_that_need_neighbours_keep_the_rule_too() {
    for more in [
        "answer = [{ on = \"a\", send = \"{chanel}\" }]",
        "answer = [{ on = \"{chanel}\", send = \"a\" }]",
        "every = [{ after = \"1s\", send = \"{chanel}\" }]",
        "after_open = [\"{chanel}\"]",
        "ready = \"{chanel}\"",
        "subprotocol = \"{chanel}\"",
        "publish = \"{message} {chanel}\"",
        "headers = { x = \"{chanel}\" }",
    ] {
        let errors = said(&format!("{WEBSOCKET}{more}\n"));
        assert!(errors.contains("no place `{chanel}`"), "{more}: {errors}");
    }
    for more in [
        "[target.publish]\nurl = \"http://h/{chanel}\"",
        "[target.publish]\nurl = \"http://h/\"\nbody = \"{message}{chanel}\"",
        "[target.publish]\nurl = \"http://h/\"\nheaders = { x = \"{chanel}\" }",
        "[target.publish]\nwebsocket = { url = \"ws://h/{chanel}\" }",
        "[target.publish]\nwebsocket = { url = \"ws://h/\", text = \"{message}{chanel}\" }",
        "[target.publish]\nwebsocket = { url = \"ws://h/\", after_open = [\"{chanel}\"] }",
        "[target.publish]\nwebsocket = { url = \"ws://h/\", ready = \"{chanel}\" }",
        "[target.process]\nstart = [\"x\"]\nenv = { A = \"{chanel}\" }",
        "[target.process]\nstart = [\"x\", \"{chanel}\"]",
        "[target.process]\nstart = [\"x\"]\nstop = [\"{chanel}\"]",
        "[target.process]\nstart = [\"x\"]\nready = \"http://h/{chanel}\"",
    ] {
        let errors = said(&format!("{WEBSOCKET}{more}\n"));
        assert!(errors.contains("no place `{chanel}`"), "{more}: {errors}");
    }
}

#[test]
fn what_cannot_be_filled_in_there_is_an_error() {
    let publish = "[target.publish]\nurl = \"http://h/p\"\n";
    let clients = "[target]\nclients = \"c.csv\"\n";
    for (text, error) in [
        (
            format!("{WEBSOCKET}every = [{{ after = \"1s\", send = \"{{message}}\" }}]"),
            "every[0].send: {message} has no meaning",
        ),
        (format!("{WEBSOCKET}after_open = [\"{{cursor}}\"]"), "{cursor} has no meaning"),
        (
            format!("{WEBSOCKET}ready = \"{{channel}}\""),
            "ready: {channel} has no meaning here: this text is compared",
        ),
        (
            format!("{clients}{WEBSOCKET}{publish}headers = {{ a = \"{{client.token}}\" }}"),
            "target.publish.headers.a: {client.token} has no meaning",
        ),
        (
            format!("{clients}headers = {{ a = \"{{client.token}}\" }}\n{WEBSOCKET}{publish}"),
            "target.headers.a: {client.token} has no meaning in a publication",
        ),
        (
            format!("{WEBSOCKET}after_open = [\"{{client.token}}\"]"),
            "{client.token} needs a table of clients",
        ),
        (
            format!("{WEBSOCKET}[target.process]\nstart = [\"x\"]\nenv = {{ A = \"{{channel}}\" }}"),
            "env.A: {channel} has no meaning",
        ),
        (format!("{WEBSOCKET}after_open = [\"{{port}}\"]"), "{port} is only known for a server"),
        (
            format!("{WEBSOCKET}[subscriptions]\nnames = [\"a{{channel}}\"]"),
            "names[0]: {channel} has no meaning",
        ),
        (format!("{WEBSOCKET}after_open = [\"{{Channel}}\"]"), "no place `{Channel}` [{channel}]"),
        (
            format!("{WEBSOCKET}after_open = [\"{{ chanel }}{{ channel }}\"]"),
            "no place `{ channel }` [{channel}]",
        ),
        (
            format!("{WEBSOCKET}after_open = [\"{{clent.token}}\"]"),
            "no place `{clent.token}` [{client.token}]",
        ),
        (
            format!("{WEBSOCKET}[target.publish]\nwebsocket = {{ url = \"ws://h/{{channel}}\" }}"),
            "websocket.url: {channel} has no meaning",
        ),
    ] {
        let errors = said(&text);
        assert!(errors.contains(error), "{text}\n{errors}");
        assert_eq!(errors.matches("; ").count(), 0, "one error: {errors}");
    }
}

#[test]
fn json_and_escaped_braces_are_texts() {
    let text = format!(
        "{WEBSOCKET}after_open = ['{{\"subscribe\":\"{{channel}}\",\"a\":{{\"b\":1}},\"e\":{{}}}}', '{{{{channel}}}}']\n\
         ready = '{{\"type\":\"ack\"}}{{{{x}}}}'\nanswer = [{{ on = '{{\"a\":1}}', send = '{{\"b\":\"{{client}}\"}}' }}]\n"
    );
    let (scenario, _) = Scenario::parse(&text, &[]).unwrap();
    let endpoints = super::super::Endpoints::of_target(&scenario.target).unwrap();
    let context = super::super::Context { endpoints: &endpoints, clients: None, tls: None, secrets: None };
    let plan = super::super::resolve(&scenario, &context).unwrap();
    let subscribe = &plan.arms[0].subscribe;
    let values = crate::template::Values { channels: &["c0"], client: 7, ..Default::default() };
    let said: Vec<String> = subscribe.after_open.iter().map(|t| t.render_text(&values)).collect();
    assert_eq!(said, [r#"{"subscribe":"c0","a":{"b":1},"e":{}}"#, "{channel}"]);
    assert_eq!(subscribe.ready.as_deref(), Some(r#"{"type":"ack"}{x}"#));
    assert_eq!(subscribe.answer[0].send.render_text(&values), r#"{"b":"7"}"#);
}

#[test]
fn a_shared_header_of_clients_alone_may_name_one() {
    let text = format!(
        "[target]\nclients = \"c.csv\"\nheaders = {{ A = \"{{client.token}}\" }}\n{WEBSOCKET}\
         [target.publish]\nurl = \"http://h/p\"\nheaders = {{ a = \"x\" }}\n"
    );
    assert_eq!(said(&text), "", "publications have a line of their own");
}

#[test]
fn every_secret_that_is_named_is_told_with_its_key() {
    let text = format!("{WEBSOCKET}after_open = [\"{{secret.a}}{{secret.b}}{{secret.a}}\"]\n");
    let (scenario, _) = Scenario::parse(&text, &[]).unwrap();
    let key = "target.subscribe.websocket.after_open[0]".to_owned();
    assert_eq!(scenario.secret_names(), [("a".to_owned(), key.clone()), ("b".to_owned(), key)]);
}
