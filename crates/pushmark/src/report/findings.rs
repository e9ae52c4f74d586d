//! The finding in the title: at most 12 words and two numbers, both in a figure. Rules, in
//! order of weight; the first two that apply are said. The built-in server is the reference
//! and never wins: transports are compared, not servers.

use pushmark_model::run::{Outcome, VerdictState};

use super::case::{ArmView, Case};
use super::figures::age_cost::{age, apart};
use super::figures::fates::lost;
use super::figures::observe;
use super::numbers::PAGE;
use super::words;

/// The words after the name.
pub(crate) fn title(case: &Case<'_>) -> String {
    if case.believed().next().is_none() {
        return "these figures are not the server's".into();
    }
    let rules: [fn(&Case<'_>) -> Option<String>; 8] =
        [observed, died, flooded, nothing, costs, losses, ages, whole];
    let mut said: Vec<String> = Vec::new();
    for rule in rules {
        let Some(clause) = rule(case) else { continue };
        let with = said.iter().chain([&clause]).flat_map(|c| c.split_whitespace()).count();
        if said.len() < 2 && with <= 12 {
            said.push(clause);
        }
    }
    if said.is_empty() { "no difference seen between the arms".into() } else { said.join("; ") }
}

/// The name, with its doubt in the same breath.
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

/// How many clients the largest flood held.
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

/// The dearest asking transport against the cheapest push.
fn costs(case: &Case<'_>) -> Option<String> {
    let with_cost = |push: bool| {
        case.believed()
            // A poller's cost is of the states it showed: not to be set against a push alone.
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

/// In a flood most of what was intended is for clients that had not come yet: no loss.
fn losses(case: &Case<'_>) -> Option<String> {
    if flooded(case).is_some() {
        return None;
    }
    let clients = |a: &ArmView<'_>| -> u64 { a.starts.iter().map(|s| s.connections.lost).sum() };
    let worst =
        case.believed().filter(|a| a.outcome != Outcome::Died).max_by_key(|a| (clients(a), lost(a)))?;
    match (clients(worst), lost(worst)) {
        (0, 0) => None,
        (0, deliveries) => Some(format!("{} lost {} deliveries", named(worst), PAGE.count(deliveries))),
        (clients, _) => Some(format!("{} lost {} clients", named(worst), PAGE.count(clients))),
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
    let delivered = |a: &ArmView<'_>| a.total(|d| d.delivered).is_some_and(|n| n > 0) && lost(a) == 0;
    let all = case.believed().all(delivered);
    let arms = case.believed().count();
    all.then(|| match arms {
        1 => "it delivered all that was intended".into(),
        _ => format!("all {} arms lost nothing", words::number(arms)),
    })
}
