//! Values that are usually a text, or a table for more settings.

use std::fmt;
use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Unexpected, Visitor};

/// A type that can be written as a text.
pub(super) trait FromText: Sized {
    /// What is accepted, for messages.
    const ACCEPTED: &'static str;
    /// Returns the value for a text.
    fn from_text(text: &str) -> Option<Self>;
}

/// Only its schema is used: either form.
#[derive(JsonSchema)]
#[schemars(untagged, rename = "{T}OrText", inline)]
#[expect(dead_code, reason = "described, never made")]
pub(super) enum TextOr<T> {
    /// The short form.
    Text(String),
    /// The long form.
    Table(T),
}

/// For `deserialize_with`.
pub(super) fn read<'de, D: Deserializer<'de>, T: FromText + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_any(TextOrTable(PhantomData))
}

/// For `deserialize_with` on an option.
pub(super) fn read_option<'de, D: Deserializer<'de>, T: FromText + Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    read(deserializer).map(Some)
}

/// For `deserialize_with` on a list.
pub(super) fn read_list<'de, D: Deserializer<'de>, T: FromText + Deserialize<'de>>(
    deserializer: D,
) -> Result<Vec<T>, D::Error> {
    let items = Vec::<Item<T>>::deserialize(deserializer)?;
    Ok(items.into_iter().map(|Item(item)| item).collect())
}

struct Item<T>(T);

impl<'de, T: FromText + Deserialize<'de>> Deserialize<'de> for Item<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read(deserializer).map(Item)
    }
}

struct TextOrTable<T>(PhantomData<T>);

impl<'de, T: FromText + Deserialize<'de>> Visitor<'de> for TextOrTable<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::ACCEPTED)
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map))
    }
}
