//! Checks of a scenario that need only its text.

use super::Scenario;
use super::compiler::Compiler;
use super::endpoints::Endpoints;
use super::error::{ScenarioError, one_of};
use super::limits::{CONNECTIONS_MAX, above_zero, at_least_one, at_most};
use super::load::{BROWSERS_MAX, Load};
use super::publisher::{Over, Publisher, PublisherMode};
use crate::message::Message;
use crate::metrics::{Expression, ExpressionError};
use crate::schedule::Arrivals;
use crate::stamp::STAMP_LEN;
use crate::transport::Transport;
use crate::units::{Bytes, Nanos, SizeRange};

/// Largest payload.
const SIZE_MAX: u64 = 16 << 20;

/// Longest batch of arrivals.
const BATCH_MAX_NS: u64 = 100_000_000;

/// Maximum number of generator threads.
const THREADS_MAX: u32 = 1_024;

/// Returns all mistakes in a scenario, in no order.
pub(super) fn check(scenario: &Scenario) -> Vec<ScenarioError> {
    let mut errors = Vec::new();
    // First: if a place and a consequence of it are both wrong, the place is reported.
    super::places::check(scenario, &mut errors);
    top(scenario, &mut errors);
    target(scenario, &mut errors);
    if let Some(tls) = &scenario.target.tls {
        super::tls::check(tls, scenario.target.uses_tls(), &mut errors);
    }
    load(&scenario.load, &mut errors);
    browsers(scenario, &mut errors);
    super::pulled::check(scenario, &mut errors);
    super::subscriptions::check(&scenario.subscriptions, scenario.load.connections, &mut errors);
    if let Some(p) = &scenario.publisher {
        publisher(p, scenario, &mut errors);
    }
    if let Some(transports) = &scenario.transports {
        peers(scenario, transports, &mut errors);
        checked(scenario, transports, &mut errors);
    }
    if let Some(flood) = &scenario.flood {
        super::flood::check(flood, &mut errors);
    }
    super::warmup::check(scenario, &mut errors);
    thresholds(scenario, &mut errors);
    errors
}

fn top(scenario: &Scenario, errors: &mut Vec<ScenarioError>) {
    if scenario.name.contains(['/', '\\', '\0', '\n']) || scenario.name.starts_with('.') {
        errors.push(
            ScenarioError::at("name", "this name cannot be part of a folder's name")
                .found(format!("{:?}", scenario.name))
                .accepted("a name without slashes that does not begin with a dot"),
        );
    }
    at_least_one("repeat", u64::from(scenario.repeat), errors);
    if let Some(threads) = scenario.threads {
        at_least_one("threads", u64::from(threads), errors);
        at_most("threads", u64::from(threads), u64::from(THREADS_MAX), errors);
    }
    if scenario.batch.0 > BATCH_MAX_NS {
        errors.push(
            ScenarioError::at("batch", "this batch time is too long to measure latency")
                .found(scenario.batch)
                .accepted(format!("at most {}", Nanos(BATCH_MAX_NS))),
        );
    }
    at_most("agents", u64::from(scenario.agents), u64::from(THREADS_MAX), errors);
    let Some(transports) = &scenario.transports else { return };
    if transports.is_empty() {
        errors.push(
            ScenarioError::at("transports", "`transports` is empty")
                .found("an empty list")
                .accepted(one_of(Transport::ALL.map(Transport::name)))
                .help("leave the key out to compare all that the target has"),
        );
    }
    for (i, transport) in transports.iter().enumerate() {
        if transports[..i].contains(transport) {
            errors.push(
                ScenarioError::at(format!("transports[{i}]"), format!("`{transport}` is listed twice"))
                    .found(format!("\"{transport}\" again"))
                    .accepted("each transport once")
                    .help("to run every arm more often, set `repeat`"),
            );
        }
    }
}

fn target(scenario: &Scenario, errors: &mut Vec<ScenarioError>) {
    let target = &scenario.target;
    if target.server.is_some() {
        for (key, given) in [
            ("subscribe", target.subscribe.is_some()),
            ("publish", target.publish.is_some()),
            ("process", target.process.is_some()),
        ] {
            if given {
                errors.push(
                    ScenarioError::at(
                        format!("target.{key}"),
                        format!("`server` has its own templates, so `{key}` is not allowed"),
                    )
                    .found("both")
                    .accepted("either server = \"…\", or templates under [target.subscribe]"),
                );
            }
        }
        return;
    }
    at_least_one("target.port", target.port.map_or(1, u64::from), errors);
    if let Some(on) = target.log {
        errors.push(
            ScenarioError::at("target.log", "only servers with the contract can switch their request log")
                .found(format!("{on}, and no server"))
                .accepted("server = \"…\" of `pushmark servers list` beside it"),
        );
    }
    if target.live_heap && target.process.is_none() {
        errors.push(
            ScenarioError::at("target.live_heap", "only a JVM that pushmark starts can be made to collect")
                .found("nothing to start")
                .accepted("server = \"…\", or [target.process] with start = […]"),
        );
    }
    if let (Some(port), None) = (target.port, &target.process) {
        errors.push(
            ScenarioError::at("target.port", "`port` needs a server that pushmark starts")
                .found(format!("{port}, and nothing to start"))
                .accepted("server = \"…\", or [target.process] with start = […]")
                .help("write the port of a running system in its URLs, under [target.subscribe]"),
        );
    }
    if !target.flags.is_empty() {
        errors.push(
            ScenarioError::at("target.flags", "`flags` needs a server of the registry")
                .found("flags, and no server")
                .accepted("server = \"…\" of `pushmark servers list` beside them"),
        );
    }
    let Some(endpoints) = Endpoints::of_target(target) else {
        errors
            .push(ScenarioError::at("target", "the scenario has no target").accepted(
                "server = \"…\" of `pushmark servers list`, or templates under [target.subscribe]",
            ));
        return;
    };
    let offered = endpoints.subscribe.transports();
    if offered.is_empty() {
        errors.push(
            ScenarioError::at("target.subscribe", "no transport has a template")
                .found("an empty table")
                .accepted(one_of(Transport::ALL.map(Transport::name))),
        );
    }
    for transport in scenario.transports.iter().flatten().filter(|t| !offered.contains(t)) {
        errors.push(no_template(*transport, &offered));
    }
    let mut compiler = Compiler { scenario, errors: Vec::new() };
    compiler.before();
    for transport in offered {
        let template = endpoints.subscribe.of(transport).expect("offered");
        compiler.subscribe(&format!("target.subscribe.{transport}"), transport, template);
    }
    if let Some(publish) = &endpoints.publish {
        compiler.published(publish);
    }
    if let Some(process) = &target.process {
        match &process.monitor {
            None if process.start.is_empty() => compiler.errors.push(
                ScenarioError::at("target.process.start", "the start command is empty")
                    .found("an empty list")
                    .accepted("a command and its arguments, such as [\"./server\", \"--port\", \"{port}\"]"),
            ),
            Some(name) if *process != super::ProcessTemplate::of_monitor(name) => compiler.errors.push(
                ScenarioError::at(
                    "target.process.monitor",
                    "a monitor starts its own command, by its own file",
                )
                .found("`monitor` and other keys of `process`")
                .accepted("either `monitor`, or `start` and the keys beside it"),
            ),
            _ => {}
        }
        if let Some(ready) = &process.ready {
            compiler.url("target.process.ready", ready, false);
        }
    }
    if let Some(stamp) = &target.stamp {
        super::stamp::check(stamp, &mut compiler.errors);
    }
    errors.append(&mut compiler.errors);
    // One wrong header shared by all transports is one error.
    let mut seen = std::collections::HashSet::new();
    errors.retain(|e| seen.insert((e.key.clone(), e.message.clone())));
}

pub(super) fn no_template(transport: Transport, offered: &[Transport]) -> ScenarioError {
    ScenarioError::at("transports", format!("the target has no `{transport}`"))
        .found(format!("\"{transport}\""))
        .accepted(one_of(offered.iter().map(|t| t.name())))
        .help(format!("say how to subscribe: {transport} = \"…\" under [target.subscribe]"))
}

fn load(load: &Load, errors: &mut Vec<ScenarioError>) {
    at_least_one("load.connections", load.connections, errors);
    at_most("load.connections", load.connections, CONNECTIONS_MAX, errors);
    at_most("load.browsers", u64::from(load.browsers), u64::from(BROWSERS_MAX), errors);
    for (key, value) in [
        ("load.duration", load.duration),
        ("load.hold", load.hold),
        ("load.connect_timeout", load.connect_timeout),
        ("load.handshake_timeout", load.handshake_timeout),
        ("load.poll_interval.interval", load.poll_interval.interval),
        ("load.idle_timeout", load.idle_timeout.unwrap_or(Nanos(1))),
    ] {
        above_zero(key, value, errors);
    }
    super::ramp::check(load, errors);
    deadline(load, errors);
    let reconnect = &load.reconnect;
    if reconnect.base.0 == 0 || reconnect.base > reconnect.max {
        errors.push(
            ScenarioError::at("load.reconnect", "the bounds of the delay are no range")
                .found(format!("base = \"{}\", max = \"{}\"", reconnect.base, reconnect.max))
                .accepted("0 < base ≤ max"),
        );
    }
}

/// A browser sends texts, and compares whole messages.
fn browsers(scenario: &Scenario, errors: &mut Vec<ScenarioError>) {
    let websocket = scenario.target.subscribe.as_ref().and_then(|set| set.websocket.as_ref());
    let Some(websocket) = websocket.filter(|_| scenario.load.browsers > 0) else { return };
    let sent = websocket.after_open.iter().chain(websocket.every.iter().map(|every| &every.send));
    let answered = websocket.answer.iter().flat_map(|answer| [&answer.on, &answer.send]);
    let is_binary = |text: &String| Message::parse(text).is_ok_and(|message| !message.is_text());
    for (what, given) in [
        ("`steps`", !websocket.steps.is_empty()),
        ("`separator`", websocket.separator.is_some()),
        ("binary messages", sent.chain(answered).any(is_binary)),
    ] {
        if given {
            errors.push(
                ScenarioError::at("load.browsers", format!("browsers cannot subscribe with {what}"))
                    .found(format!("{} beside {what}", scenario.load.browsers))
                    .accepted("0, or `after_open` and `answer` with whole texts"),
            );
        }
    }
}

fn deadline(load: &Load, errors: &mut Vec<ScenarioError>) {
    let (key, deadline) = match load.deadline {
        Some(deadline) => ("load.deadline", deadline),
        None => ("load.drain", load.drain),
    };
    if deadline.0 == 0 {
        errors.push(
            ScenarioError::at(key, "with a deadline of zero every delivery is late")
                .found(deadline)
                .accepted("a duration above zero")
                .help("the deadline is load.drain unless load.deadline says otherwise"),
        );
    } else if deadline > load.drain {
        errors.push(
            ScenarioError::at("load.deadline", "the run ends before the last delivery's deadline")
                .found(format!("a deadline of {deadline}, a drain of {}", load.drain))
                .accepted(format!("at most load.drain, {}", load.drain))
                .help(format!("set load.drain = \"{deadline}\" or more")),
        );
    }
}

fn publisher(p: &Publisher, scenario: &Scenario, errors: &mut Vec<ScenarioError>) {
    let target = &scenario.target;
    let connections = p.connections_of(scenario.load.connections, p.over.unwrap_or(Over::Post));
    at_least_one("publisher.connections", u64::from(connections), errors);
    super::feed::check(p, errors);
    above_zero("publisher.timeout", p.timeout, errors);
    if p.count == Some(0) {
        at_least_one("publisher.count", 0, errors);
    }
    size("publisher.size", p.size, errors);
    super::publisher::check_rate(p, scenario.subscriptions.channels_of(scenario.load.connections), errors);
    if p.mode == PublisherMode::Emitter && p.arrivals == Arrivals::Poisson {
        errors.push(
            ScenarioError::at("publisher.arrivals", "an emitter publishes at a constant interval")
                .found("\"poisson\" with mode = \"emitter\"")
                .accepted("\"constant\", or mode = \"external\""),
        );
    }
    if p.mode == PublisherMode::Emitter && p.size.low != p.size.high {
        errors.push(
            ScenarioError::at("publisher.size", "an emitter publishes messages of one size")
                .found(format!("a range, {}, with mode = \"emitter\"", p.size))
                .accepted("one size, or mode = \"external\""),
        );
    }
    if p.mode == PublisherMode::Emitter && p.check {
        errors.push(
            ScenarioError::at("publisher.check", "an emitter cannot draw padding from the seed")
                .found("true with mode = \"emitter\"")
                .accepted("false, or mode = \"external\""),
        );
    }
    if target.subscribe.is_none() {
        return;
    }
    match p.mode {
        PublisherMode::External if target.publish.is_none() => errors.push(
            ScenarioError::at("publisher", "the target does not say how to publish")
                .accepted("[target.publish] with url = \"…\" and body = \"{message}\"")
                .help("to observe a target that publishes by itself, leave [publisher] out"),
        ),
        PublisherMode::Emitter => errors.push(no_emitters("this target")),
        _ => {}
    }
}

fn checked(scenario: &Scenario, transports: &[Transport], errors: &mut Vec<ScenarioError>) {
    if scenario.publisher.as_ref().is_some_and(|p| p.check) && transports.contains(&Transport::Stream) {
        errors.push(
            ScenarioError::at("publisher.check", "a stream has no messages whose content could be checked")
                .found("true with transports = [\"stream\"]")
                .accepted("false, or other transports"),
        );
    }
}

pub(super) fn no_emitters(name: &str) -> ScenarioError {
    ScenarioError::at("publisher.mode", format!("{name} has no emitters"))
        .found("\"emitter\"")
        .accepted("\"external\", \"peer\" (websocket, bayeux) or \"none\"")
        .help("only servers that keep the contract (`pushmark servers list`) publish by themselves")
}

fn peers(scenario: &Scenario, transports: &[Transport], errors: &mut Vec<ScenarioError>) {
    if !scenario.publisher.as_ref().is_some_and(|p| p.mode == PublisherMode::Peer) {
        return;
    }
    let others: Vec<&str> = transports.iter().filter(|t| !t.can_publish()).map(|t| t.name()).collect();
    if !others.is_empty() {
        errors.push(
            ScenarioError::at(
                "transports",
                "only clients on WebSocket or Bayeux can publish (publisher.mode = \"peer\")",
            )
            .found(others.join(", "))
            .accepted(one_of(Transport::ALL.into_iter().filter(|t| t.can_publish()).map(Transport::name))),
        );
    }
    let websocket = scenario.target.subscribe.as_ref().and_then(|set| set.websocket.as_ref());
    if transports.contains(&Transport::WebSocket) && websocket.is_some_and(|w| w.publish.is_none()) {
        errors.push(no_peer_text("target.subscribe.websocket"));
    }
}

pub(super) fn no_peer_text(key: &str) -> ScenarioError {
    ScenarioError::at(key, "the target does not say how a client publishes")
        .accepted("publish = \"…{channel}…{message}…\" beside the url")
}

fn size(key: &str, size: SizeRange, errors: &mut Vec<ScenarioError>) {
    let stamp = STAMP_LEN as u64;
    if size.low.0 < stamp {
        errors.push(
            ScenarioError::at(key, "a payload must hold its stamp, 48 bytes")
                .found(size)
                .accepted(format!("{} or more", Bytes(stamp))),
        );
    }
    if size.high.0 > SIZE_MAX {
        errors.push(
            ScenarioError::at(key, "this payload is too large")
                .found(size)
                .accepted(format!("at most {}", Bytes(SIZE_MAX))),
        );
    }
}

fn thresholds(scenario: &Scenario, errors: &mut Vec<ScenarioError>) {
    for (metric, bound) in &scenario.thresholds {
        let key = format!("thresholds.{metric:?}");
        match Expression::parse(metric, bound) {
            Ok(_) => {}
            Err(ExpressionError::Metric { found, nearest }) => errors.push(
                ScenarioError::at(key, format!("there is no metric `{found}`"))
                    .on_key()
                    .found(format!("`{found}`"))
                    .nearest(nearest)
                    .accepted("a metric such as delivery.p99, delivery.missing, connect.failed or published.lag.p99"),
            ),
            Err(ExpressionError::Bound { found, accepted }) => errors.push(
                ScenarioError::at(key, format!("invalid bound for `{metric}`"))
                    .found(format!("{found:?}"))
                    .accepted(accepted),
            ),
        }
    }
}
