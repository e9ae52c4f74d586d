//! Compares a random run with its server's truth log: finds figures that differ, and doubts without a cause.

use std::fmt;

use anyhow::Context as _;
use pushmark_model::run::{Delivery, Latency, Run, VerdictState};
use pushmark_model::transport::Transport;

use super::drawn::{Drawn, Fault};
use super::noise::Noise;
use crate::command::Ended;
use crate::log::{Publication, TruthLog};
use pushmark_run::verdict::{own_allowed_us, rank_slack};

/// The time from the end of the write to the reader's clock on any machine, µs: it is not read lag.
const READ_US: f64 = 100.0;

/// A figure that differs from the truth.
#[derive(Clone, Debug)]
pub(crate) struct Difference {
    figure: &'static str,
    expected: String,
    got: String,
    /// The run raises no doubt about it.
    pub(super) believed: bool,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} where {} is true", self.figure, self.got, self.expected)
    }
}

/// The result of the comparison.
#[derive(Clone, Debug, Default)]
pub(crate) struct Judged {
    pub(super) differences: Vec<Difference>,
    /// Codes of the doubts that neither the log nor the planted faults explain.
    pub(super) unfounded: Vec<String>,
}

/// Compares the run with the truth.
///
/// # Errors
/// Fails if the run has no figures to compare.
pub(super) fn judge(drawn: &Drawn, ended: &Ended) -> anyhow::Result<Judged> {
    let arm = ended.run.arms.first().context("a run of one arm")?;
    let delivery = arm.delivery.as_ref().context("a run that publishes")?;
    let mut judge = Judge { run: &ended.run, transport: arm.transport, differences: Vec::new() };
    let measured = measured(drawn, &ended.truth);
    judge.sum(delivery);
    if drawn.noise == Noise::Interrupted {
        judge.interrupted(drawn, delivery, &ended.truth);
    } else if drawn.transport == "poll" {
        // The messages of a poller depend on when it asked; none may be reported as missing.
        judge.same("missing", 0, delivery.missing);
    } else {
        judge.counts(drawn, delivery, &measured);
        judge.times(drawn, delivery, &measured);
    }
    let own = times_are_known(drawn).then(|| own_part(delivery, &measured));
    let codes = ended.run.verdict.reasons.iter().map(|reason| reason.code.as_str());
    let unfounded = codes.filter(|code| !is_founded(code, drawn, own.as_deref())).map(str::to_owned);
    Ok(Judged { unfounded: unfounded.collect(), differences: judge.differences })
}

/// Whether something explains a doubt. Doubts about times are explained by a percentile with too large a part
/// of the generator's; if the log cannot show it, they count as explained.
fn is_founded(code: &str, drawn: &Drawn, own: Option<&[Own]>) -> bool {
    let has = |kind: fn(&Fault) -> bool| drawn.faults.iter().any(kind);
    match code {
        // The kernel counts the time that the hypervisor took: this host was not quiet.
        "steal" => true,
        "unstamped" => has(|fault| matches!(fault, Fault::Truncate(_) | Fault::Corrupt(_))),
        "excused" => has(|fault| matches!(fault, Fault::Reset(..))) || drawn.noise == Noise::Interrupted,
        "interrupted" => drawn.noise == Noise::Interrupted,
        // A server that loses or repeats messages answers waiting requests without a new one.
        "not_held" => !drawn.faults.is_empty(),
        _ => own.is_none_or(|own| own.iter().any(Own::is_too_much)),
    }
}

/// A percentile as reported, and the part of it that was not the server's.
#[derive(Clone, Copy, Debug)]
struct Own {
    metric: &'static str,
    shown_us: f64,
    own_us: f64,
}

impl Own {
    fn is_too_much(&self) -> bool {
        self.own_us >= own_allowed_us(self.metric, self.shown_us)
    }
}

/// The log of the publications of measure. The first of warm-up has sequence 0 on each channel, and an emitter
/// may go on after measure until it is cleared.
fn measured(drawn: &Drawn, truth: &TruthLog) -> TruthLog {
    truth.between(drawn.warmed()..drawn.warmed() + drawn.measured())
}

/// Whether the log shows how late each delivery was.
fn times_are_known(drawn: &Drawn) -> bool {
    // A server that waits for a CPU between its clock and its write does not know when it wrote.
    let server_waits = matches!(drawn.noise, Noise::ServerCpu | Noise::EveryCpu);
    // The messages of a poller depend on when it asked.
    !server_waits && drawn.transport != "poll" && drawn.faults.iter().all(|fault| fault.keeps_times())
}

/// Each reported percentile beside the server's own time, from *sent* to its write.
fn own_part(delivery: &Delivery, truth: &TruthLog) -> Vec<Own> {
    let mut service = truth.service_us_from(0);
    service.sort_unstable();
    let own = |(metric, share, shown_us): (&'static str, f64, f64)| {
        let own_us = shown_us - percentile(&service, share)?;
        Some(Own { metric, shown_us, own_us })
    };
    shown(delivery).into_iter().filter_map(own).collect()
}

/// The percentiles that are shown: name, share, µs.
fn shown(delivery: &Delivery) -> Vec<(&'static str, f64, f64)> {
    let latency: &Latency = delivery.latency.delivered_only.as_deref().unwrap_or(&delivery.latency);
    let all = [("p50", 0.5, latency.p50_us), ("p90", 0.9, latency.p90_us), ("p99", 0.99, latency.p99_us)];
    all.into_iter().filter_map(|(name, share, us)| Some((name, share, us? as f64))).collect()
}

/// The rank of a percentile, as the histograms have it.
fn percentile(sorted: &[u64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil().max(1.0) as usize - 1;
    sorted.get(rank).map(|&us| us as f64)
}

struct Judge<'a> {
    run: &'a Run,
    transport: Transport,
    differences: Vec<Difference>,
}

impl Judge<'_> {
    /// Records a figure that differs from the truth. `of` is the metric, or its family, that a doubt names.
    fn differs(&mut self, figure: &'static str, of: &str, expected: impl ToString, got: impl ToString) {
        let believed = self.run.verdict.of_metric(self.transport, of) == VerdictState::Valid;
        let (expected, got) = (expected.to_string(), got.to_string());
        self.differences.push(Difference { figure, expected, got, believed });
    }

    fn same(&mut self, figure: &'static str, expected: u64, got: u64) {
        if expected != got {
            self.differs(figure, "counts", expected, got);
        }
    }

    fn sum(&mut self, d: &Delivery) {
        let told = d.delivered + d.late + d.missing + d.superseded + d.excused + d.unserved + d.unpublished;
        self.same("the sum of the fates", d.intended, told);
    }

    fn counts(&mut self, drawn: &Drawn, delivery: &Delivery, truth: &TruthLog) {
        let total = |column: fn(&Publication) -> u64| truth.sum_from(0, column);
        let there = match drawn.transport {
            // A client between two polls receives it with the next one: its cursor says from where.
            "long-poll" => total(|p| p.listening + p.in_flight),
            _ => total(|p| p.subscribers),
        };
        let heard = total(Publication::heard);
        let truncated = total(|p| p.truncated);
        let lost = there - heard + truncated;
        self.same("delivered and late", heard - truncated, delivery.delivered + delivery.late);
        if drawn.faults.iter().any(|fault| matches!(fault, Fault::Reset(..))) {
            // Until the end of a connection is detected, its publications are expected.
            let absent = drawn.measured() * drawn.connections - there;
            self.same(
                "missing and unserved",
                lost + absent,
                delivery.missing + delivery.unserved + delivery.excused,
            );
        } else {
            self.same("missing", lost, delivery.missing);
        }
        self.same("duplicate", total(|p| p.duplicated), delivery.duplicate);
        if !drawn.overtakes() {
            // A message without its stamp is neither seen to be late nor seen to overtake: each hides two at most.
            let (swapped, got) = (total(|p| p.swapped), delivery.out_of_order);
            let least = swapped.saturating_sub(2 * truncated);
            if !(least..=swapped).contains(&got) {
                self.differs("out of order", "counts", format!("{least} to {swapped}"), got);
            }
        }
        if drawn.checks_content() {
            self.same("corrupt", total(|p| p.corrupted), delivery.corrupt.unwrap_or(0));
        }
    }

    /// Messages in flight when the user stopped the run are not lost.
    fn interrupted(&mut self, drawn: &Drawn, delivery: &Delivery, truth: &TruthLog) {
        let all = |column: fn(&Publication) -> u64| truth.publications.iter().map(column).sum::<u64>();
        let lost = all(|p| p.dropped + p.truncated);
        let reset = drawn.faults.iter().any(|fault| matches!(fault, Fault::Reset(..)));
        if delivery.missing > lost && !reset {
            self.differs("missing", "counts", format!("at most {lost}"), delivery.missing);
        }
    }

    fn times(&mut self, drawn: &Drawn, delivery: &Delivery, truth: &TruthLog) {
        if !times_are_known(drawn) {
            return;
        }
        let (mut begun, mut done) = (truth.delays_us_from(0), truth.delays_done_us_from(0));
        begun.sort_unstable();
        done.sort_unstable();
        for (name, share, shown_us) in shown(delivery) {
            let (Some(least_us), Some(most_us)) =
                (percentile(&begun, share), percentile(&done, share + rank_slack(share)))
            else {
                continue;
            };
            let most_us = most_us + own_allowed_us(name, shown_us) + READ_US;
            if shown_us < least_us * 0.998 - 2.0 || shown_us > most_us {
                let of = format!("delivery.{name}");
                self.differs(name, &of, format!("{least_us} to {most_us:.0} µs"), format!("{shown_us} µs"));
            }
        }
    }
}
