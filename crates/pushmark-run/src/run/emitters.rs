//! Emitters: the server publishes by itself on the arm's schedule.
//!
//! The schedule is the plan's, in `CLOCK_MONOTONIC`, and absolute: both sides know the due times without
//! communicating.

use std::time::Duration;

use anyhow::{Context as _, bail};
use pushmark_model::plan::ArmPlan;
use serde_json::{Value, json};

use pushmark_host::server::http::{self, Control};

const NAME: &str = "pushmark";
/// Channels one emitter serves: a request of some 16 KiB.
const CHANNELS_MAX: usize = 1_000;
const TIMEOUT: Duration = Duration::from_secs(10);

/// Sets the emitters of an arm that starts at `start_ns`. `base` is the URL of the server's emitters.
pub(super) fn set(base: &Control, arm: &ArmPlan, start_ns: u64) -> anyhow::Result<()> {
    let publisher = arm.publisher.as_ref().context("an arm that publishes")?;
    let channels: Vec<u32> = (0..arm.subscriptions.channels).collect();
    for (n, part) in channels.chunks(CHANNELS_MAX).enumerate() {
        let body = json!({
            "interval_us": (publisher.interval_ns / 1_000.0) as u64,
            "size": publisher.size.max(),
            "channels": part.iter().map(|&c| arm.channel_name(c)).collect::<Vec<_>>(),
            "channel_indexes": part,
            "phases_us": part.iter().map(|&c| arm.channel_phase_ns(c) / 1_000).collect::<Vec<_>>(),
            "nonce": arm.nonce,
            "publisher": 0,
            "start_us": (start_ns + arm.phases.warmup_start_ns()) / 1_000,
            "count": publisher.count,
        });
        let to = &base.below(&format!("/{NAME}-{n}"));
        let body = body.to_string();
        let answer = http::send(&http::Request {
            method: "PUT",
            to,
            headers: &[("content-type", "application/json")],
            body: body.as_bytes(),
            timeout: TIMEOUT,
        })?;
        if !answer.is_success() {
            bail!(
                "the server refused an emitter: PUT {} was answered {}: {}",
                to.url,
                answer.status,
                answer.text()
            );
        }
    }
    Ok(())
}

/// Clears all emitters.
pub(super) fn clear(base: &Control) -> anyhow::Result<()> {
    http::send(&http::Request { method: "DELETE", to: base, headers: &[], body: &[], timeout: TIMEOUT })?;
    Ok(())
}

/// Publications that were due by the plan and never sent, as the server reports: those it skipped, and those
/// above each channel's last. `None` if the server does not report them.
pub(super) fn never_sent(stats: &Value, plan: &ArmPlan) -> Option<u64> {
    let channels = stats.get("channels")?.as_object()?;
    let skipped = stats.pointer("/emits/skipped").and_then(Value::as_u64).unwrap_or(0);
    let mut never = skipped;
    for channel in 0..plan.subscriptions.channels {
        let mut schedule = plan.schedule(channel);
        let due = std::iter::from_fn(|| schedule.take_due(u64::MAX)).count() as u64;
        let last = channels.get(&plan.channel_name(channel)).and_then(|c| c.get("last"));
        let sent = last.and_then(Value::as_u64).map_or(0, |last| last + 1);
        never += due.saturating_sub(sent);
    }
    Some(never)
}

/// Publications that an emitter made: as the server reports or, if it no longer answers, those that a client
/// received. It may have made more, so this is a lower bound.
pub(super) fn emitted(due: u64, never: Option<u64>, heard: u64) -> u64 {
    never.map_or(heard.min(due), |never| due.saturating_sub(never))
}

#[cfg(test)]
mod tests {
    use super::emitted;

    #[test]
    fn an_emitter_that_cannot_tell_made_what_was_heard() {
        assert_eq!(emitted(30, Some(2), 7), 28, "its own word");
        assert_eq!(emitted(30, None, 29), 29, "no word of it");
        assert_eq!(emitted(30, None, 0), 0, "and nothing heard");
    }
}
