//! Push and pull side by side: polls that repair losses of push, halves whose accounts add up, trip times of
//! all receipts, and answers of 304.

use super::Check;
use super::bench::Bench;
use super::scenario::Ask;

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    push_and_pull(bench)?;
    push_or_pull(bench)?;
    trip(bench)?;
    conditional(bench)?;
    checked(bench)
}

/// Two publications a second, so that each is the newest for several polls.
fn ask(transport: &'static str, bench: &Bench) -> Ask {
    let (crowd, measure_ms) = bench.scale.pick((20, 2_000), (200, 20_000));
    Ask::builtin(transport).connections(crowd).duration(measure_ms).rate(2.0)
}

/// The server drops one delivery in four; polls fetch each state, so nothing is missing in the end.
fn push_and_pull(bench: &mut Bench) -> anyhow::Result<()> {
    for &transport in bench.scale.over(&["sse"], &["sse"], &["stream", "sse", "websocket", "long-poll"]) {
        let ask =
            ask(transport, bench).load("hybrid = { safety_poll = \"120ms\" }").arguments(&["--drop", "1/4"]);
        let measured = bench.run(&ask)?;
        let (delivery, truth) = (measured.delivery(), measured.truth()?);
        let safety = measured.arm().hybrid.as_ref().and_then(|h| h.safety.clone()).unwrap_or_default();
        let name = |what: &str| format!("{transport} with safety polls: {what}");
        let dropped: u64 = truth.publications.iter().map(|p| p.dropped).sum();
        bench.keep(Check::holds(name("blows"), "> 0", dropped, dropped > 0));
        // A long poll repairs some losses itself, because it asks again from its cursor.
        if transport != "long-poll" {
            bench.keep(Check::exact(name("repaired"), dropped, safety.repaired));
        }
        bench.keep(Check::exact(name("found"), safety.found, safety.overtaken + safety.repaired));
        bench.keep(Check::exact(name("missing"), 0, delivery.missing));
        bench.keep(Check::exact(name("arrived"), delivery.intended, delivery.delivered + delivery.late));
        bench.keep(Check::exact(name("duplicate"), 0, delivery.duplicate));
        bench.keep(Check::exact(name("polls without an answer"), 0, safety.failed));
    }
    Ok(())
}

/// Half of the crowd polls. The messages that the server drops are missing in the other half, and nowhere
/// else.
fn push_or_pull(bench: &mut Bench) -> anyhow::Result<()> {
    let ask = ask("sse", bench)
        .load("hybrid = { pull_share = 0.5 }")
        .load("poll_interval = \"120ms\"")
        .arguments(&["--drop", "1/4"]);
    let measured = bench.run(&ask)?;
    let (arm, all, truth) = (measured.arm(), measured.delivery(), measured.truth()?);
    let halves = arm.hybrid.as_ref().and_then(|h| Some((h.push.as_ref()?, h.pull.as_ref()?)));
    let Some((push, pull)) = halves else {
        bench.keep(Check::holds("push or pull: halves", "two", "none", false));
        return Ok(());
    };
    let name = |what: &str| format!("push or pull: {what}");
    let crowd = arm.connections.asked;
    bench.keep(Check::exact(name("pushed to"), crowd / 2, push.connections.opened));
    bench.keep(Check::exact(name("polling"), crowd / 2, pull.connections.opened));
    let (Some(pushed), Some(pulled)) = (&push.delivery, &pull.delivery) else { return Ok(()) };
    let dropped: u64 = truth.publications.iter().map(|p| p.dropped).sum();
    let subscribed: u64 = truth.publications.iter().map(|p| p.subscribers).sum();
    bench.keep(Check::holds(name("blows"), "> 0", dropped, dropped > 0));
    bench.keep(Check::exact(name("pushed: missing"), dropped, pushed.missing));
    bench.keep(Check::exact(name("pushed: arrived"), subscribed - dropped, pushed.delivered + pushed.late));
    bench.keep(Check::exact(name("polling: missing"), 0, pulled.missing));
    bench.keep(Check::exact(
        name("polling: shown or passed over"),
        pulled.intended,
        pulled.delivered + pulled.late + pulled.superseded,
    ));
    for (what, sum, of) in [
        ("intended", pushed.intended + pulled.intended, all.intended),
        ("delivered", pushed.delivered + pulled.delivered, all.delivered),
        ("missing", pushed.missing + pulled.missing, all.missing),
        ("superseded", pushed.superseded + pulled.superseded, all.superseded),
        ("latencies", pushed.latency.count + pulled.latency.count, all.latency.count),
    ] {
        bench.keep(Check::exact(name(&format!("both halves: {what}")), of, sum));
    }
    Ok(())
}

/// The trip time of a push runs over duplicates too; that of a poll is the age at every answer.
fn trip(bench: &mut Bench) -> anyhow::Result<()> {
    let measured = bench.run(&ask("sse", bench).arguments(&["--dup", "1/3"]))?;
    let (delivery, truth) = (measured.delivery(), measured.truth()?);
    let written: u64 = truth.publications.iter().map(|p| p.written).sum();
    bench.keep(Check::holds("sse trip: duplicates", "> 0", delivery.duplicate, delivery.duplicate > 0));
    let count = |d: &pushmark_model::run::Delivery| d.trip.as_ref().map_or(0, |trip| trip.count);
    bench.keep(Check::exact("sse trip: receipts", written, count(delivery)));
    let measured = bench.run(&ask("poll", bench).load("poll_interval = \"100ms\""))?;
    let age = measured.arm().poll.as_ref().map(|p| (p.age_at_receipt.count, p.age_at_receipt.mean_us));
    let trip = measured.delivery().trip.as_ref().map(|trip| (trip.count, trip.mean_us));
    bench.keep(Check::holds(
        "poll trip: the age at each answer",
        format!("{age:?}"),
        format!("{trip:?}"),
        age == trip,
    ));
    Ok(())
}

/// With conditional requests every answer without a new message is a 304. Without them no answer is.
fn conditional(bench: &mut Bench) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    for conditional in [false, true] {
        let load = format!("poll_interval = {{ interval = \"100ms\", conditional = {conditional} }}");
        let measured = bench.run(&ask("poll", bench).publisher("size = \"2KiB\"").load(&load))?;
        let poll = measured.arm().poll.clone().unwrap_or_default();
        let name = |what: &str| format!("conditional = {conditional}: {what}");
        bench.keep(Check::holds(name("redundant"), "> 0", poll.redundant, poll.redundant > 0));
        // The answers before the first publication have no state that could be compared.
        let states = poll.requests - poll.redundant;
        let least = if conditional { poll.redundant.saturating_sub(states) } else { 0 };
        let most = if conditional { poll.redundant } else { 0 };
        let found = Some(poll.not_modified as f64);
        bench.keep(Check::between(name("304"), least as f64, found, most as f64, ""));
        bytes.push(measured.arm().wire.measure_bytes_in);
    }
    let (plain, saved) = (bytes[0], bytes[1]);
    let expected = format!("below {}", plain / 2);
    bench.keep(Check::holds("conditional: bytes read", expected, saved, saved < plain / 2));
    Ok(())
}

/// The built-in server delivers each publication byte for byte, in every envelope.
fn checked(bench: &mut Bench) -> anyhow::Result<()> {
    let few = &["poll", "bayeux"];
    let all = &["poll", "long-poll", "sse", "websocket", "bayeux", "bayeux-websocket"];
    for &transport in bench.scale.over(few, few, all) {
        let ask = Ask::builtin(transport)
            .duration(1_000)
            .rate(10.0)
            .load("poll_interval = \"100ms\"")
            .publisher("check = true\nsize = \"60B..4KiB\"");
        let measured = bench.run(&ask)?;
        let delivery = measured.delivery();
        let name = |what: &str| format!("{transport} checked: {what}");
        bench.keep(Check::holds(name("arrived"), "> 0", delivery.delivered, delivery.delivered > 0));
        bench.keep(Check::exact(
            name("corrupt"),
            "0".to_owned(),
            delivery.corrupt.map_or("absent".into(), |n| n.to_string()),
        ));
    }
    Ok(())
}
