//! Runs as JMeter's result file (JTL, CSV form), for tools that read that format. A sample is a delivery, its
//! elapsed time the latency in whole ms (the resolution of the format), its time the second in which it was
//! received. Seconds are whole, so the first may hold some of the warm-up. A delivery that was never received
//! is a failed sample.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use pushmark_model::run::{Arm, Run, Window};

use super::utc::Utc;

const HEAD: [&str; 15] = [
    "timeStamp",
    "elapsed",
    "label",
    "responseCode",
    "responseMessage",
    "threadName",
    "success",
    "failureMessage",
    "bytes",
    "sentBytes",
    "grpThreads",
    "allThreads",
    "Latency",
    "IdleTime",
    "Connect",
];

/// The counts of written samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows.
    pub samples: u64,
    /// Deliveries, including those never received.
    pub deliveries: u64,
    /// Deliveries that each row represents.
    pub stands_for: u64,
}

/// Writes the measure phases of runs. If there are more than `at_most` deliveries, keeps every k-th of each
/// second in the order of latency, so that the distributions stay the same.
///
/// # Errors
/// Fails if a run has no `latency.hlog`, or if it cannot be read.
pub fn write(out: &mut dyn Write, folders: &[PathBuf], at_most: u64) -> anyhow::Result<Written> {
    let mut arms = Vec::new();
    for folder in folders {
        let (run, windows) = super::load(folder)?;
        arms.append(&mut arms_of(&run, &windows, folder)?);
    }
    let deliveries: u64 = arms.iter().map(Samples::count).sum();
    let stands_for = deliveries.div_ceil(at_most.max(1)).max(1);
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(HEAD)?;
    let mut samples = 0;
    for arm in &arms {
        samples += arm.write(&mut csv, stands_for)?;
    }
    csv.flush()?;
    Ok(Written { samples, deliveries, stands_for })
}

/// One arm's deliveries of the measure phase.
struct Samples {
    label: String,
    clients: u64,
    /// Bytes read for each delivery.
    bytes: u64,
    /// Unix ms of each second, and its latencies in µs.
    seconds: Vec<(u64, Histogram<u64>)>,
    /// Deliveries that were never received, by fate.
    failed: Vec<(&'static str, u64)>,
    /// Unix ms of the end of the last second.
    end_ms: u64,
}

fn arms_of(run: &Run, windows: &[Window], folder: &Path) -> anyhow::Result<Vec<Samples>> {
    let path = folder.join("latency.hlog");
    let bytes = fs::read(&path).with_context(|| {
        format!("{}: a curated run has no latencies by second; export it as csv", path.display())
    })?;
    let started_ms = Utc::unix_s_of_rfc3339(&run.started_at).unwrap_or(0) * 1_000;
    let of = |arm: &Arm| {
        let seconds = seconds_of(arm, windows, &bytes, started_ms)
            .with_context(|| format!("{} cannot be used", path.display()))?;
        let delivery = arm.delivery.as_ref();
        let lost = |words, of: fn(&pushmark_model::run::Delivery) -> u64| (words, delivery.map_or(0, of));
        let received: u64 = seconds.iter().map(|s| s.1.len()).sum();
        let label = match &run.case {
            Some(case) => format!("{} {}", case.id, arm.transport),
            None => format!("{} {}", run.name, arm.transport),
        };
        Ok(Samples {
            label,
            clients: arm.connections.opened,
            bytes: arm.wire.measure_bytes_in.checked_div(received).unwrap_or(0),
            end_ms: seconds.last().map_or(started_ms, |s| s.0 + 1_000),
            seconds,
            failed: vec![
                lost("missing", |d| d.missing),
                lost("unserved", |d| d.unserved),
                lost("unpublished", |d| d.unpublished),
            ],
        })
    };
    run.arms.iter().map(of).collect()
}

/// The histograms of an arm's seconds that overlap its measure phase or the drain after it. The log has one
/// for each second with a received message; `windows.csv` has a median for the same seconds.
fn seconds_of(
    arm: &Arm,
    windows: &[Window],
    log: &[u8],
    started_ms: u64,
) -> anyhow::Result<Vec<(u64, Histogram<u64>)>> {
    let wanted = format!("{}.received_latency", arm.transport);
    let measure_us =
        arm.phases.iter().find(|phase| phase.name == "measure").map_or(0, |phase| phase.start_us);
    let mut received = windows.iter().filter(|w| w.arm == arm.transport.name() && w.p50_us.is_some());
    let mut deserializer = Deserializer::new();
    let mut seconds = Vec::new();
    for entry in IntervalLogIterator::new(log) {
        let LogEntry::Interval(interval) = entry.map_err(|error| anyhow::anyhow!("{error:?}"))? else {
            continue;
        };
        if interval.tag().is_none_or(|tag| tag.as_str() != wanted) {
            continue;
        }
        if received.next().is_some_and(|w| (u64::from(w.second) + 1) * 1_000_000 <= measure_us) {
            continue;
        }
        let encoded =
            base64::Engine::decode(&base64::engine::general_purpose::STANDARD, interval.encoded_histogram())?;
        let histogram = deserializer
            .deserialize(&mut encoded.as_slice())
            .map_err(|error| anyhow::anyhow!("{wanted}: {error:?}"))?;
        seconds.push((started_ms + interval.start_timestamp().as_millis() as u64, histogram));
    }
    Ok(seconds)
}

impl Samples {
    fn count(&self) -> u64 {
        let received: u64 = self.seconds.iter().map(|s| s.1.len()).sum();
        received + self.failed.iter().map(|f| f.1).sum::<u64>()
    }

    /// Writes each `every`-th delivery of each second and of each kind of loss.
    fn write(&self, csv: &mut csv::Writer<&mut dyn Write>, every: u64) -> anyhow::Result<u64> {
        let mut samples = 0;
        for (start_ms, histogram) in &self.seconds {
            let mut skipped = every / 2;
            let (mut place, of) = (0, (histogram.len() / every).max(1));
            for value in histogram.iter_recorded() {
                skipped += value.count_since_last_iteration();
                while skipped >= every {
                    skipped -= every;
                    let at_ms = start_ms + (place * 1_000 / of).min(999);
                    place += 1;
                    self.row(csv, at_ms, value.value_iterated_to().div_ceil(1_000), None)?;
                    samples += 1;
                }
            }
        }
        for (words, count) in &self.failed {
            for _ in 0..count / every {
                self.row(csv, self.end_ms, 0, Some(words))?;
                samples += 1;
            }
        }
        Ok(samples)
    }

    fn row(
        &self,
        csv: &mut csv::Writer<&mut dyn Write>,
        at_ms: u64,
        elapsed_ms: u64,
        failed: Option<&str>,
    ) -> anyhow::Result<()> {
        let number = |n: u64| n.to_string();
        let (code, message) = if failed.is_some() { ("", "not received") } else { ("200", "OK") };
        Ok(csv.write_record([
            number(at_ms),
            number(elapsed_ms),
            self.label.clone(),
            code.to_owned(),
            message.to_owned(),
            "pushmark 1-1".to_owned(),
            failed.is_none().to_string(),
            failed.unwrap_or_default().to_owned(),
            number(if failed.is_none() { self.bytes } else { 0 }),
            "0".to_owned(),
            number(self.clients),
            number(self.clients),
            number(elapsed_ms),
            "0".to_owned(),
            "0".to_owned(),
        ])?)
    }
}
