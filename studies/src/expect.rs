//! A published value as a range, and whether a measured interval lies in it.

use pushmark_chart::numbers::PAGE;
use pushmark_report::suite::parts::{ALIKE, Quantity};
use serde::Deserialize;

/// A range: at least, at most, or about a value.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Expect {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
    /// Within a factor of [`ALIKE`].
    About(f64),
}

/// What an interval says of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judged {
    /// It lies inside.
    Inside,
    /// It lies outside.
    Outside,
    /// It lies across an end.
    Open,
}

impl Expect {
    fn range(self) -> (f64, f64) {
        match self {
            Expect::AtLeast(least) => (least, f64::INFINITY),
            Expect::AtMost(most) => (f64::NEG_INFINITY, most),
            Expect::About(value) => (value / ALIKE, value * ALIKE),
        }
    }

    /// Judges a measured interval, low and high end.
    pub(crate) fn judge(self, (low, high): (f64, f64)) -> Judged {
        let (least, most) = self.range();
        if low >= least && high <= most {
            Judged::Inside
        } else if high < least || low > most {
            Judged::Outside
        } else {
            Judged::Open
        }
    }

    /// Returns it in words, for a metric or for a ratio.
    pub(crate) fn words(self, quantity: Option<&Quantity>) -> String {
        let show = |value| quantity.map_or_else(|| PAGE.ratio(value), |quantity| quantity.show(value));
        match self {
            Expect::AtLeast(value) => format!("at least {}", show(value)),
            Expect::AtMost(value) => format!("at most {}", show(value)),
            Expect::About(value) => format!("about {}", show(value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_inside_outside_or_across() {
        let about = Expect::About(6.0);
        assert_eq!(about.judge((4.1, 8.9)), Judged::Inside);
        assert_eq!(about.judge((3.9, 8.0)), Judged::Open);
        assert_eq!(about.judge((9.1, 9.2)), Judged::Outside);
        assert_eq!(Expect::AtLeast(1.1).judge((1.05, 1.2)), Judged::Open);
        assert_eq!(Expect::AtLeast(1.1).judge((0.2, 1.0)), Judged::Outside);
        assert_eq!(Expect::AtMost(2.0).judge((0.0, 2.0)), Judged::Inside);
    }
}
