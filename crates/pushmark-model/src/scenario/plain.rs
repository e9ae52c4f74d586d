//! Values that are texts but may be written as numbers.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::{Deserialize, Deserializer, Visitor};

/// Only its schema is used: a text or a number.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "described, never made")]
pub(super) enum Plain {
    /// As it is.
    Text(String),
    /// As it is written.
    Number(i64),
}

/// For `deserialize_with`: reads texts by name. Numbers are kept as written.
pub(super) fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let read = BTreeMap::<String, Text>::deserialize(deserializer)?;
    Ok(read.into_iter().map(|(name, Text(text))| (name, text)).collect())
}

struct Text(String);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Text, D::Error> {
        deserializer.deserialize_any(TextVisitor)
    }
}

struct TextVisitor;

impl Visitor<'_> for TextVisitor {
    type Value = Text;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a whole number")
    }
    fn visit_str<E>(self, text: &str) -> Result<Text, E> {
        Ok(Text(text.to_owned()))
    }
    fn visit_i64<E>(self, number: i64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }
    fn visit_u64<E>(self, number: u64) -> Result<Text, E> {
        Ok(Text(number.to_string()))
    }
}
