//! The files of a run: written together, read back with clear errors.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use pushmark_model::run::{Run, SCHEMA, Window};

use super::KeptFile;
use super::draft::Draft;
use super::hlog;

/// Everything that is stored for a case.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// The result.
    pub run: &'a Run,
    /// A line a second and arm.
    pub windows: &'a [Window],
    /// Latencies second by second, for `latency.hlog`; the sums of each arm are added to it.
    pub intervals: &'a [hlog::Interval],
    /// The output of the servers, by arm.
    pub logs: &'a [KeptFile],
    /// The report, one offline file.
    pub report_html: Option<&'a str>,
}

/// The folder of a run, and the problem with the requested folder.
#[derive(Debug)]
pub struct Saved {
    /// Its folder.
    pub folder: PathBuf,
    /// Why it is not in the requested folder; absent if it is.
    pub trouble: Option<anyhow::Error>,
}

/// Writes a run into the first of `places` that takes it completely. Each is a folder that must not exist. A
/// failed attempt (disk full, read-only) leaves no trace.
pub fn save(kept: &Kept<'_>, places: &[PathBuf]) -> anyhow::Result<Saved> {
    let mut trouble = None;
    for place in places {
        match write(kept, place) {
            Ok(folder) => return Ok(Saved { folder, trouble }),
            Err(error) => trouble = trouble.or(Some(error)),
        }
    }
    Err(trouble.unwrap_or_else(|| anyhow::anyhow!("no folder was given for the run")))
        .context("the run is not stored on disk; its figures are only those printed here")
}

/// `place`, then a folder of the same name in a folder of this user in the system's temporary one.
pub fn places(place: &Path) -> Vec<PathBuf> {
    let spare = place.file_name().map(|name| spare_path(&std::env::temp_dir()).join(name));
    std::iter::once(place.to_path_buf()).chain(spare).collect()
}

fn spare_path(above: &Path) -> PathBuf {
    above.join(format!("pushmark-results-{}", rustix::process::geteuid().as_raw()))
}

/// Makes the spare folder. It must belong to this user, and no other user may read or write it: another user
/// may already have made a folder or link of this name (CWE-377).
fn spare_folder(above: &Path) -> std::io::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let folder = spare_path(above);
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // The metadata of the name itself: a link is not followed.
    let found = folder.symlink_metadata()?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o077 != 0 {
        return Err(std::io::ErrorKind::PermissionDenied.into());
    }
    Ok(folder)
}

fn write(kept: &Kept<'_>, place: &Path) -> anyhow::Result<PathBuf> {
    let above = std::env::temp_dir();
    if place.parent() == Some(&spare_path(&above)) {
        spare_folder(&above).with_context(|| {
            format!("{} is not a private folder of this user", spare_path(&above).display())
        })?;
    }
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

/// Reads a run from its folder, or from its `run.json`. Windows are empty if there is no `windows.csv`
/// (curated runs have none).
pub fn load(path: &Path) -> anyhow::Result<(Run, Vec<Window>)> {
    let json = if path.is_dir() { path.join("run.json") } else { path.to_path_buf() };
    let text = fs::read_to_string(&json).with_context(|| match path.exists() {
        true => format!("{} is not a run: cannot read {}", path.display(), json.display()),
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
        true => anyhow::anyhow!(
            "it is cut off at line {}: the disk was full, or a copy is incomplete",
            error.line()
        ),
        false => anyhow::anyhow!("it is not JSON: {error}"),
    })?;
    match value.get("schema").and_then(|schema| schema.as_str()) {
        Some(SCHEMA) => {}
        Some(other) if other.starts_with("pushmark.run/") => {
            bail!("its schema is {other}; this pushmark reads {SCHEMA}: a newer pushmark wrote it")
        }
        Some(other) => bail!("its schema is {other:?}, not {SCHEMA}"),
        None => bail!("it has no key \"schema\": it is not a pushmark run"),
    }
    // Parses the text again, not the value, so that errors name their line.
    serde_json::from_str(text).map_err(|error| anyhow::anyhow!("it does not match {SCHEMA}: {error}"))
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
