//! The full table: what is worth a number, arm by arm. Absent stands as a dash with its reason.

use maud::{Markup, html};
use pushmark_model::run::{Arm, Browser, Delivery, HybridHalf, Latency, SafetyPolls, VerdictState};

use super::case::{ArmView, Case, P, Percentile};
use super::ending;
use super::estimate::Estimate;
use super::numbers::{PAGE, TimeUnit};
use super::table::{Cell, Table};

/// How a row writes its numbers.
#[derive(Clone, Copy)]
enum Write {
    Time,
    Bytes,
    Plain,
    Share,
}

/// The whole table of a case; also a CSV.
pub(crate) fn table(case: &Case<'_>) -> Table {
    let mut columns = vec![("quantity", "quantity")];
    columns.extend(case.arms.iter().map(|a| (a.name(), a.name())));
    let mut rows = Rows { case, table: Table::new(&columns) };
    rows.words("verdict", |a| a.state.name().into());
    rows.words("outcome", |a| a.outcome.name().into());
    rows.endings();
    rows.words("starts, n", |a| a.n().to_string());
    rows.words("subscribed from", |a| a.starts.first().map_or(String::new(), |s| s.subscribed_by.clone()));
    connections(&mut rows);
    deliveries(&mut rows);
    hybrids(&mut rows);
    latencies(&mut rows);
    browsers(&mut rows);
    publishing(&mut rows);
    costs(&mut rows);
    wire(&mut rows);
    rows.table
}

/// As it stands in the page.
pub(crate) fn html(case: &Case<'_>) -> Markup {
    let id = format!("{}full", case.key);
    html! { div.full { (table(case).html(&id)) } }
}

struct Rows<'a, 'b> {
    case: &'b Case<'a>,
    table: Table,
}

impl<'a> Rows<'a, '_> {
    fn words(&mut self, name: &str, of: impl Fn(&ArmView<'a>) -> String) {
        let mut row = vec![Cell::text(name)];
        row.extend(self.case.arms.iter().map(|a| Cell::text(of(a))));
        self.table.push(row);
    }

    /// How servers ended that did not hold; no row where all did.
    fn endings(&mut self) {
        let of = |arm: &ArmView<'a>| match ending::of(arm) {
            Some(words) => Cell::text(words),
            None => Cell::absent(),
        };
        let mut row = vec![Cell::text("its server")];
        row.extend(self.case.arms.iter().map(of));
        self.keep(row);
    }

    /// A total over the starts.
    fn count(&mut self, name: &str, of: impl Fn(&Arm) -> Option<u64>) {
        let cells = self.case.arms.iter().map(|a| match a.state {
            VerdictState::Invalid => Cell::absent_for("invalid"),
            _ => Cell::count_or_absent(a.starts.iter().map(|s| of(s)).sum::<Option<u64>>()),
        });
        let mut row = vec![Cell::text(name)];
        row.extend(cells);
        self.keep(row);
    }

    fn delivery(&mut self, name: &str, of: impl Fn(&Delivery) -> u64) {
        self.count(name, |a| a.delivery.as_ref().map(&of));
    }

    fn measured(&mut self, name: &str, write: Write, of: impl Fn(&ArmView<'a>) -> Option<Estimate>) {
        let cells: Vec<Option<Estimate>> = self.case.arms.iter().map(of).collect();
        let values: Vec<f64> = cells.iter().flatten().map(|e| e.value).collect();
        let unit = TimeUnit::of_median(&values);
        let name = if matches!(write, Write::Time) {
            format!("{name}, {}", unit.name(&PAGE))
        } else {
            name.to_string()
        };
        let mut row = vec![Cell::text(name)];
        for (arm, estimate) in self.case.arms.iter().zip(cells) {
            row.push(match estimate {
                _ if arm.state == VerdictState::Invalid => Cell::absent_for("invalid"),
                None => Cell::absent(),
                Some(e) => Cell { shown: shown(&e, write, unit), plain: format!("{:.6}", e.value) },
            });
        }
        self.keep(row);
    }

    fn percentiles(&mut self, name: &str, of: impl Fn(&Delivery) -> Option<&Latency> + Copy) {
        for p in P::ALL {
            let all: Vec<Percentile> = self.case.arms.iter().map(|a| a.percentile(of, p)).collect();
            let values: Vec<f64> = all.iter().filter_map(Percentile::us).collect();
            let unit = TimeUnit::of_median(&values);
            let mut row = vec![Cell::text(format!("{name} {}, {}", p.name(), unit.name(&PAGE)))];
            for (arm, percentile) in self.case.arms.iter().zip(all) {
                row.push(match percentile {
                    _ if arm.state == VerdictState::Invalid => Cell::absent_for("invalid"),
                    Percentile::Value(e) => {
                        Cell { shown: shown(&e, Write::Time, unit), plain: format!("{:.0}", e.value) }
                    }
                    Percentile::AtLeast { us, .. } => {
                        Cell { shown: format!("≥ {}", PAGE.time(us)), plain: String::new() }
                    }
                    Percentile::Absent(reason) => Cell::absent_for(&reason),
                });
            }
            self.keep(row);
        }
    }

    /// Rows in which no arm has anything are left out.
    fn keep(&mut self, row: Vec<Cell>) {
        if row[1..].iter().any(|c| c.shown != "–") {
            self.table.push(row);
        }
    }
}

fn shown(e: &Estimate, write: Write, unit: TimeUnit) -> String {
    match write {
        Write::Time => {
            let scaled = e.scaled(1.0 / unit.us());
            let value = PAGE.time_in(e.value, unit);
            let decimals = value.split_once('.').map_or(0, |(_, d)| d.len());
            PAGE.bounds(&scaled, decimals).map_or(value.clone(), |b| format!("{value} {b}"))
        }
        Write::Bytes => PAGE.bytes(e.value),
        Write::Plain => PAGE.estimate(e),
        Write::Share => PAGE.percent(e.value),
    }
}

fn connections(rows: &mut Rows<'_, '_>) {
    rows.count("connections asked", |a| Some(a.connections.asked));
    rows.count("opened", |a| Some(a.connections.opened));
    rows.count("failed", |a| Some(a.connections.failed.values().sum()));
    rows.count("lost", |a| Some(a.connections.lost));
    rows.count("made again", |a| Some(a.connections.reconnected));
}

fn deliveries(rows: &mut Rows<'_, '_>) {
    rows.delivery("deliveries intended", |d| d.intended);
    rows.delivery("delivered", |d| d.delivered);
    rows.delivery("expected", |d| d.expected);
    rows.delivery("late", |d| d.late);
    rows.delivery("missing", |d| d.missing);
    rows.delivery("superseded", |d| d.superseded);
    rows.delivery("unserved", |d| d.unserved);
    rows.delivery("unpublished", |d| d.unpublished);
    rows.delivery("excused", |d| d.excused);
    rows.delivery("duplicate", |d| d.duplicate);
    rows.delivery("out of order", |d| d.out_of_order);
    rows.delivery("beyond window", |d| d.beyond_window);
    rows.delivery("foreign", |d| d.foreign);
    rows.delivery("unstamped", |d| d.unstamped);
    rows.measured("goodput, deliveries/s", Write::Plain, |a| {
        super::figures::flow::goodput(a).map(|value| Estimate {
            value,
            spread: super::estimate::Spread::None,
            n: a.n(),
        })
    });
    rows.measured("backlog growth, deliveries/s", Write::Plain, |a| {
        a.estimate(|s| s.delivery.as_ref()?.backlog_per_s, false)
    });
    rows.count("corrupt", |a| a.delivery.as_ref()?.corrupt);
    rows.count("messages observed", |a| a.observed.as_ref().map(|o| o.messages));
}

/// The two halves of a crowd that pushes or pulls, and polls beside a push.
fn hybrids(rows: &mut Rows<'_, '_>) {
    type Of = fn(&Arm) -> Option<&HybridHalf>;
    let halves: [(&str, Of); 2] = [
        ("pushed to", |a| a.hybrid.as_ref()?.push.as_ref()),
        ("polling", |a| a.hybrid.as_ref()?.pull.as_ref()),
    ];
    for (name, half) in halves {
        rows.count(&format!("{name}: clients"), |a| Some(half(a)?.connections.opened));
        rows.count(&format!("{name}: delivered"), |a| Some(half(a)?.delivery.as_ref()?.delivered));
        rows.count(&format!("{name}: missing"), |a| Some(half(a)?.delivery.as_ref()?.missing));
        rows.count(&format!("{name}: superseded"), |a| Some(half(a)?.delivery.as_ref()?.superseded));
        rows.measured(&format!("{name}: age of information, mean"), Write::Time, |a| {
            let age = |s: &Arm| Some(half(s)?.delivery.as_ref()?.age_of_information.as_ref()?.mean_us);
            a.estimate(age, true)
        });
    }
    type Count = fn(&SafetyPolls) -> u64;
    let polls: [(&str, Count); 4] = [
        ("polls beside the push", |p| p.requests),
        ("states they showed first", |p| p.found),
        ("of them brought later", |p| p.overtaken),
        ("of them lost to the push", |p| p.repaired),
    ];
    for (name, of) in polls {
        rows.count(name, |a| a.hybrid.as_ref()?.safety.as_ref().map(of));
    }
}

fn latencies(rows: &mut Rows<'_, '_>) {
    rows.percentiles("received − due", |d| Some(&d.latency));
    rows.percentiles("received − sent", |d| Some(&d.from_sent));
    rows.percentiles("read lag (wake-ups)", |d| Some(&d.read_lag));
    rows.percentiles("read lag (kernel stamps)", |d| d.read_lag_stamped.as_ref());
    rows.percentiles("latency (kernel stamps)", |d| d.latency_stamped.as_ref());
    rows.delivery("latencies below 0", |d| d.latency.negative);
    let age = |pick: fn(&pushmark_model::run::AgeOfInformation) -> f64| {
        move |a: &ArmView<'_>| {
            a.estimate(|s| s.delivery.as_ref()?.age_of_information.as_ref().map(pick), true)
        }
    };
    rows.measured("trip time of all receipts, mean", Write::Time, |a| {
        a.estimate(|s| s.delivery.as_ref()?.trip.as_ref()?.mean_us, true)
    });
    rows.measured("time between polls, mean", Write::Time, |a| {
        a.estimate(|s| s.poll.as_ref()?.interval_mean_us, true)
    });
    rows.measured("age of information, mean", Write::Time, age(|i| i.mean_us));
    rows.measured("age of information, p50", Write::Time, age(|i| i.p50_us as f64));
    rows.measured("age of information, p99", Write::Time, age(|i| i.p99_us as f64));
    let connect = |pick: fn(&pushmark_model::run::Connect) -> u64| {
        move |a: &ArmView<'_>| {
            a.estimate(|s| s.connect.as_ref().filter(|c| c.count > 0).map(|c| pick(c) as f64), true)
        }
    };
    rows.measured("connect p50", Write::Time, connect(|c| c.p50_us));
    rows.measured("connect p99", Write::Time, connect(|c| c.p99_us));
    rows.measured("connect slowest", Write::Time, connect(|c| c.max_us));
}

/// Real browsers beside the crowd; no rows where none was asked for.
fn browsers(rows: &mut Rows<'_, '_>) {
    let time = |of: fn(&Browser) -> Option<f64>| {
        move |a: &ArmView<'_>| a.estimate(|s| of(s.browser.as_ref()?), false)
    };
    rows.count("browsers asked for", |a| a.browser.as_ref().map(|b| b.asked));
    rows.count("browsers subscribed in time", |a| a.browser.as_ref().map(|b| b.opened));
    rows.count("browsers' deliveries", |a| a.browser.as_ref().map(|b| b.deliveries));
    rows.count("browsers' deliveries missing", |a| a.browser.as_ref().map(|b| b.missing));
    rows.measured("browsers' received − due p50", Write::Time, time(|b| Some(b.latency.p50_us? as f64)));
    rows.measured("browsers' received − due p90", Write::Time, time(|b| Some(b.latency.p90_us? as f64)));
    rows.measured(
        "browsers' p50 − the crowd's",
        Write::Time,
        time(|b| Some(b.agreement.as_ref()?.p50_difference_us as f64)),
    );
    rows.measured(
        "browsers' p90 − the crowd's",
        Write::Time,
        time(|b| Some(b.agreement.as_ref()?.p90_difference_us as f64)),
    );
    rows.measured("they may differ by", Write::Time, time(|b| Some(b.agreement.as_ref()?.bound_us as f64)));
    rows.measured(
        "browsers' clock is right within",
        Write::Time,
        time(|b| Some(b.clock.as_ref()?.bound_us as f64)),
    );
    rows.measured("browsers' CPU in measure", Write::Time, time(|b| Some(b.cpu_us? as f64)));
}

fn publishing(rows: &mut Rows<'_, '_>) {
    rows.count("publications due", |a| a.published.as_ref().map(|p| p.due));
    rows.count("publications sent", |a| a.published.as_ref().map(|p| p.sent));
    rows.count("publications failed", |a| a.published.as_ref().map(|p| p.failed));
    rows.count("publications that found no target", |a| a.published.as_ref().map(|p| p.unreachable));
    rows.measured("publisher lag p99", Write::Time, |a| {
        a.estimate(|s| s.published.as_ref()?.lag.p99_us.map(|v| v as f64), true)
    });
    rows.measured("accept p50", Write::Time, |a| {
        a.estimate(|s| s.published.as_ref()?.accept.as_ref()?.p50_us.map(|v| v as f64), true)
    });
    rows.measured("achieved of asked rate", Write::Share, |a| {
        let share = |p: &pushmark_model::run::Published| p.achieved_per_s / p.asked_per_s;
        a.estimate(|s| s.published.as_ref().filter(|p| p.asked_per_s > 0.0).map(share), false)
    });
}

fn costs(rows: &mut Rows<'_, '_>) {
    rows.measured("server, CPU-s per million deliveries", Write::Plain, ArmView::server_cost);
    rows.measured("generator, CPU-s per million deliveries", Write::Plain, |a| {
        a.cost(|s| Some(s.generator.cpu_us))
    });
    rows.measured("softirq, CPU-s per million deliveries", Write::Plain, |a| a.cost(|s| s.softirq_us));
    rows.measured("server peak RSS", Write::Bytes, |a| {
        a.estimate(|s| s.server.as_ref().map(|v| v.rss_bytes_peak as f64), false)
    });
    rows.measured("server PSS, crowd whole", Write::Bytes, |a| {
        a.estimate(|s| s.server.as_ref()?.pss_bytes_full.map(|v| v as f64), false)
    });
    rows.measured("memory per connection, process", Write::Bytes, ArmView::memory);
    rows.measured("memory per connection, kernel", Write::Bytes, ArmView::kernel_memory);
    rows.measured("kernel memory the crowd added", Write::Bytes, |a| {
        a.estimate(|s| s.kernel_memory_bytes.map(|v| v as f64), false)
    });
    rows.count("server threads, most", |a| a.server.as_ref().map(|s| s.threads_max));
    rows.measured("generator busiest core", Write::Share, |a| {
        a.estimate(|s| Some(s.generator.busiest_core), false)
    });
    rows.measured("generator run-queue wait, of the window", Write::Share, |a| {
        let share = |g: &pushmark_model::run::Generator| g.run_queue_wait_us as f64 / g.window_us as f64;
        a.estimate(|s| Some(&s.generator).filter(|g| g.window_us > 0).map(share), false)
    });
    rows.measured("generator loop lag p99", Write::Time, |a| {
        a.estimate(|s| s.generator.loop_lag.p99_us.map(|v| v as f64), true)
    });
    rows.measured("generator peak RSS", Write::Bytes, |a| {
        a.estimate(|s| Some(s.generator.rss_bytes_peak as f64).filter(|v| *v > 0.0), false)
    });
    rows.measured("steal", Write::Share, |a| a.estimate(|s| Some(s.generator.steal), false));
}

fn wire(rows: &mut Rows<'_, '_>) {
    rows.measured("wire bytes per delivery", Write::Plain, ArmView::wire_bytes);
    rows.count("bytes in, whole arm", |a| Some(a.wire.bytes_in));
    rows.count("bytes out, whole arm", |a| Some(a.wire.bytes_out));
    rows.count("segments in", |a| a.wire.segments_in);
    rows.count("segments out", |a| a.wire.segments_out);
    rows.count("retransmits, host", |a| a.wire.retransmits);
    rows.count("listen overflows, host", |a| a.wire.listen_overflows);
    rows.measured("sockets into TIME_WAIT per s, host", Write::Plain, |a| {
        a.estimate(|s| s.wire.time_wait_per_s, false)
    });
}
