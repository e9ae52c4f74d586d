//! `[target.stamp]`: where an observed target puts its timestamps, or how a target encodes pushmark's.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::ScenarioError;
use crate::decode::Decode;
use crate::plan::TargetStamp;

/// Timestamps in messages: `{ json = "/ts", unit = "ms" }` for an observed target, `{ decode = "base64" }` for a target that encodes publications.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StampTemplate {
    /// JSON pointer (RFC 6901) to the timestamp in a message. It gives latency, but not loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// Unit of the timestamp, counted from the Unix epoch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<TimeUnit>,
    /// How the target encodes publications: base64, percent or json. Default: detected from the first messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub decode: Option<Decode>,
}

impl StampTemplate {
    /// Returns the place of the target's timestamps.
    pub(super) fn own(&self) -> Option<TargetStamp> {
        Some(TargetStamp { json: self.json.clone()?, unit_ns: self.unit?.ns() })
    }
}

/// A unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TimeUnit {
    /// Seconds.
    S,
    /// Milliseconds.
    Ms,
    /// Microseconds.
    Us,
    /// Nanoseconds.
    Ns,
}

impl TimeUnit {
    /// Returns its length.
    pub fn ns(self) -> u64 {
        match self {
            TimeUnit::S => 1_000_000_000,
            TimeUnit::Ms => 1_000_000,
            TimeUnit::Us => 1_000,
            TimeUnit::Ns => 1,
        }
    }
}

pub(super) fn check(stamp: &StampTemplate, errors: &mut Vec<ScenarioError>) {
    if let Some(json) = stamp.json.as_ref().filter(|json| !json.starts_with('/')) {
        errors.push(
            ScenarioError::at("target.stamp.json", "this is not a JSON pointer")
                .found(format!("{json:?}"))
                .accepted("a pointer such as \"/ts\" or \"/data/time\""),
        );
    }
    if stamp.json.is_some() != stamp.unit.is_some() {
        let (there, lacks) = if stamp.json.is_some() { ("json", "unit") } else { ("unit", "json") };
        errors.push(
            ScenarioError::at("target.stamp", "a timestamp needs its place and its unit")
                .found(format!("`{there}` without `{lacks}`"))
                .accepted("{ json = \"/ts\", unit = \"ms\" }"),
        );
    }
    if stamp.json.is_none() && stamp.unit.is_none() && stamp.decode.is_none() {
        errors.push(
            ScenarioError::at("target.stamp", "this table is empty")
                .found("an empty table")
                .accepted("{ json = \"/ts\", unit = \"ms\" }, or { decode = \"base64\" }"),
        );
    }
}

/// Reports `decode` without publications, because then no stamp arrives.
pub(super) fn check_observed(stamp: Option<&StampTemplate>, errors: &mut Vec<ScenarioError>) {
    if let Some(decode) = stamp.and_then(|stamp| stamp.decode) {
        errors.push(
            ScenarioError::at("target.stamp.decode", "nothing is published, so there is nothing to decode")
                .found(format!("{:?}", decode.name()))
                .accepted("a target with [target.publish], or no `decode`"),
        );
    }
}
