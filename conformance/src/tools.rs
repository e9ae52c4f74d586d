//! Foreign programs, and the notice printed if one is missing.

use std::ffi::OsStr;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// If this variable is 1, a missing tool is a failure instead of a reason to skip.
pub const ALL: &str = "PUSHMARK_TEST_ALL";

/// Returns whether all the tools are installed. Reports a missing one directly on stderr, because the test
/// harness keeps the output of passing tests.
///
/// # Panics
/// If [`ALL`] requires every test and a tool is missing.
pub fn present(names: &[&str]) -> bool {
    let table: toml::Table = include_str!("../tools.toml").parse().expect("tools.toml is TOML");
    let rows = table["tool"].as_array().expect("tools.toml has tools");
    for name in names {
        let row = rows.iter().find(|row| row["name"].as_str() == Some(name));
        if is_there(row.unwrap_or_else(|| panic!("tools.toml has no {name}"))) {
            continue;
        }
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        let advice = format!("{test} needs {name}: cargo xtask test --install");
        assert!(std::env::var_os(ALL).as_deref() != Some(OsStr::new("1")), "{advice}");
        let _ = writeln!(std::io::stderr(), "SKIPPED {advice}");
        return false;
    }
    true
}

fn is_there(row: &toml::Value) -> bool {
    if let Some(program) = row.get("program").and_then(toml::Value::as_str) {
        return in_path(program).is_some();
    }
    if let Some(file) = row.get("file").and_then(toml::Value::as_str) {
        return crate::root().join(file).exists();
    }
    let probe = row.get("probe").and_then(toml::Value::as_array).expect("a tool has a probe");
    let words: Vec<&str> = probe.iter().filter_map(toml::Value::as_str).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns the path of a program. Debian installs daemons in folders that are not in the `PATH` of ordinary
/// users.
pub fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([Path::new("/usr/sbin").to_owned(), Path::new("/sbin").to_owned()])
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
}

/// Returns a command for a program that [`present`] has found.
pub fn command(program: &str) -> Command {
    Command::new(in_path(program).unwrap_or_else(|| program.into()))
}

/// Returns a command that runs a script of `node/` with the packages pinned there.
pub fn node(script: &str) -> Command {
    let mut command = command("node");
    command.arg(crate::own("node").join(script));
    command
}
