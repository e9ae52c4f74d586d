//! `pushmark compare`: compares two results, or two sets of starts.

use std::path::{Path, PathBuf};

use clap::Args;
use pushmark_model::compare::Passed;
use pushmark_model::metrics::Metric;

use pushmark_console::exit::{Ending, Exit};
use pushmark_console::output::{Format, print};
use pushmark_console::progress::screen::Screen;
use pushmark_run::compare::{self, FailIf, Set};
use pushmark_store::RESULTS;

/// Flags of `compare`.
#[derive(Args, Clone, Debug)]
pub struct CompareArgs {
    /// The baseline: the folder of a run, of several starts or of a suite, or the id of a run
    #[arg(value_name = "A")]
    pub a: String,
    /// The candidate, named like A; without it, A is the folder of a `pushmark ab`
    #[arg(value_name = "B")]
    pub b: Option<String>,
    /// The metric and conditions of the comparison
    #[command(flatten)]
    pub judging: JudgingArgs,
    /// Folder of results in which run ids are looked up
    #[arg(long, default_value = RESULTS, value_name = "DIR")]
    pub results: PathBuf,
    /// Format of the result on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
}

/// Flags of every command that compares.
#[derive(Args, Clone, Debug, Default)]
pub struct JudgingArgs {
    /// Metric that decides; default: delivery.p99, or delivery.p50 if p99 is missing
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,
    /// Exit with 99 if B is worse than A by more than this, such as 'delivery.p99 worse 5%'
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// Also fail on a condition that the confidence intervals leave open
    #[arg(long)]
    pub strict: bool,
}

/// The parsed metric and conditions.
#[derive(Debug)]
pub(super) struct Judging {
    metric: Option<Metric>,
    conditions: Vec<FailIf>,
    strict: bool,
}

impl JudgingArgs {
    /// Reads the metric and the conditions, before anything is measured.
    ///
    /// # Errors
    /// Fails if a text is not a valid metric or condition; exit 2.
    pub(super) fn read(&self) -> anyhow::Result<Judging> {
        let metric = self.metric.as_deref().map(metric).transpose()?;
        let conditions = self.fail_if.iter().map(|text| FailIf::parse(text)).collect::<Result<_, _>>()?;
        Ok(Judging { metric, conditions, strict: self.strict })
    }
}

/// Compares both sides and prints the result.
///
/// # Errors
/// Fails if a side cannot be read, the sides have no arm in common, or a metric is unknown; exit 2.
pub fn run(args: &CompareArgs) -> anyhow::Result<Exit> {
    let (text, exit) = outcome(args)?;
    print(&text)?;
    Ok(exit)
}

/// Returns the text to print and the exit code.
fn outcome(args: &CompareArgs) -> anyhow::Result<(String, Exit)> {
    let judging = args.judging.read()?;
    let (a, b) = match &args.b {
        Some(b) => (args.a.clone(), b.clone()),
        None => sides(&args.a)?,
    };
    let (a, b) = (Set::load(&a, &args.results)?, Set::load(&b, &args.results)?);
    judged(&a, &b, &judging, args.format)
}

/// Returns the folders of both sides in the folder of a `pushmark ab`.
fn sides(folder: &str) -> anyhow::Result<(String, String)> {
    let [a, b] = ["a", "b"].map(|side| Path::new(folder).join(side));
    if a.is_dir() && b.is_dir() {
        return Ok((a.display().to_string(), b.display().to_string()));
    }
    let text = format!("{folder} holds only one side: name B too, or the folder of a pushmark ab");
    Err(Ending::error(Exit::Usage, text))
}

/// Compares two sets. Returns the text to print and the exit code.
///
/// # Errors
/// Fails if the sets have no arm in common; exit 2.
pub(super) fn judged(a: &Set, b: &Set, judging: &Judging, format: Format) -> anyhow::Result<(String, Exit)> {
    let found = compare::compare(a, b, judging.metric.as_ref(), &judging.conditions);
    if found.pairs.is_empty() {
        let names = |set: &Set| {
            let names: Vec<String> = set.arms.keys().map(ToString::to_string).collect();
            names.join(", ")
        };
        let text = format!(
            "no arms to compare: A has {}; B has {}. Arms match by transport, and in suites also by case id",
            names(a),
            names(b)
        );
        return Err(Ending::error(Exit::Usage, text));
    }
    let text = match format {
        Format::Text => compare::render(&found, &super::report::style(&Screen::of_stdout(), None)),
        Format::Json => serde_json::to_string_pretty(&found)? + "\n",
    };
    let failed = found.gates.iter().any(|gate| match gate.outcome {
        Passed::Pass => false,
        Passed::Fail => true,
        Passed::Inconclusive => judging.strict,
    });
    let invalid = found.pairs.iter().any(|pair| pair.unbelieved);
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
    use pushmark_store::{self as store, Kept, testing};

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
        let fail_if = fail_if.iter().map(|text| (*text).to_owned()).collect();
        CompareArgs {
            a: path(a),
            b: Some(path(b)),
            judging: JudgingArgs { metric: None, fail_if, strict: false },
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
        assert_eq!(exit(args(path, "before", "slower", &["delivery.p9o worse 5%"])), Exit::Usage);
        assert_eq!(exit(args(path, "before", "nowhere", &[])), Exit::Usage);
        // One folder alone is that of a sitting, with both sides in it.
        let alone = CompareArgs { a: path.display().to_string(), b: None, ..args(path, "", "", &[worse]) };
        assert_eq!(exit(alone.clone()), Exit::Usage);
        keep(&path.join("a"), 1.0, |_| {});
        keep(&path.join("b"), 1.2, |_| {});
        assert_eq!(exit(alone), Exit::Threshold);
        assert_eq!(
            exit(CompareArgs {
                judging: JudgingArgs { metric: Some("p99".into()), ..JudgingArgs::default() },
                ..args(path, "before", "slower", &[])
            }),
            Exit::Usage
        );
        // One start each: the condition stays open.
        let ids = ["20261121T200410Z-fan-out-k3f0", "20261121T200411Z-fan-out-k3f1"];
        let one = |strict| {
            let args = args(path, "before", "slower", &[worse]);
            CompareArgs {
                a: format!("{}/{}", args.a, ids[0]),
                b: args.b.as_ref().map(|b| format!("{b}/{}", ids[1])),
                judging: JudgingArgs { strict, ..args.judging.clone() },
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
        let sides = |a: &str, b: &str| CompareArgs {
            a: a.into(),
            b: Some(b.into()),
            ..args(folder.path(), "", "", &[])
        };
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
        assert!(error.contains("neither a folder nor a run in"), "{error}");
    }
}
