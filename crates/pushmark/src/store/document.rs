//! A document that is one JSON file.

use std::fs;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;

/// Writes a document in place of the one before, in one step: whoever reads it meanwhile finds the
/// old or the new one. Its folder is made where there is none.
///
/// # Errors
/// A place that cannot be written, with its name.
pub(crate) fn write_json(path: &Path, document: &impl Serialize) -> anyhow::Result<()> {
    // Two processes may write at once.
    let whole = path.with_extension(format!("{}.new", std::process::id()));
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&whole, format!("{:#}\n", serde_json::json!(document))))
        .and_then(|()| fs::rename(&whole, path))
        .with_context(|| format!("{} cannot be written", path.display()))
}
