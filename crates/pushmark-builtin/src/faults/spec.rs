//! Parses and formats fault specifications. Every error lists what is accepted.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use pushmark_model::units::Nanos;

use super::{Delay, Freeze, OneIn, ResetAt};

/// An invalid specification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    found: String,
    accepted: &'static str,
}

impl SpecError {
    pub(crate) fn new(found: &str, accepted: &'static str) -> SpecError {
        SpecError { found: found.to_owned(), accepted }
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "found `{}`, accepted: {}", self.found, self.accepted)
    }
}

impl std::error::Error for SpecError {}

const ONE_IN: &str = "`1/N` with N from 1, such as `1/100`";
const DELAY: &str =
    "a duration (`5ms`), `table:1ms,2ms,5ms`, or `bimodal:2ms,20ms,10` (every 10th takes 20ms)";
const FREEZE: &str = "`S@T`: how long, and when after the first publication, such as `2s@5s`";
const RESET: &str = "`1/N@T`: which connections, and when after the first publication, such as `1/10@5s`";

/// A duration with its unit, or a bare number of seconds.
fn span_ns(text: &str) -> Option<u64> {
    let with_unit = match text.ends_with(|c: char| c.is_ascii_digit()) {
        true => format!("{text}s"),
        false => text.to_owned(),
    };
    with_unit.parse::<Nanos>().ok().map(|Nanos(ns)| ns)
}

impl FromStr for OneIn {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<OneIn, SpecError> {
        let n = text.strip_prefix("1/").and_then(|n| n.parse().ok());
        n.map(OneIn).ok_or_else(|| SpecError::new(text, ONE_IN))
    }
}

impl fmt::Display for OneIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1/{}", self.0)
    }
}

impl FromStr for Delay {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Delay, SpecError> {
        parse_delay(text).ok_or_else(|| SpecError::new(text, DELAY))
    }
}

fn parse_delay(text: &str) -> Option<Delay> {
    if let Some(table) = text.strip_prefix("table:") {
        return table.split(',').map(span_ns).collect::<Option<_>>().map(Delay::Table);
    }
    if let Some(modes) = text.strip_prefix("bimodal:") {
        let parts: Vec<&str> = modes.split(',').collect();
        let [usual, rare, every] = parts[..] else { return None };
        return Some(Delay::Bimodal {
            usual_ns: span_ns(usual)?,
            rare_ns: span_ns(rare)?,
            every: every.parse::<NonZeroU64>().ok()?,
        });
    }
    span_ns(text).map(Delay::Fixed)
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::Fixed(ns) => write!(f, "{}", Nanos(*ns)),
            Delay::Table(table) => {
                f.write_str("table:")?;
                for (i, ns) in table.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "" } else { "," }, Nanos(*ns))?;
                }
                Ok(())
            }
            Delay::Bimodal { usual_ns, rare_ns, every } => {
                write!(f, "bimodal:{},{},{every}", Nanos(*usual_ns), Nanos(*rare_ns))
            }
        }
    }
}

impl FromStr for Freeze {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Freeze, SpecError> {
        let parse = || {
            let (how_long, when) = text.split_once('@')?;
            Some(Freeze { for_ns: span_ns(how_long)?, after_ns: span_ns(when)? })
        };
        parse().ok_or_else(|| SpecError::new(text, FREEZE))
    }
}

impl fmt::Display for Freeze {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", Nanos(self.for_ns), Nanos(self.after_ns))
    }
}

impl FromStr for ResetAt {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<ResetAt, SpecError> {
        let parse = || {
            let (which, when) = text.split_once('@')?;
            Some(ResetAt { one_in: which.parse().ok()?, after_ns: span_ns(when)? })
        };
        parse().ok_or_else(|| SpecError::new(text, RESET))
    }
}

impl fmt::Display for ResetAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.one_in, Nanos(self.after_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<T: FromStr<Err = SpecError> + fmt::Display>(text: &str, canonical: Option<&str>) {
        let printed = text.parse::<T>().ok().map(|spec| spec.to_string());
        assert_eq!(printed.as_deref(), canonical, "{text:?}");
    }

    #[test]
    fn specifications_read_back_as_written() {
        check::<OneIn>("1/7", Some("1/7"));
        check::<Delay>("5ms", Some("5ms"));
        check::<Delay>("table:1ms,2ms,5ms", Some("table:1ms,2ms,5ms"));
        check::<Delay>("bimodal:2ms,20ms,10", Some("bimodal:2ms,20ms,10"));
        check::<Freeze>("2s@5s", Some("2s@5s"));
        check::<Freeze>("2@0.5", Some("2s@500ms")); // bare numbers are seconds
        check::<ResetAt>("1/10@5s", Some("1/10@5s"));
    }

    #[test]
    fn nonsense_is_refused() {
        check::<OneIn>("1/0", None);
        check::<OneIn>("2/3", None);
        check::<OneIn>("10", None);
        check::<Delay>("table:", None);
        check::<Delay>("bimodal:2ms,20ms", None);
        check::<Delay>("bimodal:2ms,20ms,0", None);
        check::<Freeze>("2s", None);
        check::<ResetAt>("1/10", None);
    }

    #[test]
    fn the_error_shows_what_is_accepted() {
        let error = "often".parse::<OneIn>().unwrap_err();
        assert_eq!(error.to_string(), "found `often`, accepted: `1/N` with N from 1, such as `1/100`");
    }

    #[test]
    fn delays_follow_the_number_of_the_publication() {
        let delays = |spec: &str, n: u64| -> Vec<u64> {
            let delay: Delay = spec.parse().unwrap();
            (0..n).map(|number| delay.of(number) / 1_000_000).collect()
        };
        assert_eq!(delays("3ms", 2), [3, 3]);
        assert_eq!(delays("table:1ms,2ms,5ms", 4), [1, 2, 5, 1]);
        assert_eq!(delays("bimodal:2ms,20ms,3", 6), [2, 2, 20, 2, 2, 20]);
    }
}
