//! How it was measured: the biases that apply to this run, and only those.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::words;
use pushmark_model::calibration::{Calibration, Ceiling, Limit};
use pushmark_model::poller::Poller;
use pushmark_model::run::VerdictState;
use pushmark_model::transport::Transport;
use serde_json::Value;

use super::case::{ArmView, Case, P};

/// Returns the biases, one or two sentences each.
pub(crate) fn biases(case: &Case<'_>) -> Vec<String> {
    let mut out = Vec::new();
    starts(case, &mut out);
    machine(case, &mut out);
    transports(case, &mut out);
    clocks(case, &mut out);
    support(case, &mut out);
    out
}

fn starts(case: &Case<'_>, out: &mut Vec<String>) {
    out.push(match case.n() {
        1 => "n = 1: each arm was one fresh server start. There is no confidence interval, and a second start may differ by more than the arms do. --repeat 5 gives an interval.".into(),
        n @ 2..=4 => format!("n = {n}: {n} fresh server starts an arm. Ranges run from the lowest to the highest start; they are not intervals. From 5 starts there is an interval."),
        n => format!("n = {n} fresh server starts an arm. Intervals are 95 % t intervals over starts, on the log scale for latencies and costs; the sample is a start, not a message."),
    });
    if case.observes() {
        out.push(super::figures::observe::HOW.into());
    } else {
        out.push("Latency is received − due: from the planned instant, not from the write, so a stalled server or publisher cannot hide its queue. Percentiles are over expected deliveries; a missing delivery counts as infinitely late.".into());
    }
}

fn machine(case: &Case<'_>, out: &mut Vec<String>) {
    let environment = &case.run().environment;
    if environment.same_host {
        out.push("Server and generator share one host: on loopback the sender pays for part of the receiver's TCP input, and also for its acknowledgements (about 2 µs a delivery) if a client receives fewer than about five messages a second. Such figures rank servers; they do not describe a network.".into());
    }
    match (&environment.server_cpus, &environment.generator_cpus) {
        (Some(server), Some(generator)) => out.push(format!(
            "The server was pinned to CPU {}, the generator to CPU {}.",
            numbers(server),
            numbers(generator)
        )),
        (None, None) if environment.same_host => {
            out.push(
                "Server and generator were not pinned to separate CPUs: each may have slowed the other."
                    .into(),
            );
        }
        _ => {}
    }
    poller(case, out);
    if case.arms.iter().any(|a| a.starts.iter().any(|s| s.server.is_none())) {
        out.push(
            "pushmark does not know the server process: its CPU and memory are absent, not zero.".into(),
        );
    }
    if case.arms.iter().any(|a| a.starts.iter().any(|s| s.server.is_some())) && !case.observes() {
        let unit = &environment.cpu_accounting;
        out.push(format!("CPU is read from {unit} over the measure phase; soft interrupts are counted for all CPUs and may include other work of this host."));
    }
}

/// Describes the poller if it is not the default.
fn poller(case: &Case<'_>, out: &mut Vec<String>) {
    let run = case.run();
    let ring = Some(Poller::IoUring.name());
    if run.scenario.get("poller").and_then(Value::as_str) != ring {
        return;
    }
    let arms = run.plan.get("arms").and_then(Value::as_array);
    let driven = arms.is_some_and(|arms| arms.iter().all(|arm| arm["poller"].as_str() == ring));
    out.push(if driven {
        "The generator read its connections by io_uring.".into()
    } else {
        "io_uring was requested and is not available on this machine: the generator read its connections by epoll.".into()
    });
}

fn numbers(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

fn transports(case: &Case<'_>, out: &mut Vec<String>) {
    let find = |t: Transport| case.arms.iter().find(|a| a.transport == t);
    if let Some(one_in) = find(Transport::Poll).and_then(ArmView::one_in) {
        out.push(format!("poll shows the newest state of a channel at each request: 1 of {} here. The others are superseded, not lost, and its latency is that of the states it showed; to compare transports use the age of information.", PAGE.fixed(one_in, 0)));
        out.push("The cost and bytes of poll are per delivery shown; compare them with a push only together with the age of information.".into());
    }
    let holds = |a: &&ArmView<'_>| a.transport.is_held() && a.starts.iter().any(|s| s.long_poll.is_some());
    let held: Vec<&str> = case.arms.iter().filter(holds).map(|a| a.name()).collect();
    if !held.is_empty() {
        let are = if held.len() == 1 { "is a closed model" } else { "are closed models" };
        out.push(format!(
            "{} {are}: a client asks again only when answered, so a slow server lowers its own load.",
            words::list(&held)
        ));
    }
    let bayeux: Vec<&str> =
        case.arms.iter().filter(|a| out_of_order_unpromised(a)).map(|a| a.name()).collect();
    if !bayeux.is_empty() {
        out.push(format!("{}: deliveries arrived out of order, and no order was promised. Bayeux messages may arrive with the reply to the held connect and with any other reply; only the acknowledge extension, or a server that delivers only with connects, keeps them in order.", words::list(&bayeux)));
    }
    let probed = case.arms.iter().flat_map(|a| &a.starts).filter_map(|s| s.browser.as_ref());
    let probed: Vec<_> = probed.filter(|b| b.refused.is_none()).collect();
    if !probed.is_empty() {
        let open = match probed.iter().any(|b| b.web_security_off) {
            true => {
                " Its same-origin policy was off, in a separate profile, so that its pages could read a server that does not allow it."
            }
            false => "",
        };
        out.push(format!("Browser probes: pages of a headless Chromium on the generator's CPUs, in addition to the crowd and not in its totals; their CPU is not part of the generator's.{open}"));
    }
    let assumed: Vec<&str> = case
        .arms
        .iter()
        .filter(|a| a.starts.iter().any(|s| s.subscribed_by == "settle"))
        .map(|a| a.name())
        .collect();
    if !assumed.is_empty() {
        out.push(format!("{}: the target does not acknowledge subscriptions, so clients count as subscribed after the settle time; a loss right after it may be a late subscription.", words::list(&assumed)));
    }
    let unstable: Vec<&str> = case.arms.iter().filter(|a| a.unstable()).map(|a| a.name()).collect();
    if !unstable.is_empty() {
        out.push(format!("{}: the backlog grew through the window, so percentiles would depend on the length of the run. Goodput and the slope of the backlog are given instead.", words::list(&unstable)));
    }
}

/// Whether Bayeux messages arrived out of order although no order was promised.
pub(crate) fn out_of_order_unpromised(arm: &ArmView<'_>) -> bool {
    arm.transport.is_bayeux()
        && arm.total(|d| d.out_of_order).is_some_and(|n| n > 0)
        && !super::figures::bayeux::order_promised(arm)
}

fn clocks(case: &Case<'_>, out: &mut Vec<String>) {
    let unused: u64 = case.arms.iter().flat_map(ArmView::deliveries).map(|d| d.stamps_unused).sum();
    if case.arms.iter().any(|a| a.deliveries().any(|d| d.read_lag_stamped.is_some())) {
        out.push(format!("Kernel receive stamps were taken on a sample of connections; {} stamps that were not of the last message of a read were not used.", PAGE.count(unused)));
    }
    let negative: u64 = case.arms.iter().flat_map(ArmView::deliveries).map(|d| d.latency.negative).sum();
    if negative > 0 {
        out.push(format!(
            "{} latencies are negative (two clocks or a coarse stamp). They are shown, not clamped.",
            PAGE.count(negative)
        ));
    }
    let sampled =
        case.arms.iter().any(|a| a.deliveries().any(|d| d.spread.as_ref().is_some_and(|s| s.sampled)));
    if sampled {
        out.push("First, median and last were kept for a seeded sample of broadcasts, not for each.".into());
    }
}

/// Describes the load up to which the generator is not the bottleneck.
fn calibrated(calibration: &Calibration) -> String {
    let ceiling = |c: &Ceiling| {
        let at_least = if c.by == Limit::Server { "at least " } else { "" };
        format!("{at_least}{} messages/s over {}", PAGE.count(c.rounded()), c.transport)
    };
    let mut parts: Vec<String> = calibration.ceilings.iter().map(ceiling).collect();
    parts.push(format!("{} connections", PAGE.count(calibration.connections)));
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let floor = calibration.floor.p99_us.map_or(String::new(), |us| {
        format!(
            " A small crowd on an idle server has a p99 of {} here: pushmark cannot measure less.",
            PAGE.time(us as f64)
        )
    });
    format!(
        "Calibrated on this machine {}: up to {} the generator is not the bottleneck.{floor}",
        calibration.at,
        words::list(&parts)
    )
}

fn support(case: &Case<'_>, out: &mut Vec<String>) {
    let fewest = case.believed().filter(|a| a.total(|_| 0).is_some()).map(ArmView::publications).min();
    if let Some(fewest) = fewest.filter(|n| *n < P::P999.needs()) {
        let absent = if fewest < P::P99.needs() { "p99 and p99.9 are" } else { "p99.9 is" };
        out.push(format!("Deliveries of one broadcast are not independent: with {} publications a start {absent} not given.", PAGE.count(fewest)));
    }
    let invalid: Vec<&str> =
        case.arms.iter().filter(|a| a.state == VerdictState::Invalid).map(|a| a.name()).collect();
    if !invalid.is_empty() {
        out.push(format!(
            "{} is invalid: its numbers are in run.json, not in a figure.",
            words::list(&invalid)
        ));
    }
    if let Some(calibration) = &case.run().calibration {
        out.push(calibrated(calibration));
    }
    match &case.run().selftest {
        Some(s) if s.passed => {
            out.push(format!("The last self-test on this machine, {}, passed: {}.", s.at, s.summary))
        }
        Some(s) => {
            out.push(format!("The last self-test on this machine, {}, did not pass: {}.", s.at, s.summary))
        }
        None => out.push(
            "No self-test of this machine is recorded: pushmark selftest checks the measurement.".into(),
        ),
    }
}
