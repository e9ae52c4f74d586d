//! The finding in the title: at most 12 words and two numbers, both in a figure. Rules, in
//! order of weight; the first two that apply are used. The built-in server is the reference
//! and never wins: transports are compared, not servers.

use pushmark_chart::numbers::PAGE;
use pushmark_chart::words;
use pushmark_model::run::{Outcome, VerdictState};

use super::case::{ArmView, Case};
use super::figures::age_cost::{age, apart};
use super::figures::fates::{late, lost};
use super::figures::observe;

type Rule = fn(&Case<'_>) -> Option<String>;

/// Returns the words of the title after the name.
pub(crate) fn title(case: &Case<'_>) -> String {
    let counts: &[&str] = &["counts"];
    let rules: [(Rule, &[&str]); 8] = [
        (observed, &["observed.messages"]),
        (died, counts),
        (flooded, &["flood"]),
        (nothing, counts),
        (costs, &["cpu"]),
        (losses, counts),
        (ages, &["delivery.age_of_information.p50"]),
        (whole, counts),
    ];
    // Each rule uses only its own metrics: a doubt about latency does not affect losses.
    let mut said: Vec<String> = Vec::new();
    let mut believed = false;
    for (rule, metrics) in rules {
        let case = case.about(metrics);
        believed |= case.believed().next().is_some();
        let Some(clause) = rule(&case).filter(|_| case.believed().next().is_some()) else { continue };
        let with = said.iter().chain([&clause]).flat_map(|c| c.split_whitespace()).count();
        if said.len() < 2 && with <= 12 {
            said.push(clause);
        }
    }
    match said.is_empty() {
        false => said.join("; "),
        true if believed => "no difference found between the arms".into(),
        true => "do not use these numbers".into(),
    }
}

/// Returns the name with its doubt.
fn named(arm: &ArmView<'_>) -> String {
    match arm.state {
        VerdictState::Suspect => format!("{} (in doubt)", arm.name()),
        _ => arm.name().to_string(),
    }
}

fn observed(case: &Case<'_>) -> Option<String> {
    let arm = case.believed().find(|_| case.observes())?;
    let rate = observe::per_second(arm, |o| o.messages)?;
    Some(format!("observed, {} messages a second on {}", PAGE.three(rate.value), arm.name()))
}

fn died(case: &Case<'_>) -> Option<String> {
    let names: Vec<&str> = case.believed().filter(|a| a.outcome == Outcome::Died).map(|a| a.name()).collect();
    (!names.is_empty()).then(|| format!("the server died under {}", words::list(&names)))
}

/// Returns how many clients the largest flood held.
fn flooded(case: &Case<'_>) -> Option<String> {
    let held = |a: &ArmView<'_>| a.starts.iter().filter_map(|s| Some(s.flood.as_ref()?.connected_max)).max();
    let (arm, most) = case.believed().filter_map(|a| Some((a, held(a)?))).max_by_key(|h| h.1)?;
    Some(format!("{} held {} clients at once", named(arm), PAGE.count(most)))
}

fn nothing(case: &Case<'_>) -> Option<String> {
    let published = case.believed().any(|a| a.total(|d| d.intended).is_some());
    let intended: u64 = case.believed().filter_map(|a| a.total(|d| d.intended)).sum();
    let delivered: u64 = case.believed().filter_map(|a| a.total(|d| d.delivered)).sum();
    match (published, intended, delivered) {
        (true, 0, _) => Some("no publication was due".into()),
        (true, _, 0) => Some("nothing was delivered".into()),
        _ => None,
    }
}

/// Compares the most expensive transport that asks with the cheapest push.
fn costs(case: &Case<'_>) -> Option<String> {
    let with_cost = |push: bool| {
        case.believed()
            // A poller's cost is per state shown, so it cannot be compared with a push alone.
            .filter(move |a| {
                a.transport.is_push() == push && a.outcome != Outcome::Died && a.one_in().is_none()
            })
            .filter_map(|a| Some((a, a.server_cost()?)))
    };
    let (asker, dear) = with_cost(false).max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    let (_, cheap) = with_cost(true).max_by(|a, b| a.1.value.total_cmp(&b.1.value))?;
    let ratio = dear.value / cheap.value;
    (apart(&dear, &cheap) && ratio >= 1.5)
        .then(|| format!("{} costs {} a push", named(asker), PAGE.ratio(ratio)))
}

/// Reports losses. In a flood most intended deliveries are for clients that had not connected yet, which
/// is not a loss.
fn losses(case: &Case<'_>) -> Option<String> {
    if flooded(case).is_some() {
        return None;
    }
    let clients = |a: &ArmView<'_>| -> u64 { a.starts.iter().map(|s| s.connections.lost).sum() };
    let worst = case
        .believed()
        .filter(|a| a.outcome != Outcome::Died)
        .max_by_key(|a| (clients(a), lost(a), late(a)))?;
    let of = |n: u64, one: &str, many: &str| format!("{} {}", PAGE.count(n), if n == 1 { one } else { many });
    match (clients(worst), lost(worst), late(worst)) {
        (0, 0, 0) => None,
        (0, 0, late) => {
            Some(format!("{} delivered {} late", named(worst), of(late, "delivery", "deliveries")))
        }
        (0, gone, _) => Some(format!("{} lost {}", named(worst), of(gone, "delivery", "deliveries"))),
        (clients, ..) => Some(format!("{} lost {}", named(worst), of(clients, "client", "clients"))),
    }
}

fn ages(case: &Case<'_>) -> Option<String> {
    let mut all: Vec<(&ArmView<'_>, f64)> =
        case.believed().filter_map(|a| Some((a, age(a, false)?.value))).collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    let [oldest, next, ..] = all.as_slice() else { return None };
    let ratio = oldest.1 / next.1.max(1.0);
    (ratio >= 2.0).then(|| format!("{} is {} older than the rest", named(oldest.0), PAGE.ratio(ratio)))
}

fn whole(case: &Case<'_>) -> Option<String> {
    let delivered =
        |a: &ArmView<'_>| a.total(|d| d.delivered).is_some_and(|n| n > 0) && lost(a) + late(a) == 0;
    let (judged, arms) = (case.believed().count(), case.arms.len());
    case.believed().all(delivered).then(|| match judged {
        1 if arms == 1 => "all intended deliveries arrived".into(),
        n if n == arms => format!("all {} arms lost nothing", words::number(arms)),
        n => format!("{} of {} arms can be judged and lost nothing", words::number(n), words::number(arms)),
    })
}
