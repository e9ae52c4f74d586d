//! Doubts about the accounts: fates that do not add up, and gaps that had to be forgotten.

use pushmark_model::metrics::family;
use pushmark_model::run::{Arm, Delivery, Reason, VerdictState};

use super::words;
use pushmark_chart::numbers::TERMINAL;

/// Share of the intended deliveries beyond which deliveries that may be duplicates raise a doubt.
const UNTOLD_FROM: f64 = 0.001;

/// Returns the doubt about an arm's accounts, if there is one.
pub(super) fn doubt(arm: &Arm) -> Option<Reason> {
    let delivery = arm.delivery.as_ref()?;
    let (state, concerns, text): (_, &[&str], _) = match delivery {
        Delivery { imbalance: 1.., .. } => (VerdictState::Invalid, &[], broken(arm, delivery)),
        d if d.forgotten > 0 || d.beyond_window as f64 > UNTOLD_FROM * d.intended as f64 => {
            (VerdictState::Suspect, &[family::COUNTS], forgotten(arm, d))
        }
        _ => return None,
    };
    Some(words::reason(arm, "accounts", state, concerns, text))
}

fn broken(arm: &Arm, delivery: &Delivery) -> [String; 3] {
    [
        format!(
            "the fates of the deliveries do not add up in {}: {} too many for {} intended",
            arm.transport,
            TERMINAL.count(delivery.imbalance),
            TERMINAL.count(delivery.intended)
        ),
        "stamps arrived that this run's publisher never sent, or pushmark counts wrongly: counts and percentiles of this arm may be wrong".into(),
        "check whether the target invents messages; if not, report a bug with this run's folder, which holds the plan and the seed".into(),
    ]
}

fn forgotten(arm: &Arm, delivery: &Delivery) -> [String; 3] {
    [
        format!(
            "subscriptions in {} had more absences and gaps than pushmark can remember: {} forgotten, {} deliveries older than those remembered",
            arm.transport,
            TERMINAL.count(delivery.forgotten),
            TERMINAL.count(delivery.beyond_window)
        ),
        "a delivery that fills a forgotten gap may be counted as missing or unserved".into(),
        "a shorter load.deadline or a lower rate: gaps are remembered for two deadlines".into(),
    ]
}
