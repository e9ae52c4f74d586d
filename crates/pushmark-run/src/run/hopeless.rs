//! Detects an arm that cannot be measured from its first publications: the target refused them all, or no
//! received message holds a stamp. The arm then ends with the target's answer.

use pushmark_model::plan::{ArmPlan, Mode, Over, Publish};

use crate::gather::Gathered;
use crate::verdict;
use pushmark_chart::numbers::TERMINAL;

/// Refused publications needed for the decision.
const REFUSED_MIN: u64 = 20;
/// Time for which a starting target may refuse publications.
const REFUSED_NS: u64 = 1_000_000_000;
/// Unstamped messages needed, and more than one for each client: the first may be a greeting.
const UNSTAMPED_MIN: u64 = 10;
/// Longest wait for a late message.
const LATE_NS: u64 = 5_000_000_000;

/// Why the arm cannot be measured. `since_ns`: since the first publication was due; `over`: no more
/// publications are due.
pub(super) fn why(plan: &ArmPlan, gathered: &Gathered, since_ns: u64, over: bool) -> Option<String> {
    let total = gathered.total();
    let counts = &total.counts;
    if plan.publisher.is_none() || counts.received > 0 || plan.flood.is_some() {
        return None;
    }
    if let Some(publish) = refusable(plan)
        && counts.accepted_all == 0
    {
        let failed: u64 = total.publish_failed.values().sum();
        let enough = failed >= REFUSED_MIN && since_ns >= REFUSED_NS;
        if enough || (over && failed > 0 && failed >= counts.publications_due_all) {
            return Some(refused(publish, failed, total.words.refusal.as_deref()));
        }
    }
    let late = since_ns >= plan.deadline_ns.min(LATE_NS);
    let came = total.words.came.as_ref().filter(|came| came.could_be_ours)?;
    let enough = counts.unstamped_all >= UNSTAMPED_MIN && counts.unstamped_all > counts.opened.max(0) as u64;
    (enough && late).then(|| {
        let decode = match plan.decode {
            Some(decode) => format!("; `target.stamp.decode` is {:?}", decode.name()),
            None => String::new(),
        };
        format!(
            "the target changes what is published: {} messages of {} came and none holds a stamp\n    sent    payloads that end in pm1:…, 48 bytes of digits and letters{decode}\n    came    {}\n    try     target.stamp.decode = \"base64\", \"percent\" or \"json\" if it is that, or a channel on which only pushmark publishes",
            TERMINAL.count(counts.unstamped_all),
            plan.transport,
            verdict::shown(came)
        )
    })
}

/// Returns the publish template if pushmark publishes by requests that the target answers.
fn refusable(plan: &ArmPlan) -> Option<&Publish> {
    let external = plan.publisher.as_ref().is_some_and(|p| p.mode == Mode::External);
    plan.publish.as_ref().filter(|publish| external && publish.over == Over::Post)
}

/// Templates are shown as written: their values may be secret.
fn refused(publish: &Publish, failed: u64, refusal: Option<&str>) -> String {
    let host = if publish.host.contains(':') { format!("[{}]", publish.host) } else { publish.host.clone() };
    let port = publish.port.map_or("{port}".to_owned(), |port| port.to_string());
    let over = if publish.tls { " over TLS" } else { "" };
    format!(
        "the target refused all {} publications: no delivery could be measured\n    sent    {} {} HTTP/1.1 to {host}:{port}{over}\n    first   {}",
        TERMINAL.count(failed),
        publish.method,
        publish.path.source(),
        refusal.unwrap_or("no answer")
    )
}
