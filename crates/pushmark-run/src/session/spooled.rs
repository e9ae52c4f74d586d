//! What of a run agents keep beside their records, so that it can be made from these if its coordinator is lost. No
//! value of a secret is in it, nor a credential that the scenario holds.

use pushmark_console::redact;
use pushmark_model::cluster::SpooledRun;
use pushmark_model::environment::ServerRef;
use pushmark_model::metrics::Expression;
use pushmark_model::plan::{ArmPlan, Plan};
use pushmark_model::run::CaseRef;
use pushmark_store::Utc;

use crate::scenario_file::Loaded;

/// Returns the text for the spools of a run. It is empty if it cannot be told without a secret.
pub(super) fn text_of(
    loaded: &Loaded,
    plan: &Plan,
    (server, case): (Option<ServerRef>, Option<CaseRef>),
    started: Utc,
    thresholds: &[Expression],
) -> String {
    let run = SpooledRun {
        name: plan.name.clone(),
        started_at: started.rfc3339(),
        scenario: loaded.scenario.redacted_value(),
        text: loaded.redacted_text(),
        thresholds: thresholds.iter().map(Expression::to_string).collect(),
        arms: plan.arms.iter().map(ArmPlan::without_words).collect(),
        server,
        case,
    };
    let Ok(mut value) = serde_json::to_value(run) else { return String::new() };
    redact::value(&mut value);
    // A secret that is a word of the format takes that word away.
    match serde_json::from_value::<SpooledRun>(value.clone()) {
        Ok(_) => value.to_string(),
        Err(_) => String::new(),
    }
}
