//! The state of a server outside its row: the inputs of its build, and whether it passed the conformance
//! checks. It is kept in `servers/.state/`, outside the sources.
//!
//! Both are tied to a digest: a change of the sources, the row or the program makes them stale, and nothing
//! has to be deleted by hand.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use pushmark_model::server::RECORD_SCHEMA;
pub use pushmark_model::server::Record;
use serde_json::json;
use sha1_smol::Sha1;

use super::registry::{Registry, Server};
use pushmark_store::{self as store, RESULTS, Utc};

/// The folder beside `servers.toml`.
const FOLDER: &str = ".state";
/// Outputs and downloads of a build are not inputs.
const PASSED_OVER: [&str; 4] = ["target", "node_modules", FOLDER, ".git"];
/// Most files of a server's sources.
const FILES_MAX: usize = 20_000;

/// The digest of everything that decides how a server behaves: its row, the contract's templates,
/// its sources and inputs; of a server that is this program, the program itself.
///
/// # Errors
/// Fails if a folder or file cannot be read.
pub fn digest(registry: &Registry, server: &Server) -> anyhow::Result<String> {
    let mut sum = Sha1::new();
    let row = json!([server, registry.jvm(), server.contract.then(|| registry.contract())]);
    sum.update(row.to_string().as_bytes());
    if server.is_this_program() {
        let own = std::env::current_exe().context("the path of this program")?;
        add_file(&own, &mut sum).with_context(|| format!("{} cannot be read", own.display()))?;
    }
    add_sources(registry, server, &mut sum)?;
    Ok(sum.digest().to_string())
}

/// Keeps the outcome of the checks of a server, for [`checked`]: a pass is written with the current digest;
/// any other outcome removes an earlier pass. `summary` is for people: the numbers of passed and lacking
/// cases.
///
/// # Errors
/// Fails if the state folder cannot be written.
pub fn record_check(registry: &Registry, server: &Server, passed: bool, summary: &str) -> anyhow::Result<()> {
    let path = place(registry, &format!("{}.check.json", server.name));
    if passed {
        return store::write_json(&path, &record(digest(registry, server)?, summary));
    }
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed", path.display()))
        }
        _ => Ok(()),
    }
}

/// The record of a server's passed checks, if the server has not changed since.
pub fn checked(registry: &Registry, server: &Server) -> Option<Record> {
    let record = read(&place(registry, &format!("{}.check.json", server.name)))?;
    digest(registry, server).is_ok_and(|digest| digest == record.digest).then_some(record)
}

/// Whether a server has to be built before it can run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Built {
    /// There is nothing to build.
    Nothing,
    /// It is built from the current sources.
    Yes,
    /// It was never built, or the build is gone.
    No,
    /// It was built from other sources.
    Changed,
}

impl Built {
    /// Whether it can run.
    pub fn is_ready(self) -> bool {
        matches!(self, Built::Nothing | Built::Yes)
    }
}

/// Returns whether the outputs of its build exist and were built from the current sources.
///
/// # Errors
/// Fails like [`digest`].
pub fn built(registry: &Registry, server: &Server) -> anyhow::Result<Built> {
    if server.build.is_empty() {
        return Ok(Built::Nothing);
    }
    let folder = registry.folder_of(server).unwrap_or_default();
    if !server.built.iter().all(|path| folder.join(path).exists()) {
        return Ok(Built::No);
    }
    Ok(match read(&build_place(registry, server)) {
        None => Built::No,
        Some(record) if record.digest == build_digest(registry, server)? => Built::Yes,
        Some(_) => Built::Changed,
    })
}

/// Records that a server was built. `digest` is that of its inputs when the build began.
pub(super) fn record_build(
    registry: &Registry,
    server: &Server,
    digest: String,
    summary: &str,
) -> anyhow::Result<()> {
    store::write_json(&build_place(registry, server), &record(digest, summary))
}

/// Forgets a build.
pub(super) fn forget_build(registry: &Registry, server: &Server) {
    // A record that cannot be removed is stale once the build's outputs are gone.
    let _ = fs::remove_file(build_place(registry, server));
}

/// The path of a file in the state folder; without `servers.toml` on disk, beside the results.
pub(super) fn place(registry: &Registry, name: &str) -> PathBuf {
    let folder = match registry.folder() {
        Some(folder) => folder.join(FOLDER),
        None => Path::new(RESULTS).join(".servers"),
    };
    folder.join(name)
}

/// The row whose name a build has: the first row with the same build.
pub(super) fn builder<'r>(registry: &'r Registry, server: &'r Server) -> &'r Server {
    let same = |other: &&Server| other.folder == server.folder && other.build == server.build;
    registry.servers().iter().find(same).unwrap_or(server)
}

fn build_place(registry: &Registry, server: &Server) -> PathBuf {
    place(registry, &format!("{}.json", builder(registry, server).name))
}

/// The digest of a build's inputs: its command and the sources.
pub(super) fn build_digest(registry: &Registry, server: &Server) -> anyhow::Result<String> {
    let mut sum = Sha1::new();
    sum.update(json!([server.build, server.built]).to_string().as_bytes());
    add_sources(registry, server, &mut sum)?;
    Ok(sum.digest().to_string())
}

/// Folder and inputs, every file by name, length and content.
fn add_sources(registry: &Registry, server: &Server, sum: &mut Sha1) -> anyhow::Result<()> {
    let (Some(root), Some(own)) = (registry.folder(), &server.folder) else { return Ok(()) };
    let mut files = Vec::new();
    let made: Vec<PathBuf> = server.built.iter().map(|path| root.join(own).join(path)).collect();
    for part in std::iter::once(own).chain(&server.inputs) {
        find_files(&root.join(part), &made, &mut files)
            .with_context(|| format!("{}: {} cannot be read", server.name, root.join(part).display()))?;
    }
    files.sort();
    files.dedup();
    for file in files {
        sum.update(file.strip_prefix(root).unwrap_or(&file).as_os_str().as_encoded_bytes());
        add_file(&file, sum).with_context(|| format!("{} cannot be read", file.display()))?;
    }
    Ok(())
}

/// Finds the files below a path, without those that a build `made` and without Markdown.
fn find_files(path: &Path, made: &[PathBuf], files: &mut Vec<PathBuf>) -> io::Result<()> {
    if made.iter().any(|made| made == path) {
        return Ok(());
    }
    let data = fs::symlink_metadata(path)?;
    if data.is_file() && path.extension().is_none_or(|ending| ending != "md") {
        files.push(path.to_owned());
    }
    if files.len() > FILES_MAX {
        return Err(io::Error::other(format!("more than {FILES_MAX} files")));
    }
    if data.is_dir() {
        for entry in fs::read_dir(path)? {
            let entry = entry?;
            if !PASSED_OVER.iter().any(|name| entry.file_name() == *name) {
                find_files(&entry.path(), made, files)?;
            }
        }
    }
    Ok(())
}

fn add_file(path: &Path, sum: &mut Sha1) -> io::Result<()> {
    let mut file = File::open(path)?;
    sum.update(&file.metadata()?.len().to_le_bytes());
    let mut piece = vec![0; 256 * 1024];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(()),
            read => sum.update(&piece[..read]),
        }
    }
}

fn record(digest: String, summary: &str) -> Record {
    let schema = RECORD_SCHEMA.to_owned();
    Record { schema, digest, at: Utc::now().rfc3339(), summary: summary.to_owned() }
}

fn read(path: &Path) -> Option<Record> {
    // An unreadable record counts as absent: the work is done again.
    let record: Record = serde_json::from_str(&fs::read_to_string(path).ok()?).ok()?;
    (record.schema == RECORD_SCHEMA).then_some(record)
}

#[cfg(test)]
#[path = "state_tests.rs"]
mod tests;
