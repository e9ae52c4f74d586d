//! What we started must not outlive us, not even where we are killed without a word.
//!
//! A shell of its own process group holds the reading end of a pipe and the number of a group.
//! When this process dies, in whatever way, the pipe closes and the shell kills the group.

use std::io::{self, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Reads the group's number, then waits; `$1` is a folder that nobody needs any more by then.
const SCRIPT: &str = "read -r group || exit 0
read -r released
kill -s KILL -- \"-$group\"
[ -z \"$1\" ] || rm -rf -- \"$1\"";

/// Watches over one process group. Dropping it lets the group go.
#[derive(Debug)]
pub(super) struct Keeper {
    shell: Child,
}

impl Keeper {
    /// Starts it, before what it is to watch over. `folder` is removed with the group.
    pub(super) fn new(folder: Option<&Path>) -> io::Result<Keeper> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, "pushmark-keeper"]).args(folder).current_dir("/");
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Ok(Keeper { shell: shell.spawn()? })
    }

    /// Says which group.
    pub(super) fn watch(&mut self, group: i32) -> io::Result<()> {
        let pipe = self.shell.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        writeln!(pipe, "{group}")
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Killed while it waits: the pipe stays open until it cannot act on its closing.
        let _ = self.shell.kill();
        let _ = self.shell.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader};

    /// A group of two processes whose output ends when both have.
    fn group() -> (Child, BufReader<std::process::ChildStdout>) {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 1000 & echo up; wait"]).stdout(Stdio::piped()).process_group(0);
        let mut child = shell.spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        assert_eq!(line, "up\n");
        (child, lines)
    }

    #[test]
    fn a_pipe_that_closes_kills_the_group_and_removes_the_folder() {
        let (mut child, mut lines) = group();
        let folder = tempfile::tempdir().unwrap().keep();
        let mut keeper = Keeper::new(Some(&folder)).unwrap();
        keeper.watch(child.id() as i32).unwrap();
        // What our death does.
        drop(keeper.shell.stdin.take());
        let mut rest = String::new();
        assert_eq!(lines.read_line(&mut rest).unwrap(), 0, "both have ended");
        assert!(!child.wait().unwrap().success());
        keeper.shell.wait().unwrap();
        assert!(!folder.exists());
    }

    #[test]
    fn a_group_that_is_let_go_lives() {
        let (mut child, _lines) = group();
        let mut keeper = Keeper::new(None).unwrap();
        keeper.watch(child.id() as i32).unwrap();
        drop(keeper);
        assert_eq!(child.try_wait().unwrap(), None);
        let group = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        child.wait().unwrap();
    }
}
