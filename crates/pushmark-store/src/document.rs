//! A document that is one JSON file.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

/// Replaces a document in one step: a concurrent reader finds the
/// old or the new one. Creates its folder if it does not exist.
///
/// # Errors
/// Fails with the name of a place that cannot be written.
pub fn write_json(path: &Path, document: &impl Serialize) -> anyhow::Result<()> {
    // Two processes may write at once.
    let whole = path.with_extension(format!("{}.new", std::process::id()));
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&whole, format!("{:#}\n", serde_json::json!(document))))
        .and_then(|()| fs::rename(&whole, path))
        .with_context(|| format!("cannot write {}", path.display()))
}
