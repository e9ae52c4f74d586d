//! The machine during measure: CPU, memory, run queues, steal, and how long deliveries waited in the
//! kernel before the generator read them. These are figures of the generator.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::scale::{plain_tick, time_tick};
use pushmark_chart::table::{Cell, Table};
use pushmark_chart::tokens::{GENERATOR, INK2, SERVER};
use pushmark_model::run::Window;

use crate::case::{ArmView, Case, TAIL};
use crate::figure::{FULL, Figure, HALF, both};
use crate::panels::{Line, Panels};
use crate::timeline::{Lines, measure_start};

pub(crate) fn cpu(case: &Case<'_>) -> Option<Figure> {
    if !case.believed().any(|a| cpu_lines(a).iter().any(|l| !l.points.is_empty())) {
        return None;
    }
    let panels =
        Panels { id: "cpu-time", axis: "↑ cores", tick: plain_tick, note: busiest, lines: &cpu_lines };
    let (wide, narrow) = both(FULL, |size| panels.draw(case, size));
    let start = start_of(case);
    let mut columns = vec![
        ("arm", "arm"),
        ("second", "second"),
        ("server, µs", "server_cpu_us"),
        ("generator, µs", "generator_cpu_us"),
        ("softirq, µs", "softirq_us"),
    ];
    columns.extend(TAIL);
    let us = |v: Option<u64>| Cell::number(v.map(|v| v as f64));
    let table =
        seconds(case, &columns, &|w| vec![us(w.server_cpu_us), us(w.generator_cpu_us), us(w.softirq_us)]);
    Some(Figure {
        id: "cpu-over-time",
        title: "CPU over time".into(),
        sentence: cpu_sentence(case),
        caption: format!("{start}; by {}; softirq over all CPUs", case.run().environment.cpu_accounting),
        wide,
        narrow,
        table,
    })
}

fn start_of(case: &Case<'_>) -> String {
    if case.n() == 1 { "one start, n = 1".into() } else { format!("the median of {} starts", case.n()) }
}

fn cpu_lines(arm: &ArmView<'_>) -> Vec<Line> {
    let Some(windows) = arm.windows.get(arm.median_start()) else { return Vec::new() };
    let Some(from) = measure_start(windows) else { return Vec::new() };
    let measured: Vec<&&Window> = windows.iter().filter(|w| w.phase == "measure").collect();
    let each = measured.len().div_ceil(160).max(1);
    let of = |value: fn(&Window) -> Option<u64>| -> Vec<(f64, f64)> {
        let mean = |c: &[&&Window]| {
            let known: Option<Vec<u64>> = c.iter().map(|w| value(w)).collect();
            Some((f64::from(c[0].second - from), known?.iter().sum::<u64>() as f64 / c.len() as f64 / 1e6))
        };
        measured.chunks(each).filter_map(mean).collect()
    };
    let line = |name, paint, style: &str, points| Line { name, paint, style: style.into(), points };
    vec![
        line("server", SERVER, r#"stroke-width="2" stroke-linejoin="round""#, of(|w| w.server_cpu_us)),
        line(
            "generator",
            GENERATOR,
            r#"stroke-width="2" stroke-dasharray="7 4""#,
            of(|w| w.generator_cpu_us),
        ),
        line("softirq", INK2, r#"stroke-width="1.2" stroke-dasharray="1.5 3""#, of(|w| w.softirq_us)),
    ]
}

fn busiest(arm: &ArmView<'_>) -> String {
    let share = arm.starts.iter().map(|a| a.generator.busiest_core).fold(0.0, f64::max);
    format!("busiest generator core {}", PAGE.percent(share))
}

fn cpu_sentence(case: &Case<'_>) -> String {
    let share = |a: &ArmView<'_>| a.starts.iter().map(|s| s.generator.busiest_core).fold(0.0, f64::max);
    match case.believed().max_by(|a, b| share(a).total_cmp(&share(b))) {
        Some(arm) => format!(
            "The generator's busiest core is {} busy in {}; from 80 % figures are suspect.",
            PAGE.percent(share(arm)),
            arm.name()
        ),
        None => "No arm has usable figures.".into(),
    }
}

fn seconds(case: &Case<'_>, columns: &[(&str, &str)], cells: &dyn Fn(&Window) -> Vec<Cell>) -> Table {
    let mut table = Table::new(columns);
    for arm in case.believed() {
        let Some(windows) = arm.windows.get(arm.median_start()) else { continue };
        for w in windows.iter().filter(|w| w.phase == "measure") {
            let mut row = vec![Cell::text(arm.name()), Cell::count(u64::from(w.second))];
            row.extend(cells(w));
            row.extend(arm.tail());
            table.push(row);
        }
    }
    table.thinned()
}

const READ_LAG: Lines = Lines {
    id: "read-lag",
    axis: "↑ read lag p99 of each second (log)",
    log: true,
    tick: time_tick,
    value: |w| w.read_lag_p99_us.map(|v| v as f64),
    join: f64::max,
    whole: false,
    connections: false,
    height: 280.0,
};

const MEMORY: Lines = Lines {
    id: "memory-time",
    axis: "↑ RSS of the server, MiB",
    log: false,
    tick: plain_tick,
    value: |w| w.server_rss_bytes.map(|v| v as f64 / 1_048_576.0),
    join: f64::max,
    whole: true,
    connections: false,
    height: 280.0,
};

const RUN_QUEUE: Lines = Lines {
    id: "run-queue",
    axis: "↑ ms waited in run queues per second",
    log: false,
    tick: plain_tick,
    value: |w| w.run_queue_wait_us.map(|v| v as f64 / 1e3),
    join: f64::max,
    whole: false,
    connections: false,
    height: 240.0,
};

const STEAL: Lines = Lines {
    id: "steal",
    axis: "↑ ms stolen per second, all CPUs",
    log: false,
    tick: plain_tick,
    value: |w| w.steal_us.map(|v| v as f64 / 1e3),
    join: f64::max,
    whole: false,
    connections: false,
    height: 240.0,
};

fn figure_of(
    case: &Case<'_>,
    lines: &Lines,
    id: &'static str,
    title: &str,
    sentence: String,
    caption: &str,
    column: (&str, &str),
) -> Option<Figure> {
    if !lines.has_data(case) {
        return None;
    }
    let (wide, narrow) = both(HALF, |size| lines.draw(case, size));
    let mut columns = vec![("arm", "arm"), ("second", "second"), column];
    columns.extend(TAIL);
    let table = seconds(case, &columns, &|w| vec![Cell::number((lines.value)(w))]);
    let caption = format!("{}; {caption}{}", start_of(case), case.left_out());
    Some(Figure { id, title: title.into(), sentence, caption, wide, narrow, table })
}

pub(crate) fn read_lag(case: &Case<'_>) -> Option<Figure> {
    let worst = case
        .believed()
        .filter_map(|a| Some((a.name(), a.read_lag(crate::case::P::P99)?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let sentence = worst.map_or("Read lag was not measured.".to_string(), |(name, us)| {
        format!("The generator's read lag p99 over the whole phase is at most {} ({name}).", PAGE.time(us))
    });
    let caption = "how long deliveries waited in the kernel before the generator read them, upper bound from its wake-ups";
    let column = ("read lag p99, µs", "read_lag_p99_us");
    figure_of(case, &READ_LAG, "read-lag", "Read lag of the generator over time", sentence, caption, column)
}

pub(crate) fn memory(case: &Case<'_>) -> Option<Figure> {
    let peak =
        |a: &ArmView<'_>| a.starts.iter().filter_map(|s| s.server.as_ref()).map(|s| s.rss_bytes_peak).max();
    let most = case.believed().filter_map(|a| Some((a.name(), peak(a)?))).max_by_key(|p| p.1);
    let sentence = most.map_or("The server's memory is not known.".to_string(), |(name, bytes)| {
        format!("The server's RSS peaks at {} in {name}.", PAGE.bytes(bytes as f64))
    });
    figure_of(
        case,
        &MEMORY,
        "memory-over-time",
        "Memory over time",
        sentence,
        "RSS of the server's process, each second",
        ("RSS, MiB", "server_rss_mib"),
    )
}

pub(crate) fn run_queue(case: &Case<'_>) -> Option<Figure> {
    let share = |a: &ArmView<'_>| {
        let one = |s: &&pushmark_model::run::Arm| {
            let g = &s.generator;
            if g.window_us == 0 { 0.0 } else { g.run_queue_wait_us as f64 / g.window_us as f64 }
        };
        a.starts.iter().map(one).fold(0.0, f64::max)
    };
    let sentence = match case.believed().max_by(|a, b| share(a).total_cmp(&share(b))) {
        Some(arm) => format!(
            "Generator threads waited at most {} of the window ({}); from 5 % figures are suspect.",
            PAGE.percent(share(arm)),
            arm.name()
        ),
        None => "No arm has usable figures.".into(),
    };
    figure_of(
        case,
        &RUN_QUEUE,
        "run-queue",
        "Run-queue wait of the generator",
        sentence,
        "all shard threads",
        ("wait, ms", "run_queue_wait_ms"),
    )
}

pub(crate) fn steal(case: &Case<'_>) -> Option<Figure> {
    let most = case.believed().flat_map(|a| &a.starts).map(|s| s.generator.steal).fold(0.0, f64::max);
    let sentence = match most {
        0.0 => "The hypervisor took no CPU from this machine.".into(),
        share => format!(
            "The hypervisor took {} of the CPU at most; from 2 % figures are suspect.",
            PAGE.percent(share)
        ),
    };
    figure_of(case, &STEAL, "steal", "Steal", sentence, "all CPUs", ("steal, ms", "steal_ms"))
}
