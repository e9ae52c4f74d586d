//! `pushmark compare`: two results, or two sets of starts, against each other.

use std::path::PathBuf;

use clap::Args;
use pushmark_model::compare::Passed;
use pushmark_model::metrics::Metric;

use super::output::{Format, print};
use crate::compare::{self, Arms, FailIf, Set};
use crate::exit::{Ending, Exit};
use crate::progress::screen::Screen;
use crate::store::RESULTS;

/// Flags of `compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    /// What is compared with: a run's folder, a folder of starts or a suite's, or a run's id
    #[arg(value_name = "A")]
    pub a: String,
    /// What is compared
    #[arg(value_name = "B")]
    pub b: String,
    /// The metric that decides; else delivery.p99, or delivery.p50 where there is none
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,
    /// Exit with 99 where B is worse by more than so much: 'delivery.p99 worse 5%'
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// A condition that the intervals leave open fails too
    #[arg(long)]
    pub strict: bool,
    /// Folder of results in which ids are looked up
    #[arg(long, default_value = RESULTS, value_name = "DIR")]
    pub results: PathBuf,
    /// What stdout is
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Compares, and prints what was found.
///
/// # Errors
/// Sides that cannot be read or have no arm in common, and metrics that are none; exit 2.
pub fn run(args: &CompareArgs) -> anyhow::Result<Exit> {
    let (text, exit) = outcome(args)?;
    print(&text)?;
    Ok(exit)
}

/// What is printed, and how the process ends.
fn outcome(args: &CompareArgs) -> anyhow::Result<(String, Exit)> {
    let metric = args.metric.as_deref().map(metric).transpose()?;
    let conditions: Vec<FailIf> =
        args.fail_if.iter().map(|text| FailIf::parse(text)).collect::<Result<_, _>>()?;
    let a = Set::load(&args.a, &args.results)?;
    let b = Set::load(&args.b, &args.results)?;
    let found = compare::compare(&a, &b, metric.as_ref(), &conditions);
    if found.pairs.is_empty() {
        let names = |set: &Set| {
            let names: Vec<String> = set.arms.keys().map(ToString::to_string).collect();
            names.join(", ")
        };
        let text = format!(
            "nothing in common: A has {}; B has {}. Arms are matched by transport, cells of suites by their id too",
            names(&a),
            names(&b)
        );
        return Err(Ending::error(Exit::Usage, text));
    }
    let text = match args.format {
        Format::Text => compare::render(&found, &super::report::style(&Screen::of_stdout(), None)),
        Format::Json => serde_json::to_string_pretty(&found)? + "\n",
    };
    let failed = found.gates.iter().any(|gate| match gate.outcome {
        Passed::Pass => false,
        Passed::Fail => true,
        Passed::Inconclusive => args.strict,
    });
    let unbelieved = |set: &Set, other: &Set| {
        set.arms
            .iter()
            .any(|(key, arms): (_, &Arms)| other.arms.contains_key(key) && arms.used().count() == 0)
    };
    let invalid = unbelieved(&a, &b) || unbelieved(&b, &a);
    let exit = if invalid { Exit::Invalid } else { Exit::Pass };
    Ok((text, exit.worst(if failed { Exit::Threshold } else { Exit::Pass })))
}

fn metric(name: &str) -> anyhow::Result<Metric> {
    compare::find(name).map_err(|text| Ending::error(Exit::Usage, format!("--metric: {text}")))
}

#[cfg(test)]
mod tests {
    use pushmark_model::run::{Run, VerdictState};

    use super::*;
    use crate::store::{self, Kept, testing};

    /// Five starts over two arms, whose p99 are these times 990 µs.
    fn keep(folder: &std::path::Path, factor: f64, change: impl Fn(&mut Run)) {
        for start in 0..5 {
            let mut run = testing::run(&format!("20261121T20041{start}Z-fan-out-k3f{start}"));
            for arm in &mut run.arms {
                let latency = &mut arm.delivery.as_mut().unwrap().latency;
                latency.p99_us = latency.p99_us.map(|p99| (p99 as f64 * factor) as i64 + start);
            }
            change(&mut run);
            let kept = Kept { run: &run, windows: &[], intervals: &[], logs: &[], report_html: None };
            store::save(&kept, &[folder.join(&run.id)]).unwrap();
        }
    }

    fn args(folder: &std::path::Path, a: &str, b: &str, fail_if: &[&str]) -> CompareArgs {
        let path = |name: &str| folder.join(name).display().to_string();
        CompareArgs {
            a: path(a),
            b: path(b),
            metric: None,
            fail_if: fail_if.iter().map(|text| (*text).to_owned()).collect(),
            strict: false,
            results: folder.to_owned(),
            format: Format::Json,
        }
    }

    #[test]
    fn exit_codes_are_what_a_ci_can_trust() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        keep(&path.join("before"), 1.0, |_| {});
        keep(&path.join("slower"), 1.2, |_| {});
        keep(&path.join("invalid"), 1.0, |run| run.arms[0].verdict = VerdictState::Invalid);
        let exit = |args: CompareArgs| match outcome(&args) {
            Ok((_, exit)) => exit,
            Err(error) => Ending::exit_of(&error),
        };
        let worse = "delivery.p99 worse 5%";
        assert_eq!(exit(args(path, "before", "slower", &[])), Exit::Pass);
        assert_eq!(exit(args(path, "before", "slower", &[worse])), Exit::Threshold);
        assert_eq!(exit(args(path, "slower", "before", &[worse])), Exit::Pass);
        assert_eq!(exit(args(path, "before", "invalid", &[worse])), Exit::Invalid);
        assert_eq!(exit(args(path, "before", "slower", &["delivery.p98 worse 5%"])), Exit::Usage);
        assert_eq!(exit(args(path, "before", "nowhere", &[])), Exit::Usage);
        assert_eq!(
            exit(CompareArgs { metric: Some("p99".into()), ..args(path, "before", "slower", &[]) }),
            Exit::Usage
        );
        // One start each: the condition stays open.
        let ids = ["20261121T200410Z-fan-out-k3f0", "20261121T200411Z-fan-out-k3f1"];
        let one = |strict| {
            let args = args(path, "before", "slower", &[worse]);
            CompareArgs {
                a: format!("{}/{}", args.a, ids[0]),
                b: format!("{}/{}", args.b, ids[1]),
                strict,
                ..args
            }
        };
        assert_eq!(exit(one(false)), Exit::Pass);
        assert_eq!(exit(one(true)), Exit::Threshold);
    }

    #[test]
    fn a_run_is_found_by_its_id() {
        let folder = tempfile::tempdir().unwrap();
        keep(folder.path(), 1.0, |_| {});
        let sides =
            |a: &str, b: &str| CompareArgs { a: a.into(), b: b.into(), ..args(folder.path(), "", "", &[]) };
        let (text, exit) = outcome(&sides("k3f0", "k3f1")).unwrap();
        assert_eq!(exit, Exit::Pass);
        let found: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(found["schema"], "pushmark.compare/1");
        assert_eq!(found["a"]["runs"][0], "20261121T200410Z-fan-out-k3f0");
        assert_eq!(found["pairs"].as_array().unwrap().len(), 2);
        assert_eq!(found["pairs"][0]["primary"]["finding"], "not-tested");
        let error = outcome(&sides("k3f0", "fan-out")).unwrap_err().to_string();
        assert!(error.starts_with("fan-out names 5 runs; name one of"), "{error}");
        let error = outcome(&sides("k3f0", "zzz")).unwrap_err().to_string();
        assert!(error.contains("no such folder, and no run of"), "{error}");
    }
}
