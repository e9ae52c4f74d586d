//! Results of real browsers, arm by arm, if browsers were requested.

use pushmark_chart::numbers::TERMINAL;
use pushmark_chart::terminal::{COLUMNS, Pen, wrapped};
use pushmark_model::run::{Agreement, Browser, VerdictState};

use super::super::case::{ArmView, Case};

/// Writes a blank line, a head and a line an arm; nothing without browsers.
pub(super) fn lines(case: &Case<'_>, pen: &Pen) -> Vec<String> {
    let mut out = Vec::new();
    for arm in &case.arms {
        let Some(first) = arm.browsers().next() else { continue };
        if out.is_empty() {
            out.push(String::new());
            let head = format!(
                "  {:18}{:>9}{:>10}{:>10}{:>12}   {}",
                "browsers, ms", "p50", "p90", "differs", "may differ", "heard"
            );
            out.push(pen.dim(&head));
        }
        match &first.refused {
            Some(why) => {
                let words = wrapped(&format!("– {why}"), COLUMNS - 20);
                out.extend(
                    words
                        .into_iter()
                        .enumerate()
                        .map(|(n, line)| format!("  {:18}{line}", if n == 0 { arm.name() } else { "" })),
                );
            }
            None => out.push(line(arm, pen)),
        }
    }
    out
}

fn line(arm: &ArmView<'_>, pen: &Pen) -> String {
    let ms = |of: &dyn Fn(&Browser) -> Option<f64>| {
        let value = arm.estimate(|a| of(a.browser.as_ref()?), false);
        value.map_or("–".to_owned(), |us| TERMINAL.three(us.value / 1e3))
    };
    let agreement = |of: fn(&Agreement) -> f64| ms(&|b: &Browser| Some(of(b.agreement.as_ref()?)));
    let doubt = arm.browsers().any(|b| b.agreement.as_ref().is_some_and(|agreement| !agreement.ok));
    let (deliveries, intended): (u64, u64) =
        arm.browsers().fold((0, 0), |(d, i), b| (d + b.deliveries, i + b.intended));
    let difference = agreement(|a| a.p50_difference_us as f64);
    let signed =
        if difference.starts_with(['−', '-', '–']) { difference } else { format!("+{difference}") };
    format!(
        "{}{}{:>9}{:>10}{:>10}{:>12}   {} of {}",
        pen.gutter(if doubt { VerdictState::Suspect } else { VerdictState::Valid }),
        pen.bold(&format!("{:18}", arm.name())),
        ms(&|b| Some(b.latency.p50_us? as f64)),
        ms(&|b| Some(b.latency.p90_us? as f64)),
        signed,
        agreement(|a| a.bound_us as f64),
        TERMINAL.count(deliveries),
        TERMINAL.count(intended)
    )
}
