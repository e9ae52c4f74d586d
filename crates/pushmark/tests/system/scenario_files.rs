//! Valid scenarios: those of the tree, those of the documents, and those made by flags.

use std::path::{Path, PathBuf};

use pushmark_host::server::registry::Registry;
use pushmark_model::plan::{Cursor, Mode, Plan, Size};
use pushmark_model::scenario::{Override, schema};
use pushmark_model::transport::Transport;
use pushmark_run::scenario_file::{Asked, Loaded, load};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(text: &str, overrides: &[Override]) -> Loaded {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.toml");
    std::fs::write(&path, text).unwrap();
    std::fs::write(folder.path().join("users.csv"), "name,token\nanna,secret-of-anna\n").unwrap();
    load(&Asked::File(&path), overrides, &Registry::embedded()).unwrap_or_else(|report| panic!("{report}"))
}

fn plan(text: &str, overrides: &[Override]) -> Plan {
    read(text, overrides).plan.of_run(1)
}

const BUILTIN: &str = "[target]\nserver = \"builtin\"\n";

#[test]
fn every_scenario_of_the_tree_resolves_and_says_what_it_shows() {
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("scenarios")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let loaded = load(&Asked::File(&path), &[], &Registry::embedded()).unwrap_or_else(|r| panic!("{r}"));
        let scenario = &loaded.scenario;
        assert!(scenario.analysis.len() > 40, "{}: say what it shows", path.display());
        assert_eq!(path.file_stem().unwrap().to_str(), Some(scenario.name.as_str()));
        assert!(!loaded.plan.of_run(1).arms.is_empty());
        let given: toml::Table = loaded.text.parse().unwrap();
        accepts(&serde_json::to_value(&given).unwrap(), &path.display().to_string());
        // The scenario kept in run.json reads back as the same scenario.
        let kept: pushmark_model::scenario::Scenario =
            serde_json::from_value(serde_json::to_value(scenario).unwrap()).unwrap();
        assert_eq!(&kept, scenario);
        seen += 1;
    }
    assert!(seen >= 8);
}

#[test]
fn every_row_of_the_registry_is_reached() {
    let registry = Registry::load(Some(&root().join("servers"))).unwrap_or_else(|r| panic!("{r}"));
    for server in registry.servers() {
        let text = format!("[target]\nserver = {:?}\n", server.name);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s.toml");
        std::fs::write(&path, text).unwrap();
        load(&Asked::File(&path), &[], &registry).unwrap_or_else(|r| panic!("{}: {r}", server.name));
    }
}

#[test]
fn the_quick_scenario_compares_the_plain_transports_in_29_seconds_an_arm() {
    let loaded = load(&Asked::Quick, &[], &Registry::embedded()).unwrap();
    let plan = loaded.plan.of_run(7);
    assert_eq!(plan.name, "quick");
    let mut transports: Vec<_> = plan.arms.iter().map(|arm| arm.transport).collect();
    transports.sort_unstable();
    let plain: Vec<_> = Transport::ALL.into_iter().filter(|t| !t.is_bayeux()).collect();
    assert_eq!(transports, plain);
    for arm in &plan.arms {
        assert_eq!(arm.connections, 1_000);
        // The drain of polls lasts until every client has polled once more.
        let longer_ns = if arm.transport == Transport::Poll { 500_000_000 } else { 0 };
        assert_eq!(arm.phases.end_ns(), 29_000_000_000 + longer_ns);
        assert_eq!(arm.target, "builtin");
    }
}

#[test]
fn defaults_are_those_of_the_documents() {
    let plan = plan(BUILTIN, &[]);
    let arm = plan.arms.iter().find(|arm| arm.transport == Transport::LongPoll).unwrap();
    assert_eq!((arm.seed, arm.connections, arm.deadline_ns), (42, 1_000, 2_000_000_000));
    assert_eq!((arm.hold_ns, arm.poll.interval_ns), (45_000_000_000, 1_000_000_000));
    assert_eq!((arm.subscriptions.channels, arm.subscriptions.per_connection), (1, 1));
    assert_eq!(arm.stamp_sample, 64);
    assert!(arm.keep_alive && arm.sources.is_empty() && arm.idle_timeout_ns.is_none());
    assert_eq!(arm.subscribe.cursor, Cursor::Header("pushmark-cursor".into()));
    let publisher = arm.publisher.as_ref().unwrap();
    assert_eq!((publisher.mode, publisher.interval_ns), (Mode::External, 1e8));
    assert_eq!((publisher.size, publisher.connections), (Size::Fixed(128), 64));
    assert_eq!(arm.publish.as_ref().unwrap().method, "POST");
}

#[test]
fn the_order_of_arms_repeats_and_nonces_do_not() {
    let loaded = read(BUILTIN, &[]);
    let order = |plan: &Plan| plan.arms.iter().map(|arm| arm.transport).collect::<Vec<_>>();
    let nonces = |plan: &Plan| plan.arms.iter().map(|arm| arm.nonce).collect::<Vec<_>>();
    let (a, b) = (loaded.plan.of_run(1), loaded.plan.of_run(2));
    assert_eq!(order(&a), order(&b));
    assert_eq!(nonces(&a), nonces(&loaded.plan.of_run(1)));
    let mut all = [nonces(&a), nonces(&b)].concat();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 10);
    let orders: std::collections::HashSet<_> = (0..20)
        .map(|seed| order(&plan(BUILTIN, &[Override::set(&format!("seed={seed}")).unwrap()])))
        .map(|order| format!("{order:?}"))
        .collect();
    assert!(orders.len() > 10, "the order is drawn");
}

#[test]
fn flags_edit_the_file() {
    let plan = plan(
        BUILTIN,
        &[
            Override::flag("-c", "load.connections", "50"),
            Override::flag("-r", "publisher.rate", "600/m"),
            Override::flag("-d", "load.duration", "3s"),
            Override::flag("-s", "publisher.size", "48B..64B"),
            Override::flag("-t", "transports", "ws,sse"),
            Override::set("load.ramp = { rate = 100 }").unwrap(),
            Override::set("name=by hand").unwrap(),
            Override::set("thresholds.delivery.p99=< 50ms").unwrap(),
        ],
    );
    assert_eq!((plan.name.as_str(), plan.arms.len()), ("by hand", 2));
    let arm = &plan.arms[0];
    assert_eq!((arm.connections, arm.phases.measure_ns), (50, 3_000_000_000));
    assert_eq!(arm.phases.ramp_ns, 500_000_000);
    let publisher = arm.publisher.as_ref().unwrap();
    assert_eq!((publisher.interval_ns, publisher.size), (1e8, Size::Uniform(48, 64)));
}

#[test]
fn rooms_make_the_channels() {
    let text = format!("[subscriptions]\nrooms = {{ size = 30 }}\n{BUILTIN}");
    let subscriptions = &plan(&text, &[]).arms[0].subscriptions;
    assert_eq!((subscriptions.channels, subscriptions.room_size), (34, Some(30)));
}

#[test]
fn nothing_is_waited_for_where_nothing_is_published() {
    let drain = |mode: &str| {
        let text = format!("target.server = \"builtin\"\npublisher.mode = \"{mode}\"\nload.drain = \"20s\"");
        plan(&text, &[]).arms[0].phases.drain_ns
    };
    assert_eq!((drain("external"), drain("none")), (20_000_000_000, 0));
}

#[test]
fn a_ramp_during_measure_begins_with_it() {
    let text = format!("[load]\nramp = {{ rate = 500, during = true }}\n{BUILTIN}");
    let arm = &plan(&text, &[]).arms[0];
    assert_eq!(arm.phases.ramp_ns, 0);
    assert_eq!(arm.ramp.due_ns(0), arm.phases.measure_start_ns());
    assert_eq!(arm.ramp.due_ns(500), arm.phases.measure_start_ns() + 1_000_000_000);
    assert!(arm.ramp.due_ns(999) < arm.phases.measure_end_ns());
}

#[test]
fn a_bare_url_is_observed() {
    for (url, asked, transport) in [
        ("ws://h:81/chat", &[][..], Transport::WebSocket),
        ("http://h/events", &[], Transport::Sse),
        ("http://h/events", &[Transport::Stream], Transport::Stream),
    ] {
        let loaded = load(&Asked::argument(Some(url), asked), &[], &Registry::embedded()).unwrap();
        let plan = loaded.plan.of_run(1);
        assert_eq!(plan.arms.len(), 1);
        let arm = &plan.arms[0];
        assert_eq!((arm.transport, arm.subscribe.host.as_str()), (transport, "h"));
        assert!(arm.publisher.is_none() && arm.publish.is_none());
    }
}

#[test]
fn templates_of_the_documents_reach_the_plan() {
    let text = r#"
        [target]
        headers = { authorization = "Bearer {client.token}", x-api-key = "hunter22" }
        clients = "users.csv"
        [target.subscribe]
        sse       = "http://127.0.0.1:9001/sse?channel={channel}"
        stream    = "http://127.0.0.1:9001/stream?channel={channel}"
        poll      = "http://[::1]:9001/latest?channel={channel}&token=s3cret-in-url"
        websocket = { url = "ws://127.0.0.1:9001/ws", subprotocol = "", after_open = ['{"subscribe":"{channel}"}'], ready = '"subscribed"',
                      every = [{ after = "25s", send = "ping" }], answer = [{ on = "2", send = "3" }] }
        long-poll = { url = "http://127.0.0.1:9001/lp?channel={channel}&since={cursor}", cursor = "header:X-Cursor" }
        [target.publish]
        method = "POST"
        url = "http://127.0.0.1:9001/pub?channel={channel}"
        headers = { "content-type" = "text/plain", authorization = "Bearer publisher-tok" }
        body = "{message}"
    "#;
    let loaded = read(text, &[]);
    let plan = loaded.plan.of_run(1);
    assert_eq!(plan.arms.len(), 5);
    let arm = |transport| plan.arms.iter().find(|arm| arm.transport == transport).unwrap();
    assert_eq!(arm(Transport::LongPoll).subscribe.cursor, Cursor::Header("x-cursor".into()));
    assert_eq!(arm(Transport::Poll).subscribe.host, "::1");
    let websocket = &arm(Transport::WebSocket).subscribe;
    assert_eq!(websocket.every[0].after_ns, 25_000_000_000);
    assert_eq!(websocket.after_open[0].source(), r#"{"subscribe":"{channel}"}"#);
    let headers = |arm: &pushmark_model::plan::ArmPlan| arm.publish.as_ref().unwrap().headers.len();
    assert_eq!(headers(arm(Transport::Sse)), 3);

    // No secret reaches a result.
    for kept in [
        loaded.scenario.redacted_value().to_string(),
        loaded.scenario.redacted_plan(&plan).to_string(),
        loaded.redacted_text(),
    ] {
        for secret in ["hunter22", "s3cret-in-url", "secret-of-anna", "publisher-tok"] {
            assert!(!kept.contains(secret), "{secret} in {kept}");
        }
        assert!(kept.contains("Bearer {client.token}"));
    }
}

#[test]
fn the_schema_describes_every_key() {
    let schema = schema();
    assert_eq!(schema["additionalProperties"], false);
    for (name, key) in schema["properties"].as_object().unwrap() {
        assert!(key.get("description").is_some(), "{name}");
    }
}

/// Checks a value against the part of JSON Schema that our schema uses.
fn accepts(value: &serde_json::Value, what: &str) {
    let schema = schema();
    if let Err(why) = matches(value, &schema, &schema, "") {
        panic!("{what}: {why}");
    }
}

fn matches(
    value: &serde_json::Value,
    schema: &serde_json::Value,
    root: &serde_json::Value,
    at: &str,
) -> Result<(), String> {
    use serde_json::Value;
    let fail = |why: String| Err(format!("{at}: {why}"));
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target =
            root.pointer(reference.trim_start_matches('#')).expect("a reference that leads somewhere");
        return matches(value, target, root, at);
    }
    for any in ["anyOf", "oneOf"] {
        if let Some(choices) = schema.get(any).and_then(Value::as_array)
            && !choices.iter().any(|choice| matches(value, choice, root, at).is_ok())
        {
            return fail(format!("{value} is none of {choices:?}"));
        }
    }
    if let Some(constant) = schema.get("const")
        && constant != value
    {
        return fail(format!("{value} is not {constant}"));
    }
    if let Some(choices) = schema.get("enum").and_then(Value::as_array)
        && !choices.contains(value)
    {
        return fail(format!("{value} is none of {choices:?}"));
    }
    let named = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("type {other}"),
    };
    let fits = match schema.get("type") {
        Some(Value::String(name)) => named(name),
        Some(Value::Array(names)) => names.iter().any(|name| named(name.as_str().unwrap())),
        _ => true,
    };
    if !fits {
        return fail(format!("{value} is no {}", schema["type"]));
    }
    if let (Some(items), Some(schema)) = (value.as_array(), schema.get("items")) {
        for (i, item) in items.iter().enumerate() {
            matches(item, schema, root, &format!("{at}[{i}]"))?;
        }
    }
    if let Some(fields) = value.as_object() {
        for (name, field) in fields {
            let at = format!("{at}.{name}");
            match schema.get("properties").and_then(|properties| properties.get(name)) {
                Some(property) => matches(field, property, root, &at)?,
                None => match schema.get("additionalProperties") {
                    Some(Value::Bool(false)) => return Err(format!("{at}: unknown")),
                    Some(additional @ Value::Object(_)) => matches(field, additional, root, &at)?,
                    _ => {}
                },
            }
        }
    }
    Ok(())
}
