//! `steps`: the keys of the conversation by which a client subscribes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::before::BeforeSpec;
use super::text_or_table::{FromText, TextOr, read_option};
use crate::units::Nanos;

/// A step of a conversation: a message to send or a request to make, and a message to await.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StepSpec {
    /// Message to send over a WebSocket (a template; binary: `hex: …` or `base64: …`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send: Option<String>,
    /// Request to make beside the subscription, over a connection of its own, with the keys of `[[target.before]]`. The step ends when it is answered and what it awaits has come, in either order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<BeforeSpec>,
    /// Message to await: a text that it contains, or a table. Of a message 256 KiB are compared; a packet may come in several messages.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "read_option")]
    #[schemars(with = "Option<TextOr<WaitSpec>>")]
    pub wait: Option<WaitSpec>,
    /// Values to take from the awaited message, for `{capture.NAME}`: a JSON pointer (`/sid`), or a regular expression whose first group is taken.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub capture: BTreeMap<String, String>,
}

impl FromText for StepSpec {
    const ACCEPTED: &'static str = "a message to send, or a table such as { send = \"40\", wait = \"40{\" }";
    fn from_text(text: &str) -> Option<StepSpec> {
        Some(StepSpec { send: Some(text.to_owned()), ..StepSpec::default() })
    }
}

/// A message to await: one of `contains`, `prefix`, `equals`, `regex` and `json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WaitSpec {
    /// What it contains (a template, or `hex: …`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contains: Option<String>,
    /// What it begins with (a template, or `hex: …`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<String>,
    /// The whole message (a template, or `hex: …`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub equals: Option<String>,
    /// A regular expression that it matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// A JSON pointer to a member that it has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub json: Option<String>,
    /// The text of that member (a template). Default: any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is: Option<String>,
    /// Longest time to wait. Default: 5s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Nanos>,
}

impl FromText for WaitSpec {
    const ACCEPTED: &'static str =
        "a text that the message contains, or a table such as { prefix = \"40{\" }";
    fn from_text(text: &str) -> Option<WaitSpec> {
        Some(WaitSpec { contains: Some(text.to_owned()), ..WaitSpec::default() })
    }
}
