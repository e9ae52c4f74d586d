//! Durations, sizes, rates and shares as people write them: the only place that reads and writes units.
//!
//! Each type keeps its base unit (ns, bytes, per second) and prints the shortest text that parses back to
//! exactly the same value. Every error reports what was found and what is accepted.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Unexpected, Visitor};
use serde::{Serialize, Serializer};

/// Longest duration of a scenario: sums of a few such durations are far from overflow.
pub const DURATION_MAX_NS: u64 = 1_000 * HOUR;

const US: u64 = 1_000;
const MS: u64 = 1_000 * US;
const SECOND: u64 = 1_000 * MS;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;

const DURATION_UNITS: [(&str, u64); 6] =
    [("h", HOUR), ("m", MINUTE), ("s", SECOND), ("ms", MS), ("us", US), ("ns", 1)];

const SIZE_UNITS: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
];

/// Why a text with a unit is not valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitError {
    /// The text.
    pub found: String,
    /// The accepted form.
    pub accepted: &'static str,
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found {:?}, accepted: {}", self.found, self.accepted)
    }
}

impl std::error::Error for UnitError {}

/// A duration, ns: `250ms`, `2s`, `1.5m`, `1h`, `20us`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nanos(pub u64);

/// A size, bytes: `128B`, `4KiB`, `1MB`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

/// A rate above zero, per second: `10/s`, `600/m`, or a bare number.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct PerSecond(pub f64);

/// A size, or a range to draw from uniform: `128B`, `48B..1KiB` (both ends included).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizeRange {
    /// Smallest.
    pub low: Bytes,
    /// Largest; the same for one fixed size.
    pub high: Bytes,
}

/// What is accepted as a duration.
pub const DURATION_ACCEPTED: &str =
    "a duration with its unit, such as \"250ms\", \"2s\", \"1.5m\" or \"1h\" (at most 1000h)";
/// What is accepted as a size.
pub const SIZE_ACCEPTED: &str = "a size such as \"128B\", \"4KiB\" or \"1MB\"";
/// What is accepted as a size or range.
pub const SIZE_RANGE_ACCEPTED: &str = "a size such as \"128B\" or \"4KiB\", or a range such as \"48B..1KiB\"";
/// What is accepted as a rate.
pub const RATE_ACCEPTED: &str = "a rate above zero, such as \"10/s\", \"600/m\" or 10 (per second)";
/// What is accepted as a share.
pub const SHARE_ACCEPTED: &str = "a share such as \"0.1%\" or 0.001";

impl FromStr for Nanos {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Nanos, UnitError> {
        let error = || UnitError { found: text.to_owned(), accepted: DURATION_ACCEPTED };
        let (number, unit) = split_unit(text).ok_or_else(error)?;
        let unit = if unit == "µs" || unit == "μs" { "us" } else { unit };
        let (_, factor) = DURATION_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?;
        scaled(number, *factor).filter(|ns| *ns <= DURATION_MAX_NS).map(Nanos).ok_or_else(error)
    }
}

impl fmt::Display for Nanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.pad("0s");
        }
        // Whole minutes and hours only: `1.5s` is easy to read, `1.025h` is not.
        for (unit, factor) in DURATION_UNITS {
            let decimals = factor <= SECOND && factor > 1;
            if self.0.is_multiple_of(factor)
                || (decimals && self.0 > factor && self.0.is_multiple_of(factor / US))
            {
                let (whole, thousandths) = (self.0 / factor, self.0 % factor * 1_000 / factor);
                let fraction = format!("{thousandths:03}");
                let fraction = fraction.trim_end_matches('0');
                let point = if fraction.is_empty() { "" } else { "." };
                return f.pad(&format!("{whole}{point}{fraction}{unit}"));
            }
        }
        unreachable!("every number of ns is a multiple of 1 ns")
    }
}

impl FromStr for Bytes {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Bytes, UnitError> {
        let error = || UnitError { found: text.to_owned(), accepted: SIZE_ACCEPTED };
        let (number, unit) = split_unit(text).ok_or_else(error)?;
        let factor = match unit {
            "KB" => 1_000,
            _ => SIZE_UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(error)?.1,
        };
        scaled(number, factor).map(Bytes).ok_or_else(error)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fits = |(_, factor): &&(&str, u64)| self.0 >= *factor && self.0.is_multiple_of(*factor);
        // Binary units except for decimal values from 1 MB: "1000B" is clearer than "1kB" beside "1KiB" for
        // 1024 B.
        let (unit, factor) =
            SIZE_UNITS.iter().filter(|(unit, _)| *unit != "kB").find(fits).copied().unwrap_or(("B", 1));
        f.pad(&format!("{}{unit}", self.0 / factor))
    }
}

impl FromStr for PerSecond {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<PerSecond, UnitError> {
        let error = || UnitError { found: text.to_owned(), accepted: RATE_ACCEPTED };
        let (number, seconds) = match text.split_once('/') {
            None => (text, 1.0),
            Some((number, "s")) => (number, 1.0),
            Some((number, "m" | "min")) => (number, 60.0),
            Some((number, "h")) => (number, 3_600.0),
            Some(_) => return Err(error()),
        };
        let number: f64 = number.trim().parse().map_err(|_| error())?;
        let rate = number / seconds;
        if rate.is_finite() && rate > 0.0 { Ok(PerSecond(rate)) } else { Err(error()) }
    }
}

impl fmt::Display for PerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The first unit that needs no more than four significant digits; otherwise all digits.
        for (seconds, unit) in [(1.0, "s"), (60.0, "m"), (3_600.0, "h")] {
            let number = self.0 * seconds;
            let short = format!("{}", (number * 1_000.0).round() / 1_000.0);
            if short.parse::<f64>().is_ok_and(|n| n / seconds == self.0) {
                return f.pad(&format!("{short}/{unit}"));
            }
        }
        f.pad(&format!("{}/s", self.0))
    }
}

impl FromStr for SizeRange {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<SizeRange, UnitError> {
        let error = |_| UnitError { found: text.to_owned(), accepted: SIZE_RANGE_ACCEPTED };
        let (low, high) = text.split_once("..").unwrap_or((text, text));
        let range =
            SizeRange { low: low.trim().parse().map_err(error)?, high: high.trim().parse().map_err(error)? };
        if range.low > range.high {
            return Err(UnitError { found: text.to_owned(), accepted: SIZE_RANGE_ACCEPTED });
        }
        Ok(range)
    }
}

impl fmt::Display for SizeRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.low == self.high {
            write!(f, "{}", self.low)
        } else {
            write!(f, "{}..{}", self.low, self.high)
        }
    }
}

/// Parses a share of one: `0.1%` or `0.001`.
pub fn parse_share(text: &str) -> Result<f64, UnitError> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    match number.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number / scale),
        _ => Err(UnitError { found: text.to_owned(), accepted: SHARE_ACCEPTED }),
    }
}

/// Splits `1.5ms` into `1.5` and `ms`.
fn split_unit(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    Some((&text[..at], text[at..].trim_start()))
}

/// Returns decimal text × factor in integers, rounded to nearest: `0.1` s is exactly 100,000,000 ns.
fn scaled(number: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || fraction.len() > 12 || (number.ends_with('.')) {
        return None;
    }
    let scale = 10u128.pow(fraction.len() as u32);
    let whole: u128 = whole.parse::<u64>().ok()?.into();
    let fraction: u128 = if fraction.is_empty() { 0 } else { fraction.parse::<u64>().ok()?.into() };
    let total = (whole * scale + fraction) * u128::from(factor);
    u64::try_from((total + scale / 2) / scale).ok()
}

/// Reads a value with a unit from text, or from a bare number if the type accepts one.
struct UnitVisitor<T> {
    accepted: &'static str,
    bare: Option<fn(f64) -> Option<T>>,
}

impl<T: FromStr<Err = UnitError>> Visitor<'_> for UnitVisitor<T> {
    type Value = T;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.accepted)
    }
    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(|_| E::invalid_value(Unexpected::Str(text), &self))
    }
    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<T, E> {
        let value = self.bare.and_then(|bare| bare(number as f64));
        value.ok_or_else(|| E::invalid_value(Unexpected::Signed(number), &self))
    }
    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<T, E> {
        let value = self.bare.and_then(|bare| bare(number as f64));
        value.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
    }
    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<T, E> {
        let value = self.bare.and_then(|bare| bare(number));
        value.ok_or_else(|| E::invalid_value(Unexpected::Float(number), &self))
    }
}

macro_rules! unit_serde {
    ($type:ident, $name:literal, $accepted:ident, $pattern:literal, $bare:expr) => {
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                deserializer.deserialize_any(UnitVisitor { accepted: $accepted, bare: $bare })
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl schemars::JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                let text = schemars::json_schema!({ "type": "string", "pattern": $pattern });
                let bare: Option<fn(f64) -> Option<$type>> = $bare;
                let mut schema = match bare {
                    None => text,
                    Some(_) => schemars::json_schema!({ "anyOf": [text, { "type": "number", "minimum": 0 }] }),
                };
                schema.insert("description".into(), $accepted.into());
                schema
            }
        }
    };
}

fn whole(number: f64) -> Option<u64> {
    (number >= 0.0 && number.fract() == 0.0 && number < 1e15).then_some(number as u64)
}

unit_serde!(Nanos, "Duration", DURATION_ACCEPTED, r"^[0-9]+(\.[0-9]+)? ?(h|m|s|ms|us|µs|ns)$", None);
unit_serde!(
    Bytes,
    "Size",
    SIZE_ACCEPTED,
    r"^[0-9]+(\.[0-9]+)? ?([kKMG]i?)?B$",
    Some(|n| whole(n).map(Bytes))
);
unit_serde!(
    PerSecond,
    "Rate",
    RATE_ACCEPTED,
    r"^[0-9.]+(e-?[0-9]+)?(/(s|m|min|h))?$",
    Some(|n| (n.is_finite() && n > 0.0).then_some(PerSecond(n)))
);
unit_serde!(
    SizeRange,
    "SizeRange",
    SIZE_RANGE_ACCEPTED,
    r"^[0-9]+(\.[0-9]+)? ?([kKMG]i?)?B( ?\.\. ?[0-9]+(\.[0-9]+)? ?([kKMG]i?)?B)?$",
    Some(|n| whole(n).map(|n| SizeRange { low: Bytes(n), high: Bytes(n) }))
);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn durations_are_exact() {
        for (text, ns) in [
            ("250ms", 250_000_000),
            ("2s", 2_000_000_000),
            ("1.5m", 90_000_000_000),
            ("1h", 3_600_000_000_000),
            ("20us", 20_000),
            ("20µs", 20_000),
            ("0.1s", 100_000_000),
            ("1 s", 1_000_000_000),
            ("0s", 0),
        ] {
            assert_eq!(text.parse(), Ok(Nanos(ns)), "{text}");
        }
        for text in ["", "10", "s", "-1s", "1 parsec", "1.s", ".5s", "1..5s", "1001h", "1e3s", "1s2"] {
            assert_eq!(text.parse::<Nanos>().unwrap_err().found, text);
        }
    }

    #[test]
    fn durations_print_as_people_write_them() {
        for text in ["1.5s", "90s", "2m", "1h", "250ms", "20us", "1.234ms", "7ns", "0s"] {
            assert_eq!(text.parse::<Nanos>().unwrap().to_string(), text);
        }
        assert_eq!("60s".parse::<Nanos>().unwrap().to_string(), "1m");
    }

    #[test]
    fn sizes_and_ranges() {
        assert_eq!("4KiB".parse(), Ok(Bytes(4_096)));
        assert_eq!("1.5KiB".parse(), Ok(Bytes(1_536)));
        assert_eq!("1MB".parse(), Ok(Bytes(1_000_000)));
        let range: SizeRange = "48B..1KiB".parse().unwrap();
        assert_eq!((range.low.0, range.high.0, range.to_string().as_str()), (48, 1_024, "48B..1KiB"));
        for text in ["12", "1XB", "B", "2KiB..1KiB", "..1B"] {
            assert!(text.parse::<SizeRange>().is_err(), "{text}");
        }
    }

    #[test]
    fn rates_need_no_unit_but_must_be_above_zero() {
        for (text, per_second) in [("10/s", 10.0), ("600/m", 10.0), ("36000/h", 10.0), ("2.5", 2.5)] {
            assert_eq!(text.parse(), Ok(PerSecond(per_second)), "{text}");
        }
        for text in ["0", "-1/s", "10/d", "x/s", "inf", "nan", ""] {
            assert!(text.parse::<PerSecond>().is_err(), "{text}");
        }
        assert_eq!(PerSecond(10.0).to_string(), "10/s");
        assert_eq!("1/m".parse::<PerSecond>().unwrap().to_string(), "1/m");
        assert_eq!("1/h".parse::<PerSecond>().unwrap().to_string(), "1/h");
    }

    #[test]
    fn shares() {
        assert_eq!(parse_share("0.1%"), Ok(0.001));
        assert_eq!(parse_share("0.5"), Ok(0.5));
        assert!(parse_share("many").is_err());
    }

    proptest! {
        #[test]
        fn a_printed_duration_parses_back(ns in 0..=DURATION_MAX_NS) {
            prop_assert_eq!(Nanos(ns).to_string().parse(), Ok(Nanos(ns)));
        }
        #[test]
        fn a_printed_size_parses_back(bytes in 0..1u64 << 40) {
            prop_assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
        }
        #[test]
        fn a_printed_rate_parses_back(rate in 1e-6..1e9f64) {
            prop_assert_eq!(PerSecond(rate).to_string().parse(), Ok(PerSecond(rate)));
        }
    }
}
