//! `latency.hlog`: an HdrHistogram V2 interval log, values in µs, tags `ARM.metric`.
//! Other HdrHistogram tools read it: the time of an interval is seconds since the start.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use hdrhistogram::serialization::{Deserializer, V2DeflateSerializer};
use pushmark_model::run::{Arm, Latency, Run};

use super::utc::Utc;

/// One line of the log.
#[derive(Clone, Debug)]
pub struct Interval {
    /// `ARM.metric`.
    pub tag: String,
    /// Its begin, from the run's start.
    pub start: Duration,
    /// Its length.
    pub length: Duration,
    /// Values in µs: a compressed HdrHistogram V2, some hundred bytes instead of the histogram's 200 KiB.
    pub histogram: Vec<u8>,
}

/// Writes intervals, in the order of their begin.
pub fn write(out: &mut dyn Write, started_unix_s: u64, intervals: &[Interval]) -> anyhow::Result<()> {
    let mut order: Vec<&Interval> = intervals.iter().collect();
    order.sort_by_key(|interval| interval.start);
    let mut serializer = V2DeflateSerializer::new();
    let mut out = out;
    let started = UNIX_EPOCH + Duration::from_secs(started_unix_s);
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment("pushmark: values in microseconds, tags ARM.metric")
        .with_start_time(started)
        .with_base_time(started)
        .begin_log_with(&mut out, &mut serializer)?;
    for interval in order {
        let histogram: Histogram<u64> = Deserializer::new()
            .deserialize(&mut interval.histogram.as_slice())
            .map_err(|error| anyhow::anyhow!("{}: {error:?}", interval.tag))?;
        let tag =
            Tag::new(&interval.tag).ok_or_else(|| anyhow::anyhow!("{:?} cannot be a tag", interval.tag))?;
        log.write_histogram(&histogram, interval.start, interval.length, Some(tag))
            .map_err(|error| anyhow::anyhow!("{error:?}"))?;
    }
    Ok(())
}

/// Returns one interval for each metric and arm, over the arm's measure phase, from the figures of a run.
/// Arms follow each other in the log as their phases are known only from each arm's own start.
pub fn of_run(run: &Run) -> (u64, Vec<Interval>) {
    let mut arm_start = Duration::ZERO;
    let mut intervals = Vec::new();
    for arm in &run.arms {
        let measure = arm.phases.iter().find(|phase| phase.name == "measure");
        let (from_us, to_us) = measure.map_or((0, 0), |phase| (phase.start_us, phase.end_us));
        let start = arm_start + Duration::from_micros(from_us);
        let length = Duration::from_micros(to_us.saturating_sub(from_us));
        for (metric, latency) in metrics(arm) {
            let tag = format!("{}.{metric}", arm.transport);
            for (tag, text) in
                [(tag.clone(), &latency.histogram), (format!("{tag}.negative"), &latency.histogram_negative)]
            {
                if let Some(histogram) = STANDARD.decode(text).ok().filter(|bytes| !bytes.is_empty()) {
                    intervals.push(Interval { tag, start, length, histogram });
                }
            }
        }
        arm_start += Duration::from_micros(arm.phases.iter().map(|p| p.end_us).max().unwrap_or(0));
    }
    (Utc::unix_s_of_rfc3339(&run.started_at).unwrap_or(0), intervals)
}

/// The distributions of an arm that go into the log.
fn metrics(arm: &Arm) -> Vec<(&'static str, &Latency)> {
    let mut metrics = Vec::new();
    if let Some(delivery) = &arm.delivery {
        metrics.push(("latency", &delivery.latency));
        metrics.push(("from_sent", &delivery.from_sent));
        metrics.push(("read_lag", &delivery.read_lag));
        if let Some(stamped) = &delivery.read_lag_stamped {
            metrics.push(("read_lag_stamped", stamped));
        }
        if let Some(stamped) = &delivery.latency_stamped {
            metrics.push(("latency_stamped", stamped));
        }
    }
    if let Some(published) = &arm.published {
        metrics.push(("publisher_lag", &published.lag));
        if let Some(accept) = &published.accept {
            metrics.push(("accept", accept));
        }
    }
    if let Some(observed) = arm.observed.as_ref().and_then(|o| o.latency.as_ref()) {
        metrics.push(("observed", observed));
    }
    metrics
}
