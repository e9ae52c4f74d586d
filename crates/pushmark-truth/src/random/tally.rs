//! The outcomes of many random runs as a table.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Outcome;
use super::noise::Noise;

/// False doubts on a quiet host must stay below this share of its runs.
const FALSE_DOUBTS_MAX: f64 = 0.05;

/// The counts under one kind of noise.
#[derive(Clone, Debug, Default)]
struct Row {
    runs: u64,
    valid: u64,
    /// Runs with correct figures and an explained doubt.
    doubted_founded: u64,
    /// Runs with correct figures and an unexplained doubt.
    doubted_right: u64,
    /// Runs with a wrong figure that was doubted.
    doubted_wrong: u64,
    /// Runs with a wrong figure that was believed.
    believed_wrong: u64,
    /// Unexplained reasons.
    reasons: BTreeMap<String, u64>,
}

/// Outcomes by noise.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    rows: BTreeMap<Noise, Row>,
}

impl Tally {
    /// Counts an outcome.
    pub fn add(&mut self, outcome: &Outcome) {
        let row = self.rows.entry(outcome.noise).or_default();
        row.runs += 1;
        row.valid += u64::from(outcome.valid);
        let right = outcome.differences.is_empty();
        if outcome.wrong().next().is_some() {
            row.believed_wrong += 1;
        } else if !right {
            row.doubted_wrong += 1;
        } else if !outcome.valid && outcome.unfounded.is_empty() {
            row.doubted_founded += 1;
        } else if !outcome.valid {
            row.doubted_right += 1;
            for reason in &outcome.unfounded {
                *row.reasons.entry(reason.clone()).or_default() += 1;
            }
        }
    }

    /// Runs with a wrong figure that was believed.
    pub fn believed_wrong(&self) -> u64 {
        self.rows.values().map(|row| row.believed_wrong).sum()
    }

    /// Valid runs although other programs used the CPUs.
    pub fn noise_not_told(&self) -> u64 {
        self.rows.iter().filter(|(noise, _)| noise.takes_cpu()).map(|(_, row)| row.valid).sum()
    }

    /// The share of runs on a quiet host with an unexplained doubt; `None` without such runs.
    pub fn false_doubts(&self) -> Option<f64> {
        let row = self.rows.get(&Noise::Quiet)?;
        Some(row.doubted_right as f64 / row.runs as f64)
    }

    /// Whether the verdicts were right.
    pub fn passed(&self) -> bool {
        self.believed_wrong() == 0
            && self.noise_not_told() == 0
            && self.false_doubts().is_none_or(|share| share < FALSE_DOUBTS_MAX)
    }

    /// The table.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{:22} {:>5} {:>7} {:>16} {:>16} {:>16} {:>16}\n",
            "", "runs", "valid", "doubt explained", "doubt unfounded", "wrong, doubted", "wrong, believed"
        );
        for (noise, row) in &self.rows {
            // Writing to a string does not fail.
            let _ = writeln!(
                text,
                "{:22} {:>5} {:>7} {:>16} {:>16} {:>16} {:>16}",
                noise.name(),
                row.runs,
                row.valid,
                row.doubted_founded,
                row.doubted_right,
                row.doubted_wrong,
                row.believed_wrong
            );
        }
        for (noise, row) in &self.rows {
            if !row.reasons.is_empty() {
                let reasons = row.reasons.iter().map(|(code, n)| format!("{code} {n}"));
                let reasons = reasons.collect::<Vec<_>>().join(", ");
                let _ = writeln!(text, "{}: doubted without cause by {reasons}", noise.name());
            }
        }
        if let Some(share) = self.false_doubts() {
            let _ =
                writeln!(text, "false doubts on a quiet host: {:.1} % (below 5 % is wanted)", share * 100.0);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(noise: Noise, valid: bool, reasons: &[&str]) -> Outcome {
        Outcome {
            seed: 1,
            what: String::new(),
            noise,
            differences: Vec::new(),
            reasons: reasons.iter().map(|&reason| reason.to_owned()).collect(),
            unfounded: reasons.iter().map(|&reason| reason.to_owned()).filter(|r| r != "steal").collect(),
            valid,
        }
    }

    #[test]
    fn one_wrong_figure_that_is_believed_fails_and_so_do_many_false_doubts() {
        let mut tally = Tally::default();
        for _ in 0..30 {
            tally.add(&outcome(Noise::Quiet, true, &[]));
        }
        tally.add(&outcome(Noise::Quiet, false, &["read_lag"]));
        tally.add(&outcome(Noise::Quiet, false, &["steal"]));
        assert!(tally.passed(), "one unfounded doubt of 32: {}", tally.text());
        tally.add(&outcome(Noise::Quiet, false, &["read_lag", "steal"]));
        assert!(!tally.passed(), "two of 33");
        let mut busy = Tally::default();
        busy.add(&outcome(Noise::EveryCpu, true, &[]));
        assert!(!busy.passed(), "other programs had the CPUs and nothing said so");
    }
}
