//! Checks that the clients of an arm received publications, and received them as a subscriber does.
//! If no client received any, nothing shows that clients were subscribed: a loss of 100 % would then
//! be the scenario's fault, not the target's.

use std::collections::BTreeMap;

use pushmark_model::decode::looks_like;
use pushmark_model::record::Came;
use pushmark_model::run::{Arm, Outcome, Reason, VerdictState};

use super::facts::ReceivedTotals;
use super::{ALL, Seen, words};
use pushmark_chart::numbers::TERMINAL;

/// Long polls are not held if they are answered this many times as often as the hold explains.
const NOT_HELD: f64 = 2.0;

/// Returns doubts about what was received. `outcome` is the arm's.
pub(super) fn doubts(arm: &Arm, heard: &ReceivedTotals, outcome: Outcome) -> Vec<Reason> {
    let mut reasons = Vec::new();
    if is_not_shown(arm, heard) && outcome != Outcome::Died {
        reasons.push(words::reason(arm, "subscription", VerdictState::Invalid, ALL, not_shown(arm, heard)));
    }
    if let Some(text) = not_held(arm) {
        reasons.push(words::reason(arm, "not_held", VerdictState::Suspect, ALL, text));
    }
    reasons
}

/// Returns the share of messages without a stamp among the messages of measure that could be pushmark's.
pub(super) fn unstamped(arm: &Arm) -> Option<f64> {
    let delivery = arm.delivery.as_ref()?;
    let all = delivery.delivered + delivery.late + delivery.duplicate + delivery.unstamped;
    (all > 0).then(|| delivery.unstamped as f64 / all as f64)
}

/// Whether no client received anything although something was published.
fn is_not_shown(arm: &Arm, heard: &ReceivedTotals) -> bool {
    let published = arm.published.as_ref().is_some_and(|p| p.sent > p.failed);
    let intended = arm.delivery.as_ref().is_some_and(|d| d.intended > 0);
    heard.received == 0 && published && intended && arm.flood.is_none()
}

fn not_shown(arm: &Arm, heard: &ReceivedTotals) -> [String; 3] {
    let asked = TERMINAL.count(arm.connections.asked);
    let confirmed =
        arm.connections.opened > 0 && ["acknowledged", "ready"].contains(&arm.subscribed_by.as_str());
    [
        format!(
            "no sign of a subscription: none of {asked} clients of {} received a publication; {}",
            arm.transport,
            what_came(arm, heard)
        ),
        match confirmed {
            true => "the target confirmed subscriptions and accepted publications, but no publication came: they may have gone elsewhere, or an answer may say why".into(),
            false => "the target accepted publications, but nothing shows that a client was subscribed: the loss may be the scenario's fault".into(),
        },
        "run pushmark try with this scenario: it shows what each side sent and answered; then correct target.subscribe or target.publish"
            .into(),
    ]
}

/// Describes the last answer of the target to clients that received nothing.
fn what_came(arm: &Arm, heard: &ReceivedTotals) -> String {
    let connections = &arm.connections;
    if connections.opened == 0 {
        return match most(&connections.failed_with).or_else(|| most(&connections.failed)) {
            Some(kind) => format!("no client could connect: {kind}"),
            None => "no client could connect".into(),
        };
    }
    if connections.lost >= connections.opened {
        let how = most(&connections.lost_with).or_else(|| most(&connections.lost_by));
        return format!("it closed every connection: {}", how.unwrap_or("without a reason"));
    }
    match &heard.came {
        Some(came) => format!("they received {}", shown(came)),
        None => "no message arrived".into(),
    }
}

fn most(counts: &BTreeMap<String, u64>) -> Option<&str> {
    counts.iter().max_by_key(|(_, n)| **n).map(|(what, _)| what.as_str())
}

/// Formats a message without a stamp: escaped text, length, and what it looks like.
pub(crate) fn shown(came: &Came) -> String {
    let text: String =
        String::from_utf8_lossy(&came.begin).chars().flat_map(char::escape_debug).collect::<String>();
    let more = if came.length as usize > came.begin.len() { "…" } else { "" };
    let looks = looks_like(&came.begin).map_or(String::new(), |looks| format!(", which looks like {looks}"));
    format!("{text}{more} ({} bytes){looks}", TERMINAL.count(u64::from(came.length)))
}

/// Describes long polls that are answered at once with nothing.
fn not_held(arm: &Arm) -> Option<[String; 3]> {
    let long_poll = arm.long_poll.as_ref()?;
    let measure = arm.phases.iter().find(|phase| phase.name == "measure")?;
    let measure_s = (measure.end_us - measure.start_us) as f64 / 1e6;
    let early_per_s = long_poll.early as f64 / measure_s;
    if early_per_s <= NOT_HELD * long_poll.ceiling_per_s {
        return None;
    }
    let clients = arm.connections.opened.max(1) as f64;
    Some([
        format!(
            "this target does not hold long polls: {early_per_s:.1} answers/s of {} were empty, {:.2}/s a client; the hold explains {:.2}/s a client",
            arm.transport,
            early_per_s / clients,
            long_poll.ceiling_per_s / clients
        ),
        "each client polls without a pause: cost and latency are those of that loop".into(),
        "ask the target to hold (`{hold_ms}` in the template), set load.hold to its hold, or measure it as `poll`".into(),
    ])
}

pub(super) fn unstamped_words(s: &Seen<'_>) -> [String; 3] {
    let (arm, share) = (s.arm, s.share);
    let unstamped = arm.delivery.as_ref().map_or(0, |d| d.unstamped);
    [
        format!(
            "{} messages of {} without a stamp: {:.2} % of those long enough for one ({} from {} %)",
            TERMINAL.count(unstamped),
            arm.transport,
            share * 100.0,
            s.state.name(),
            s.limit * 100.0
        ),
        "these may be publications that the target changed or cut: they count as missing".into(),
        "use a channel without other publishers; set target.stamp.decode if the target encodes payloads"
            .into(),
    ]
}
