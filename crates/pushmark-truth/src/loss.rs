//! Losses when connections fail, break or fall silent: the intended deliveries stay the same, and each loss
//! has its own fate.

use pushmark_model::run::Outcome;

use super::Check;
use super::bench::Bench;
use super::log::Publication;
use super::scenario::Ask;

/// Every second connection is reset in the middle of the run.
pub(super) fn reset(bench: &mut Bench) -> anyhow::Result<()> {
    let all = &["stream", "sse", "websocket", "bayeux-websocket"];
    for &transport in bench.scale.over(&["websocket"], &["sse", "websocket"], all) {
        // Five publications a second, and the reset between two of them.
        let (crowd, seconds) = bench.scale.pick((20, 3), (200, 20));
        let ask = Ask::builtin(transport)
            .connections(crowd)
            .duration(seconds * 1_000)
            .rate(5.0)
            .arguments(&["--reset", &format!("1/2@{}ms", seconds * 400 + 100)]);
        let measured = bench.run(&ask)?;
        let (delivery, truth) = (measured.delivery(), measured.truth()?);
        let name = |what: &str| format!("{transport} half reset: {what}");
        let publications = truth.publications.len() as u64;
        bench.keep(Check::exact(name("published"), seconds * 5, publications));
        bench.keep(Check::exact(name("intended"), crowd * publications, delivery.intended));
        let absent: u64 = truth.publications.iter().map(|p| crowd - p.subscribers).sum();
        bench.keep(Check::holds(name("truth: absent"), "> 0", absent, absent > 0));
        bench.keep(Check::exact(name("unserved"), absent, delivery.unserved));
        let heard = truth.publications.iter().map(Publication::heard).sum();
        bench.keep(Check::exact(name("arrived"), heard, delivery.delivered + delivery.late));
        bench.keep(Check::exact(name("lost"), crowd / 2, measured.arm().connections.lost));
        let by_reset = measured.arm().connections.lost_by.get("reset").copied().unwrap_or(0);
        bench.keep(Check::exact(name("lost by reset"), crowd / 2, by_reset));
        outcome(bench, &name("outcome"), Outcome::Degraded, measured.arm().outcome);
    }
    Ok(())
}

/// An emitter stops half way, without notice.
pub(super) fn silence(bench: &mut Bench) -> anyhow::Result<()> {
    let all = &["stream", "sse", "websocket", "long-poll", "bayeux", "bayeux-websocket"];
    for &transport in bench.scale.over(&["sse"], &["sse", "long-poll"], all) {
        let (crowd, seconds) = bench.scale.pick((20, 3), (200, 20));
        let due = seconds * 20;
        let ask = Ask::builtin(transport)
            .connections(crowd)
            .duration(seconds * 1_000)
            .publisher("mode = \"emitter\"")
            .rate(20.0)
            .arguments(&["--stop-emitters-after", &(due / 2).to_string()]);
        let measured = bench.run(&ask)?;
        let (delivery, truth) = (measured.delivery(), measured.truth()?);
        let name = |what: &str| format!("{transport} fallen silent: {what}");
        bench.keep(Check::exact(name("published"), due / 2, truth.publications.len() as u64));
        bench.keep(Check::exact(name("intended"), crowd * due, delivery.intended));
        bench.keep(Check::exact(name("unpublished"), crowd * due / 2, delivery.unpublished));
        bench.keep(Check::exact(name("missing"), 0, delivery.missing));
        bench.keep(Check::exact(name("arrived"), crowd * due / 2, delivery.delivered + delivery.late));
        outcome(bench, &name("outcome"), Outcome::Died, measured.arm().outcome);
        // The emitter belongs to the server: its stop is not a doubt about the measurement.
        bench.keep(Check::exact(name("our rate doubted"), false, measured.doubted("achieved_rate")));
    }
    Ok(())
}

/// Some connections are reset on arrival, some are never answered.
pub(super) fn refusal(bench: &mut Bench) -> anyhow::Result<()> {
    for &transport in bench.scale.over(&["sse"], &["sse", "websocket", "long-poll", "bayeux"], ALL) {
        // Not a multiple of both: if two faults fall on one connection, one moves to the next.
        let crowd = bench.scale.pick(44, 404);
        let ask = Ask::builtin(transport)
            .connections(crowd)
            // Connects without an answer time out before anything is published.
            .phases(3_000, 0, 1_000, 1_000)
            .load("handshake_timeout = \"800ms\"")
            .load("hold = \"1s\"")
            .rate(20.0)
            .arguments(&["--refuse", "1/8", "--half-open", "1/5"]);
        let measured = bench.run(&ask)?;
        let (delivery, connections) = (measured.delivery(), &measured.arm().connections);
        let name = |what: &str| format!("{transport} refused: {what}");
        let (refused, ignored) = (crowd / 8, crowd / 5);
        let failed = |kind: &str| connections.failed.get(kind).copied().unwrap_or(0);
        bench.keep(Check::exact(name("reset"), refused, failed("reset")));
        bench.keep(Check::exact(name("timed out"), ignored, failed("timeout_handshake")));
        bench.keep(Check::exact(name("all failures"), refused + ignored, connections.failed.values().sum()));
        bench.keep(Check::exact(name("opened"), crowd - refused - ignored, connections.opened));
        bench.keep(Check::exact(name("lost"), 0, connections.lost));
        let publications = measured.truth()?.publications.len() as u64;
        bench.keep(Check::exact(name("intended"), crowd * publications, delivery.intended));
        bench.keep(Check::exact(name("unserved"), (refused + ignored) * publications, delivery.unserved));
        outcome(bench, &name("outcome"), Outcome::Degraded, measured.arm().outcome);
    }
    Ok(())
}

const ALL: &[&str] = &["poll", "long-poll", "stream", "sse", "websocket", "bayeux", "bayeux-websocket"];

fn outcome(bench: &mut Bench, name: &str, expected: Outcome, got: Outcome) {
    bench.keep(Check::exact(name, expected.name(), got.name()));
}
