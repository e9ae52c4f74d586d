//! Processes that pushmark started must not outlive it, even if it is killed by SIGKILL.
//!
//! A shell in its own process group holds the reading end of a pipe and the numbers of a group and of
//! daemons. When this process dies, in whatever way, the pipe closes and the shell kills the group, those
//! daemons, and every process with the group's mark in its environment.

use std::io::{self, Write};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Reads which processes to kill until the pipe closes; the newest line counts. `$1` is a folder to remove
/// then, `$2` the mark. If this process was killed before it wrote a line, only the mark finds the processes.
/// A killed process may just have started another, and a new process may not have its mark yet: the script
/// searches until it has found none twice.
const SCRIPT: &str = "all=
while read -r line; do all=$line; done
[ -z \"$all\" ] || kill -s KILL -- $all
looks=0
empty=0
while [ -n \"$2\" ] && [ \"$looks\" -lt 50 ] && [ \"$empty\" -lt 2 ]; do
    marked=$(grep -lF -- \"$2\" /proc/[0-9]*/environ)
    if [ -z \"$marked\" ]; then
        empty=$((empty + 1))
        sleep 0.1 || sleep 1
    fi
    for path in $marked; do
        pid=${path#/proc/}
        kill -s KILL -- \"${pid%/environ}\"
    done
    looks=$((looks + 1))
done
[ -z \"$1\" ] || rm -rf -- \"$1\"";

/// Watches one process group. Dropping it releases the group.
#[derive(Debug)]
pub(super) struct Keeper {
    shell: Child,
}

impl Keeper {
    /// Starts the keeper, before the processes that it watches. `folder` is removed with the group, and
    /// processes with `mark` in their environment end with it.
    pub(super) fn new(folder: Option<&Path>, mark: Option<&str>) -> io::Result<Keeper> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, "pushmark-keeper"]).current_dir("/");
        shell.arg(folder.unwrap_or(Path::new(""))).arg(mark.unwrap_or(""));
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        Ok(Keeper { shell: shell.spawn()? })
    }

    /// Sets the group to watch, and other processes.
    pub(super) fn watch(&mut self, group: i32, others: &[i32]) -> io::Result<()> {
        let pipe = self.shell.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        let others: String = others.iter().map(|pid| format!(" {pid}")).collect();
        pipe.write_all(format!("-{group}{others}\n").as_bytes())
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // Killed while it waits: the pipe stays open until the shell can no longer react to its closing.
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
        let mut keeper = Keeper::new(Some(&folder), None).unwrap();
        keeper.watch(child.id() as i32, &[]).unwrap();
        // The death of pushmark closes the pipe too.
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
        let mut keeper = Keeper::new(None, None).unwrap();
        keeper.watch(child.id() as i32, &[]).unwrap();
        drop(keeper);
        assert_eq!(child.try_wait().unwrap(), None);
        let group = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
        rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
        child.wait().unwrap();
    }
}
