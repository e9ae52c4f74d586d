//! Resolves a scenario and the endpoints of its target to a [`Plan`]: every number filled in.

use std::borrow::Cow;

use super::Scenario;
use super::check::{no_emitters, no_peer_text, no_template};
use super::compiler::Compiler;
use super::endpoints::Endpoints;
use super::error::ScenarioError;
use super::load::{Backoff, Load};
use super::phase::Phase;
use super::publisher::{Over, Publisher, PublisherMode};
use super::ramp::ramp_of;
use super::stamp::StampTemplate;
use super::target::{PublishTemplate, SubscribeTemplate};
use crate::draw::{Draw, Purpose};
use crate::plan::{
    ArmPlan, Mode, Phases, Plan, PublisherPlan, Reconnect, SCHEMA, Size, Subscribe, Subscriptions, Tls,
};
use crate::schedule::RampStep;
use crate::secret::SecretValues;
use crate::template::{ClientFields, Place, Template};
use crate::transport::Transport;

/// The inputs of a plan beside the scenario.
#[derive(Clone, Debug)]
pub struct Context<'c> {
    /// The endpoints of the target.
    pub endpoints: &'c Endpoints,
    /// The table of `[target] clients`, if it names one.
    pub clients: Option<&'c ClientFields>,
    /// The settings of `[target.tls]` with the contents of its files; absent: this machine's defaults.
    pub tls: Option<&'c Tls>,
    /// The values of `{secret.NAME}`.
    pub secrets: Option<&'c SecretValues>,
}

/// Fills in every number. The plan is that of every run of this scenario: [`Plan::of_run`] gives one its stamps.
///
/// # Errors
/// Returns every request of the scenario that this target cannot meet. Errors have keys but no places
/// ([`Source::locate_all`](super::Source::locate_all) adds them).
pub fn resolve(scenario: &Scenario, context: &Context<'_>) -> Result<Plan, Vec<ScenarioError>> {
    let mut compiler = Compiler { scenario, errors: Vec::new() };
    let endpoints = &instrumented(scenario, context.endpoints, &mut compiler.errors);
    let publisher = publisher(scenario, endpoints);
    let mode = publisher.as_ref().map(|p| p.mode);
    let transports = transports(scenario, endpoints, mode, &mut compiler.errors);
    match mode {
        Some(Mode::Emitter) if !endpoints.emitters => {
            compiler.errors.push(no_emitters(&format!("`{}`", endpoints.name)));
        }
        Some(Mode::External) if endpoints.publish.is_none() => compiler.errors.push(
            ScenarioError::at(
                "publisher.mode",
                format!("`{}` does not say how to publish from outside", endpoints.name),
            )
            .found("\"external\"")
            .accepted("\"emitter\", or \"none\" to observe"),
        ),
        None => {
            nothing_published(scenario, &mut compiler.errors);
            super::stamp::check_observed(scenario.target.stamp.as_ref(), &mut compiler.errors);
        }
        _ => {}
    }
    let publish = match &endpoints.publish {
        Some(template) if mode == Some(Mode::External) => compiler.publish_over(template),
        _ => None,
    };
    let before = compiler.before();
    let mut arms = Vec::new();
    for transport in &transports {
        let key = format!("target.subscribe.{transport}");
        let template = endpoints.subscribe.of(*transport).expect("only transports that have one");
        let Some(subscribe) = compiler.subscribe(&key, *transport, template) else { continue };
        columns(&key, template, &subscribe, context.clients, &mut compiler.errors);
        if mode == Some(Mode::Peer) {
            match &subscribe.bayeux {
                Some(bayeux) => compiler.publishes_on(&key, bayeux),
                None if subscribe.peer.is_none() => compiler.errors.push(no_peer_text(&key)),
                None => {}
            }
        }
        let shared = arm(scenario, publisher.as_ref());
        let steady =
            super::warmup::plan(scenario, *transport, publisher.as_ref(), shared.subscriptions.channels);
        let steady = match steady {
            Ok(steady) => steady,
            Err(error) => {
                compiler.errors.push(*error);
                continue;
            }
        };
        let Ok(hybrid) = compiler.hybrid(endpoints, &subscribe) else { continue };
        let secure = subscribe.tls
            || before.iter().any(|request| request.tls)
            || publish.as_ref().is_some_and(|publish| publish.tls);
        let mut arm = ArmPlan {
            transport: *transport,
            hybrid,
            steady,
            target: endpoints.name.clone(),
            nonce: 0,
            seed: scenario.seed,
            publish: publish.clone(),
            before: before.clone(),
            tls: secure.then(|| context.tls.cloned().unwrap_or_default()),
            subscribe,
            publisher: publisher.clone(),
            clients: context.clients.cloned(),
            secrets: context.secrets.cloned().unwrap_or_default(),
            ..shared
        };
        super::pulled::drain_until_polled(&scenario.load, &mut arm);
        arms.push(arm);
    }
    if !compiler.errors.is_empty() {
        return Err(compiler.errors);
    }
    Draw::new(scenario.seed, Purpose::ArmOrder, 0).shuffle(&mut arms);
    Ok(Plan {
        schema: SCHEMA.to_owned(),
        name: scenario.name.clone(),
        analysis: scenario.analysis.clone(),
        seed: scenario.seed,
        arms,
    })
}

/// Returns the endpoints with the requests that the scenario asks for: with `load.instrumented` those whose
/// answers say what the server did for them.
fn instrumented<'e>(
    scenario: &Scenario,
    endpoints: &'e Endpoints,
    errors: &mut Vec<ScenarioError>,
) -> Cow<'e, Endpoints> {
    if !scenario.load.instrumented {
        return Cow::Borrowed(endpoints);
    }
    let error = |message: String| ScenarioError::at("load.instrumented", message).found("true");
    if scenario.publisher.as_ref().is_some_and(|publisher| publisher.check) {
        errors.push(
            error("the content of a publication inside a document is not compared".to_owned())
                .accepted("publisher.check = false"),
        );
    }
    let Some(requests) = &endpoints.instrumented else {
        errors.push(
            error(format!("`{}` offers no instrumented requests", endpoints.name))
                .accepted("a server of `pushmark servers list` that offers clause 7 of the contract"),
        );
        return Cow::Borrowed(endpoints);
    };
    Cow::Owned(Endpoints { subscribe: requests.clone(), ..endpoints.clone() })
}

/// Returns the transports to run, in display order. Requested transports that the target lacks are errors.
fn transports(
    scenario: &Scenario,
    endpoints: &Endpoints,
    mode: Option<Mode>,
    errors: &mut Vec<ScenarioError>,
) -> Vec<Transport> {
    let offered = endpoints.subscribe.transports();
    let mut transports = match &scenario.transports {
        Some(asked) => {
            for transport in asked.iter().filter(|t| !offered.contains(t)) {
                let mut error = no_template(*transport, &offered);
                if scenario.target.server.is_some() {
                    error.message = format!("`{}` has no `{transport}`", endpoints.name);
                    error.help = None;
                }
                errors.push(error);
            }
            asked.iter().copied().filter(|t| offered.contains(t)).collect()
        }
        None => compared(offered),
    };
    if scenario.load.hybrid.is_some() && scenario.transports.is_none() {
        transports.retain(|t| *t != Transport::Poll);
    }
    if mode == Some(Mode::Peer) {
        transports.retain(|t| t.can_publish());
        if transports.is_empty() {
            errors.push(
                ScenarioError::at("publisher.mode", "only clients on WebSocket or Bayeux can publish")
                    .found("\"peer\", and no such transport")
                    .accepted("a target with websocket or bayeux, or mode = \"external\""),
            );
        }
    }
    transports.sort_unstable();
    transports
}

/// Returns the transports that are compared by default. Bayeux is a protocol on top of transports, so it is
/// left out unless the target offers nothing else.
fn compared(offered: Vec<Transport>) -> Vec<Transport> {
    let plain: Vec<Transport> = offered.iter().copied().filter(|t| !t.is_bayeux()).collect();
    if plain.is_empty() { offered } else { plain }
}

/// Returns the plan of publications; `None`: the target is only observed.
fn publisher(scenario: &Scenario, endpoints: &Endpoints) -> Option<PublisherPlan> {
    let default = Publisher::default();
    let p = match &scenario.publisher {
        Some(publisher) => publisher,
        None if endpoints.publish.is_some() => &default,
        None => return None,
    };
    let mode = match p.mode {
        PublisherMode::External => Mode::External,
        PublisherMode::Emitter => Mode::Emitter,
        PublisherMode::Peer => Mode::Peer,
        PublisherMode::None => return None,
    };
    let way = endpoints.publish.as_ref().map_or(Over::Post, PublishTemplate::way);
    let (low, high) = (p.size.low.0 as u32, p.size.high.0 as u32);
    Some(PublisherPlan {
        mode,
        interval_ns: p.interval.map_or_else(|| 1e9 / p.per_second().0, |interval| interval.0 as f64),
        arrivals: p.arrivals,
        aligned: p.phase == Phase::Aligned,
        connections: p.connections_of(scenario.load.connections, p.over.unwrap_or(way)),
        size: if low == high { Size::Fixed(low) } else { Size::Uniform(low, high) },
        check: p.check,
        count: p.count,
        timeout_ns: p.timeout.0,
        alone_ns: p.alone.map(|alone| alone.0),
    })
}

/// Rejects a bound on deliveries if nothing is published: it can never be met.
fn nothing_published(scenario: &Scenario, errors: &mut Vec<ScenarioError>) {
    let never = scenario
        .thresholds
        .keys()
        .filter(|metric| metric.starts_with("delivery.") || metric.starts_with("published."));
    errors.extend(never.map(|metric| {
        ScenarioError::at(
            format!("thresholds.{metric:?}"),
            format!("nothing is published, so `{metric}` is never measured"),
        )
        .on_key()
        .found(format!("`{metric}`"))
        .accepted("observed.messages, observed.gap.p99, connect.failed, connections.lost and the like")
        .help("to measure deliveries, say how to publish: [target.publish] with a url")
    }));
}

/// Checks that columns named by templates are in the clients' table.
fn columns(
    key: &str,
    template: &SubscribeTemplate,
    subscribe: &Subscribe,
    clients: Option<&ClientFields>,
    errors: &mut Vec<ScenarioError>,
) {
    let Some(clients) = clients else { return };
    for (at, place) in subscribe.places() {
        let Place::ClientField(name) = place else { continue };
        // A header line is either the transport's own or shared by all requests.
        let own = |name: &String| at == format!("headers.{name:?}");
        let shared = at.starts_with("headers.") && !template.headers.keys().any(own);
        let key = format!("{}.{at}", if shared { "target" } else { key });
        let error = ScenarioError::at(&key, format!("the clients' file has no column `{name}`"))
            .found(format!("{{client.{name}}}"))
            .accepted(clients.columns.join(", "))
            .nearest(super::nearest(name, clients.columns.iter().map(String::as_str)));
        // A header shared by all transports is reported once.
        if !clients.columns.contains(name) && !errors.contains(&error) {
            errors.push(error);
        }
    }
}

/// Returns the settings that all arms share.
fn arm(scenario: &Scenario, publisher: Option<&PublisherPlan>) -> ArmPlan {
    let load = &scenario.load;
    let connections = scenario.flood.as_ref().map_or(load.connections, |flood| flood.limit());
    let s = &scenario.subscriptions;
    let mut phases = phases(load);
    if publisher.is_none() && scenario.target.stamp.is_none() {
        // Nothing is due, so nothing can be late.
        phases.drain_ns = 0;
    }
    let mut ramp = ramp_of(load);
    if load.ramp.during {
        // The crowd does not connect until measure begins.
        ramp.steps.insert(0, RampStep { to: 0, over_ns: phases.measure_start_ns() });
    }
    let mut arm = ArmPlan {
        transport: Transport::Poll,
        target: String::new(),
        nonce: 0,
        seed: scenario.seed,
        subscribe: nowhere(),
        publish: None,
        before: Vec::new(),
        tls: None,
        connections: load.connections,
        browsers: load.browsers,
        ramp,
        phases,
        steady: None,
        flood: None,
        deadline_ns: load.deadline.unwrap_or(load.drain).0,
        poll: super::pulled::poll_plan(load),
        hybrid: None,
        hold_ns: load.hold.0,
        keep_alive: load.keep_alive,
        instrumented: load.instrumented,
        connect_timeout_ns: load.connect_timeout.0,
        handshake_timeout_ns: load.handshake_timeout.0,
        idle_timeout_ns: load.idle_timeout.map(|t| t.0),
        reconnect: match load.reconnect.backoff {
            Backoff::None => Reconnect::None,
            Backoff::FullJitter => {
                Reconnect::FullJitter { base_ns: load.reconnect.base.0, max_ns: load.reconnect.max.0 }
            }
        },
        subscriptions: Subscriptions {
            channels: s.channels_of(connections) as u32,
            per_connection: s.per_connection,
            room_size: s.rooms.map(|rooms| rooms.size),
            names: s.names.iter().map(|name| super::places::as_it_is(name)).collect(),
        },
        publisher: None,
        stamp_sample: scenario.stamp_sample,
        batch_ns: scenario.batch.0,
        poller: scenario.poller,
        sources: load.source_ips.clone(),
        latest_value: s.latest_value,
        clients: None,
        target_stamp: scenario.target.stamp.as_ref().and_then(StampTemplate::own),
        decode: scenario.target.stamp.as_ref().and_then(|stamp| stamp.decode),
        secrets: SecretValues::default(),
    };
    super::flood::apply(scenario, publisher, &mut arm);
    arm
}

fn nowhere() -> Subscribe {
    Subscribe {
        host: String::new(),
        port: None,
        tls: false,
        method: "GET".to_owned(),
        path: Template::parse("/").expect("no places"),
        headers: Vec::new(),
        body: None,
        ends: false,
        subprotocol: String::new(),
        deflate: None,
        after_open: Vec::new(),
        steps: Vec::new(),
        separator: None,
        ready: None,
        every: Vec::new(),
        answer: Vec::new(),
        respond: Vec::new(),
        ignore: None,
        cursor: crate::plan::Cursor::None,
        cookies: false,
        resumes: false,
        peer: None,
        bayeux: None,
    }
}

fn phases(load: &Load) -> Phases {
    Phases {
        ramp_ns: if load.ramp.during { 0 } else { ramp_of(load).length_ns() },
        settle_ns: load.settle.0,
        warmup_ns: load.warmup.max.0,
        measure_ns: load.duration.0,
        drain_ns: load.drain.0,
    }
}
