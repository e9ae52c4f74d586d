//! Place in the queue against the time since the emit began. The place of a client is the place of its
//! message in the distribution of received − sent over all clients: the share that received it earlier,
//! times the crowd. No client knows its place. If a queue serves all clients in turn, this is the curve
//! that the first study drew from its servers' logs.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::scale::plain_tick;
use pushmark_chart::table::{Cell as Field, Table};
use pushmark_model::suite::Figure;

use super::super::case::ArmView;
use super::super::curve;
use super::cells::{Cell, View};
use super::drawn::Drawn;
use super::grid::{Axis, Panel};
use super::multiples;
use super::panels::{alike, drawn};

/// Number of points of a curve.
const POINTS: usize = 60;

/// Returns place and time, µs, of the start nearest the median; empty if nothing was delivered.
fn queue(arm: &ArmView<'_>) -> Vec<(f64, f64)> {
    let Some(start) = arm.starts.get(arm.median_start()) else { return Vec::new() };
    let Some(delivery) = &start.delivery else { return Vec::new() };
    let Some(distribution) = curve::decode(&delivery.from_sent) else { return Vec::new() };
    let crowd = start.connections.opened as f64;
    let shares: Vec<f64> = (0..=POINTS).map(|i| i as f64 / POINTS as f64).collect();
    let values = curve::values(&distribution, delivery.expected, &shares);
    // A place that no client reached within the observation has no time: the curve ends there.
    shares.iter().zip(values).map_while(|(share, v)| Some((share * crowd, v?))).collect()
}

/// Draws a figure of this kind.
pub(crate) fn draw(view: &View<'_>, figure: &Figure) -> Result<Drawn, String> {
    let x =
        Axis { name: "place in the queue →".into(), log: false, bytes: false, tick: Box::new(plain_tick) };
    let y = Axis {
        name: "↑ received − sent".into(),
        log: false,
        bytes: false,
        tick: Box::new(|v| if v == 0.0 { "0".into() } else { PAGE.time(v) }),
    };
    let fill = |panel: &mut Panel, cells: &[&Cell<'_>]| {
        for (cell, arm) in drawn(cells) {
            let points = queue(arm);
            if points.len() > 1 {
                panel.lines.push(multiples::line(cell, arm, points));
            }
        }
    };
    let body = multiples::grid(view, figure, (x, y), &fill, "no case of it has a delivery yet")?;
    let cells = view.chosen(figure);
    Ok(Drawn {
        says: sentences(view, &cells),
        caption: caption(view, figure),
        body,
        table: table(view, &cells),
    })
}

fn sentences(view: &View<'_>, cells: &[&Cell<'_>]) -> Vec<String> {
    let mut all: Vec<(f64, String)> = drawn(cells)
        .filter_map(|(cell, arm)| {
            let points = queue(arm);
            let middle = points.get(POINTS / 2)?;
            Some((middle.1, cell.words(view.suite, &alike(view, cells))))
        })
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    match all.as_slice() {
        [] => Vec::new(),
        [(value, who)] => vec![format!("The middle of the queue waits {} ({who}).", PAGE.time(*value))],
        [(low, first), .., (high, last)] => vec![format!(
            "The middle of the queue waits {} at least ({first}) and {} at most ({last}).",
            PAGE.time(*low),
            PAGE.time(*high)
        )],
    }
}

fn caption(view: &View<'_>, figure: &Figure) -> String {
    let place = "place: rank of received − sent over all listeners and publications, times the crowd; no listener knows its own";
    multiples::caption(view, figure, vec![place.into()], "the start nearest the median")
}

fn table(view: &View<'_>, cells: &[&Cell<'_>]) -> Table {
    let columns = [("first", "first_us"), ("middle", "middle_us"), ("last", "last_us")];
    let time = |at: Option<&(f64, f64)>| {
        at.map_or_else(Field::absent, |p| Field { shown: PAGE.time(p.1), plain: format!("{:.0}", p.1) })
    };
    multiples::table(view, cells, &columns, |_, arm| {
        let points = queue(arm);
        [0, POINTS / 2, POINTS].map(|place| time(points.get(place))).to_vec()
    })
}
