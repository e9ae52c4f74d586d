//! Where programs and files of this machine's user are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// `PATH`, and the folders in which Debian keeps daemons, which not every user's `PATH` has.
pub fn search_path() -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let daemons = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let all = std::env::split_paths(&path).chain(daemons);
    std::env::join_paths(all).unwrap_or(path.clone())
}

/// The path of a program.
pub fn in_path(program: &str) -> Option<PathBuf> {
    std::env::split_paths(&search_path()).map(|folder| folder.join(program)).find(|path| Path::is_file(path))
}

/// A path whose `~/` is the user's home.
pub(super) fn at_home(path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(below), Some(home)) => Path::new(&home).join(below),
        _ => PathBuf::from(path),
    }
}
