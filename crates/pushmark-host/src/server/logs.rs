//! The output of a server and the files that it writes to `{log}`. Dropping the handle removes the folder.
//! A bounded part of each file is read before.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::words;
use pushmark_store::{self as store, KeptFile};

/// Bytes kept of each file, from its end.
pub const FILE_BYTES_MAX: u64 = 1 << 20;
/// Files kept.
const FILES_MAX: usize = 16;
/// Lines of its output shown in an error and kept in a run.
const LINES: usize = 20;
/// Bytes from the end of its output that are searched for these lines.
const TAIL_BYTES: u64 = 16 * 1024;
/// The file of its output.
const OUTPUT: &str = "server.log";

/// The folder of one server. Dropping it removes it.
#[derive(Debug)]
pub struct Logs {
    folder: PathBuf,
}

impl Logs {
    /// Makes the folder, in the system's temporary one.
    pub fn new(name: &str) -> io::Result<Logs> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = store::slug(name);
        let folder = std::env::temp_dir().join(format!("pushmark-{}-{count}-{name}", std::process::id()));
        // Left by a killed process with the same process id.
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder)?;
        Ok(Logs { folder })
    }

    /// The folder: `{log}` in commands.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// An argument of its command with `{log}` filled in.
    pub fn fill(&self, word: &str) -> String {
        words::fill(word, |name| (name == "log").then(|| self.folder.display().to_string()))
    }

    /// Creates the file for its output.
    pub(super) fn output(&self) -> io::Result<File> {
        OpenOptions::new().create_new(true).append(true).open(self.folder.join(OUTPUT))
    }

    /// The last lines of its output that are not blank.
    pub fn last_lines(&self) -> Vec<String> {
        last_lines(&self.folder.join(OUTPUT), LINES)
    }

    /// The end of every file, by name; empty ones are left out.
    pub fn take(&self) -> Vec<KeptFile> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect();
        names.sort();
        let kept = names.into_iter().filter_map(|name| {
            let bytes = tail(&self.folder.join(&name), FILE_BYTES_MAX).ok()?;
            (!bytes.is_empty()).then_some(KeptFile { name, bytes })
        });
        kept.take(FILES_MAX).collect()
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The last non-blank lines of a file, at most `lines_max`; empty if it cannot be read.
pub fn last_lines(path: &Path, lines_max: usize) -> Vec<String> {
    let bytes = tail(path, TAIL_BYTES).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    lines[lines.len().saturating_sub(lines_max)..].iter().map(|line| (*line).to_owned()).collect()
}

fn tail(path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let len = file.metadata()?.len();
    file.seek(SeekFrom::Start(len.saturating_sub(bytes_max)))?;
    let mut bytes = Vec::new();
    file.take(bytes_max).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn the_end_of_each_file_is_kept_and_the_folder_goes() {
        let logs = Logs::new("a").unwrap();
        let folder = logs.folder().to_owned();
        writeln!(logs.output().unwrap(), "one\n\ntwo").unwrap();
        let long = [vec![b'x'; 100], vec![b'y'; FILE_BYTES_MAX as usize]].concat();
        fs::write(folder.join("gc.log"), &long).unwrap();
        fs::write(folder.join("empty"), "").unwrap();
        fs::create_dir(folder.join("sub")).unwrap();
        let kept = logs.take();
        let names: Vec<&str> = kept.iter().map(|file| &*file.name).collect();
        assert_eq!(names, ["gc.log", OUTPUT]);
        assert_eq!(kept[0].bytes, &long[100..]);
        assert_eq!(logs.last_lines(), ["one", "two"]);
        drop(logs);
        assert!(!folder.exists());
    }
}
