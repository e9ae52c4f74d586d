//! A folder that appears whole or not at all: written beside its place, then renamed into it.

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
}

impl Draft {
    /// Begins the folder that will be `place`, which must not exist; its parents are made.
    pub fn new(place: &Path) -> anyhow::Result<Draft> {
        if place.symlink_metadata().is_ok() {
            bail!("{} exists: choose another folder, or remove it", place.display());
        }
        let name = place.file_name().with_context(|| format!("{} is no folder name", place.display()))?;
        let parent = place.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).with_context(|| format!("cannot make {}", parent.display()))?;
        let partial = parent.join(format!(".{}.{}.partial", name.to_string_lossy(), std::process::id()));
        // Left by a process of our number that was killed: nobody else writes there.
        let _ = fs::remove_dir_all(&partial);
        fs::create_dir(&partial).with_context(|| format!("cannot write in {}", parent.display()))?;
        Ok(Draft { partial, place: place.to_path_buf(), kept: false })
    }

    /// Writes one file of it, to the disk and not only to memory.
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

    /// Puts the folder in its place.
    pub fn keep(mut self) -> anyhow::Result<PathBuf> {
        let renamed = match renameat_with(CWD, &self.partial, CWD, &self.place, RenameFlags::NOREPLACE) {
            // A file system that cannot promise it (NFS, some FUSE): look, then rename.
            Err(Errno::INVAL | Errno::NOSYS) if self.place.symlink_metadata().is_err() => {
                fs::rename(&self.partial, &self.place)
            }
            Err(Errno::INVAL | Errno::NOSYS) => Err(io::ErrorKind::AlreadyExists.into()),
            other => other.map_err(io::Error::from),
        };
        renamed.with_context(|| format!("cannot put the results in {}", self.place.display()))?;
        self.kept = true;
        Ok(self.place.clone())
    }

    fn parent(&self) -> &Path {
        self.partial.parent().unwrap_or(Path::new("."))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.kept {
            // What cannot be removed is hidden, named `.partial`, and ignored by every reader.
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
    fn nothing_that_exists_is_replaced() {
        let parent = tempfile::tempdir().unwrap();
        let place = parent.path().join("run");
        fs::create_dir(&place).unwrap();
        assert!(Draft::new(&place).unwrap_err().to_string().contains("exists"));
        fs::remove_dir(&place).unwrap();
        let draft = Draft::new(&place).unwrap();
        // Made by another while we wrote; empty, so a plain rename would have replaced it.
        fs::create_dir(&place).unwrap();
        assert!(draft.keep().is_err());
        assert_eq!(names(parent.path()), ["run"]);
    }
}
