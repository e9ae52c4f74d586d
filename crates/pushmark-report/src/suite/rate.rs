//! New connections an interval against the time since a flood began, as the study of threads against
//! non-blocking sockets drew it: the mean of the starts, with the offered connections as a thin grey line.
//! The server no longer keeps up where the two lines part; the flood ends where the line ends.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::scale::plain_tick;
use pushmark_chart::table::{Cell as Field, Table};
use pushmark_model::run::{Flood, FloodInterval};
use pushmark_model::suite::Figure;

use super::super::case::ArmView;
use super::cells::{Cell, View};
use super::drawn::Drawn;
use super::ended;
use super::grid::{Axis, Line, Panel};
use super::multiples;
use super::panels::{alike, drawn};

/// Most cases whose crowds are listed; beyond that only the largest and the smallest.
const TOLD: usize = 4;

/// Draws a figure of this kind.
pub(crate) fn draw(view: &View<'_>, figure: &Figure) -> Result<Drawn, String> {
    let plain = |name: &str, tick: Box<dyn Fn(f64) -> String>| Axis {
        name: name.to_owned(),
        log: false,
        bytes: false,
        tick,
    };
    let axes = (
        plain("seconds since the flood began →", Box::new(|v| PAGE.fixed(v, 0))),
        plain("↑ new connections an interval", Box::new(plain_tick)),
    );
    let nothing = "no case of it is a flood with a whole interval";
    let body = multiples::grid(view, figure, axes, &fill, nothing)?;
    let cells = view.chosen(figure);
    let parts = vec!["whole intervals; grey: offered".to_owned()];
    Ok(Drawn {
        says: sentences(view, &cells),
        caption: multiples::caption(
            view,
            figure,
            parts,
            "the mean of the starts that lived through an interval",
        ),
        body,
        table: table(view, &cells),
    })
}

fn floods<'a>(arm: &ArmView<'a>) -> Vec<&'a Flood> {
    arm.starts.iter().filter_map(|a| a.flood.as_ref()).collect()
}

/// Returns the middle of each interval, and the offered and established connections in it: the mean of the
/// starts that lasted for the whole interval.
fn curve(floods: &[&Flood]) -> Vec<(f64, f64, f64)> {
    let longest = floods.iter().map(|f| f.offering().len()).max().unwrap_or(0);
    let at = |n: usize| {
        let all: Vec<&FloodInterval> = floods
            .iter()
            .filter_map(|f| f.intervals.get(n).filter(|i| i.length_us == f.interval_us))
            .collect();
        let first = all.first()?;
        let middle = (first.start_us + first.length_us / 2) as f64 / 1e6;
        let mean =
            |of: fn(&FloodInterval) -> u64| all.iter().map(|i| of(i) as f64).sum::<f64>() / all.len() as f64;
        Some((middle, mean(|i| i.offered), mean(|i| i.established)))
    };
    (0..longest).map_while(at).collect()
}

fn fill(panel: &mut Panel, cells: &[&Cell<'_>]) {
    for (cell, arm) in drawn(cells) {
        let curve = curve(&floods(arm));
        if curve.is_empty() {
            continue;
        }
        if panel.lines.is_empty() {
            panel.lines.push(Line {
                points: curve.iter().map(|p| (p.0, p.1)).collect(),
                mark: None,
                name: "offered".into(),
                title: format!("offered; {}", cell.case.id),
            });
        }
        let established = curve.iter().map(|p| (p.0, p.2)).collect();
        panel.lines.push(multiples::line(cell, arm, established));
    }
}

fn mean(values: impl Iterator<Item = u64>) -> Option<f64> {
    let all: Vec<f64> = values.map(|v| v as f64).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// Lists how many connections each case held, and at which limit; the largest first.
fn sentences(view: &View<'_>, cells: &[&Cell<'_>]) -> Vec<String> {
    let mut held: Vec<(f64, String)> = Vec::new();
    for (cell, arm) in drawn(cells) {
        let floods = floods(arm);
        let Some(most) = mean(floods.iter().map(|f| f.connected_max)) else { continue };
        let mut limits: Vec<&str> =
            floods.iter().filter_map(|f| f.limits.first()).map(|l| l.kind.as_str()).collect();
        limits.sort_unstable();
        limits.dedup();
        let limit = match limits.as_slice() {
            [] => "no limit shows".to_owned(),
            ["asked"] => "all that were asked".to_owned(),
            some => some.join(" or "),
        };
        let knee = mean(floods.iter().filter_map(|f| f.declined_from));
        let knee = knee.map_or(String::new(), |n| format!(", slower from {}", PAGE.count(n as u64)));
        let who = cell.words(view.suite, &alike(view, cells));
        held.push((most, format!("{who}: {} ({}{knee})", PAGE.count(most as u64), limit.replace('_', " "))));
    }
    held.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut out = Vec::new();
    let list = |held: &[(f64, String)]| held.iter().map(|h| h.1.as_str()).collect::<Vec<_>>().join("; ");
    match held.as_slice() {
        [] => {}
        [most, .., least] if held.len() > TOLD => {
            out.push(format!("Held at once: most {}; fewest {}.", most.1, least.1));
        }
        few => out.push(format!("Held at once: {}.", list(few))),
    }
    out.extend(ended::says(view, cells));
    out
}

fn table(view: &View<'_>, cells: &[&Cell<'_>]) -> Table {
    let columns = [
        ("offered", "offered"),
        ("established", "established"),
        ("held at once", "connected_max"),
        ("served", "served_max"),
        ("by the server's count", "counted_max"),
        ("declines from", "declined_from"),
        ("ended", "end"),
        ("limit", "limit"),
    ];
    let words = |mut all: Vec<&str>| {
        all.sort_unstable();
        all.dedup();
        Field::text(all.join(", "))
    };
    multiples::table(view, cells, &columns, |_, arm| {
        let floods = floods(arm);
        let of =
            |value: fn(&Flood) -> Option<u64>| Field::number(mean(floods.iter().filter_map(|f| value(f))));
        vec![
            of(|f| Some(f.offered)),
            of(|f| Some(f.established)),
            of(|f| Some(f.connected_max)),
            of(|f| f.served_max),
            of(|f| f.counted_max),
            of(|f| f.declined_from),
            words(floods.iter().map(|f| f.end.name()).collect()),
            words(floods.iter().flat_map(|f| &f.limits).map(|l| l.kind.as_str()).collect()),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pushmark_model::run::FloodEnd;

    fn flood(established: &[u64], last_us: u64) -> Flood {
        let of = |(n, came): (usize, &u64)| FloodInterval {
            start_us: n as u64 * 4_000_000,
            length_us: if n + 1 == established.len() { last_us } else { 4_000_000 },
            offered: 200,
            established: *came,
            ..FloodInterval::default()
        };
        Flood {
            rate_per_s: 50.0,
            interval_us: 4_000_000,
            limit: 20_000,
            cut_by: None,
            end: FloodEnd::Died,
            ended_us: 0,
            offered: 0,
            established: 0,
            connected_max: 0,
            served_max: None,
            counted_max: None,
            declined_from: None,
            limits: Vec::new(),
            intervals: established.iter().enumerate().map(of).collect(),
        }
    }

    #[test]
    fn the_curve_is_the_mean_of_those_that_lived() {
        let (a, b) = (flood(&[200, 200, 100, 7], 1_000_000), flood(&[200, 180, 9], 2_000_000));
        let curve = curve(&[&a, &b]);
        assert_eq!(curve, [(2.0, 200.0, 200.0), (6.0, 200.0, 190.0), (10.0, 200.0, 100.0)]);
        assert!(super::curve(&[]).is_empty());
        let mut waits = flood(&[200, 0, 0], 4_000_000);
        waits.intervals[1..].iter_mut().for_each(|i| i.offered = 0);
        assert_eq!(super::curve(&[&waits]), [(2.0, 200.0, 200.0)], "what follows the last offer is left out");
    }
}
