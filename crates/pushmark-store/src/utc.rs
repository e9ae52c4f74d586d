//! Times of day in UTC, from seconds since 1970: for folder names and RFC 3339 texts.

use std::time::{SystemTime, UNIX_EPOCH};

/// A date and time of day in the proleptic Gregorian calendar, UTC, no leap seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    /// 1970 and later.
    pub year: i64,
    /// 1–12.
    pub month: u32,
    /// 1–31.
    pub day: u32,
    /// 0–23.
    pub hour: u32,
    /// 0–59.
    pub minute: u32,
    /// 0–59.
    pub second: u32,
}

impl Utc {
    /// Now, by the wall clock.
    pub fn now() -> Utc {
        // A clock before 1970 means a machine without a clock: the result is 1970.
        Utc::of_unix_s(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
    }

    /// Converts seconds since 1970.
    pub fn of_unix_s(unix_s: u64) -> Utc {
        let (days, of_day_s) = ((unix_s / 86_400) as i64, (unix_s % 86_400) as u32);
        let (year, month, day) = civil_from_days(days);
        Utc { year, month, day, hour: of_day_s / 3_600, minute: of_day_s / 60 % 60, second: of_day_s % 60 }
    }

    /// `20261121T200412Z`: sorts by time, needs no quoting in a path.
    pub fn compact(&self) -> String {
        format!(
            "{:04}{:02}{:02}T{:02}{:02}{:02}Z",
            self.year, self.month, self.day, self.hour, self.minute, self.second
        )
    }

    /// `2026-11-21T20:04:12Z`.
    pub fn rfc3339(&self) -> String {
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z",
            self.year, self.month, self.day, self.hour, self.minute, self.second
        )
    }

    /// Seconds since 1970 of a text that [`Utc::rfc3339`] wrote; `None` for anything else.
    pub fn unix_s_of_rfc3339(text: &str) -> Option<u64> {
        let separators = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'Z')];
        let bytes = text.as_bytes();
        if bytes.len() != 20 || separators.iter().any(|&(at, separator)| bytes[at] != separator) {
            return None;
        }
        let number = |from: usize, to: usize| text.get(from..to)?.parse::<u32>().ok();
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let days = u64::try_from(days_from_civil(i64::from(year), month, day)).ok()?;
        Some(days * 86_400 + u64::from(hour * 3_600 + minute * 60 + second))
    }
}

/// Days since 1970-01-01 to year, month, day. Years are counted from March, so that the leap
/// day is the last of its year, in eras of 400 years (146,097 days).
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * of_year + 2) / 153;
    let day = (of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// The inverse of [`civil_from_days`].
fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let month_from_march = i64::from((month + 9) % 12);
    let of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants() {
        let cases = [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"), // a century that is a leap year
            (1_709_210_096, "2024-02-29T12:34:56Z"),
            (1_767_225_599, "2025-12-31T23:59:59Z"),
            (1_795_291_452, "2026-11-21T20:04:12Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"), // a century that is none
        ];
        for (unix_s, text) in cases {
            assert_eq!(Utc::of_unix_s(unix_s).rfc3339(), text);
            assert_eq!(Utc::unix_s_of_rfc3339(text), Some(unix_s));
        }
        assert_eq!(Utc::of_unix_s(1_795_291_452).compact(), "20261121T200412Z");
    }

    #[test]
    fn every_day_of_four_centuries_follows_its_predecessor() {
        let mut last = (1969, 12, 31);
        for days in 0..146_097 {
            let date = civil_from_days(days);
            assert!(date > last && days_from_civil(date.0, date.1, date.2) == days);
            last = date;
        }
        assert_eq!(last, (2369, 12, 31));
    }

    #[test]
    fn other_texts_are_not_times() {
        for text in ["", "2026-11-21", "2026-11-21T20:04:12+", "2026-11-2xT20:04:12Z", "20é6-11-21T20:04:1Z"]
        {
            assert_eq!(Utc::unix_s_of_rfc3339(text), None, "{text}");
        }
    }
}
