//! The cost of a delivery as bars, a panel a transport: one file that needs nothing else.

use std::fmt::Write as _;

use pushmark_model::transport::Transport;

use super::asked::MAIN;
use super::cell::{Cell, Seen};
use super::contestant;
use super::rows::{Question, Row};
use super::tables::{middle, seen_by};
use crate::median::Median;

/// Units are pixels: type stays 12 px.
const WIDTH: f64 = 760.0;
const LEFT: f64 = 180.0;
/// For the value at a bar's end.
const RIGHT: f64 = 150.0;
const LINE: f64 = 22.0;
const HEAD: f64 = 34.0;
const FOOT: f64 = 30.0;

/// Colours and type as the reports have them, both themes.
const STYLE: &str = "\
:root{--bg:#fff;--ink:#16191d;--ink2:#4d5560;--grid:#e4e7eb;--ours:#3032f5;--tool:#848f9b}\
@media(prefers-color-scheme:dark){:root{--bg:#14171c;--ink:#e8ebef;--ink2:#a9b2bd;--grid:#2a3038;--ours:#93a9fa;--tool:#7f8a97}}\
text{font:12px system-ui,sans-serif;fill:var(--ink)}.quiet{fill:var(--ink2)}.head{font-weight:600}\
.ours{fill:var(--ours)}.tool{fill:var(--tool)}.spread{stroke:var(--ink);stroke-width:1.2}.grid{stroke:var(--grid)}";

struct Bar {
    name: &'static str,
    cost: Median,
}

/// One of the main fan-outs over one transport.
struct Panel {
    transport: Transport,
    clients: u64,
    rate: u64,
    bars: Vec<Bar>,
}

/// The drawing of the main fan-outs; without rows an empty one.
pub(super) fn draw(rows: &[Row]) -> String {
    let panels: Vec<Panel> = [Transport::WebSocket, Transport::Sse, Transport::LongPoll]
        .into_iter()
        .flat_map(|transport| MAIN.map(|main| panel(rows, transport, main)))
        .filter(|panel| !panel.bars.is_empty())
        .collect();
    let most = panels.iter().flat_map(|panel| &panel.bars).map(|bar| bar.cost.high).fold(1.0, f64::max);
    let step = step(most);
    let ticks = (most / step).ceil();
    let x = |value: f64| LEFT + (WIDTH - LEFT - RIGHT) * value / (ticks * step);
    let lines: usize = panels.iter().map(|panel| panel.bars.len()).sum();
    let height = HEAD * panels.len() as f64 + LINE * lines as f64 + FOOT + 10.0;
    let mut svg = String::new();
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" \
         height=\"{height:.0}\" role=\"img\" aria-labelledby=\"t d\">\n\
         <title id=\"t\">CPU-seconds for a million deliveries handled</title>\n\
         <desc id=\"d\">{}</desc>\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" style=\"fill:var(--bg)\"/>\n",
        described(&panels)
    );
    for tick in 0..=ticks as u32 {
        let at = x(f64::from(tick) * step);
        let (bottom, label) = (height - FOOT, height - FOOT + 16.0);
        let _ = writeln!(
            svg,
            "<path class=\"grid\" d=\"M{at:.1} 8V{bottom:.1}\"/><text class=\"quiet\" x=\"{at:.1}\" y=\"{label:.1}\" \
             text-anchor=\"middle\">{:.0}</text>",
            f64::from(tick) * step
        );
    }
    let _ = writeln!(
        svg,
        "<text class=\"quiet\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">CPU-s per million →</text>",
        WIDTH - 8.0,
        height - FOOT + 16.0
    );
    let mut y = 0.0;
    for Panel { transport, clients, rate, bars } in &panels {
        let _ = writeln!(
            svg,
            "<text class=\"head\" x=\"8\" y=\"{:.1}\">{transport}<tspan class=\"quiet\" font-weight=\"400\"> · {clients} clients, {rate} deliveries/s</tspan></text>",
            y + 22.0
        );
        y += HEAD;
        for bar in bars {
            svg += &drawn(bar, y, &x);
            y += LINE;
        }
    }
    svg + "</svg>\n"
}

fn drawn(bar: &Bar, y: f64, x: &dyn Fn(f64) -> f64) -> String {
    let Median { value, low, high, sure, n } = bar.cost;
    let class = if bar.name.starts_with(contestant::PUSHMARK) { "ours" } else { "tool" };
    let interval = match (n, sure) {
        (1, _) => String::new(),
        (_, true) => format!(" [{low:.1}, {high:.1}]"),
        (_, false) => format!(" ({low:.1} to {high:.1})"),
    };
    let (middle, baseline) = (y + LINE / 2.0 - 3.0, y + LINE / 2.0 + 1.0);
    format!(
        "<g><title>{name}: {value:.1} CPU-s per million{interval}, n = {n}</title>\
         <text x=\"{left:.1}\" y=\"{baseline:.1}\" text-anchor=\"end\">{name}</text>\
         <rect class=\"{class}\" x=\"{from:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\
         <path class=\"spread\" d=\"M{low_x:.1} {middle:.1}H{high_x:.1}\"/>\
         <text x=\"{end:.1}\" y=\"{baseline:.1}\">{value:.1}<tspan class=\"quiet\">{interval}</tspan></text></g>\n",
        name = bar.name,
        left = LEFT - 8.0,
        from = x(0.0),
        width = (x(value) - x(0.0)).max(1.0),
        height = LINE - 6.0,
        low_x = x(low),
        high_x = x(high),
        end = x(high.max(value)) + 6.0,
    )
}

fn panel(rows: &[Row], transport: Transport, (clients, rate): (u64, u64)) -> Panel {
    let mut cells = rows.iter().filter(|row| row.question == Question::FanOut).map(|row| row.cell);
    let is_it =
        |cell: &Cell| cell.transport == transport && (cell.clients, cell.rate() as u64) == (clients, rate);
    let bars = cells.find(is_it).map_or_else(Vec::new, |cell| bars(rows, cell));
    Panel { transport, clients, rate, bars }
}

fn bars(rows: &[Row], cell: Cell) -> Vec<Bar> {
    let bar = |name: &'static str| {
        let runs = seen_by(rows, Question::FanOut, cell, name);
        let costs = |seen: &Seen| seen.cpu_s_per_million();
        (!runs.is_empty()).then(|| Bar { name, cost: middle(&runs, &costs) })
    };
    contestant::all()
        .iter()
        .filter_map(|one| bar(one.name()))
        .filter(|bar| bar.cost.high.is_finite())
        .collect()
}

/// Between two gridlines: 1, 2 or 5 times a power of ten, at most eight of them.
fn step(most: f64) -> f64 {
    let power = 10f64.powf((most / 8.0).log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|by| by * power).into_iter().find(|step| most / step <= 8.0).unwrap_or(most)
}

fn described(panels: &[Panel]) -> String {
    let of = |Panel { transport, clients, bars, .. }: &Panel| {
        let list = bars.iter().map(|bar| format!("{} {:.1}", bar.name, bar.cost.value));
        format!("{transport}, {clients} clients: {}", list.collect::<Vec<_>>().join(", "))
    };
    panels.iter().map(of).collect::<Vec<_>>().join(". ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(tool: &str, round: usize, cpu_ns: u64) -> Row {
        let cell = Cell { transport: Transport::Sse, clients: 1_000, interval_us: 100_000, seconds: 5 };
        let seen = Seen { cpu_ns, handled: 50_000, in_time: 50_000, ..Seen::default() };
        Row { seen: Some(seen), ..Row::new(Question::FanOut, cell, tool, round) }
    }

    #[test]
    fn a_bar_is_as_long_as_its_cost_and_says_it() {
        let rows = [row("pushmark", 0, 300_000_000), row("Gatling", 0, 1_200_000_000)];
        let svg = draw(&rows);
        let width = |class: &str| {
            let from = svg.find(&format!("<rect class=\"{class}\"")).unwrap();
            let text = svg[from..].split("width=\"").nth(1).unwrap();
            text.split('"').next().unwrap().parse::<f64>().unwrap()
        };
        assert!((width("tool") / width("ours") - 4.0).abs() < 0.01, "{svg}");
        assert!(
            svg.contains("Gatling: 24.0 CPU-s per million, n = 1")
                && svg.contains("sse, 1000 clients: pushmark 6.0, Gatling 24.0")
        );
    }

    #[test]
    fn steps_are_round() {
        assert_eq!([7.0, 9.0, 24.0, 65.0, 100.0].map(step), [1.0, 2.0, 5.0, 10.0, 20.0]);
    }
}
