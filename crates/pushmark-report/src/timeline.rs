//! One line an arm over the seconds of a run, named at its end. Lines that end together share
//! a name: "the other four".

use pushmark_chart::avoid::Obstacles;
use pushmark_chart::canvas::{Canvas, Drawing, Kind, Text, c, polyline};
use pushmark_chart::labels::{APART, spread};
use pushmark_chart::numbers::PAGE;
use pushmark_chart::scale::Scale;
use pushmark_chart::tokens::{AXIS, GRID, INK, INK2, SURFACE};
use pushmark_chart::words;
use pushmark_model::run::Window;

use super::case::{ArmView, Case};
use super::figure::Size;

/// Points of a line beyond these are joined.
const POINTS: usize = 240;

/// What is drawn.
pub(crate) struct Lines {
    pub(crate) id: &'static str,
    /// With its arrow and unit.
    pub(crate) axis: &'static str,
    pub(crate) log: bool,
    pub(crate) tick: fn(f64) -> String,
    pub(crate) value: fn(&Window) -> Option<f64>,
    /// How neighbouring seconds become one point.
    pub(crate) join: fn(f64, f64) -> f64,
    /// From the arm's start with all phases named; otherwise from the first second of measure.
    pub(crate) whole: bool,
    /// Whether to draw the planned crowd and to ring sudden losses.
    pub(crate) connections: bool,
    pub(crate) height: f64,
}

type Points = Vec<(f64, f64)>;

impl Lines {
    /// Seconds and values of the start nearest the median.
    pub(crate) fn points(&self, arm: &ArmView<'_>) -> Points {
        let Some(windows) = arm.windows.get(arm.median_start()) else { return Vec::new() };
        let from = if self.whole { 0 } else { measure_start(windows).unwrap_or(0) };
        let chosen: Points = windows
            .iter()
            .filter(|w| self.whole || w.phase == "measure")
            .filter_map(|w| Some((f64::from(w.second.saturating_sub(from)), (self.value)(w)?)))
            .collect();
        let each = chosen.len().div_ceil(POINTS).max(1);
        let one = |points: &[(f64, f64)]| {
            (points[0].0, points[1..].iter().fold(points[0].1, |value, p| (self.join)(value, p.1)))
        };
        chosen.chunks(each).map(one).collect()
    }

    pub(crate) fn has_data(&self, case: &Case<'_>) -> bool {
        case.believed().any(|a| !self.points(a).is_empty())
    }

    pub(crate) fn draw(&self, case: &Case<'_>, size: Size) -> Drawing {
        let (width, height) = (size.width(), if size.is_narrow() { 240.0 } else { self.height });
        let lines: Vec<(&ArmView<'_>, Points)> =
            case.believed().map(|a| (a, self.points(a))).filter(|l| !l.1.is_empty()).collect();
        let names = lines.iter().map(|(a, _)| Kind::Name.width(a.name()) + Kind::Name.width(a.suffix()));
        let label = names.fold(Kind::Name.width("the other three"), f64::max) + 18.0;
        let (left, right) = (58.0, width - label);
        let (top, bottom) = (if self.whole { 40.0 } else { 34.0 }, height - 42.0);
        let mut canvas = Canvas::new(&size.id(case, self.id), width, height);
        let last = lines.iter().flat_map(|l| &l.1).map(|p| p.0).fold(1.0, f64::max);
        let x = Scale::linear(0.0, last, left, right);
        let values = lines.iter().flat_map(|l| &l.1).map(|p| p.1);
        let asked = self.asked(&lines);
        let y = if self.log {
            Scale::log_over(values, bottom, top)
        } else {
            let most = values.chain(asked.iter().map(|p| p.1)).fold(0.0, f64::max);
            Scale::from_zero(most * 1.04, bottom, top)
        };
        if self.whole {
            self.phases(&mut canvas, &lines, &x, (top, bottom));
        }
        self.axes(&mut canvas, &x, &y, (left, right, top, bottom));
        if asked.len() > 1 {
            let points: Points = asked.iter().map(|p| (x.at(p.0), y.at(p.1))).collect();
            canvas.path(&polyline(&points), "none", INK2, r#"stroke-dasharray="5 4""#);
        }
        for (arm, points) in &lines {
            line(&mut canvas, arm, points, &x, &y);
        }
        if self.connections {
            losses(&mut canvas, &lines, &x, &y, (left, right, top, bottom));
        }
        self.end_names(&mut canvas, &lines, &x, &y, right, &asked);
        canvas.finish()
    }

    fn asked(&self, lines: &[(&ArmView<'_>, Points)]) -> Points {
        let Some((arm, _)) = lines.first().filter(|_| self.connections) else { return Vec::new() };
        let windows = &arm.windows[arm.median_start()];
        let each = windows.len().div_ceil(POINTS).max(1);
        let mut points: Points =
            windows.iter().step_by(each).map(|w| (f64::from(w.second), w.asked as f64)).collect();
        // The drain plans no clients: the last planned crowd is drawn to the end.
        while points.len() > 1 && points.last().is_some_and(|p| p.1 == 0.0) {
            points.pop();
        }
        points
    }

    fn phases(
        &self,
        canvas: &mut Canvas,
        lines: &[(&ArmView<'_>, Points)],
        x: &Scale,
        (top, bottom): (f64, f64),
    ) {
        let Some(arm) = lines.first().and_then(|l| l.0.starts.first()) else { return };
        let mut free = 0.0;
        for phase in &arm.phases {
            let (from, to) = (x.at(phase.start_us as f64 / 1e6), x.at(phase.end_us as f64 / 1e6));
            if ["ramp", "measure"].contains(&phase.name.as_str()) {
                canvas.rect(from, top, to - from, bottom - top, SURFACE, "");
            }
            let text = Text::note(from + 2.0, top - 6.0, phase.name.as_str());
            // A short phase has no name rather than a name under its neighbour.
            let fits = text.width() <= (to - from).max(34.0) && from + 2.0 >= free;
            if fits && text.bounds()[2] <= x.at(f64::MAX) && to > from {
                free = text.bounds()[2] + 6.0;
                canvas.text(text);
            }
        }
    }

    fn axes(
        &self,
        canvas: &mut Canvas,
        x: &Scale,
        y: &Scale,
        (left, right, top, bottom): (f64, f64, f64, f64),
    ) {
        for value in y.ticks() {
            let at = y.at(value);
            if (at - bottom).abs() > 0.5 {
                canvas.line(left, at, right, at, GRID, "");
            }
            canvas.text(Text::tick(left - 6.0, at + 4.2, (self.tick)(value)).end());
        }
        canvas.line(left, bottom, right, bottom, AXIS, "");
        canvas.text(Text::note(0.0, if self.whole { 12.0 } else { top - 14.0 }, self.axis));
        for second in x.ticks() {
            let text = if second == 0.0 { "0".into() } else { format!("{} s", PAGE.fixed(second, 0)) };
            canvas.text(Text::tick(x.at(second), bottom + 16.0, text).middle());
        }
        let from =
            if self.whole { "since the arm's start →" } else { "since the first second of measure →" };
        canvas.text(Text::note(right, bottom + 33.0, from).end());
    }

    fn end_names(
        &self,
        canvas: &mut Canvas,
        lines: &[(&ArmView<'_>, Points)],
        x: &Scale,
        y: &Scale,
        right: f64,
        asked: &Points,
    ) {
        let end = |points: &Points| points.last().map_or((right, 0.0), |p| (x.at(p.0), y.at(p.1)));
        let mut order: Vec<usize> = (0..lines.len()).collect();
        order.sort_by(|a, b| end(&lines[*a].1).1.total_cmp(&end(&lines[*b].1).1));
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for i in order {
            match groups.last_mut() {
                Some(group) if end(&lines[i].1).1 - end(&lines[group[0]].1).1 < 3.0 => group.push(i),
                _ => groups.push(vec![i]),
            }
        }
        let mut labels: Vec<(f64, Vec<(String, &'static str)>)> = Vec::new();
        if let Some(last) = asked.last() {
            labels.push((y.at(last.1) - 1.0, vec![(format!("asked {}", PAGE.count(last.1 as u64)), INK2)]));
        }
        for group in groups {
            let at = end(&lines[group[0]].1).1;
            if group.len() > 2 {
                let all = if group.len() == lines.len() { "all" } else { "the other" };
                labels.push((at, vec![(format!("{all} {}", words::number(group.len())), INK)]));
                continue;
            }
            for i in group {
                let arm = lines[i].0;
                labels.push((
                    at,
                    vec![(arm.name().to_string(), arm.mark.paint), (arm.suffix().to_string(), INK)],
                ));
            }
        }
        let wished: Vec<f64> = labels.iter().map(|l| l.0).collect();
        let placed = spread(&wished, APART, 30.0, canvas.height - 44.0);
        for ((wish, mut spans), place) in labels.into_iter().zip(placed) {
            spans.retain(|s| !s.0.is_empty());
            let text_x = right + 14.0;
            if (place - wish).abs() > 2.0 {
                let d = format!(
                    "M{} {}H{}V{}H{}",
                    c(right + 2.0),
                    c(wish),
                    c(right + 6.0),
                    c(place),
                    c(text_x - 2.0)
                );
                canvas.path(&d, "none", spans[0].1, r#"stroke-width=".8""#);
            }
            canvas.text(Text::spans(Kind::Name, text_x, place + 4.2, spans));
        }
    }
}

pub(crate) fn measure_start(windows: &[&Window]) -> Option<u32> {
    windows.iter().find(|w| w.phase == "measure").map(|w| w.second)
}

fn line(canvas: &mut Canvas, arm: &ArmView<'_>, points: &Points, x: &Scale, y: &Scale) {
    let drawn: Points = points.iter().map(|p| (x.at(p.0), y.at(p.1))).collect();
    let dash = match arm.mark.dash {
        "" => String::new(),
        "1.5 4" => r#" stroke-dasharray="1.5 4" stroke-linecap="round""#.into(),
        dash => format!(r#" stroke-dasharray="{dash}""#),
    };
    canvas.open_titled(&format!("{}; {}, n = {}", arm.name(), arm.state.name(), arm.n()));
    canvas.path(
        &polyline(&drawn),
        "none",
        arm.mark.paint,
        &format!(r#"stroke-width="2" stroke-linejoin="round"{dash}"#),
    );
    canvas.close();
}

/// Most losses of an arm that are explained one by one, and most that are ringed.
const EXPLAINED_MAX: usize = 4;
const RINGED_MAX: usize = 12;

/// Rings and explains sudden losses. An arm with many losses, or with losses too close together for a text
/// each, gets one explanation.
fn losses(
    canvas: &mut Canvas,
    lines: &[(&ArmView<'_>, Points)],
    x: &Scale,
    y: &Scale,
    (left, right, top, bottom): (f64, f64, f64, f64),
) {
    let mut obstacles = Obstacles::default();
    for (_, points) in lines {
        obstacles.curve(&points.iter().map(|p| (x.at(p.0), y.at(p.1))).collect::<Vec<_>>());
    }
    let mut losing: Vec<(&ArmView<'_>, Vec<&Window>)> = Vec::new();
    for (arm, _) in lines {
        let mut lost: Vec<&Window> =
            arm.windows[arm.median_start()].iter().copied().filter(|w| w.lost > 0).collect();
        lost.sort_by_key(|w| std::cmp::Reverse(w.lost));
        losing.push((arm, lost));
    }
    losing.sort_by_key(|(_, lost)| std::cmp::Reverse(lost.first().map(|w| w.lost)));
    let within = [left, top, right, bottom];
    for (arm, lost) in losing.iter().filter(|(_, lost)| !lost.is_empty()).take(EXPLAINED_MAX) {
        let at = |w: &Window| (x.at(f64::from(w.second)), y.at(w.connected as f64));
        for (px, py) in lost.iter().take(RINGED_MAX).map(|w| at(w)) {
            canvas.raw(&format!(
                r#"<circle cx="{}" cy="{}" r="6" fill="none" stroke="{INK}" stroke-width="1.4"/>"#,
                c(px),
                c(py)
            ));
        }
        let kinds: Vec<&str> =
            arm.starts[arm.median_start()].connections.lost_by.keys().map(String::as_str).collect();
        let by = if kinds.is_empty() { String::new() } else { format!(": {}", words::list(&kinds)) };
        let one = |w: &Window| {
            let words = format!("{} lost {} at {} s{by}", arm.name(), PAGE.count(w.lost), w.second);
            (at(w), words)
        };
        let mut trial = obstacles.clone();
        let few = lost.len() <= EXPLAINED_MAX;
        let each = lost.iter().filter(|_| few).map(|w| explanation(&mut trial, one(w), within, true));
        let texts = match each.collect::<Option<Vec<Text>>>() {
            Some(texts) if few => {
                obstacles = trial;
                texts
            }
            _ => {
                let all = lost.iter().map(|w| w.lost).sum();
                let seconds = lost.len();
                let words = match seconds {
                    1 => one(lost[0]).1,
                    _ => {
                        format!("{} lost {} in {seconds} of these seconds{by}", arm.name(), PAGE.count(all))
                    }
                };
                explanation(&mut obstacles, (at(lost[0]), words), within, false).into_iter().collect()
            }
        };
        texts.into_iter().for_each(|text| canvas.text(text));
    }
}

/// Writes a text beside a ring where it covers nothing (`free`), or as little as possible.
fn explanation(
    obstacles: &mut Obstacles,
    ((px, py), words): ((f64, f64), String),
    within: [f64; 4],
    free: bool,
) -> Option<Text> {
    let places = [(px - 10.0, py + 18.0), (px - 10.0, py + 34.0), (px - 10.0, py - 12.0)];
    let before = |x: f64, y: f64| Text::tick(x, y, words.clone()).end().halo();
    let behind = |x: f64, y: f64| Text::tick(x + 20.0, y, words.clone()).halo();
    let found = obstacles
        .place_free(&places, within, before)
        .or_else(|| obstacles.place_free(&places, within, behind));
    if found.is_some() || free {
        return found;
    }
    // Above all curves there is often room.
    let [a, b, d] = places;
    let places = [a, b, d, (px - 10.0, within[1] + 16.0)];
    obstacles.place(places, within, behind).or_else(|| obstacles.place(places, within, before))
}
