//! Overload: the achieved rate, the growing lag, and a verdict that reports both; a server that falls behind
//! has no percentiles.

use std::time::Duration;

use pushmark_model::run::RunFiles;
use pushmark_model::run::VerdictState;
use pushmark_report as report;

use super::Check;
use super::bench::{Attempt, Bench};
use super::foreign::Foreign;
use super::scenario::Ask;

pub(super) fn run(bench: &mut Bench) -> anyhow::Result<()> {
    bench.timed(publisher)?;
    backlog(bench)
}

/// One connection, and each answer takes 5 ms: fewer than 200 a second of the planned 400.
fn publisher(bench: &mut Bench) -> anyhow::Result<Attempt> {
    const ASKED: f64 = 400.0;
    let measure_ms = bench.scale.pick(3_000, 20_000);
    let target = Foreign::start(Duration::from_millis(5), |_, payload| vec![payload.to_owned()])?;
    let (subscribe, publish) = target.urls();
    let crowd = 5;
    let ask = Ask::url("sse", subscribe, publish)
        .connections(crowd)
        .phases(300, 0, measure_ms, measure_ms + 1_000)
        .top("threads = 1")
        .publisher("connections = 1")
        .rate(ASKED);
    let measured = bench.run(&ask)?;
    let mut attempt = Attempt::default();
    // The run must be invalid for these reasons; other doubts are about the machine.
    attempt.of_all_but(&measured, &["achieved_rate", "publisher_lag"]);
    let (published, delivery) = (measured.published(), measured.delivery());
    let posts = target.posts();
    let span_s = (posts[posts.len() - 1] - posts[0]) as f64 / 1e9;
    let taken = (posts.len() - 1) as f64 / span_s;
    let mut keep = |check| attempt.checks.push(check);
    let name = |what: &str| format!("publisher held up: {what}");
    keep(Check::near(name("asked"), ASKED, Some(published.asked_per_s), ASKED * 0.005, "/s"));
    keep(Check::near(name("achieved"), taken, Some(published.achieved_per_s), taken * 0.01, "/s"));
    keep(Check::exact(name("sent"), posts.len() as u64, published.sent));
    keep(Check::exact(name("intended"), published.due * crowd, delivery.intended));
    keep(Check::exact(name("unpublished"), (published.due - published.sent) * crowd, delivery.unpublished));
    // The queue grows all the time: the last message has waited longest.
    let lag_ms = (measure_ms + 100) as f64 * (1.0 - taken / ASKED);
    let got_ms = published.lag.max_us.map(|us| us as f64 / 1_000.0);
    keep(Check::near(name("lag at the end"), lag_ms, got_ms, lag_ms * 0.03, "ms"));
    let state = measured.files.run.verdict.state;
    keep(Check::exact(name("verdict"), VerdictState::Invalid.name(), state.name()));
    keep(Check::exact(name("it says why"), true, measured.doubted("achieved_rate")));
    Ok(attempt)
}

/// 2,000 bytes, 100 a ms, 100 times a second: each message takes twice its time.
fn backlog(bench: &mut Bench) -> anyhow::Result<()> {
    for &transport in bench.scale.over(&["sse"], &["sse"], &["stream", "sse", "websocket"]) {
        let ask = Ask::builtin(transport)
            .connections(bench.scale.pick(5, 50))
            .phases(300, 0, bench.scale.pick(6_000, 20_000), 500)
            .publisher("size = \"2000B\"")
            .rate(100.0)
            .arguments(&["--slow-write", "100", "--queue-max", "100000"]);
        let measured = bench.run(&ask)?;
        let delivery = measured.delivery();
        let name = |what: &str| format!("{transport} falls behind: {what}");
        bench.keep(Check::exact(name("unstable"), true, delivery.unstable));
        let slope = delivery.backlog_per_s.unwrap_or(0.0);
        bench.keep(Check::holds(name("backlog"), "> 0/s", format!("{}/s", super::short(slope)), slope > 0.0));
        let files = RunFiles { run: measured.files.run.clone(), windows: measured.files.windows.clone() };
        let curve = report::csv(std::slice::from_ref(&files), "percentiles").unwrap_or_default();
        bench.keep(Check::exact(name("percentiles drawn"), 0, percentiles(&curve)));
    }
    Ok(())
}

/// Percentiles that a figure's data holds.
fn percentiles(curve: &str) -> usize {
    let named = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    let mut lines = curve.lines().map(named);
    let head = lines.next().unwrap_or_default();
    let is_percentile = |n: usize| head.get(n).is_some_and(|name| name.starts_with('p'));
    lines.map(|line| (0..line.len()).filter(|&n| is_percentile(n) && !line[n].is_empty()).count()).sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn percentiles_are_counted_where_there_are_some() {
        assert_eq!(super::percentiles("arm,p50_us,p99_us,n\nsse,10,,1\nstream,,,1\n"), 1);
    }
}
