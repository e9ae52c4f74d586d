//! CPU per million deliveries: server, generator and soft interrupts always together, because
//! on one host the sender is charged for part of the receiver's work.

use pushmark_chart::canvas::{Canvas, Drawing, Kind, Text};
use pushmark_chart::estimate::{Estimate, Spread};
use pushmark_chart::marks::bar_across;
use pushmark_chart::numbers::PAGE;
use pushmark_chart::pattern::Pattern;
use pushmark_chart::scale::{Scale, plain_tick};
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::{GENERATOR, INK, SERVER};
use pushmark_chart::words;

use crate::case::{ArmView, Case, TAIL};
use crate::figure::{Figure, HALF, Size, both};
use crate::rows;

/// Returns the CPU of server, generator and softirq.
pub(crate) fn parts(arm: &ArmView<'_>) -> [Option<Estimate>; 3] {
    [arm.server_cost(), arm.cost(|a| Some(a.generator.cpu_us)), arm.cost(|a| a.softirq_us)]
}

fn total(arm: &ArmView<'_>) -> f64 {
    parts(arm).iter().flatten().map(|e| e.value).sum()
}

pub(crate) fn figure(case: &Case<'_>) -> Option<Figure> {
    if case.observes() {
        return None;
    }
    let (wide, narrow) = both(HALF, |size| draw(case, size));
    let environment = &case.run().environment;
    let host = if environment.same_host {
        "; single-host figures rank servers; they do not describe a network"
    } else {
        ""
    };
    let poll = if case.arms.iter().any(|a| a.one_in().is_some()) { "; poll: per million shown" } else { "" };
    Some(Figure {
        id: "cpu",
        title: "CPU per million deliveries".into(),
        sentence: sentence(case),
        caption: case.caption(&format!("CPU by {}{host}{poll}", environment.cpu_accounting)),
        wide,
        narrow,
        table: table(case),
    })
}

fn draw(case: &Case<'_>, size: Size) -> Drawing {
    let (width, step) = (size.width(), if size.is_narrow() { 46.0 } else { 74.0 });
    let (left, right) = (rows::margin(&case.arms), width - 58.0);
    let (top, bottom) = (24.0, 24.0 + step * case.arms.len() as f64);
    let mut canvas = Canvas::new(&size.id(case, "cpu"), width, bottom + 42.0);
    let believed: Vec<&ArmView<'_>> = case.believed().collect();
    let most = believed.iter().map(|a| total(a)).fold(0.0, f64::max);
    let x = Scale::from_zero(most, left, right);
    let bars = match case.n() {
        1 => "",
        2..=4 => "; bar: server, range",
        _ => "; ⊢⊣ server, 95 %",
    };
    let name = format!("CPU-s per million deliveries{bars}");
    if most > 0.0 {
        rows::axis_below(&mut canvas, &x, (left, right), (top, bottom), plain_tick, &name);
    }
    let longest = believed.iter().max_by(|a, b| total(a).total_cmp(&total(b))).map(|a| a.name());
    for (i, arm) in case.arms.iter().enumerate() {
        let y = top + step * (i as f64 + 0.5);
        rows::name(&mut canvas, arm, 0.0, y);
        let absent = (total(arm) == 0.0).then(|| arm.no_cost());
        if !rows::instead(&mut canvas, arm, left, y, width - left, absent) {
            bar(&mut canvas, arm, &x, left, y, longest == Some(arm.name()));
        }
    }
    canvas.finish()
}

fn bar(canvas: &mut Canvas, arm: &ArmView<'_>, x: &Scale, left: f64, y: f64, named: bool) {
    let softirq = canvas.pattern(Pattern::Softirq);
    let styles = [
        ("server", SERVER.to_string(), String::new()),
        ("generator", GENERATOR.to_string(), String::new()),
        ("softirq", softirq, format!(r#"stroke="{GENERATOR}" stroke-width=".8""#)),
    ];
    let parts = parts(arm);
    let words = |e: Option<Estimate>| e.map_or("not measured".into(), |e| PAGE.estimate(&e));
    canvas.open_titled(&format!(
        "{}: server {}, generator {}, softirq {} CPU-s per million deliveries; {}, n = {}",
        arm.name(),
        words(parts[0]),
        words(parts[1]),
        words(parts[2]),
        arm.state.name(),
        arm.n()
    ));
    let mut at = 0.0;
    let mut free = left;
    for ((label, paint, style), part) in styles.iter().zip(&parts) {
        let Some(part) = part else { continue };
        let (from, to) = (x.at(at), x.at(at + part.value));
        canvas.rect(from, y - 8.0, (to - from).max(1.0), 16.0, paint, style);
        if named {
            let room = Kind::Note.width(label);
            let middle = ((from + to) / 2.0).max(free + room / 2.0);
            canvas.text(Text::note(middle, y - 13.0, *label).middle());
            free = middle + room / 2.0 + 8.0;
        }
        at += part.value;
    }
    canvas.close();
    if let Some((server, (low, high))) = parts[0].and_then(|s| Some((s, s.bounds()?))) {
        bar_across(
            canvas,
            x.at(low),
            x.at(high).max(x.at(low) + 1.0),
            y + 13.0,
            matches!(server.spread, Spread::Interval(..)),
            INK,
        );
    }
    let without: Vec<&str> =
        styles.iter().zip(&parts).filter(|(_, p)| p.is_none()).map(|((label, ..), _)| *label).collect();
    let end = x.at(at) + 6.0;
    canvas.text(Text::tick(end, y + 4.2, PAGE.three(at)));
    if !without.is_empty() {
        let words = format!("without {}", words::list(&without));
        let room = canvas.width - left;
        let words = pushmark_chart::width::first_fitting(&[&words, "in part"], 11.5, false, room);
        canvas.text(Text::note(left, y + 22.0, words));
    }
}

fn sentence(case: &Case<'_>) -> String {
    let mut costs: Vec<(&str, Estimate)> =
        case.believed().filter_map(|a| Some((a.name(), a.server_cost()?))).collect();
    costs.sort_by(|a, b| b.1.value.total_cmp(&a.1.value));
    match costs.as_slice() {
        [] => {
            let why = case.believed().next().map_or("no arm has usable figures", |a| a.no_cost());
            format!("There is no server CPU per delivery: {why}.")
        }
        [(name, e)] => {
            format!("The server spends {} µs of CPU on a delivery of {name}.", PAGE.three(e.value))
        }
        [(dear, a), .., (cheap, b)] => {
            if super::age_cost::apart(a, b) {
                format!(
                    "{dear} costs the server the most, {} CPU-s; {cheap} the least, {}.",
                    PAGE.three(a.value),
                    PAGE.three(b.value)
                )
            } else {
                format!("No difference found at n = {}: the bars of all arms overlap.", case.n())
            }
        }
    }
}

fn table(case: &Case<'_>) -> Table {
    let mut columns = vec![
        ("arm", "arm"),
        ("server, CPU-s per million", "server_cpu_s_per_million"),
        ("low", "server_low"),
        ("high", "server_high"),
        ("generator", "generator_cpu_s_per_million"),
        ("softirq", "softirq_cpu_s_per_million"),
        ("server, cores", "server_cores"),
    ];
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in &case.arms {
        let [server, generator, softirq] = parts(arm).map(|p| p.filter(|_| arm.believed()));
        let bounds = server.and_then(|s| s.bounds());
        let cores = arm.estimate(
            |a| a.server.as_ref().filter(|s| s.window_us > 0).map(|s| s.cpu_us as f64 / s.window_us as f64),
            true,
        );
        let mut row = vec![
            Cell::text(arm.name()),
            Cell::number(server.map(|e| e.value)),
            Cell::number(bounds.map(|b| b.0)),
            Cell::number(bounds.map(|b| b.1)),
            Cell::number(generator.map(|e| e.value)),
            Cell::number(softirq.map(|e| e.value)),
            Cell::number(cores.filter(|_| arm.believed()).map(|e| e.value)),
        ];
        row.extend(arm.tail());
        table.push(row);
    }
    table
}
