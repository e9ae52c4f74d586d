//! Runs as one table: a row an arm, a column an axis and a metric. Values that were not measured are empty.

use std::collections::BTreeSet;
use std::io::Write;

use pushmark_model::metrics;
use pushmark_model::run::Run;

/// Writes the table with a header. Metrics are those of `METRICS.md` in their units; a metric that no run has
/// gets no column. Axes come first, as `axis.NAME`.
pub fn write(out: &mut dyn Write, runs: &[Run]) -> anyhow::Result<()> {
    let arms = || runs.iter().flat_map(|run| run.arms.iter().map(move |arm| (run, arm)));
    let axes: BTreeSet<&str> = runs
        .iter()
        .filter_map(|run| run.case.as_ref())
        .flat_map(|c| c.axes.keys().map(String::as_str))
        .collect();
    let mut metrics = metrics::all();
    metrics.retain(|metric| arms().any(|(_, arm)| metric.value(arm).is_some()));
    let mut csv = csv::Writer::from_writer(out);
    let head = [
        "run",
        "started_at",
        "suite",
        "case",
        "repeat",
        "server",
        "transport",
        "outcome",
        "verdict",
        "error",
    ];
    let named = axes.iter().map(|axis| format!("axis.{axis}"));
    csv.write_record(
        head.iter().map(ToString::to_string).chain(named).chain(metrics.iter().map(|m| m.name.clone())),
    )?;
    for (run, arm) in arms() {
        let case = run.case.as_ref();
        let mut row = vec![
            run.id.clone(),
            run.started_at.clone(),
            case.map(|c| c.suite.clone()).unwrap_or_default(),
            case.map(|c| c.id.clone()).unwrap_or_default(),
            case.map(|c| c.repeat.to_string()).unwrap_or_default(),
            run.environment.server.as_ref().map(|s| s.name.clone()).unwrap_or_default(),
            arm.transport.name().to_owned(),
            arm.outcome.name().to_owned(),
            arm.verdict.name().to_owned(),
            arm.error.clone().unwrap_or_default(),
        ];
        row.extend(axes.iter().map(|axis| case.and_then(|c| c.axes.get(*axis)).cloned().unwrap_or_default()));
        row.extend(metrics.iter().map(|m| m.value(arm).map(|v| v.to_string()).unwrap_or_default()));
        csv.write_record(row)?;
    }
    Ok(csv.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use pushmark_model::run::CaseRef;

    #[test]
    fn a_row_an_arm_with_axes_and_measured_metrics_only() {
        let mut run = testing::run("20261121T200412Z-fan-out-k3f9");
        run.case = Some(CaseRef {
            suite: "chat".into(),
            id: "builtin-20".into(),
            axes: [("room".to_owned(), "20".to_owned())].into(),
            repeat: 2,
            scale: 1.0,
            scale_time: 1.0,
        });
        let mut out = Vec::new();
        write(&mut out, &[run]).unwrap();
        let rows: Vec<csv::StringRecord> =
            csv::Reader::from_reader(out.as_slice()).records().map(Result::unwrap).collect();
        let head = csv::Reader::from_reader(out.as_slice()).headers().unwrap().clone();
        let at = |name: &str| head.iter().position(|h| h == name);
        assert_eq!(rows.len(), 2);
        assert_eq!(&rows[0][at("axis.room").unwrap()], "20");
        assert_eq!(&rows[0][at("delivery.missing").unwrap()], "2");
        assert_eq!(&rows[1][at("transport").unwrap()], "websocket");
        assert_eq!(at("poll.requests"), None, "no run polls");
    }
}
