//! Age of information against CPU: what a client gets against what the server pays. Below, as rows, the
//! bytes on the wire per delivery.

use pushmark_chart::avoid::Obstacles;
use pushmark_chart::canvas::{Canvas, Drawing, Kind, Text, c};
use pushmark_chart::estimate::{Estimate, Spread};
use pushmark_chart::labels::APART;
use pushmark_chart::marks::{bar_across, bar_up, marker};
use pushmark_chart::numbers::{PAGE, TimeUnit};
use pushmark_chart::scale::{Scale, plain_tick, time_tick};
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::AXIS;

use crate::case::{ArmView, Case, TAIL};
use crate::figure::{Figure, HALF, Size, both};
use crate::rows;

pub(crate) fn age(arm: &ArmView<'_>, p99: bool) -> Option<Estimate> {
    let of = |p50: i64, p99_us: i64| if p99 { p99_us } else { p50 };
    arm.estimate(
        |a| a.delivery.as_ref()?.age_of_information.as_ref().map(|i| of(i.p50_us, i.p99_us) as f64),
        true,
    )
}

pub(crate) fn figure(case: &Case<'_>) -> Option<Figure> {
    if case.observes() {
        return None;
    }
    let (wide, narrow) = both(HALF, |size| draw(case, size));
    Some(Figure {
        id: "age-against-cost",
        title: "Age of information against cost".into(),
        sentence: sentence(case),
        caption: case.caption(&format!(
            "age = time-weighted now − due of the newest message a client holds; tick: p99{}",
            case.left_out()
        )),
        wide,
        narrow,
        table: table(case),
    })
}

struct Point<'a, 'b> {
    arm: &'b ArmView<'a>,
    cost: Estimate,
    p50: Estimate,
    p99: Option<Estimate>,
}

fn draw(case: &Case<'_>, size: Size) -> Drawing {
    let width = size.width();
    let rows_height = super::wire::ROW * case.arms.len() as f64 + 62.0;
    let (left, right, top, bottom) = (54.0, width - 20.0, 34.0, 240.0);
    let mut canvas = Canvas::new(&size.id(case, "age"), width, bottom + 44.0 + rows_height);
    let points: Vec<Point<'_, '_>> = case
        .believed()
        .filter_map(|arm| {
            Some(Point { arm, cost: arm.server_cost()?, p50: age(arm, false)?, p99: age(arm, true) })
        })
        .collect();
    let x = Scale::log_over(points.iter().flat_map(|p| p.cost.ends()), left, right);
    let ages =
        points.iter().flat_map(|p| p.p50.ends().into_iter().chain(p.p99.iter().flat_map(Estimate::ends)));
    let floor = youngest(case);
    let y = Scale::log_over(ages.chain(floor), bottom, top);
    if points.is_empty() {
        canvas.text(Text::note(left, (top + bottom) / 2.0, "– no arm has both an age and a server cost"));
    } else {
        rows::axis_left(
            &mut canvas,
            &y,
            (left, right),
            (top, bottom),
            time_tick,
            "↑ age of information (log)",
        );
        rows::axis_below(
            &mut canvas,
            &x,
            (left, right),
            (bottom, bottom),
            plain_tick,
            "server CPU-s per million deliveries (log) →",
        );
    }
    if let Some(us) = floor.filter(|_| !points.is_empty()) {
        let at = y.at(us);
        canvas.line(left, at, right, at, AXIS, r#"stroke-dasharray="1 3""#);
    }
    for point in &points {
        draw_point(&mut canvas, point, &x, &y);
    }
    let mut obstacles = label_points(&mut canvas, &points, &x, &y, (left, right, top));
    if let Some(us) = floor.filter(|_| !points.is_empty()) {
        let at = y.at(us);
        let mut found = None;
        for words in ["lowest possible p50", "lowest possible"] {
            let words = format!("{}: {words}", PAGE.duration(us));
            let half = Kind::Note.width(&words) / 2.0;
            let room = (right - left - 2.0 * half).max(0.0);
            let steps = (0..60).map(|i| left + half + room * f64::from((i * 7 + 25) % 60) / 59.0);
            let places: Vec<(f64, f64)> = steps.flat_map(|x| [(x, at + 14.0), (x, at - 6.0)]).collect();
            let text = |x, y| Text::note(x, y, words.clone()).middle().halo();
            found = found.or_else(|| obstacles.place_free(&places, [left, top, right, bottom], text));
        }
        let aside =
            || Text::note(right, top - 14.0, format!("dotted: {}, the lowest p50", PAGE.duration(us))).end();
        canvas.text(found.unwrap_or_else(aside));
    }
    super::wire::rows_of(&mut canvas, case, bottom + 44.0, width);
    canvas.finish()
}

/// Returns half the interval of publications. At a constant rate no client can have a lower median age.
fn youngest(case: &Case<'_>) -> Option<f64> {
    let published = case.arms.iter().find_map(|a| a.starts.first()?.published.as_ref())?;
    let channels =
        case.run().plan.pointer("/arms/0/subscriptions/channels").and_then(serde_json::Value::as_u64)?;
    (published.asked_per_s > 0.0).then(|| 1e6 * channels as f64 / published.asked_per_s / 2.0)
}

fn draw_point(canvas: &mut Canvas, p: &Point<'_, '_>, x: &Scale, y: &Scale) {
    let (px, py) = (x.at(p.cost.value), y.at(p.p50.value));
    let mut title = format!(
        "{}: age p50 {}, server {} CPU-s per million deliveries",
        p.arm.name(),
        PAGE.time(p.p50.value),
        PAGE.estimate(&p.cost)
    );
    if let Some(p99) = &p.p99 {
        title.push_str(&format!(", age p99 {}", PAGE.time(p99.value)));
    }
    canvas.open_titled(&format!("{title}; {}, n = {}", p.arm.state.name(), p.arm.n()));
    if let Some(p99) = &p.p99 {
        let top = y.at(p99.value);
        let d = format!("M{0} {1}V{2}M{3} {2}H{4}", c(px), c(py), c(top), c(px - 5.0), c(px + 5.0));
        canvas.path(&d, "none", p.arm.mark.paint, r#"stroke-width="1.8""#);
    }
    if let Some((low, high)) = p.cost.bounds() {
        bar_across(
            canvas,
            x.at(low),
            x.at(high),
            py,
            matches!(p.cost.spread, Spread::Interval(..)),
            p.arm.mark.paint,
        );
    }
    if let Some((low, high)) = p.p50.bounds() {
        let caps = matches!(p.p50.spread, Spread::Interval(..));
        bar_up(canvas, px, y.at(low), y.at(high), caps, p.arm.mark.paint);
    }
    marker(canvas, p.arm.mark, p.arm.state, px, py);
    canvas.close();
}

/// Names the stems. Stems close together get a ladder of names above them; any other name goes beside its
/// stem, where it covers nothing.
fn label_points(
    canvas: &mut Canvas,
    points: &[Point<'_, '_>],
    x: &Scale,
    y: &Scale,
    (left, right, top): (f64, f64, f64),
) -> Obstacles {
    let place = |p: &Point<'_, '_>| {
        (x.at(p.cost.value), y.at(p.p50.value), p.p99.map_or(y.at(p.p50.value), |e| y.at(e.value)))
    };
    let mut obstacles = Obstacles::default();
    for point in points {
        let (px, py, ptop) = place(point);
        obstacles.curve(&[(px, py), (px, ptop)]);
        let (low, high) = point.cost.bounds().map_or((px, px), |b| (x.at(b.0), x.at(b.1)));
        obstacles.area([low.min(px - 6.0), py - 6.0, high.max(px + 6.0), py + 6.0]);
    }
    let mut order: Vec<&Point<'_, '_>> = points.iter().collect();
    order.sort_by(|a, b| a.cost.value.total_cmp(&b.cost.value));
    let mut clusters: Vec<Vec<&Point<'_, '_>>> = Vec::new();
    for point in order {
        let near = |last: &&Point<'_, '_>| {
            let ((ax, abottom, atop), (bx, bbottom, btop)) = (place(last), place(point));
            bx - ax < 34.0 && atop - 16.0 < bbottom && btop - 16.0 < abottom
        };
        match clusters.last_mut() {
            Some(cluster) if cluster.last().is_some_and(near) => cluster.push(point),
            _ => clusters.push(vec![point]),
        }
    }
    let within = [left, top - 2.0, right, 1e4];
    let mut explained = false;
    clusters.sort_by_key(|c| std::cmp::Reverse(c.len()));
    for cluster in clusters {
        let [alone] = cluster.as_slice() else {
            ladder(canvas, &cluster, &place, (left, right, top), &mut obstacles);
            continue;
        };
        let (px, py, ptop) = place(alone);
        let width = Kind::Name.width(alone.arm.name()) + Kind::Name.width(alone.arm.suffix());
        let middle = (py + ptop) / 2.0 + 4.4;
        let beside = [
            (px + 10.0, middle),
            (px - 10.0 - width, middle),
            (px + 10.0, ptop - 6.0),
            (px - width / 2.0, ptop - 10.0),
        ];
        if let Some(text) = obstacles.place(beside, within, |x, y| name_text(alone, x, y)) {
            canvas.text(text.halo());
        }
        if !explained && alone.p99.is_some() && py - ptop > 26.0 {
            explained = true;
            for (word, wished) in [("p99", ptop + 3.0), ("p50", py + 14.0)] {
                let side = [(px + 9.0, wished), (px - 9.0 - Kind::Note.width(word), wished)];
                if let Some(text) = obstacles.place(side, within, |x, y| Text::note(x, y, word)) {
                    canvas.text(text);
                }
            }
        }
    }
    obstacles
}

/// Places the leftmost name highest, so that no leader crosses another. Side and height are those at which
/// the names cover least.
fn ladder<'a, 'b>(
    canvas: &mut Canvas,
    cluster: &[&Point<'a, 'b>],
    place: &dyn Fn(&Point<'a, 'b>) -> (f64, f64, f64),
    (left, right, top): (f64, f64, f64),
    obstacles: &mut Obstacles,
) {
    let summit = cluster.iter().map(|p| place(p).2).fold(f64::INFINITY, f64::min);
    let last = cluster.len() - 1;
    let lowest = (summit - 14.0).max(top + APART * last as f64);
    // Where the leader of a point bends, and where its name begins or ends.
    let step = |i: usize, right: bool| if right { last - i } else { i };
    let bend = |i: usize, (to_right, low): (bool, f64)| {
        let side = if to_right { 14.0 } else { -14.0 };
        (place(cluster[i]).0 + side, low - 15.0 * step(i, to_right) as f64)
    };
    let name = |i: usize, choice: (bool, f64)| {
        let (end, y) = bend(i, choice);
        let name = name_text(cluster[i], if choice.0 { end + 3.0 } else { end - 3.0 }, y + 4.4);
        if choice.0 { name } else { name.end() }.halo()
    };
    let heights = [0.0, 1.0, 2.0, 3.0].map(|rows| lowest - 15.0 * rows);
    let heights = heights.into_iter().filter(|low| *low >= top + 15.0 * last as f64);
    let choices = heights.chain([lowest]).flat_map(|low| [(true, low), (false, low)]);
    let inside = |choice: &(bool, f64)| {
        (0..=last).map(|i| name(i, *choice).bounds()).all(|b| b[0] >= left && b[2] <= right)
    };
    let covers = |choice: &(bool, f64)| -> usize {
        (0..=last).map(|i| obstacles.covered(name(i, *choice).bounds())).sum()
    };
    // `min_by_key` keeps the first of equals.
    let choice = choices.filter(inside).min_by_key(covers).unwrap_or((true, lowest));
    for (i, point) in cluster.iter().enumerate() {
        let (px, _, ptop) = place(point);
        let (end, y) = bend(i, choice);
        let d = format!("M{} {}V{}H{}", c(px), c(ptop - 2.0), c(y), c(end));
        canvas.path(&d, "none", point.arm.mark.paint, r#"stroke-width=".8""#);
        obstacles.curve(&[(px, ptop), (px, y), (end, y)]);
        let name = name(i, choice);
        obstacles.area(name.bounds());
        canvas.text(name);
    }
}

fn name_text(p: &Point<'_, '_>, x: f64, y: f64) -> Text {
    let spans =
        vec![(p.arm.name().to_string(), p.arm.mark.paint), (p.arm.suffix().to_string(), "var(--ink)")];
    Text::spans(Kind::Name, x, y, spans)
}

fn sentence(case: &Case<'_>) -> String {
    let mut ages: Vec<(&str, f64)> =
        case.believed().filter_map(|a| Some((a.name(), age(a, false)?.value))).collect();
    ages.sort_by(|a, b| b.1.total_cmp(&a.1));
    if ages.is_empty() {
        return "Age of information was not measured.".into();
    }
    let mut parts = Vec::new();
    if let [oldest, next, ..] = ages.as_slice() {
        let ratio = oldest.1 / next.1.max(1.0);
        if ratio >= 1.5 {
            parts.push(format!("{} is {} older than the rest.", oldest.0, PAGE.ratio(ratio)));
        }
    }
    parts.extend(cost_ratio(case));
    match (parts.is_empty(), ages.as_slice()) {
        (true, [(name, us)]) => {
            format!("A client of {name} holds messages {} old at the median.", PAGE.time(*us))
        }
        (true, _) => "No difference found between the arms. Lower left is better.".into(),
        (false, _) => format!("{} Lower left is better.", parts.join(" ")),
    }
}

/// Returns `long-poll costs 9.1 to 11 × a push.`
fn cost_ratio(case: &Case<'_>) -> Option<String> {
    let costs = |push: bool| -> Vec<(&ArmView<'_>, Estimate)> {
        let of = case.believed().filter(|a| a.transport.is_push() == push && a.one_in().is_none());
        of.filter_map(|a| Some((a, a.server_cost()?))).collect()
    };
    let (asker, dear) = costs(false).into_iter().max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    let mut pushes: Vec<Estimate> = costs(true).into_iter().map(|c| c.1).collect();
    pushes.sort_by(|a, b| a.value.total_cmp(&b.value));
    let (cheap, last) = (pushes.first()?, pushes.last()?);
    let (most, least) = (PAGE.ratio(dear.value / cheap.value), PAGE.ratio(dear.value / last.value));
    if !apart(&dear, last) || dear.value / last.value < 1.5 {
        return None;
    }
    let ratios =
        if most == least { most } else { format!("{} to {most}", least.trim_end_matches("\u{a0}×")) };
    Some(format!("{}{} costs {ratios} a push.", asker.name(), asker.suffix()))
}

/// Whether the bars of two estimates do not touch; without bars the values decide.
pub(crate) fn apart(a: &Estimate, b: &Estimate) -> bool {
    let ((a_low, a_high), (b_low, b_high)) =
        (a.bounds().unwrap_or((a.value, a.value)), b.bounds().unwrap_or((b.value, b.value)));
    a_low > b_high || b_low > a_high
}

fn table(case: &Case<'_>) -> Table {
    let mut columns = vec![("arm", "arm")];
    let ages: Vec<f64> = case.arms.iter().filter_map(|a| age(a, false)).map(|e| e.value).collect();
    let unit = TimeUnit::of_median(&ages);
    let (p50, p99) = (format!("age p50, {}", unit.name(&PAGE)), format!("age p99, {}", unit.name(&PAGE)));
    let (low, high) = ("low".to_string(), "high".to_string());
    columns.extend([
        (p50.as_str(), "age_p50_us"),
        (low.as_str(), "age_p50_low_us"),
        (high.as_str(), "age_p50_high_us"),
        (p99.as_str(), "age_p99_us"),
        ("CPU-s per million deliveries", "server_cpu_s_per_million"),
        (low.as_str(), "server_cpu_low"),
        (high.as_str(), "server_cpu_high"),
        ("wire, B a delivery", "wire_bytes_per_delivery"),
        (low.as_str(), "wire_low"),
        (high.as_str(), "wire_high"),
    ]);
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in &case.arms {
        let seen = |e: Option<Estimate>| e.filter(|_| arm.believed());
        let (p50, p99, cost, wire) =
            (seen(age(arm, false)), seen(age(arm, true)), seen(arm.server_cost()), seen(arm.wire_bytes()));
        let bound = |e: Option<Estimate>, high: bool| {
            e.and_then(|e| e.bounds()).map(|b| if high { b.1 } else { b.0 })
        };
        let mut row = vec![
            Cell::text(arm.name()),
            Cell::time(p50.map(|e| e.value), unit),
            Cell::time(bound(p50, false), unit),
            Cell::time(bound(p50, true), unit),
            Cell::time(p99.map(|e| e.value), unit),
            Cell::number(cost.map(|e| e.value)),
            Cell::number(bound(cost, false)),
            Cell::number(bound(cost, true)),
            Cell::number(wire.map(|e| e.value)),
            Cell::number(bound(wire, false)),
            Cell::number(bound(wire, true)),
        ];
        row.extend(arm.tail());
        table.push(row);
    }
    table
}
