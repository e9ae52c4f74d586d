//! The cost of a delivery as bars, a panel a transport: one file that needs nothing else.

use pushmark_chart::canvas::{Canvas, Drawing, Kind, Text};
use pushmark_chart::file;
use pushmark_chart::marks::bar_across;
use pushmark_chart::scale::{Scale, plain_tick};
use pushmark_chart::tokens::{DELIVERED, GRID, INK, INK2, SERVER};
use pushmark_model::transport::Transport;

use super::asked::MAIN;
use super::cell::{Cell, Seen};
use super::contestant;
use super::rows::{Question, Row};
use super::tables::{middle, seen_by};
use crate::median::Median;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 180.0;
/// For the value at a bar's end.
const RIGHT: f64 = 150.0;
const LINE: f64 = 22.0;
const HEAD: f64 = 34.0;
const FOOT: f64 = 30.0;

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

/// The drawing of the main fan-outs as a file; without rows an empty one.
pub(super) fn draw(rows: &[Row], machine: &str) -> String {
    let panels: Vec<Panel> = [Transport::WebSocket, Transport::Sse, Transport::LongPoll]
        .into_iter()
        .flat_map(|transport| MAIN.map(|main| panel(rows, transport, main)))
        .filter(|panel| !panel.bars.is_empty())
        .collect();
    file::svg(&drawing(&panels), "CPU-seconds for a million deliveries handled", &described(&panels), machine)
}

fn drawing(panels: &[Panel]) -> Drawing {
    let bars = || panels.iter().flat_map(|panel| &panel.bars);
    let most = bars().map(|bar| bar.cost.high).fold(1.0, f64::max);
    let scale = Scale::from_zero(most, LEFT, WIDTH - RIGHT);
    let foot = HEAD * panels.len() as f64 + LINE * bars().count() as f64 + 10.0;
    let mut canvas = Canvas::new("peers", WIDTH, foot + FOOT);
    for tick in scale.ticks() {
        let x = scale.at(tick);
        canvas.line(x, 8.0, x, foot, GRID, "");
        canvas.text(Text::tick(x, foot + 16.0, plain_tick(tick)).middle().paint(INK2));
    }
    canvas.text(Text::note(WIDTH - 8.0, foot + 16.0, "CPU-s per million").end());
    let mut y = 0.0;
    for Panel { transport, clients, rate, bars } in panels {
        let load = format!(" · {clients} clients, {rate} deliveries/s");
        let spans = vec![(transport.to_string(), INK), (load, INK2)];
        canvas.text(Text::spans(Kind::Name, 8.0, y + 22.0, spans));
        y += HEAD;
        for bar in bars {
            draw_bar(&mut canvas, bar, y, &scale);
            y += LINE;
        }
    }
    canvas.finish()
}

fn draw_bar(canvas: &mut Canvas, bar: &Bar, y: f64, scale: &Scale) {
    let Median { value, low, high, sure, n } = bar.cost;
    let paint = if bar.name.starts_with(contestant::PUSHMARK) { SERVER } else { DELIVERED };
    let interval = match (n, sure) {
        (1, _) => String::new(),
        (_, true) => format!(" [{low:.1}, {high:.1}]"),
        (_, false) => format!(" ({low:.1} to {high:.1})"),
    };
    let (middle, baseline, x) = (y + LINE / 2.0 - 3.0, y + LINE / 2.0 + 1.0, scale.at(0.0));
    canvas.open_titled(&format!("{}: {value:.1} CPU-s per million{interval}, n = {n}", bar.name));
    canvas.text(Text::tick(x - 8.0, baseline, bar.name).end());
    canvas.rect(x, y, (scale.at(value) - x).max(1.0), LINE - 6.0, paint, "");
    bar_across(canvas, scale.at(low), scale.at(high), middle, sure, INK);
    let spans = vec![(format!("{value:.1}"), INK), (interval, INK2)];
    canvas.text(Text::spans(Kind::Tick, scale.at(high.max(value)) + 6.0, baseline, spans));
    canvas.close();
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
        let svg = draw(&rows, "a machine");
        let width = |tool: &str| {
            let from = svg.find(&format!("<title>{tool}:")).unwrap();
            let text = svg[from..].split("width=\"").nth(1).unwrap();
            text.split('"').next().unwrap().parse::<f64>().unwrap()
        };
        assert!((width("Gatling") / width("pushmark") - 4.0).abs() < 0.01, "{svg}");
        assert!(
            svg.contains("Gatling: 24.0 CPU-s per million, n = 1")
                && svg.contains("sse, 1000 clients: pushmark 6.0, Gatling 24.0")
        );
    }
}
