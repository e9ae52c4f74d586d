//! The full table of figures, arm by arm. An absent figure is a dash with its reason.

use maud::{Markup, html};
use pushmark_chart::estimate::Estimate;
use pushmark_chart::numbers::{PAGE, TimeUnit};
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::glyph;
use pushmark_model::metrics::family;
use pushmark_model::run::{Arm, Browser, Delivery, HybridHalf, Latency, SafetyPolls, VerdictState};

use super::case::{ArmView, Case, P, Percentile};
use super::ending;

/// How a row writes its numbers.
#[derive(Clone, Copy)]
enum Write {
    Time,
    Bytes,
    Plain,
    Share,
}

/// Returns the whole table of a case; also a CSV.
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

/// Renders it for the page.
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

    /// Adds how servers ended; no row if all servers held.
    fn endings(&mut self) {
        let of = |arm: &ArmView<'a>| match ending::of(arm) {
            Some(words) => Cell::text(words),
            None => Cell::absent(),
        };
        let mut row = vec![Cell::text("its server")];
        row.extend(self.case.arms.iter().map(of));
        self.keep(row);
    }

    /// Adds a total over the starts.
    fn count(&mut self, name: &str, of: impl Fn(&Arm) -> Option<u64>) {
        let cell = |a: &ArmView<'a>| {
            let total = Cell::count_or_absent(a.starts.iter().map(|s| of(s)).sum::<Option<u64>>());
            in_state(total, a.state_of(family::COUNTS))
        };
        let mut row = vec![Cell::text(name)];
        row.extend(self.case.arms.iter().map(cell));
        self.keep(row);
    }

    fn delivery(&mut self, name: &str, of: impl Fn(&Delivery) -> u64) {
        self.count(name, |a| a.delivery.as_ref().map(&of));
    }

    /// Adds a measured quantity. `metric` names the quantity or its family, as in a doubt.
    fn measured(
        &mut self,
        name: &str,
        metric: &str,
        write: Write,
        of: impl Fn(&ArmView<'a>) -> Option<Estimate>,
    ) {
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
            let cell = match estimate {
                None => Cell::absent(),
                Some(e) => Cell { shown: shown(&e, write, unit), plain: format!("{:.6}", e.value) },
            };
            row.push(in_state(cell, arm.state_of(metric)));
        }
        self.keep(row);
    }

    /// Adds percentiles of a distribution, each with its own state.
    fn percentiles(&mut self, name: &str, metric: &str, of: impl Fn(&Delivery) -> Option<&Latency> + Copy) {
        for p in P::ALL {
            let all: Vec<Percentile> = self.case.arms.iter().map(|a| a.percentile(of, p)).collect();
            let values: Vec<f64> = all.iter().filter_map(Percentile::us).collect();
            let unit = TimeUnit::of_median(&values);
            let mut row = vec![Cell::text(format!("{name} {}, {}", p.name(), unit.name(&PAGE)))];
            for (arm, percentile) in self.case.arms.iter().zip(all) {
                let cell = match percentile {
                    Percentile::Value(e) => {
                        Cell { shown: shown(&e, Write::Time, unit), plain: format!("{:.0}", e.value) }
                    }
                    Percentile::AtLeast { us, .. } => {
                        Cell { shown: format!("≥ {}", PAGE.time(us)), plain: String::new() }
                    }
                    Percentile::Absent(reason) => Cell::absent_for(&reason),
                };
                let last = p.metric().trim_start_matches("delivery.");
                row.push(in_state(cell, arm.state_of(&format!("{metric}.{last}"))));
            }
            self.keep(row);
        }
    }

    /// Adds a row, unless no arm has a value for it.
    fn keep(&mut self, row: Vec<Cell>) {
        if row[1..].iter().any(|c| c.shown != "–") {
            self.table.push(row);
        }
    }
}

/// Returns a figure with its doubt: an invalid figure is left out, a suspect figure is marked.
fn in_state(cell: Cell, state: VerdictState) -> Cell {
    match state {
        _ if cell.shown.starts_with('–') => cell,
        VerdictState::Invalid => Cell::absent_for("invalid"),
        VerdictState::Suspect => Cell { shown: format!("{} {}", cell.shown, glyph(state)), ..cell },
        VerdictState::Valid | VerdictState::Incomplete => cell,
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
    rows.count("ended in order", |a| Some(a.connections.ended).filter(|ended| *ended > 0));
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
    rows.measured("goodput, deliveries/s", family::RATES, Write::Plain, |a| {
        super::figures::flow::goodput(a).map(|value| Estimate {
            value,
            spread: pushmark_chart::estimate::Spread::None,
            n: a.n(),
        })
    });
    rows.measured("backlog growth, deliveries/s", family::RATES, Write::Plain, |a| {
        a.estimate(|s| s.delivery.as_ref()?.backlog_per_s, false)
    });
    rows.count("corrupt", |a| a.delivery.as_ref()?.corrupt);
    rows.count("messages observed", |a| a.observed.as_ref().map(|o| o.messages));
}

/// Adds the two halves of a push-or-pull crowd, and the polls beside a push.
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
        rows.measured(&format!("{name}: age of information, mean"), family::LATENCY, Write::Time, |a| {
            let age = |s: &Arm| Some(half(s)?.delivery.as_ref()?.age_of_information.as_ref()?.mean_us);
            a.estimate(age, true)
        });
    }
    type Count = fn(&SafetyPolls) -> u64;
    let polls: [(&str, Count); 4] = [
        ("polls in addition to the push", |p| p.requests),
        ("states that a poll showed first", |p| p.found),
        ("of them pushed later", |p| p.overtaken),
        ("of them never pushed", |p| p.repaired),
    ];
    for (name, of) in polls {
        rows.count(name, |a| a.hybrid.as_ref()?.safety.as_ref().map(of));
    }
}

fn latencies(rows: &mut Rows<'_, '_>) {
    rows.percentiles("received − due", "delivery", |d| Some(&d.latency));
    rows.percentiles("received − sent", "delivery.from_sent", |d| Some(&d.from_sent));
    rows.percentiles("read lag", "delivery.read_lag", |d| Some(&d.read_lag));
    rows.percentiles("kernel wait (by receive stamps, sample)", "delivery.read_lag_stamped", |d| {
        d.read_lag_stamped.as_ref()
    });
    rows.percentiles("latency to the kernel (by receive stamps, sample)", "delivery.latency_stamped", |d| {
        d.latency_stamped.as_ref()
    });
    rows.percentiles("published and received on one machine", "delivery.loopback_share", |d| {
        d.loopback_share.as_ref()
    });
    rows.delivery("latencies below 0", |d| d.latency.negative);
    let age = |pick: fn(&pushmark_model::run::AgeOfInformation) -> f64| {
        move |a: &ArmView<'_>| {
            a.estimate(|s| s.delivery.as_ref()?.age_of_information.as_ref().map(pick), true)
        }
    };
    rows.measured("trip time of all receipts, mean", "trip.mean", Write::Time, |a| {
        a.estimate(|s| s.delivery.as_ref()?.trip.as_ref()?.mean_us, true)
    });
    rows.measured("time between polls, mean", family::REQUESTS, Write::Time, |a| {
        a.estimate(|s| s.poll.as_ref()?.interval_mean_us, true)
    });
    rows.measured(
        "age of information, mean",
        "delivery.age_of_information.mean",
        Write::Time,
        age(|i| i.mean_us),
    );
    rows.measured(
        "age of information, p50",
        "delivery.age_of_information.p50",
        Write::Time,
        age(|i| i.p50_us as f64),
    );
    rows.measured(
        "age of information, p99",
        "delivery.age_of_information.p99",
        Write::Time,
        age(|i| i.p99_us as f64),
    );
    let connect = |pick: fn(&pushmark_model::run::Connect) -> u64| {
        move |a: &ArmView<'_>| {
            a.estimate(|s| s.connect.as_ref().filter(|c| c.count > 0).map(|c| pick(c) as f64), true)
        }
    };
    rows.measured("connect p50", "connect.p50", Write::Time, connect(|c| c.p50_us));
    rows.measured("connect p99", "connect.p99", Write::Time, connect(|c| c.p99_us));
    rows.measured("connect slowest", "connect.max", Write::Time, connect(|c| c.max_us));
}

/// Adds real browsers; no rows if none was requested.
fn browsers(rows: &mut Rows<'_, '_>) {
    let time = |of: fn(&Browser) -> Option<f64>| {
        move |a: &ArmView<'_>| a.estimate(|s| of(s.browser.as_ref()?), false)
    };
    rows.count("browsers requested", |a| a.browser.as_ref().map(|b| b.asked));
    rows.count("browsers subscribed in time", |a| a.browser.as_ref().map(|b| b.opened));
    rows.count("browsers' deliveries", |a| a.browser.as_ref().map(|b| b.deliveries));
    rows.count("browsers' deliveries missing", |a| a.browser.as_ref().map(|b| b.missing));
    rows.measured(
        "browsers' received − due p50",
        family::LATENCY,
        Write::Time,
        time(|b| Some(b.latency.p50_us? as f64)),
    );
    rows.measured(
        "browsers' received − due p90",
        family::LATENCY,
        Write::Time,
        time(|b| Some(b.latency.p90_us? as f64)),
    );
    rows.measured(
        "browsers' p50 − the crowd's",
        family::LATENCY,
        Write::Time,
        time(|b| Some(b.agreement.as_ref()?.p50_difference_us as f64)),
    );
    rows.measured(
        "browsers' p90 − the crowd's",
        family::LATENCY,
        Write::Time,
        time(|b| Some(b.agreement.as_ref()?.p90_difference_us as f64)),
    );
    rows.measured(
        "they may differ by",
        family::GENERATOR,
        Write::Time,
        time(|b| Some(b.agreement.as_ref()?.bound_us as f64)),
    );
    rows.measured(
        "browsers' clock uncertainty",
        family::GENERATOR,
        Write::Time,
        time(|b| Some(b.clock.as_ref()?.bound_us as f64)),
    );
    rows.measured(
        "browsers' CPU in measure",
        family::GENERATOR,
        Write::Time,
        time(|b| Some(b.cpu_us? as f64)),
    );
}

fn publishing(rows: &mut Rows<'_, '_>) {
    rows.count("publications due", |a| a.published.as_ref().map(|p| p.due));
    rows.count("publications sent", |a| a.published.as_ref().map(|p| p.sent));
    rows.count("publications failed", |a| a.published.as_ref().map(|p| p.failed));
    rows.count("publications not sent: no connection", |a| a.published.as_ref().map(|p| p.unreachable));
    rows.count("publications held back by unanswered ones", |a| {
        a.published.as_ref().map(|p| p.backpressured)
    });
    rows.measured("publisher lag p99", family::GENERATOR, Write::Time, |a| {
        a.estimate(|s| s.published.as_ref()?.lag.p99_us.map(|v| v as f64), true)
    });
    rows.measured("accept p50", "published.accept.p50", Write::Time, |a| {
        a.estimate(|s| s.published.as_ref()?.accept.as_ref()?.p50_us.map(|v| v as f64), true)
    });
    rows.measured("achieved share of planned rate", family::GENERATOR, Write::Share, |a| {
        let share = |p: &pushmark_model::run::Published| p.achieved_per_s / p.asked_per_s;
        a.estimate(|s| s.published.as_ref().filter(|p| p.asked_per_s > 0.0).map(share), false)
    });
}

fn costs(rows: &mut Rows<'_, '_>) {
    rows.measured("server, CPU-s per million deliveries", family::CPU, Write::Plain, ArmView::server_cost);
    rows.measured("generator, CPU-s per million deliveries", family::GENERATOR, Write::Plain, |a| {
        a.cost(|s| Some(s.generator.cpu_us))
    });
    rows.measured("softirq, CPU-s per million deliveries", family::CPU, Write::Plain, |a| {
        a.cost(|s| s.softirq_us)
    });
    rows.measured("server peak RSS", family::MEMORY, Write::Bytes, |a| {
        a.estimate(|s| s.server.as_ref().map(|v| v.rss_bytes_peak as f64), false)
    });
    rows.measured("server PSS, all clients connected", family::MEMORY, Write::Bytes, |a| {
        a.estimate(|s| s.server.as_ref()?.pss_bytes_full.map(|v| v as f64), false)
    });
    rows.measured("memory per connection, process", family::MEMORY, Write::Bytes, ArmView::memory);
    rows.measured("memory per connection, kernel", family::MEMORY, Write::Bytes, ArmView::kernel_memory);
    rows.measured("kernel memory added by the crowd", family::MEMORY, Write::Bytes, |a| {
        a.estimate(|s| s.kernel_memory_bytes.map(|v| v as f64), false)
    });
    rows.count("server threads, maximum", |a| a.server.as_ref().map(|s| s.threads_max));
    rows.measured("generator busiest core", family::GENERATOR, Write::Share, |a| {
        a.estimate(|s| Some(s.generator.busiest_core), false)
    });
    rows.measured("generator run-queue wait, of the window", family::GENERATOR, Write::Share, |a| {
        let share = |g: &pushmark_model::run::Generator| g.run_queue_wait_us as f64 / g.window_us as f64;
        a.estimate(|s| Some(&s.generator).filter(|g| g.window_us > 0).map(share), false)
    });
    rows.measured("generator loop lag p99", family::GENERATOR, Write::Time, |a| {
        a.estimate(|s| s.generator.loop_lag.p99_us.map(|v| v as f64), true)
    });
    rows.measured("generator peak RSS", family::GENERATOR, Write::Bytes, |a| {
        a.estimate(|s| Some(s.generator.rss_bytes_peak as f64).filter(|v| *v > 0.0), false)
    });
    rows.measured("steal", family::GENERATOR, Write::Share, |a| {
        a.estimate(|s| Some(s.generator.steal), false)
    });
}

fn wire(rows: &mut Rows<'_, '_>) {
    rows.measured("wire bytes per delivery", family::WIRE, Write::Plain, ArmView::wire_bytes);
    rows.count("bytes in, whole arm", |a| Some(a.wire.bytes_in));
    rows.count("bytes out, whole arm", |a| Some(a.wire.bytes_out));
    rows.count("segments in", |a| a.wire.segments_in);
    rows.count("segments out", |a| a.wire.segments_out);
    rows.count("retransmits, host", |a| a.wire.retransmits);
    rows.count("connections the listener dropped", |a| a.wire.listener_drops);
    rows.count("listen overflows, host", |a| a.wire.listen_overflows);
    rows.measured("sockets into TIME_WAIT per s, host", family::WIRE, Write::Plain, |a| {
        a.estimate(|s| s.wire.time_wait_per_s, false)
    });
}
