//! Fates of all intended deliveries: one bar an arm to scale, and beside it only the deliveries that did
//! not arrive in time, to a separate scale. A fate above 0 is at least one pixel.

use pushmark_chart::canvas::{Canvas, Drawing, Kind, Text};
use pushmark_chart::numbers::PAGE;
use pushmark_chart::pattern::Pattern;
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::{AXIS, BG, DELIVERED, INK2, INVALID, LATE};
use pushmark_chart::words;
use pushmark_model::run::Delivery;

use crate::case::{ArmView, Case, TAIL};
use crate::figure::{FULL, Figure, Size, both};
use crate::rows;

/// The fates of a delivery, in the order of the bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Delivered,
    Superseded,
    Late,
    Missing,
    Unserved,
    Unpublished,
    Excused,
}

impl Fate {
    const ALL: [Fate; 7] = [
        Fate::Delivered,
        Fate::Superseded,
        Fate::Late,
        Fate::Missing,
        Fate::Unserved,
        Fate::Unpublished,
        Fate::Excused,
    ];
    /// All fates except delivered in time and superseded.
    const REST: [Fate; 5] = [Fate::Late, Fate::Missing, Fate::Unserved, Fate::Unpublished, Fate::Excused];

    fn name(self) -> &'static str {
        ["delivered", "superseded", "late", "missing", "unserved", "unpublished", "excused"][self as usize]
    }

    fn count(self, arm: &ArmView<'_>) -> u64 {
        let count = |d: &Delivery| match self {
            Fate::Delivered => d.delivered,
            Fate::Superseded => d.superseded,
            Fate::Late => d.late,
            Fate::Missing => d.missing,
            Fate::Unserved => d.unserved,
            Fate::Excused => d.excused,
            Fate::Unpublished => d.unpublished,
        };
        arm.total(count).unwrap_or(0)
    }

    fn paint(self, canvas: &mut Canvas) -> String {
        match self {
            Fate::Delivered => DELIVERED.into(),
            Fate::Superseded => canvas.pattern(Pattern::Superseded),
            Fate::Late => LATE.into(),
            Fate::Missing => INVALID.into(),
            Fate::Unserved => INK2.into(),
            Fate::Unpublished => canvas.pattern(Pattern::Unpublished),
            Fate::Excused => canvas.pattern(Pattern::Excused),
        }
    }
}

/// Returns the intended deliveries that never arrived, without superseded states.
pub(crate) fn lost(arm: &ArmView<'_>) -> u64 {
    Fate::REST[1..].iter().map(|f| f.count(arm)).sum()
}

/// Returns the deliveries that arrived after their deadline: not in time, and not lost.
pub(crate) fn late(arm: &ArmView<'_>) -> u64 {
    Fate::Late.count(arm)
}

pub(crate) fn figure(case: &Case<'_>) -> Option<Figure> {
    if case.observes() {
        return None;
    }
    let (wide, narrow) =
        both(FULL, |size| if size.is_narrow() { draw_narrow(case) } else { draw_wide(case) });
    let starts =
        if case.n() == 1 { "one start, n = 1".into() } else { format!("totals of {} starts", case.n()) };
    Some(Figure {
        id: "deliveries",
        title: "Fates of all intended deliveries".into(),
        sentence: sentence(case),
        caption: format!(
            "{starts}; intended = publications due × subscribers planned; delivered = within the deadline"
        ),
        wide,
        narrow,
        table: table(case),
    })
}

fn draw_wide(case: &Case<'_>) -> Drawing {
    let step = 52.0;
    let left = rows::margin(&case.arms);
    let mut canvas =
        Canvas::new(&Size::Wide(FULL).id(case, "deliveries"), FULL, 30.0 + step * case.arms.len() as f64);
    let all = (left, (FULL - left - 28.0) * 0.575);
    let rest = (left + all.1 + 28.0, FULL - left - all.1 - 28.0);
    canvas.text(Text::note(all.0, 12.0, scale_note(case)));
    canvas.text(Text::note(rest.0, 12.0, "only what was not delivered, on its own scale"));
    for (i, arm) in case.arms.iter().enumerate() {
        let y = 26.0 + step * i as f64;
        rows::name(&mut canvas, arm, 0.0, y + 10.0);
        if rows::instead(&mut canvas, arm, left, y + 10.0, FULL - left, no_delivery(arm)) {
            continue;
        }
        canvas.open_titled(&hover(arm));
        whole_bar(&mut canvas, arm, all, y);
        canvas.close();
        counts_at_bar(&mut canvas, arm, all, y);
        lost_bar(&mut canvas, arm, rest, y, all.1);
    }
    canvas.finish()
}

fn draw_narrow(case: &Case<'_>) -> Drawing {
    let (step, width) = (68.0, Size::Narrow.width());
    let mut canvas = Canvas::new(&Size::Narrow.id(case, "deliveries"), width, step * case.arms.len() as f64);
    for (i, arm) in case.arms.iter().enumerate() {
        let y = 20.0 + step * i as f64;
        rows::name(&mut canvas, arm, 0.0, y - 10.0);
        if rows::instead(&mut canvas, arm, 0.0, y + 12.0, width, no_delivery(arm)) {
            continue;
        }
        canvas.text(
            Text::tick(width, y - 6.0, format!("{} delivered", PAGE.count(Fate::Delivered.count(arm)))).end(),
        );
        canvas.open_titled(&hover(arm));
        whole_bar(&mut canvas, arm, (0.5, width - 1.0), y);
        canvas.close();
        let rest: Vec<Fate> = Fate::ALL[1..].iter().copied().filter(|f| f.count(arm) > 0).collect();
        let mut words: Vec<String> =
            rest.iter().map(|f| format!("{} {}", PAGE.count(f.count(arm)), f.name())).collect();
        if words.is_empty() {
            words.push("nothing lost".into());
        }
        for (line, words) in
            pushmark_chart::width::wrap(&words.join(" · "), 11.5, width).into_iter().take(2).enumerate()
        {
            canvas.text(Text::note(0.0, y + 33.0 + 14.0 * line as f64, words));
        }
    }
    canvas.finish()
}

/// Returns `all 6 000 000 intended deliveries, to scale`, if the arms agree on the number.
fn scale_note(case: &Case<'_>) -> String {
    let mut intended: Vec<u64> = case.arms.iter().filter_map(|a| a.total(|d| d.intended)).collect();
    intended.dedup();
    match intended.as_slice() {
        [one] => format!("all {} intended deliveries, to scale", PAGE.count(*one)),
        _ => "all intended deliveries of each arm, to scale".into(),
    }
}

fn no_delivery(arm: &ArmView<'_>) -> Option<&'static str> {
    match arm.total(|d| d.intended) {
        None => Some("pushmark published nothing"),
        Some(0) => Some("no publication was due"),
        Some(_) => None,
    }
}

fn whole_bar(canvas: &mut Canvas, arm: &ArmView<'_>, (x, width): (f64, f64), y: f64) {
    let parts: Vec<(Fate, u64)> = Fate::ALL.iter().map(|f| (*f, f.count(arm))).collect();
    segments(canvas, &parts, (x, width), y);
    canvas.rect(x, y, width, 20.0, "none", &format!(r#"stroke="{AXIS}""#));
}

/// Segments to scale with a 2 px gap of the ground, each at least 1 px.
fn segments(canvas: &mut Canvas, parts: &[(Fate, u64)], (x, width): (f64, f64), y: f64) {
    let parts: Vec<_> = parts.iter().filter(|p| p.1 > 0).collect();
    let total: u64 = parts.iter().map(|p| p.1).sum();
    let room = width - 2.0 * (parts.len().max(1) - 1) as f64;
    let natural: Vec<f64> = parts.iter().map(|p| p.1 as f64 / total as f64 * room).collect();
    // The greatest segment gives what the smallest need beyond their share.
    let owed: f64 = natural.iter().map(|w| (1.0 - w).max(0.0)).sum();
    let greatest = natural.iter().copied().fold(0.0, f64::max);
    let mut at = x;
    for (part, natural) in parts.iter().zip(&natural) {
        let wide = if *natural == greatest { natural - owed } else { natural.max(1.0) };
        if at > x {
            canvas.rect(at - 2.0, y, 2.0, 20.0, BG, "");
        }
        let paint = part.0.paint(canvas);
        canvas.rect(at, y, wide, 20.0, &paint, "");
        at += wide + 2.0;
    }
}

fn counts_at_bar(canvas: &mut Canvas, arm: &ArmView<'_>, (x, width): (f64, f64), y: f64) {
    let (delivered, superseded) = (Fate::Delivered.count(arm), Fate::Superseded.count(arm));
    let total = arm.total(|d| d.intended).unwrap_or(1).max(1);
    let words = format!("{} delivered", PAGE.count(delivered));
    let inside = width * delivered as f64 / total as f64 > Kind::Tick.width(&words) + 12.0;
    let below = y + 34.0;
    canvas.text(if inside { Text::tick(x + 6.0, y + 14.2, words) } else { Text::tick(x, below, words) });
    if superseded > 0 {
        let words = format!("{} superseded: a newer one was shown", PAGE.count(superseded));
        canvas.text(Text::tick(x + width, below, words).end());
    }
}

fn lost_bar(canvas: &mut Canvas, arm: &ArmView<'_>, (x, width): (f64, f64), y: f64, whole: f64) {
    let parts: Vec<(Fate, u64)> = Fate::REST.iter().map(|f| (*f, f.count(arm))).filter(|p| p.1 > 0).collect();
    let total: u64 = parts.iter().map(|p| p.1).sum();
    if total == 0 {
        canvas.text(Text::note(x, y + 14.0, "nothing lost, nothing late"));
        return;
    }
    canvas.open_titled(&hover(arm));
    segments(canvas, &parts, (x, width), y);
    canvas.close();
    let words: Vec<String> = parts.iter().map(|(f, n)| format!("{} {}", PAGE.count(*n), f.name())).collect();
    let text = Text::tick(x, y + 34.0, words.join(" · "));
    let intended = arm.total(|d| d.intended).unwrap_or(total).max(1);
    let larger = (width / total as f64) / (whole / intended as f64);
    let note =
        if larger >= 1.5 { format!("drawn {}\u{a0}× larger", grouped(larger)) } else { String::new() };
    let same_line = text.width() + Kind::Note.width(&note) + 12.0 <= width;
    canvas.text(text);
    canvas.text(Text::note(x + width, if same_line { y + 34.0 } else { y + 48.0 }, note).end());
}

/// Formats three digits, grouped.
fn grouped(value: f64) -> String {
    if value >= 100.0 {
        let scale = 10f64.powf(value.log10().floor() - 2.0);
        PAGE.count(((value / scale).round() * scale) as u64)
    } else {
        PAGE.three(value)
    }
}

fn hover(arm: &ArmView<'_>) -> String {
    let parts: Vec<String> = Fate::ALL
        .iter()
        .filter(|f| f.count(arm) > 0)
        .map(|f| format!("{} {}", PAGE.count(f.count(arm)), f.name()))
        .collect();
    format!("{}: {}; {}, n = {}", arm.name(), parts.join(", "), arm.state.name(), arm.n())
}

fn sentence(case: &Case<'_>) -> String {
    let believed: Vec<&ArmView<'_>> = case.believed().filter(|a| no_delivery(a).is_none()).collect();
    if believed.is_empty() {
        return match case.believed().count() {
            0 => "No arm has usable figures.".into(),
            _ => "No publication was due, so there is nothing to deliver.".into(),
        };
    }
    let whole: Vec<&ArmView<'_>> = believed
        .iter()
        .copied()
        .filter(|a| lost(a) + late(a) == 0 && Fate::Superseded.count(a) == 0)
        .collect();
    let mut sentences = Vec::new();
    if !whole.is_empty() {
        let names: Vec<&str> = whole.iter().map(|a| a.name()).collect();
        let delivered = Fate::Delivered.count(whole[0]);
        let same = whole.iter().all(|a| Fate::Delivered.count(a) == delivered);
        let all =
            if same { format!("all {}", PAGE.count(delivered)) } else { "all intended deliveries".into() };
        sentences.push(format!("{} delivered {all}.", words::list(&names)));
    }
    for arm in believed.iter().filter(|a| lost(a) + late(a) > 0) {
        let gone: u64 = arm.starts.iter().map(|a| a.connections.lost).sum();
        let with = if gone > 0 { format!(" with {}", connections(gone)) } else { String::new() };
        let elsewhere = [Fate::Unserved, Fate::Unpublished].map(|fate| fate.count(arm));
        let lost = lost(arm) - elsewhere.iter().sum::<u64>();
        let mut parts: Vec<String> = Vec::new();
        if lost > 0 {
            parts.push(format!("lost {}{with}", PAGE.count(lost)));
        } else if gone > 0 {
            parts.push(format!("had {}", connections(gone)));
        }
        if late(arm) > 0 {
            parts.push(format!("delivered {} late", PAGE.count(late(arm))));
        }
        let [unserved, unpublished] = elsewhere;
        if unserved > 0 {
            parts.push(format!("had no client for {}", PAGE.count(unserved)));
        }
        if unpublished > 0 {
            parts.push(format!("was not sent {}", PAGE.count(unpublished)));
        }
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        sentences.push(format!("{} {}.", arm.name(), words::list(&parts)));
    }
    for arm in &believed {
        if let Some(one_in) = arm.one_in() {
            sentences.push(format!("{} showed 1 state in {}, by design.", arm.name(), PAGE.fixed(one_in, 0)));
        }
    }
    sentences.join(" ")
}

fn connections(gone: u64) -> String {
    format!("{} lost connection{}", PAGE.count(gone), if gone == 1 { "" } else { "s" })
}

fn table(case: &Case<'_>) -> Table {
    let mut columns = vec![("arm", "arm"), ("intended", "intended"), ("expected", "expected")];
    columns.extend(Fate::ALL.map(|f| (f.name(), f.name())));
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in &case.arms {
        let mut row = vec![Cell::text(arm.name())];
        let known = arm.believed();
        row.push(Cell::count_or_absent(arm.total(|d| d.intended).filter(|_| known)));
        row.push(Cell::count_or_absent(arm.total(|d| d.expected).filter(|_| known)));
        for fate in Fate::ALL {
            row.push(Cell::count_or_absent(arm.total(|_| 0).filter(|_| known).map(|_| fate.count(arm))));
        }
        row.extend(arm.tail());
        table.push(row);
    }
    table
}
