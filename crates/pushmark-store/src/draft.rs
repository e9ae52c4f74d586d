//! A folder that appears complete or not at all: it is written beside its place, then renamed into it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// A folder being written. Dropping it before [`Draft::keep`] removes it.
#[derive(Debug)]
pub struct Draft {
    partial: PathBuf,
    place: PathBuf,
    kept: bool,
    /// Open and locked while this process writes: a draft without a lock was left by a process that has
    /// ended.
    folder: File,
}

impl Draft {
    /// Begins a folder that will become `place`, which must not exist. Creates its parents.
    pub fn new(place: &Path) -> anyhow::Result<Draft> {
        if place.symlink_metadata().is_ok() {
            bail!("{} exists: choose another folder, or remove it", place.display());
        }
        let name = place.file_name().with_context(|| format!("{} is not a folder name", place.display()))?;
        let parent = place.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        let partial = parent.join(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()));
        clean(parent);
        // Left by a killed process with the same process id: no other process writes there.
        let _ = fs::remove_dir_all(&partial);
        let begin = || {
            fs::create_dir(&partial)?;
            let folder = File::open(&partial)?;
            // On a file system without locks no draft is taken for that of a dead process either.
            let _ = folder.try_lock();
            Ok::<File, io::Error>(folder)
        };
        let folder = begin().with_context(|| format!("cannot write in {}", parent.display()))?;
        Ok(Draft { partial, place: place.to_path_buf(), kept: false, folder })
    }

    /// Tries whether a folder can be created in this place, and leaves nothing behind.
    ///
    /// # Errors
    /// Fails with the name of the file that cannot be written.
    pub fn try_out(place: &Path) -> anyhow::Result<()> {
        // Parents that are created for the trial are removed again.
        let missing = place
            .ancestors()
            .skip(1)
            .take_while(|above| !above.as_os_str().is_empty() && above.symlink_metadata().is_err());
        let missing: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        let tried = Draft::new(place).map(drop);
        missing.iter().for_each(|made| drop(fs::remove_dir(made)));
        tried
    }

    /// Writes one of its files and syncs it to disk.
    pub fn write(
        &self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let path = self.partial.join(name);
        let write = || -> anyhow::Result<()> {
            let mut file = BufWriter::new(File::create_new(&path)?);
            content(&mut file)?;
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            Ok(())
        };
        write().with_context(|| format!("cannot write {name} in {}", self.parent().display()))
    }

    /// Moves the folder to its place. Its content, and then its name, are on disk before this returns.
    pub fn keep(mut self) -> anyhow::Result<PathBuf> {
        synced(self.folder.sync_all())
            .with_context(|| format!("cannot put the results in {}", self.place.display()))?;
        let renamed = match renameat_with(CWD, &self.partial, CWD, &self.place, RenameFlags::NOREPLACE) {
            // A file system without this guarantee (NFS, some FUSE): check, then rename.
            Err(Errno::INVAL | Errno::NOSYS) if self.place.symlink_metadata().is_err() => {
                fs::rename(&self.partial, &self.place)
            }
            Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
            other => other.map_err(io::Error::from),
        };
        renamed.with_context(|| format!("cannot put the results in {}", self.place.display()))?;
        self.kept = true;
        let above = File::open(self.parent()).and_then(|above| above.sync_all());
        synced(above).with_context(|| format!("{} may be lost in a power failure", self.place.display()))?;
        Ok(self.place.clone())
    }

    fn parent(&self) -> &Path {
        self.partial.parent().unwrap_or(Path::new("."))
    }
}

/// Ignores the error of a file system that cannot sync a folder (some network ones).
fn synced(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => {
            Ok(())
        }
        other => other,
    }
}

/// Removes the drafts of processes that were killed while they wrote.
pub(crate) fn clean(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(inner) = name.strip_prefix('.').and_then(|rest| rest.strip_suffix(".partial")) else {
            continue;
        };
        let pid = inner.rsplit_once('.').and_then(|(_, pid)| pid.parse::<i32>().ok());
        let gone = pid.is_some_and(|pid| procfs::process::Process::new(pid).is_err());
        if !gone || !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        // The process id of another host or container is not visible here: the lock shows that the process
        // lives.
        let unlocked = File::open(entry.path()).is_ok_and(|folder| folder.try_lock().is_ok());
        if unlocked {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.kept {
            // A folder that cannot be removed is hidden, named `.partial`, and ignored by every reader.
            let _ = fs::remove_dir_all(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_folder_appears_when_it_is_whole() {
        let parent = tempfile::tempdir().unwrap();
        let place = parent.path().join("deep/run");
        let draft = Draft::new(&place).unwrap();
        draft.write("a.txt", |out| Ok(out.write_all(b"text")?)).unwrap();
        assert!(!place.exists());
        assert_eq!(draft.keep().unwrap(), place);
        assert_eq!(fs::read(place.join("a.txt")).unwrap(), b"text");
        assert_eq!(names(&parent.path().join("deep")), ["run"]);
    }

    #[test]
    fn a_writer_that_fails_leaves_nothing_behind() {
        let parent = tempfile::tempdir().unwrap();
        let draft = Draft::new(&parent.path().join("run")).unwrap();
        draft.write("a.txt", |out| Ok(out.write_all(b"half")?)).unwrap();
        let full = || io::Error::from_raw_os_error(Errno::NOSPC.raw_os_error());
        let error = draft.write("b.txt", |_| Err(full().into())).unwrap_err();
        assert!(format!("{error:#}").contains("cannot write b.txt"), "{error:#}");
        assert!(format!("{error:#}").contains("No space left"), "{error:#}");
        drop(draft);
        assert!(names(parent.path()).is_empty());
    }

    #[test]
    fn what_a_killed_process_left_is_removed_by_the_next_run() {
        let parent = tempfile::tempdir().unwrap();
        // No process has a number above the kernel's limit.
        let (dead, held) = (".a.4194999.partial", ".b.4194998.partial");
        for left in [dead, held, ".c.partial", "d.4194999.partial"] {
            fs::create_dir(parent.path().join(left)).unwrap();
            fs::write(parent.path().join(left).join("run.json"), "{").unwrap();
        }
        let lock = File::open(parent.path().join(held)).unwrap();
        lock.try_lock().unwrap();
        let living = Draft::new(&parent.path().join("living")).unwrap();
        let draft = Draft::new(&parent.path().join("run")).unwrap();
        draft.keep().unwrap();
        let mut left = names(parent.path());
        left.sort();
        let own = format!(".living.{}.partial", std::process::id());
        assert_eq!(left, [held, ".c.partial", &own, "d.4194999.partial", "run"]);
        living.keep().unwrap();
    }

    #[test]
    fn a_place_is_tried_out_without_a_trace() {
        let parent = tempfile::tempdir().unwrap();
        Draft::try_out(&parent.path().join("deep/er/run")).unwrap();
        assert!(names(parent.path()).is_empty());
        fs::write(parent.path().join("file"), "").unwrap();
        let error = Draft::try_out(&parent.path().join("file/run")).unwrap_err();
        assert!(format!("{error:#}").contains("cannot create"), "{error:#}");
        assert_eq!(names(parent.path()), ["file"]);
    }

    #[test]
    fn nothing_that_exists_is_replaced() {
        let parent = tempfile::tempdir().unwrap();
        let place = parent.path().join("run");
        fs::create_dir(&place).unwrap();
        assert!(Draft::new(&place).unwrap_err().to_string().contains("exists"));
        fs::remove_dir(&place).unwrap();
        let draft = Draft::new(&place).unwrap();
        // Made by another process during the write; empty, so a plain rename would have replaced it.
        fs::create_dir(&place).unwrap();
        assert!(draft.keep().is_err());
        assert_eq!(names(parent.path()), ["run"]);
    }
}
