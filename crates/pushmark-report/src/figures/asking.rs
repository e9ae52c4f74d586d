//! Figures of transports that send requests: how a long poller spends its time, and what a poller's
//! requests returned. One bar to scale, then times as rows.

use pushmark_chart::canvas::{Canvas, Drawing, Text};
use pushmark_chart::estimate::Estimate;
use pushmark_chart::marks::marker;
use pushmark_chart::numbers::PAGE;
use pushmark_chart::pattern::Pattern;
use pushmark_chart::scale::{Scale, time_tick};
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::{AXIS, BG, DELIVERED, INK2};
use pushmark_model::run::{Arm, Latency};
use pushmark_model::transport::Transport;

use crate::case::{ArmView, Case, P, TAIL};
use crate::figure::{Figure, HALF, Size, both};
use crate::rows;

/// A latency of an arm that cannot have missing values.
pub(super) type Of = fn(&Arm) -> Option<&Latency>;

/// One bar to scale: its parts with count and paint.
pub(super) struct Bar {
    pub(super) title: String,
    pub(super) parts: Vec<(String, f64, Fill)>,
}

#[derive(Clone, Copy)]
pub(super) enum Fill {
    Kept,
    Hatched,
    Strong,
}

pub(crate) fn long_poll(case: &Case<'_>) -> Option<Figure> {
    let is_one = |a: &&ArmView<'_>| a.transport == Transport::LongPoll;
    let arm = case.arms.iter().filter(is_one).find(|a| a.starts.iter().any(|s| s.long_poll.is_some()))?;
    let bars = time_bar(arm).into_iter().collect::<Vec<_>>();
    let times: [(&'static str, Of); 3] = [
        ("in flight", |a| a.long_poll.as_ref().map(|l| &l.in_flight)),
        ("deaf", |a| a.long_poll.as_ref().map(|l| &l.deaf)),
        ("held too long", |a| a.long_poll.as_ref().map(|l| &l.hold_overshoot)),
    ];
    let (wide, narrow) = both(HALF, |size| draw(case, arm, "long-poll", &bars, &times, size));
    let sum = |f: fn(&pushmark_model::run::LongPoll) -> u64| -> u64 {
        arm.starts.iter().filter_map(|s| s.long_poll.as_ref()).map(f).sum()
    };
    let rate = |f: fn(&pushmark_model::run::LongPoll) -> f64| {
        arm.estimate(|a| a.long_poll.as_ref().map(f), true).map(|e| e.value)
    };
    let (per_s, ceiling) = (rate(|l| l.answers_per_s), rate(|l| l.ceiling_per_s));
    let number = |v: Option<f64>| v.map_or("–".to_string(), |v| PAGE.three(v));
    let mut table = Table::new(&[("quantity", "quantity"), ("value", "value")]);
    let mut push = |name: &str, cell: Cell| table.push(vec![Cell::text(name), cell]);
    push("answers with messages", Cell::count(sum(|l| l.answers)));
    push("answers without messages (hold ended)", Cell::count(sum(|l| l.timeouts)));
    push("answers per second", Cell::number(per_s));
    push("ceiling without messages, clients ÷ hold, per second", Cell::number(ceiling));
    push("missed between requests", Cell::count(sum(|l| l.missed_deaf)));
    push("messages per answer, mean", Cell::number(rate_option(arm, |l| l.messages_per_answer)));
    push("receivers per publication, mean", Cell::number(rate_option(arm, |l| l.receivers_per_publication)));
    push("new connections", Cell::count(sum(|l| l.new_connections)));
    time_rows(&mut table, arm, &times);
    Some(Figure {
        id: "long-poll",
        title: "Long poll: waiting, in flight, not connected".into(),
        sentence: match sum(|l| l.missed_deaf) {
            0 => format!("Nothing was missed between two answers, at {} answers a second.", number(per_s)),
            n => format!(
                "{} deliveries were missed between two answers, at {} answers a second.",
                PAGE.count(n),
                number(per_s)
            ),
        },
        caption: format!(
            "{}; a closed model: without messages its limit is {} answers/s (clients ÷ hold); marker p50, tick p99",
            case.statistic(),
            number(ceiling)
        ),
        wide,
        narrow,
        table: with_tail(table, arm),
    })
}

fn rate_option(arm: &ArmView<'_>, f: fn(&pushmark_model::run::LongPoll) -> Option<f64>) -> Option<f64> {
    arm.estimate(|a| f(a.long_poll.as_ref()?), false).map(|e| e.value)
}

/// Describes how the clients' time was spent, from means and counts.
pub(super) fn time_bar(arm: &ArmView<'_>) -> Option<Bar> {
    let of = |a: &Arm, part: fn(&pushmark_model::run::LongPoll) -> &Latency| -> Option<f64> {
        let l = part(a.long_poll.as_ref()?);
        let phase = a.phases.iter().find(|p| p.name == "measure")?;
        let total = (phase.end_us - phase.start_us) as f64 * a.connections.opened as f64;
        (total > 0.0).then(|| l.mean_us.unwrap_or(0.0) * l.count as f64 / total)
    };
    let deaf = arm.estimate(|a| of(a, |l| &l.deaf), false)?.value.clamp(0.0, 1.0);
    let flight = arm.estimate(|a| of(a, |l| &l.in_flight), false)?.value.clamp(0.0, 1.0 - deaf);
    let parts = vec![
        ("listening".to_string(), 1.0 - deaf - flight, Fill::Kept),
        ("in flight".to_string(), flight, Fill::Hatched),
        ("deaf".to_string(), deaf, Fill::Strong),
    ];
    Some(Bar { title: "where a client's time went".into(), parts })
}

pub(crate) fn poll(case: &Case<'_>) -> Option<Figure> {
    let arm = case.arms.iter().find(|a| a.starts.iter().any(|s| s.poll.is_some()))?;
    let sum = |f: fn(&pushmark_model::run::Poll) -> u64| -> u64 {
        arm.starts.iter().filter_map(|s| s.poll.as_ref()).map(f).sum()
    };
    let (requests, redundant, skipped) =
        (sum(|p| p.requests), sum(|p| p.redundant), sum(|p| p.skipped_states));
    // In a push-or-pull crowd, the half that polls.
    let polled = |a: &Arm| {
        let half = a.hybrid.as_ref().and_then(|hybrid| hybrid.pull.as_ref());
        half.map_or(a.delivery.as_ref(), |half| half.delivery.as_ref()).map(|d| d.delivered)
    };
    let shown = arm.starts.iter().filter_map(|a| polled(a)).sum::<u64>();
    let mut bars = Vec::new();
    if requests > 0 {
        let parts = vec![
            ("with news".to_string(), requests.saturating_sub(redundant) as f64, Fill::Kept),
            ("nothing new".to_string(), redundant as f64, Fill::Hatched),
        ];
        bars.push(Bar { title: format!("{} requests", PAGE.count(requests)), parts });
    }
    if shown + skipped > 0 {
        let parts = vec![
            ("shown".to_string(), shown as f64, Fill::Kept),
            ("never shown".to_string(), skipped as f64, Fill::Hatched),
        ];
        bars.push(Bar { title: format!("{} states", PAGE.count(shown + skipped)), parts });
    }
    let times: [(&'static str, Of); 2] = [
        ("first receipt", |a| a.delivery.as_ref().map(|d| &d.latency)),
        ("age at receipt", |a| a.poll.as_ref().map(|p| &p.age_at_receipt)),
    ];
    let (wide, narrow) = both(HALF, |size| draw(case, arm, "poll", &bars, &times, size));
    let mut table = Table::new(&[("quantity", "quantity"), ("value", "value")]);
    let mut push = |name: &str, count: u64| table.push(vec![Cell::text(name), Cell::count(count)]);
    push("requests", requests);
    push("redundant", redundant);
    push("of them answered 304", sum(|p| p.not_modified));
    push("states never shown", skipped);
    push("overruns", sum(|p| p.overruns));
    time_rows(&mut table, arm, &times);
    let overruns = match sum(|p| p.overruns) {
        0 => "no poll was still open when the next was due".to_string(),
        1 => "1 poll was still open when the next was due".to_string(),
        n => format!("{} polls were still open when the next was due", PAGE.count(n)),
    };
    Some(Figure {
        id: "poll",
        title: "Poll: what the requests returned".into(),
        sentence: match arm.one_in() {
            Some(one_in) => format!("It showed 1 state in {}; {overruns}.", PAGE.fixed(one_in, 0)),
            None => format!("It showed every state; {overruns}."),
        },
        caption: format!(
            "{}; first receipt = received − due of the states shown; age at receipt at every answer; marker p50, tick p99",
            case.statistic()
        ),
        wide,
        narrow,
        table: with_tail(table, arm),
    })
}

fn value(arm: &ArmView<'_>, of: Of, p: P) -> Option<f64> {
    let pick = |l: &Latency| match p {
        P::P50 => l.p50_us,
        P::P90 => l.p90_us,
        P::P99 => l.p99_us,
        P::P999 => l.p999_us,
    };
    arm.estimate(|a| pick(of(a)?).map(|v| v as f64), true).map(|e: Estimate| e.value)
}

pub(super) fn time_rows(table: &mut Table, arm: &ArmView<'_>, times: &[(&'static str, Of)]) {
    for (name, of) in times {
        for p in P::ALL {
            let cell = value(arm, *of, p)
                .map_or_else(Cell::absent, |us| Cell { shown: PAGE.time(us), plain: format!("{us:.0}") });
            table.push(vec![
                Cell { shown: format!("{name} {}", p.name()), plain: format!("{name} {}_us", p.name()) },
                cell,
            ]);
        }
    }
}

pub(super) fn with_tail(mut table: Table, arm: &ArmView<'_>) -> Table {
    for (shown, plain) in TAIL {
        table.columns.push((shown.into(), plain.into()));
    }
    for row in &mut table.rows {
        row.extend(arm.tail());
    }
    table
}

pub(super) fn draw(
    case: &Case<'_>,
    arm: &ArmView<'_>,
    id: &str,
    bars: &[Bar],
    times: &[(&'static str, Of)],
    size: Size,
) -> Drawing {
    let width = size.width();
    let (bar_step, row_step) = (62.0, 30.0);
    let top = 26.0 + bar_step * bars.len() as f64;
    let bottom = top + 18.0 + row_step * times.len() as f64;
    let mut canvas = Canvas::new(&size.id(case, id), width, bottom + 42.0);
    rows::name(&mut canvas, arm, 0.0, 9.0);
    if rows::instead(&mut canvas, arm, 0.0, 44.0, width, None) {
        return canvas.finish();
    }
    for (i, bar) in bars.iter().enumerate() {
        draw_bar(&mut canvas, bar, 26.0 + bar_step * i as f64, width);
    }
    let (left, right) = (100.0, width - 30.0);
    let found: Vec<(&str, Option<f64>, Option<f64>)> =
        times.iter().map(|(name, of)| (*name, value(arm, *of, P::P50), value(arm, *of, P::P99))).collect();
    let x = Scale::log_over(found.iter().flat_map(|f| [f.1, f.2]).flatten(), left, right);
    rows::axis_below(&mut canvas, &x, (left, right), (top + 4.0, bottom), time_tick, "time (log) →");
    for (i, (name, p50, p99)) in found.iter().enumerate() {
        let y = top + 18.0 + row_step * (i as f64 + 0.4);
        canvas.text(Text::tick(0.0, y + 4.2, *name));
        let Some(p50) = p50 else {
            canvas.text(Text::note(left, y + 4.0, "– none"));
            continue;
        };
        canvas.open_titled(&format!(
            "{name}: p50 {}, p99 {}",
            PAGE.time(*p50),
            p99.map_or("–".into(), |v| PAGE.time(v))
        ));
        if let Some(p99) = p99 {
            let (a, b) = (x.at(*p50), x.at(*p99));
            canvas.line(a, y, b, y, arm.mark.paint, r#"stroke-width="1.8""#);
            canvas.line(b, y - 5.5, b, y + 5.5, arm.mark.paint, r#"stroke-width="2""#);
        }
        marker(&mut canvas, arm.mark, arm.state, x.at(*p50), y);
        canvas.close();
    }
    canvas.finish()
}

fn draw_bar(canvas: &mut Canvas, bar: &Bar, y: f64, width: f64) {
    canvas.text(Text::note(0.0, y + 12.0, bar.title.as_str()));
    let total: f64 = bar.parts.iter().map(|p| p.1).sum();
    let parts: Vec<&(String, f64, Fill)> = bar.parts.iter().filter(|p| p.1 > 0.0).collect();
    let wide = width - 1.0;
    let mut at = 0.5;
    for (i, (_, value, fill)) in parts.iter().enumerate() {
        // Every part stays visible, however small: the following parts keep their room.
        let to_come = (parts.len() - i - 1) as f64;
        let room = 0.5 + wide - at;
        let part =
            if to_come == 0.0 { room } else { (value / total * wide).min(room - 3.0 * to_come).max(1.0) };
        let paint = match fill {
            Fill::Kept => DELIVERED.to_string(),
            Fill::Hatched => canvas.pattern(Pattern::Superseded),
            Fill::Strong => INK2.to_string(),
        };
        canvas.rect(at, y + 18.0, part, 14.0, &paint, "");
        if i > 0 {
            canvas.rect(at - 1.0, y + 18.0, 2.0, 14.0, BG, "");
        }
        at += part;
    }
    canvas.rect(0.5, y + 18.0, wide, 14.0, "none", &format!(r#"stroke="{AXIS}""#));
    let counted = total > 1.5;
    let words: Vec<String> = bar
        .parts
        .iter()
        .map(|(name, value, _)| {
            let value = if counted { PAGE.count(*value as u64) } else { PAGE.percent(*value) };
            format!("{value} {name}")
        })
        .collect();
    canvas.text(Text::tick(0.0, y + 46.0, words.join(" · ")));
}
