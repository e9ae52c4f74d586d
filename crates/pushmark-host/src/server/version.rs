//! The version of a server, from its version command, which has a time limit.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use super::build;
use super::logs::Logs;
use super::registry::{Registry, Server};

/// Time limit of the version command.
const WITHIN: Duration = Duration::from_secs(20);
/// Time between two polls of the command.
const LOOK: Duration = Duration::from_millis(10);

/// Returns the first line of its version command, or `None` if it has no such command or the command fails.
pub fn version(registry: &Registry, server: &Server) -> Option<String> {
    if server.version.is_empty() {
        return None;
    }
    let mut command = build::command(registry, server, &server.version).ok()?;
    first_line(&mut command, WITHIN)
}

fn first_line(command: &mut Command, within: Duration) -> Option<String> {
    // Output to a file does not have to be read while the command runs.
    let logs = Logs::new("version").ok()?;
    let output = logs.output().ok()?;
    command.stdin(Stdio::null()).stdout(output.try_clone().ok()?).stderr(output).process_group(0);
    let mut child = command.spawn().ok()?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(None) if started.elapsed() < within => std::thread::sleep(LOOK),
            Ok(status) => break status,
            Err(_) => break None,
        }
    };
    if status.is_none() {
        let group = Pid::from_raw(child.id() as i32)?;
        let _ = kill_process_group(group, Signal::KILL);
        let _ = child.wait();
    }
    let said = logs.take().pop()?;
    let said = String::from_utf8_lossy(&said.bytes).into_owned();
    let line = said.lines().map(str::trim).find(|line| !line.is_empty())?.to_owned();
    status.filter(std::process::ExitStatus::success).map(|_| line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_one_line_of_a_command_that_ends_well() {
        let said = |script: &str, within| first_line(Command::new("sh").args(["-c", script]), within);
        let long = Duration::from_secs(60);
        assert_eq!(said("echo; echo ' 1.2 '; echo more", long).as_deref(), Some("1.2"));
        assert_eq!(said("echo 1.3 >&2", long).as_deref(), Some("1.3"));
        assert_eq!(said("echo 1.4; exit 1", long), None);
        assert_eq!(said("true", long), None);
        let started = Instant::now();
        assert_eq!(said("echo 1.5; sleep 1000", Duration::from_millis(100)), None);
        assert!(started.elapsed() < Duration::from_secs(10));
    }
}
