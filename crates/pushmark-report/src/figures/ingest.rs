//! The CPU that the feed alone costs the server: the same publications without subscribers,
//! against the same server with its crowd.

use pushmark_chart::canvas::{Canvas, Drawing, Text};
use pushmark_chart::numbers::PAGE;
use pushmark_chart::pattern::Pattern;
use pushmark_chart::scale::{Scale, plain_tick};
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::{BG, SERVER};
use pushmark_model::metrics::Metric;

use crate::case::{ArmView, Case, TAIL};
use crate::figure::{Figure, HALF, Size, both};
use crate::rows;

/// Returns a metric of the table, the median of the starts.
fn metric(arm: &ArmView<'_>, name: &str) -> Option<f64> {
    let metric = Metric::find(name)?;
    arm.estimate(|a| metric.value(a), true).map(|e| e.value)
}

fn per_publication_us(arm: &ArmView<'_>) -> Option<f64> {
    metric(arm, "ingest.server_cpu_us_per_publication")
}

/// Cores of the server: with the feed alone, and with its crowd.
fn cores(arm: &ArmView<'_>) -> Option<(f64, f64)> {
    metric(arm, "ingest.server_cpu_cores").zip(metric(arm, "server.cpu_cores"))
}

pub(super) fn figure(case: &Case<'_>) -> Option<Figure> {
    let arms: Vec<&ArmView<'_>> = case.arms.iter().filter(|arm| cores(arm).is_some()).collect();
    if arms.is_empty() {
        return None;
    }
    let (wide, narrow) = both(HALF, |size| draw(case, &arms, size));
    Some(Figure {
        id: "ingest",
        title: "What the feed costs the server, with and without clients".into(),
        sentence: sentence(&arms),
        caption: case.caption(
            "cores of the server during measure; filled: the same feed after the crowd has left, which is the cost of receiving it; hatched: the rest, which is the cost of its clients",
        ),
        wide,
        narrow,
        table: table(&arms),
    })
}

fn sentence(arms: &[&ArmView<'_>]) -> String {
    let words = arms.iter().filter(|arm| arm.believed()).filter_map(|arm| {
        let ((alone, with), each) = (cores(arm)?, per_publication_us(arm)?);
        Some(format!(
            "{}: {} a publication, {} of the server's CPU",
            arm.name(),
            PAGE.time(each),
            PAGE.percent((alone / with).min(1.0))
        ))
    });
    match words.collect::<Vec<_>>().as_slice() {
        [] => "No arm has usable figures.".into(),
        words => format!("{}.", words.join("; ")),
    }
}

fn draw(case: &Case<'_>, arms: &[&ArmView<'_>], size: Size) -> Drawing {
    let (width, step) = (size.width(), 50.0);
    let (left, right) = (rows::margin(&case.arms), width - 30.0);
    let (top, bottom) = (8.0, 8.0 + step * arms.len() as f64);
    let mut canvas = Canvas::new(&size.id(case, "ingest"), width, bottom + 42.0);
    let all: Vec<(f64, f64)> = arms.iter().filter_map(|arm| cores(arm)).collect();
    let x = Scale::from_zero(all.iter().fold(0.0, |most, (a, w)| most.max(*a).max(*w)), left, right);
    rows::axis_below(&mut canvas, &x, (left, right), (top, bottom), plain_tick, "cores of the server");
    let rest = canvas.pattern(Pattern::Superseded);
    for (i, (arm, (alone, with))) in arms.iter().zip(all).enumerate() {
        let y = top + step * (i as f64 + 0.4);
        rows::name(&mut canvas, arm, 0.0, y);
        if rows::instead(&mut canvas, arm, left, y, right - left, None) {
            continue;
        }
        canvas.open_titled(&format!(
            "{}: {} cores with the feed alone, {} with the crowd",
            arm.name(),
            PAGE.three(alone),
            PAGE.three(with)
        ));
        let between = x.at(alone);
        canvas.rect(left, y - 8.0, between - left, 16.0, SERVER, "");
        if with > alone {
            canvas.rect(
                between,
                y - 8.0,
                x.at(with) - between,
                16.0,
                &rest,
                &format!(r#"stroke="{SERVER}""#),
            );
            canvas.rect(between - 1.0, y - 8.0, 2.0, 16.0, BG, "");
        }
        let words = format!("{} of {} cores", PAGE.three(alone), PAGE.three(with));
        canvas.text(Text::note(left, y + 24.0, words));
        canvas.close();
    }
    canvas.finish()
}

fn table(arms: &[&ArmView<'_>]) -> Table {
    let mut columns = vec![
        ("arm", "arm"),
        ("published", "published"),
        ("server, µs a publication", "server_us_per_publication"),
        ("cores, feed alone", "cores_alone"),
        ("cores, with its crowd", "cores_with_crowd"),
    ];
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in arms {
        let published = arm.starts.iter().filter_map(|a| a.ingest.as_ref()).map(|i| i.published).sum();
        let (alone, with) = cores(arm).unzip();
        let mut row = vec![Cell::text(arm.name()), Cell::count(published)];
        row.extend([per_publication_us(arm), alone, with].map(Cell::number));
        row.extend(arm.tail());
        table.push(row);
    }
    table
}
