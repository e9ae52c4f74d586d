//! Dropped, duplicated and swapped deliveries are counted exactly, and no percentile hides missing ones.

use pushmark_model::transport::Transport;

use super::bench::{Bench, Measured};
use super::log::Publication;
use super::scenario::Ask;
use super::{Check, Scale};

/// Transports whose deliveries a server can lose.
const PUSHED: &[&str] = &["stream", "sse", "websocket", "long-poll", "bayeux", "bayeux-websocket"];

/// Faults before measure are not part of its figures.
const WARMUP_MS: u64 = 500;

/// 200 publications a second to 20 clients: with N = 1,000 ten faults occur in 2.5 s.
fn ask(transport: &'static str, scale: Scale) -> Ask {
    Ask::builtin(transport)
        // Over two connections, publications could overtake each other on the way to the server.
        .top("threads = 1")
        .publisher("connections = 1")
        .connections(scale.pick(20, 100))
        .warmup(WARMUP_MS)
        .duration(scale.pick(2_500, 5_000))
        .rate(200.0)
        .threshold("delivery.p90", "< 10s")
        .threshold("delivery.p50", "< 10s")
}

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    for &transport in bench.scale.over(&["sse", "websocket"], PUSHED, PUSHED) {
        for one_in in ["1/7", "1/1000"] {
            let rare = one_in == "1/1000";
            if rare
                && bench.scale != Scale::Full
                && (matches!(transport, "long-poll" | "bayeux" | "bayeux-websocket")
                    || bench.scale == Scale::Minute)
            {
                continue;
            }
            // Small: all three faults affect one crowd. In full each fault also has its own crowd.
            let all: &[&[&str]] = &[&["--drop", one_in, "--dup", one_in, "--swap", one_in]];
            let each: &[&[&str]] = &[&["--drop", one_in], &["--dup", one_in], &["--swap", one_in]];
            let crowds = match bench.scale {
                Scale::Minute | Scale::Small => all.to_vec(),
                Scale::Full => [each, all].concat(),
            };
            for faults in crowds {
                let measured = bench.run(&ask(transport, bench.scale).arguments(faults))?;
                let flags = faults.iter().step_by(2).map(|f| &f[2..]).collect::<Vec<_>>().join(" ");
                compare(bench, &measured, &format!("{transport} {flags} {one_in}"))?;
            }
        }
    }
    Ok(())
}

fn compare(bench: &mut Bench, measured: &Measured, name: &str) -> anyhow::Result<()> {
    let (delivery, truth) = (measured.delivery(), measured.truth()?);
    // One channel: the publications due in measure are the last ones in the server's log.
    let first = truth.first_of_last(measured.published().sent);
    let (counted, before): (Vec<&Publication>, Vec<&Publication>) =
        truth.publications.iter().partition(|p| p.sequence >= first);
    let total = |column: fn(&Publication) -> u64| counted.iter().map(|p| column(p)).sum::<u64>();
    // Without any fault a comparison would pass without testing anything.
    let blows = |p: &Publication| p.dropped + p.duplicated + p.swapped;
    let struck = total(blows);
    bench.keep(Check::holds(format!("{name}: blows"), "> 0", struck, struck > 0));
    let early: u64 = before.iter().map(|p| blows(p)).sum();
    bench.keep(Check::holds(format!("{name}: blows before measure"), "> 0", early, early > 0));
    let crowd = measured.arm().connections.asked;
    let published = counted.len() as u64 * crowd;
    bench.keep(Check::exact(
        format!("{name}: published"),
        published,
        delivery.intended - delivery.unpublished,
    ));
    // A client that was not yet connected at the first publication is not a loss. A long poller counts as
    // present between two requests too: its cursor brings what it missed.
    let there = match measured.arm().transport {
        Transport::LongPoll => total(|p| p.listening + p.in_flight),
        _ => total(|p| p.subscribers),
    };
    bench.keep(Check::exact(
        format!("{name}: unserved"),
        published - there,
        delivery.unserved + delivery.excused,
    ));
    let missing = there - total(Publication::heard);
    bench.keep(Check::exact(format!("{name}: missing"), missing, delivery.missing));
    bench.keep(Check::exact(format!("{name}: duplicate"), total(|p| p.duplicated), delivery.duplicate));
    bench.keep(Check::exact(format!("{name}: out of order"), total(|p| p.swapped), delivery.out_of_order));
    bench.keep(Check::exact(
        format!("{name}: arrived"),
        total(Publication::heard),
        delivery.delivered + delivery.late,
    ));
    // At least a tenth is missing: the 90th percentile is among the missing.
    let among = missing * 10 > delivery.expected;
    let p90 = (delivery.latency.p90_us.is_some(), delivery.latency.p90_at_least_us.is_some());
    let shown = |(value, at_least): (bool, bool)| match (value, at_least) {
        (true, false) => "given",
        (false, true) => "at least",
        _ => "neither",
    };
    bench.keep(Check::exact(format!("{name}: p90 is"), shown((!among, among)), shown(p90)));
    let bound = |metric: &str| {
        let found = measured.files.run.thresholds.iter().find(|t| t.expression.contains(metric));
        found.is_some_and(|t| t.ok)
    };
    let held = |ok: bool| if ok { "held" } else { "crossed" };
    bench.keep(Check::exact(format!("{name}: p90 < 10 s"), held(!among), held(bound("p90"))));
    bench.keep(Check::exact(format!("{name}: p50 < 10 s"), held(true), held(bound("p50"))));
    Ok(())
}

/// Changed content is counted if content is checked. Such a delivery is not lost.
pub(super) fn corrupt(bench: &mut Bench) -> anyhow::Result<()> {
    for &transport in bench.scale.over(&["sse"], &["sse", "long-poll", "websocket"], PUSHED) {
        let ask = ask(transport, bench.scale)
            .publisher("check = true")
            .publisher("size = \"200B\"")
            .arguments(&["--corrupt", "1/7"]);
        let measured = bench.run(&ask)?;
        let (delivery, truth) = (measured.delivery(), measured.truth()?);
        let first = truth.first_of_last(measured.published().sent);
        let total = |column: fn(&Publication) -> u64| truth.sum_from(first, column);
        let struck = total(|p| p.corrupted);
        let name = |what: &str| format!("{transport} corrupt 1/7: {what}");
        bench.keep(Check::holds(name("blows"), "> 0", struck, struck > 0));
        bench.keep(Check::exact(name("corrupt"), struck, delivery.corrupt.unwrap_or(0)));
        let arrived = delivery.delivered + delivery.late;
        bench.keep(Check::exact(name("arrived"), total(Publication::heard), arrived));
        bench.keep(Check::exact(name("unstamped"), 0, delivery.unstamped));
    }
    Ok(())
}
