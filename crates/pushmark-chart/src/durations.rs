//! Lengths of time in words.

/// A rounded length of time: `about 40 min`, `about 27 h 20 min`.
pub fn about(seconds: f64) -> String {
    let minutes = (seconds / 60.0).round() as u64;
    match (minutes / 60, minutes % 60) {
        (0, 0) => "less than a minute".to_owned(),
        (0, minutes) => format!("about {minutes} min"),
        (hours @ 1..=9, minutes) if minutes > 0 => format!("about {hours} h {minutes} min"),
        (hours, minutes) => format!("about {} h", hours + u64::from(minutes >= 30)),
    }
}

/// A length of time in a column: `35 s`, `10 min 35 s`.
pub fn length(seconds: f64) -> String {
    let s = seconds.round() as u64;
    match (s / 60, s % 60) {
        _ if s <= 120 => format!("{s} s"),
        (minutes @ 120.., _) => format!("{} h {} min", minutes / 60, minutes % 60),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, s) => format!("{minutes} min {s} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_as_exact_as_they_are_sure() {
        let cases = [20.0, 40.0, 2_390.0, 5_400.0, 3_600.0, 98_400.0, 97_000.0].map(about);
        let expected = [
            "less than a minute",
            "about 1 min",
            "about 40 min",
            "about 1 h 30 min",
            "about 1 h",
            "about 27 h",
            "about 27 h",
        ];
        assert_eq!(cases, expected);
        let lengths = [17.4, 120.0, 635.0, 600.0, 99_294.0].map(length);
        assert_eq!(lengths, ["17 s", "120 s", "10 min 35 s", "10 min", "27 h 34 min"]);
    }
}
