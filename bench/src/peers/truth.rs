//! The server's own log (`serve --truth`): what it wrote of the publications of a window, and when.

use std::collections::HashMap;
use std::path::Path;

/// What was written of a window.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Truth {
    /// Due in it.
    pub(super) publications: u64,
    /// Deliveries written.
    pub(super) written: u64,
    /// Median and 99th percentile of write − due, ms; absent if nothing was written.
    pub(super) delay_ms: Option<(f64, f64)>,
}

/// Of the publications due from one instant until another, µs.
pub(super) fn read(path: &Path, window_us: (u64, u64)) -> anyhow::Result<Truth> {
    Ok(parse(&std::fs::read_to_string(path)?, window_us))
}

fn parse(text: &str, (from_us, until_us): (u64, u64)) -> Truth {
    let mut due: HashMap<&str, u64> = HashMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("publication,")) {
        let words: Vec<&str> = line.split(',').collect();
        if let [_, _, sequence, due_us, ..] = words[..]
            && let Ok(at_us) = due_us.parse()
            && (from_us..until_us).contains(&at_us)
        {
            due.insert(sequence, at_us);
        }
    }
    let delay_us = |line: &str| {
        let mut words = line.strip_prefix("delivery,")?.split(',').skip(1);
        let due_us = due.get(words.next()?)?;
        Some(words.nth(1)?.parse::<u64>().ok()? as i64 - *due_us as i64)
    };
    let mut delays_us: Vec<i64> = text.lines().filter_map(delay_us).collect();
    delays_us.sort_unstable();
    let at = |share: f64| {
        let rank = (share * delays_us.len() as f64).ceil() as usize;
        delays_us.get(rank.saturating_sub(1)).map(|us| *us as f64 / 1e3)
    };
    Truth { publications: due.len() as u64, written: delays_us.len() as u64, delay_ms: at(0.5).zip(at(0.99)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_due_in_the_window_counts() {
        let text = "# pushmark.truth/1\npublication,1,c0,0,1000,1001,2,2\npublication,2,c0,1,2000,2001,2,2\n\
            connection,0,127.0.0.1:1,sse\ndelivery,c0,0,0,1500\ndelivery,c0,1,0,3000\ndelivery,c0,1,1,6000\n";
        assert_eq!(
            parse(text, (1_500, 9_000)),
            Truth { publications: 1, written: 2, delay_ms: Some((1.0, 4.0)) }
        );
        assert_eq!(parse(text, (5_000, 9_000)), Truth::default());
    }
}
