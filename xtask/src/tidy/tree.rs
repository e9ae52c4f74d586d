//! The files of the tree, read once; and an offence, which is a place in one of them.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::Context as _;

use super::code;

/// Folders of files that are built, fetched or measured here.
const PASSED_OVER: [&str; 6] = [".git", "target", "node_modules", "results", "artifacts", "__pycache__"];

/// Endings of files that people write.
const TEXTS: [&str; 16] = [
    "rs", "toml", "md", "yml", "json", "js", "mjs", "py", "java", "go", "html", "css", "conf", "sh", "txt",
    "xml",
];

/// A file: its size, and its text if people write it.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) len: u64,
    pub(super) text: String,
}

/// Files by their path from the root, with `/` between folders.
#[derive(Debug, Default)]
pub(super) struct Tree {
    files: BTreeMap<String, File>,
}

impl Tree {
    /// Reads a folder with everything below it.
    pub(super) fn read(root: &Path) -> anyhow::Result<Tree> {
        let mut tree = Tree::default();
        tree.read_folder(root, "")?;
        Ok(tree)
    }

    /// A tree for a test.
    #[cfg(test)]
    pub(super) fn of(files: &[(&str, &str)]) -> Tree {
        let file = |text: &str| File { len: text.len() as u64, text: text.to_owned() };
        Tree { files: files.iter().map(|(path, text)| ((*path).to_owned(), file(text))).collect() }
    }

    fn read_folder(&mut self, folder: &Path, prefix: &str) -> anyhow::Result<()> {
        for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = format!("{prefix}{name}");
            let kind = entry.file_type()?;
            if kind.is_dir() && !PASSED_OVER.contains(&&name[..]) {
                self.read_folder(&entry.path(), &format!("{path}/"))?;
            } else if kind.is_file() {
                let len = entry.metadata()?.len();
                // The lock is cargo's, and says what is linked.
                let is_text = path == "Cargo.lock" || ending(&path).is_some_and(|e| TEXTS.contains(&e));
                let text = match is_text {
                    true => String::from_utf8_lossy(&fs::read(entry.path())?).into_owned(),
                    false => String::new(),
                };
                self.files.insert(path, File { len, text });
            }
        }
        Ok(())
    }

    pub(super) fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.files.iter().map(|(path, file)| (&path[..], file))
    }

    /// Path and text of the files that people write.
    pub(super) fn texts(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(|(_, file)| !file.text.is_empty()).map(|(path, file)| (path, &file.text[..]))
    }

    pub(super) fn rust(&self) -> impl Iterator<Item = (&str, &str)> {
        self.texts().filter(|(path, _)| ending(path) == Some("rs"))
    }

    /// The text of one file.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(|file| &file.text[..])
    }

    /// Rust below a folder, without its tests.
    pub(super) fn product<'t>(&'t self, folder: &str) -> impl Iterator<Item = (&'t str, &'t str)> {
        let rust = self.rust().filter(move |(path, _)| path.starts_with(folder));
        rust.filter(|(path, _)| !is_test(path)).map(|(path, text)| (path, code::without_tests(text)))
    }
}

/// What follows the last point of a path.
pub(super) fn ending(path: &str) -> Option<&str> {
    path.rsplit('/').next()?.rsplit_once('.').map(|(_, ending)| ending)
}

/// Whether a file holds nothing but tests and what they need.
pub(super) fn is_test(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.starts_with("conformance/")
        || path.split('/').any(|folder| folder == "tests" || folder == "testing")
        || matches!(name, "tests.rs" | "testing.rs")
        || name.ends_with("_tests.rs")
}

/// Something that a rule forbids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Offence {
    pub(super) path: String,
    /// Counted from 1; 0 means the whole file.
    pub(super) line: usize,
    pub(super) what: String,
}

impl Offence {
    pub(super) fn new(path: &str, line: usize, what: impl Into<String>) -> Offence {
        Offence { path: path.to_owned(), line, what: what.into() }
    }
}

impl fmt::Display for Offence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.what),
            line => write!(f, "{}:{line}: {}", self.path, self.what),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_without_what_is_built_there() {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in [("a/b.rs", "//! b"), ("target/c.rs", "//! c"), ("a/d.bin", "ddd")] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tree = Tree::read(folder.path()).unwrap();
        let files: Vec<(&str, u64, &str)> =
            tree.files().map(|(path, file)| (path, file.len, &file.text[..])).collect();
        assert_eq!(files, [("a/b.rs", 5, "//! b"), ("a/d.bin", 3, "")]);
    }

    #[test]
    fn tests_are_told_from_the_product() {
        for (path, test) in [
            ("crates/a/src/lib.rs", false),
            ("crates/a/src/contests.rs", false),
            ("crates/a/src/a_tests.rs", true),
            ("crates/a/src/a/tests.rs", true),
            ("crates/a/src/testing.rs", true),
            ("crates/a/tests/all.rs", true),
            ("conformance/src/lib.rs", true),
        ] {
            assert_eq!(is_test(path), test, "{path}");
        }
    }
}
