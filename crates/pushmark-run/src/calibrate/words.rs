//! A calibration for people.

use pushmark_chart::numbers::PAGE;
use pushmark_model::calibration::{Calibration, Ceiling, Limit};

use super::climb::Step;
use pushmark_chart::numbers::TERMINAL;

/// One line a step.
pub(super) fn step(step: &Step) -> String {
    let held = match (step.held, step.ours) {
        (true, _) => "held",
        (false, true) => "the generator's core is full",
        (false, false) => "the server could not keep up",
    };
    format!(
        "{held}, {:.2} % arrived, generator core {:.0} % busy",
        step.delivered * 100.0,
        step.busiest_core * 100.0
    )
}

/// The text for stdout.
pub fn text(calibration: &Calibration) -> String {
    let mut out = format!(
        "calibrated {}, {} × {}, Linux {}\n\n",
        calibration.at, calibration.cpus, calibration.cpu, calibration.kernel
    );
    for ceiling in &calibration.ceilings {
        out.push_str(&format!(
            "  {:<18} up to {:>9} messages/s{}, {:.1} µs of CPU each\n",
            ceiling.transport.name(),
            TERMINAL.count(ceiling.rounded()),
            at_least(ceiling),
            ceiling.cpu_us_per_delivery
        ));
    }
    out.push_str(&format!("  {:<18} up to {:>9}\n", "connections", TERMINAL.count(calibration.connections)));
    let floor = &calibration.floor;
    let ms = |us: Option<i64>| us.map_or("–".to_owned(), |us| PAGE.time(us as f64));
    out.push_str(&format!(
        "  {:<18} p50 {}, p99 {}, most {}; read lag p99 {}\n",
        "noise floor",
        ms(floor.p50_us),
        ms(floor.p99_us),
        ms(floor.max_us),
        ms(floor.read_lag_p99_us)
    ));
    out
}

fn at_least(ceiling: &Ceiling) -> &'static str {
    match ceiling.by {
        Limit::Generator => "",
        Limit::Server => " (at least: the null server sends no more)",
    }
}
