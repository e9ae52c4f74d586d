//! Long polling: a publication between two requests is lost without a cursor, and only then.

use super::Check;
use super::bench::Bench;
use super::scenario::Ask;

/// Without a cursor: each request waits for the next publication, whatever was published before.
const WITHOUT: &str = "http://127.0.0.1:{port}/long-poll?channel={channel}&hold={hold_ms}";

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    without_cursor(bench)?;
    with_cursor(bench)
}

/// Publications irregular and fast enough that many are in the gap between two requests.
fn load(ask: Ask, bench: &Bench) -> Ask {
    let (crowd, measure_ms) = bench.scale.pick((20, 2_500), (100, 20_000));
    ask.connections(crowd)
        // A subscription without acknowledgement counts as established after a second.
        .phases(1_400, 300, measure_ms, 1_000)
        .publisher("arrivals = \"poisson\"")
        .rate(200.0)
}

fn without_cursor(bench: &mut Bench) -> anyhow::Result<()> {
    let measured = bench.run(&load(Ask::by_template("long-poll", WITHOUT), bench))?;
    let (delivery, truth) = (measured.delivery(), measured.truth()?);
    let name = |what: &str| format!("long poll, no cursor: {what}");
    let first = truth.first_of_last(measured.published().due);
    let away = truth.sum_from(first, |p| p.deaf + p.in_flight);
    bench.keep(Check::holds(name("truth: away"), "> 0", away, away > 0));
    let known = truth.sum_from(first, |p| p.listening + p.deaf + p.in_flight);
    bench.keep(Check::exact(name("truth: accounted"), delivery.intended, known));
    bench.keep(Check::exact(name("missing"), away, delivery.missing));
    bench.keep(Check::exact(name("arrived"), delivery.intended - away, delivery.delivered + delivery.late));
    bench.keep(Check::exact(name("excused"), 0, delivery.excused));
    // A publication missing after a client's last answer is not between two answers.
    let between = measured.arm().long_poll.as_ref().map_or(0, |l| l.missed_deaf);
    let fits = between > 0 && between <= delivery.missing;
    bench.keep(Check::holds(name("between answers"), format!("1 to {away}"), between, fits));
    Ok(())
}

fn with_cursor(bench: &mut Bench) -> anyhow::Result<()> {
    let measured = bench.run(&load(Ask::builtin("long-poll"), bench))?;
    let (delivery, truth) = (measured.delivery(), measured.truth()?);
    let name = |what: &str| format!("long poll, cursor: {what}");
    let away = truth.sum_from(truth.first_of_last(measured.published().due), |p| p.in_flight);
    bench.keep(Check::holds(name("truth: in flight"), "> 0", away, away > 0));
    bench.keep(Check::exact(name("missing"), 0, delivery.missing));
    bench.keep(Check::exact(name("duplicate"), 0, delivery.duplicate));
    bench.keep(Check::exact(name("arrived"), delivery.intended, delivery.delivered + delivery.late));
    Ok(())
}
