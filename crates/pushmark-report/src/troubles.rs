//! Problems of an arm that have no column in a table: a line each, only if above 0.

use std::collections::BTreeMap;

use pushmark_chart::numbers::Notation;
use pushmark_model::run::{Arm, Clients, Connections, Delivery, Outcome, Published};

use super::case::{ArmView, P};

/// Returns `the server of sse died at 12.3 s of measure: signal 9`; `None` if it did not die.
pub(crate) fn death(arm: &ArmView<'_>) -> Option<String> {
    let dead = arm.starts.iter().find(|a| a.outcome == Outcome::Died && a.error.is_none())?;
    let server = dead.server.as_ref();
    let how = server.and_then(|s| s.ended.as_ref()).or(dead.last_words.as_ref().map(|w| &w.how));
    let how = how.map_or(String::new(), |how| format!(": {how}"));
    let of = if arm.n() > 1 { format!(", in {} of {} starts", deaths(arm), arm.n()) } else { String::new() };
    Some(format!("the server of {} died{}{how}{of}", arm.name(), when(dead)))
}

fn deaths(arm: &ArmView<'_>) -> usize {
    arm.starts.iter().filter(|a| a.outcome == Outcome::Died).count()
}

/// Returns when the process ended, or from when nothing was received.
fn when(arm: &Arm) -> String {
    let Some(measure) = arm.phases.iter().find(|p| p.name == "measure") else { return String::new() };
    let seconds = |us: u64| us as f64 / 1e6;
    match (arm.server.as_ref().and_then(|s| s.ended_us), &arm.delivery) {
        (Some(at), _) if at < measure.start_us => " before measure began".into(),
        (Some(at), _) if at > measure.end_us => " after measure".into(),
        (Some(at), _) => format!(" at {:.1} s of measure", seconds(at - measure.start_us)),
        (None, Some(d)) if d.delivered > 0 => {
            let heard = u64::from(d.heat.first_second) + d.heat.columns.len() as u64;
            format!(": nothing that was due after {heard} s of measure was received")
        }
        _ => String::new(),
    }
}

/// Returns every problem of an arm, the worst first.
pub(crate) fn of(arm: &ArmView<'_>, n: &Notation) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(refused(arm, n));
    out.extend(refused_by_message(arm, n));
    out.extend(clients(arm, n));
    let count = |of: fn(&Delivery) -> u64| arm.total(of).unwrap_or(0);
    let mut add = |number: u64, one: &str, many: &str| {
        if number > 0 {
            out.push(format!("{} {}", n.count(number), if number == 1 { one } else { many }));
        }
    };
    let of_starts = |of: fn(&Arm) -> u64| arm.starts.iter().map(|a| of(a)).sum::<u64>();
    let of_published = |of: fn(&Published) -> u64| -> u64 {
        arm.starts.iter().filter_map(|a| a.published.as_ref()).map(of).sum()
    };
    add(
        of_published(|p| p.unreachable),
        "publication could not be sent: no connection to the target",
        "publications could not be sent: no connection to the target",
    );
    add(
        of_published(|p| p.backpressured),
        "publication could not be sent in time: the target had not answered earlier ones",
        "publications could not be sent in time: the target had not answered earlier ones",
    );
    add(
        of_published(|p| p.reconnected),
        "publisher's connection was closed by the target and opened again (published.reconnected)",
        "publishers' connections were closed by the target and opened again (published.reconnected)",
    );
    add(
        count(|d| d.unserved),
        "delivery had no client: it was not connected (unserved)",
        "deliveries had no client: it was not connected (unserved)",
    );
    add(count(|d| d.unpublished), "delivery was never published", "deliveries were never published");
    add(count(|d| d.duplicate), "duplicate", "duplicates");
    add(count(|d| d.out_of_order), "delivery out of order", "deliveries out of order");
    add(
        count(|d| d.beyond_window),
        "delivery too old to distinguish from a duplicate",
        "deliveries too old to distinguish from duplicates",
    );
    add(count(|d| d.corrupt.unwrap_or(0)), "message with changed content", "messages with changed content");
    add(count(|d| d.foreign), "message of another run", "messages of other runs");
    add(
        count(|d| d.unstamped),
        "message without a stamp: not pushmark's, or changed on the way",
        "messages without a stamp: not pushmark's, or changed on the way",
    );
    out.extend(decoded(arm));
    let lost = of_starts(|a| a.connections.lost);
    if lost > 0 {
        let by = ends(arm, |c| (&c.lost_with, &c.lost_by), n);
        let what = if lost == 1 { "connection was lost" } else { "connections were lost" };
        out.push(format!("{} {what}{by}", n.count(lost)));
    }
    let failed = of_starts(|a| a.connections.failed.values().sum());
    if failed > 0 {
        let by = ends(arm, |c| (&c.failed_with, &c.failed), n);
        let what = if failed == 1 { "connect failed" } else { "connects failed" };
        out.push(format!("{} {what}{by}", n.count(failed)));
    }
    out.extend(last_said(arm));
    out.extend(order(arm));
    out
}

/// Describes publications that failed.
fn refused(arm: &ArmView<'_>, n: &Notation) -> Option<String> {
    let own = || arm.starts.iter().filter_map(|a| a.published.as_ref());
    let (failed, due) = own().fold((0, 0), |(failed, due), p| (failed + p.failed, due + p.due));
    if failed == 0 {
        return None;
    }
    let kinds: BTreeMap<&str, u64> =
        own().flat_map(|p| &p.failed_by).fold(BTreeMap::new(), |mut all, (k, n)| {
            *all.entry(k.as_str()).or_default() += n;
            all
        });
    let answers = kinds.keys().all(|kind| kind.starts_with("status") || ["auth", "refused"].contains(kind));
    let names: Vec<String> = kinds.keys().map(|kind| answer(kind)).collect();
    let verb = if answers { "the target refused" } else { "failed:" };
    let why = if names.is_empty() { String::new() } else { format!(": {}", names.join(", ")) };
    let first = own().find_map(|published| published.first_trouble.as_deref());
    let first = first.map_or(String::new(), |first| format!("; first: {first}"));
    Some(format!("{verb} {} of {} publications{why}{first}", n.count(failed), n.count(due)))
}

/// Describes publications that the target of a feed refused by messages.
fn refused_by_message(arm: &ArmView<'_>, n: &Notation) -> Option<String> {
    let own = || arm.starts.iter().filter_map(|a| a.published.as_ref());
    let refusals: u64 = own().map(|published| published.refusals).sum();
    let what = match refusals {
        0 => return None,
        1 => "publication was refused by a message",
        _ => "publications were refused by messages",
    };
    let first = own().find_map(|published| published.first_trouble.as_deref());
    let first = first.map_or(String::new(), |first| format!("; first: {first}"));
    Some(format!("{} {what}{first}", n.count(refusals)))
}

/// Returns a kind of failure in words.
fn answer(kind: &str) -> String {
    match kind {
        "auth" => "401 or 407, not authorised".into(),
        "status_4xx" => "answered 4xx".into(),
        "status_5xx" => "answered 5xx".into(),
        kind => kind.replace('_', " "),
    }
}

/// Describes how payloads were decoded; `None` if they arrived as sent.
fn decoded(arm: &ArmView<'_>) -> Option<String> {
    let decode = arm.deliveries().find_map(|d| d.decoded)?;
    Some(format!("payloads arrived as {0} and were decoded (stamp.decode = \"{0}\")", decode.name()))
}

/// Number of endings that are listed; the report's table has all.
const ENDS_TOLD: usize = 4;

/// How connections ended, in the target's words and by kind.
type Endings = fn(&Connections) -> (&BTreeMap<String, u64>, &BTreeMap<String, u64>);

/// Lists how connections ended, the most frequent first: `: 4401 token expired (4), reset (1)`. Runs
/// without the transport's words have kinds.
fn ends(arm: &ArmView<'_>, of: Endings, n: &Notation) -> String {
    let mut sum: BTreeMap<String, u64> = BTreeMap::new();
    for start in &arm.starts {
        let (words, kinds) = of(&start.connections);
        for (how, count) in if words.is_empty() { kinds } else { words } {
            let how = if words.is_empty() { how.replace('_', " ") } else { how.clone() };
            *sum.entry(how).or_default() += count;
        }
    }
    let mut all: Vec<_> = sum.into_iter().collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rest: u64 = all.iter().skip(ENDS_TOLD).map(|(_, count)| count).sum();
    all.truncate(ENDS_TOLD);
    if rest > 0 {
        all.push(("in other ways".to_owned(), rest));
    }
    let told: Vec<String> = all.iter().map(|(how, count)| format!("{how} ({})", n.count(*count))).collect();
    if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) }
}

/// Returns the last text that a client received before its connection ended.
fn last_said(arm: &ArmView<'_>) -> Option<String> {
    let last = arm.starts.iter().find_map(|start| start.connections.last_said.as_ref())?;
    Some(format!("the last text before {}: {}", last.how, last.said))
}

/// Reports that pushmark itself may have caused messages out of order.
fn order(arm: &ArmView<'_>) -> Option<String> {
    let may = arm.starts.iter().any(|a| {
        let (Some(delivery), Some(published)) = (&a.delivery, &a.published) else { return false };
        let slowest = published.accept.as_ref().and_then(|accept| accept.max_us);
        let later = slowest.zip(arm.interval_us).is_some_and(|(us, interval_us)| us as f64 > interval_us);
        delivery.out_of_order > 0 && later
    });
    may.then(|| {
        "pushmark may have caused the order: a publication was answered after the next was due, on another connection"
            .into()
    })
}

/// Describes which clients lost messages: five of fifty clients without any message differ from a tenth
/// lost by all.
fn clients(arm: &ArmView<'_>, n: &Notation) -> Vec<String> {
    let own = || arm.deliveries().filter_map(|d| d.clients.as_ref());
    let sum = |of: fn(&Clients) -> u64| -> u64 { own().map(of).sum() };
    let (none, some, owed) = (sum(|c| c.heard_none), sum(|c| c.heard_some), sum(|c| c.owed));
    let mut out = Vec::new();
    if none + some > 0 {
        let most = own().map(|c| c.missing_max).max().unwrap_or(0);
        out.push(format!(
            "of {} clients {} received nothing, {} a part, {} all; at most {} missing for one client",
            n.count(owed),
            n.count(none),
            n.count(some),
            n.count(sum(|c| c.heard_all)),
            n.count(most)
        ));
    }
    out.extend(slowest(arm, n));
    out
}

/// Describes the slowest client if its median is far above that of all clients.
fn slowest(arm: &ArmView<'_>, n: &Notation) -> Option<String> {
    const APART: f64 = 4.0;
    let worst = arm.deliveries().filter_map(|d| d.clients.as_ref()?.p50_max_us).max()? as f64;
    let median = arm.latency(P::P50).us()?;
    (worst > APART * median.max(1.0)).then(|| {
        format!("the slowest client has a median of about {}, all clients {}", n.time(worst), n.time(median))
    })
}
