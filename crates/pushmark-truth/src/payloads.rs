//! Payloads that are encoded on their way, and publications that are refused, denied or never answered:
//! received and missing messages are counted exactly, and nothing else counts as loss.

use super::Check;
use super::bench::Bench;
use super::log::Publication;
use super::scenario::Ask;

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    for &transport in bench.scale.over(
        &["sse"],
        &["sse", "long-poll", "websocket"],
        &["sse", "long-poll", "websocket", "stream"],
    ) {
        for how in ["base64", "percent", "json"] {
            encoded(bench, transport, how)?;
        }
    }
    for fault in ["--refuse-publish", "--deny-publish", "--hang-up"] {
        refused(bench, fault)?;
    }
    Ok(())
}

fn ask(transport: &'static str, bench: &Bench) -> Ask {
    Ask::builtin(transport)
        .publisher("connections = 1")
        .connections(bench.scale.pick(20, 100))
        .duration(bench.scale.pick(2_500, 5_000))
        .rate(40.0)
}

fn encoded(bench: &mut Bench, transport: &'static str, how: &'static str) -> anyhow::Result<()> {
    let measured = bench.run(&ask(transport, bench).arguments(&["--encode", how]))?;
    let (delivery, truth) = (measured.delivery(), measured.truth()?);
    let name = |what: &str| format!("{transport} as {how}: {what}");
    let heard: u64 = truth.publications.iter().map(Publication::heard).sum();
    bench.keep(Check::exact(name("arrived"), heard, delivery.delivered + delivery.late));
    bench.keep(Check::exact(name("missing"), 0, delivery.missing));
    bench.keep(Check::exact(name("unstamped"), 0, delivery.unstamped));
    let decoded = delivery.decoded.map_or("nothing", |decoded| decoded.name());
    bench.keep(Check::exact(name("decoded"), how, decoded));
    Ok(())
}

/// Every fifth publication fails. It is delivered all the same, unless the server refused it first.
fn refused(bench: &mut Bench, fault: &'static str) -> anyhow::Result<()> {
    let measured = bench.run(&ask("sse", bench).arguments(&[fault, "1/5"]))?;
    let (delivery, truth, published) = (measured.delivery(), measured.truth()?, measured.published());
    let name = |what: &str| format!("{} 1/5: {what}", &fault[2..]);
    let failed = published.due / 5;
    let crowd = measured.arm().connections.asked;
    let unheard = if fault == "--refuse-publish" { failed } else { 0 };
    bench.keep(Check::holds(name("blows"), "> 0", failed, failed > 0));
    bench.keep(Check::exact(name("failed"), failed, published.failed));
    bench.keep(Check::exact(name("published"), published.due - unheard, truth.publications.len() as u64));
    let heard: u64 = truth.publications.iter().map(Publication::heard).sum();
    bench.keep(Check::exact(name("arrived"), heard, delivery.delivered + delivery.late));
    bench.keep(Check::exact(name("excused"), unheard * crowd, delivery.excused));
    bench.keep(Check::exact(name("missing"), 0, delivery.missing));
    bench.keep(Check::exact(name("duplicate"), 0, delivery.duplicate));
    Ok(())
}
