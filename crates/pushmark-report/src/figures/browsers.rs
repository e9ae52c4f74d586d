//! Real browsers beside the synthetic clients: the same publications received by independent code. The
//! band is how far apart the two medians may be; a browser's median outside the band is a doubt.

use pushmark_chart::canvas::{Canvas, Drawing, Text};
use pushmark_chart::marks::marker;
use pushmark_chart::numbers::{PAGE, TimeUnit};
use pushmark_chart::scale::{Scale, time_tick};
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::{GRID, INK};
use pushmark_chart::words;
use pushmark_model::run::{Browser, Latency};

use crate::case::{ArmView, Case, P, TAIL};
use crate::figure::{Figure, HALF, Size, both};
use crate::rows;

/// Medians and 90th percentiles of synthetic clients and browsers, and the largest accepted distance.
struct Pair {
    synthetic: [Option<f64>; 2],
    browsers: [Option<f64>; 2],
    bound: Option<f64>,
}

impl Pair {
    fn of(arm: &ArmView<'_>) -> Pair {
        let browser = |of: fn(&Latency) -> Option<i64>| {
            arm.estimate(|a| of(&a.browser.as_ref()?.latency).map(|us| us as f64), true).map(|e| e.value)
        };
        let bound = |b: &Browser| Some(b.agreement.as_ref()?.bound_us as f64);
        Pair {
            synthetic: [P::P50, P::P90].map(|p| arm.latency(p).estimate().map(|e| e.value)),
            browsers: [browser(|l| l.p50_us), browser(|l| l.p90_us)],
            bound: arm.estimate(|a| bound(a.browser.as_ref()?), false).map(|e| e.value),
        }
    }

    /// Returns the range in which the browsers' median may lie.
    fn band(&self) -> Option<(f64, f64)> {
        let (middle, bound) = self.synthetic[0].zip(self.bound)?;
        Some((middle - bound, middle + bound))
    }
}

fn with_browsers<'c, 'a>(case: &'c Case<'a>) -> Vec<&'c ArmView<'a>> {
    case.arms.iter().filter(|arm| arm.browsers().next().is_some()).collect()
}

pub(super) fn figure(case: &Case<'_>) -> Option<Figure> {
    let arms = with_browsers(case);
    if arms.is_empty() {
        return None;
    }
    let (wide, narrow) = both(HALF, |size| draw(case, &arms, size));
    Some(Figure {
        id: "browsers",
        title: "What real browsers received".into(),
        sentence: sentence(&arms),
        caption: case.caption(
            "received − due; marker p50 and tick p90 of the synthetic clients, upright p50 and tick p90 of the browsers below; band: how far both medians may be apart (clock, path and event loop of a browser, its place in the broadcast)",
        ),
        wide,
        narrow,
        table: table(&arms),
    })
}

fn sentence(arms: &[&ArmView<'_>]) -> String {
    let disagrees = |arm: &&&ArmView<'_>| {
        arm.browsers().any(|b| b.agreement.as_ref().is_some_and(|agreement| !agreement.ok))
    };
    let arms = || arms.iter().filter(|arm| arm.believed());
    let doubtful: Vec<&str> = arms().filter(disagrees).map(|arm| arm.name()).collect();
    let agreements = || arms().flat_map(|arm| arm.browsers()).filter_map(|b| b.agreement.as_ref());
    let largest = agreements().map(|a| a.p50_difference_us.unsigned_abs()).max();
    match (doubtful.as_slice(), largest) {
        (_, None) => {
            "No browser of a usable arm received a message that a synthetic client received too: there is no comparison."
                .into()
        }
        ([], Some(largest)) => format!(
            "Browsers and synthetic clients agree: their medians differ by at most {}.",
            PAGE.time(largest as f64)
        ),
        (doubtful, _) => format!(
            "Browsers and synthetic clients differ by more than the bound: {}.",
            words::list(doubtful)
        ),
    }
}

fn draw(case: &Case<'_>, arms: &[&ArmView<'_>], size: Size) -> Drawing {
    let (width, step) = (size.width(), 58.0);
    let (left, right) = (rows::margin(&case.arms), width - 30.0);
    let (top, bottom) = (8.0, 8.0 + step * arms.len() as f64);
    let mut canvas = Canvas::new(&size.id(case, "browsers"), width, bottom + 42.0);
    let pairs: Vec<Pair> = arms.iter().map(|arm| Pair::of(arm)).collect();
    let values = pairs
        .iter()
        .flat_map(|p| p.synthetic.into_iter().chain(p.browsers).chain([p.band().map(|band| band.1)]))
        .flatten();
    let x = Scale::log_over(values, left, right);
    rows::axis_below(&mut canvas, &x, (left, right), (top, bottom), time_tick, "received − due (log) →");
    for (i, (arm, pair)) in arms.iter().zip(&pairs).enumerate() {
        let y = top + step * i as f64 + 18.0;
        rows::name(&mut canvas, arm, 0.0, y);
        let refused = arm.browsers().find_map(|b| b.refused.as_deref());
        let unheard = pair.browsers[0].is_none().then_some("no browser received anything");
        if !rows::instead(&mut canvas, arm, left, y, right - left, refused.or(unheard)) {
            row(&mut canvas, arm, pair, &x, y);
        }
    }
    canvas.finish()
}

fn row(canvas: &mut Canvas, arm: &ArmView<'_>, pair: &Pair, x: &Scale, y: f64) {
    let below = y + 24.0;
    let show = |value: Option<f64>| value.map_or("–".into(), |us| PAGE.time(us));
    canvas.open_titled(&format!(
        "{}: synthetic p50 {}, p90 {}; browsers p50 {}, p90 {}; may differ by {}",
        arm.name(),
        show(pair.synthetic[0]),
        show(pair.synthetic[1]),
        show(pair.browsers[0]),
        show(pair.browsers[1]),
        show(pair.bound)
    ));
    if let Some((low, high)) = pair.band() {
        let from = x.at(low.max(x.low()));
        canvas.rect(from, y - 9.0, x.at(high) - from, 42.0, GRID, "");
    }
    for (values, y, paint) in [(pair.synthetic, y, arm.mark.paint), (pair.browsers, below, INK)] {
        if let [Some(p50), Some(p90)] = values {
            let (a, b) = (x.at(p50), x.at(p90));
            canvas.line(a, y, b, y, paint, r#"stroke-width="1.8""#);
            canvas.line(b, y - 5.5, b, y + 5.5, paint, r#"stroke-width="2""#);
        }
    }
    if let Some(p50) = pair.synthetic[0] {
        marker(canvas, arm.mark, arm.state, x.at(p50), y);
    }
    if let Some(p50) = pair.browsers[0] {
        let at = x.at(p50);
        canvas.line(at, below - 8.0, at, below + 8.0, INK, r#"stroke-width="3""#);
    }
    canvas.text(Text::note(17.0, below + 4.0, "browsers"));
    canvas.close();
}

fn table(arms: &[&ArmView<'_>]) -> Table {
    let medians: Vec<f64> = arms.iter().flat_map(|arm| Pair::of(arm).synthetic[0]).collect();
    let unit = TimeUnit::of_median(&medians);
    let head = |name: &str| format!("{name}, {}", unit.name(&PAGE));
    let heads = ["synthetic p50", "synthetic p90", "browsers p50", "browsers p90", "may differ by"].map(head);
    let plain = ["synthetic_p50_us", "synthetic_p90_us", "browsers_p50_us", "browsers_p90_us", "bound_us"];
    let mut columns = vec![("arm", "arm"), ("heard", "heard"), ("intended", "intended")];
    columns.extend(heads.iter().map(String::as_str).zip(plain));
    columns.extend(TAIL);
    let mut table = Table::new(&columns);
    for arm in arms {
        let pair = Pair::of(arm);
        let sum = |f: fn(&Browser) -> u64| Cell::count(arm.browsers().map(f).sum());
        let mut row = vec![Cell::text(arm.name()), sum(|b| b.deliveries), sum(|b| b.intended)];
        let times = pair.synthetic.into_iter().chain(pair.browsers).chain([pair.bound]);
        row.extend(times.map(|us| Cell::time(us, unit)));
        row.extend(arm.tail());
        table.push(row);
    }
    table
}
