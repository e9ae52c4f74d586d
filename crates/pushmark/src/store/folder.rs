//! The files of a run: written together, read back with clear errors.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use pushmark_model::run::{Run, SCHEMA, Window};

use super::draft::Draft;
use super::hlog;
use crate::server::logs::KeptFile;

/// Everything that is kept of a case.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// The result.
    pub run: &'a Run,
    /// A line a second and arm.
    pub windows: &'a [Window],
    /// Latencies second by second, for `latency.hlog`; it gets the sums of each arm besides.
    pub intervals: &'a [hlog::Interval],
    /// What the servers wrote, by arm.
    pub logs: &'a [KeptFile],
    /// The report, one offline file.
    pub report_html: Option<&'a str>,
}

/// Where a run was kept, and what was wrong with the place that was asked.
#[derive(Debug)]
pub struct Saved {
    /// Its folder.
    pub folder: PathBuf,
    /// Why it is not where it was to be; absent if it is.
    pub trouble: Option<anyhow::Error>,
}

/// Writes a run into the first of `places` that takes it whole. Each is a folder that must not
/// exist; one that cannot be written (full, read-only) is left without a trace.
pub fn save(kept: &Kept<'_>, places: &[PathBuf]) -> anyhow::Result<Saved> {
    let mut trouble = None;
    for place in places {
        match write(kept, place) {
            Ok(folder) => return Ok(Saved { folder, trouble }),
            Err(error) => trouble = trouble.or(Some(error)),
        }
    }
    Err(trouble.unwrap_or_else(|| anyhow::anyhow!("no place was given for the run")))
        .context("the run is not kept on disk; its figures are those printed here")
}

/// `place`, then a folder of the same name in the system's temporary folder.
pub fn places(place: &Path) -> Vec<PathBuf> {
    let spare = std::env::temp_dir().join("pushmark-results");
    place.file_name().map_or(vec![place.to_path_buf()], |name| vec![place.to_path_buf(), spare.join(name)])
}

fn write(kept: &Kept<'_>, place: &Path) -> anyhow::Result<PathBuf> {
    let draft = Draft::new(place)?;
    draft.write("run.json", |out| {
        serde_json::to_writer_pretty(&mut *out, kept.run)?;
        Ok(out.write_all(b"\n")?)
    })?;
    draft.write("windows.csv", |out| write_windows(out, kept.windows))?;
    draft.write("latency.hlog", |out| {
        let (started_unix_s, mut intervals) = hlog::of_run(kept.run);
        intervals.extend_from_slice(kept.intervals);
        hlog::write(out, started_unix_s, &intervals)
    })?;
    if let Some(html) = kept.report_html {
        draft.write("report.html", |out| Ok(out.write_all(html.as_bytes())?))?;
    }
    if let Some(text) = &kept.run.scenario_text {
        draft.write("scenario.toml", |out| Ok(out.write_all(text.as_bytes())?))?;
    }
    for file in kept.logs {
        draft.write(&file.name, |out| Ok(out.write_all(&file.bytes)?))?;
    }
    draft.keep()
}

fn write_windows(out: &mut dyn Write, windows: &[Window]) -> anyhow::Result<()> {
    let mut csv = csv::Writer::from_writer(out);
    for window in windows {
        csv.serialize(window)?;
    }
    if windows.is_empty() {
        // The writer learns the header from the first row; without one, from a row not kept.
        let mut sample = csv::Writer::from_writer(Vec::new());
        sample.serialize(Window::default())?;
        let text = String::from_utf8(sample.into_inner()?)?;
        let header = text.lines().next().unwrap_or_default();
        csv.write_record(header.split(','))?;
    }
    Ok(csv.flush()?)
}

/// Reads a run from its folder, or from its `run.json`. Windows are empty where there is no
/// `windows.csv` (curated runs keep none).
pub fn load(path: &Path) -> anyhow::Result<(Run, Vec<Window>)> {
    let json = if path.is_dir() { path.join("run.json") } else { path.to_path_buf() };
    let text = fs::read_to_string(&json).with_context(|| match path.exists() {
        true => format!("{} is no run: {} cannot be read", path.display(), json.display()),
        false => format!("{} does not exist", path.display()),
    })?;
    let run = parse(&text).with_context(|| format!("{} cannot be used", json.display()))?;
    let csv_path = json.with_file_name("windows.csv");
    let windows = match fs::read(&csv_path) {
        Ok(bytes) => csv::Reader::from_reader(bytes.as_slice())
            .deserialize()
            .collect::<Result<Vec<Window>, _>>()
            .with_context(|| format!("{} cannot be used", csv_path.display()))?,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", csv_path.display())),
    };
    Ok((run, windows))
}

/// A run from the text of its `run.json`.
pub fn parse(text: &str) -> anyhow::Result<Run> {
    let value: serde_json::Value = serde_json::from_str(text).map_err(|error| match error.is_eof() {
        true => anyhow::anyhow!("it is cut off at line {}: the disk was full, or a copy broke", error.line()),
        false => anyhow::anyhow!("it is not JSON: {error}"),
    })?;
    match value.get("schema").and_then(|schema| schema.as_str()) {
        Some(SCHEMA) => {}
        Some(other) if other.starts_with("pushmark.run/") => {
            bail!("its schema is {other}; this pushmark reads {SCHEMA}: a newer pushmark made it")
        }
        Some(other) => bail!("its schema is {other:?}, not {SCHEMA}"),
        None => bail!("it has no key \"schema\": it is not a run of pushmark"),
    }
    // From the text again, not from the value: errors then name their line.
    serde_json::from_str(text).map_err(|error| anyhow::anyhow!("it does not follow {SCHEMA}: {error}"))
}

/// The folders of runs under `folder`: itself, its children, and theirs (suites), by name.
pub fn find_runs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut level = vec![folder.to_path_buf()];
    for _ in 0..=2 {
        let mut next = Vec::new();
        for folder in level {
            if folder.join("run.json").is_file() {
                found.push(folder);
                continue;
            }
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
            next.extend(entries.map(|entry| entry.path()).filter(|path| {
                let hidden = path.file_name().is_some_and(|n| n.as_encoded_bytes().starts_with(b"."));
                !hidden && path.is_dir()
            }));
        }
        level = next;
    }
    found.sort();
    found
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
