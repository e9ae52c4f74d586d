//! A server as a process of ours: started, waited for, watched, stopped, and never left behind.
//!
//! It runs in a process group of its own, so that a Ctrl-C at the terminal reaches only us and
//! a stop reaches everything it started. Dropping the handle kills the group.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use pushmark_model::run::LastWords;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, test_kill_process_group};

use super::cpus::{allowed_cpus, pin_current_thread};
use super::http::{self, Control};
use super::keeper::Keeper;
use super::last_words;
use super::listeners::{Listener, listener};
use super::logs::{KeptFile, Logs};

/// Time between two ready probes.
const PROBE: Duration = Duration::from_millis(20);
/// Longest wait for one probe's answer: whether the server still lives is looked at between them.
const PROBE_MAX: Duration = Duration::from_secs(5);
/// Time a server has to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(3);
/// Time its killed children have to be gone.
const GROUP_GRACE: Duration = Duration::from_millis(500);

/// Groups that were started and have not been ended yet.
static STARTED: Mutex<Vec<i32>> = Mutex::new(Vec::new());

/// Ends everything that was started, at once: for a process that is about to exit without
/// dropping what it holds.
pub fn kill_all() {
    let mut started = STARTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    for group in started.drain(..).filter_map(Pid::from_raw) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// What to start. `{port}` has been filled in everywhere.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The name shown in messages.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Working folder; absent: ours.
    pub folder: Option<PathBuf>,
    /// Variables added to our environment.
    pub variables: Vec<(OsString, OsString)>,
    /// CPUs it is kept to; empty: all of ours.
    pub cpus: Vec<u32>,
    /// Command that asks it to end; empty: SIGTERM does.
    pub stop: Vec<String>,
}

/// A started server. Dropping it ends it.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    pidfd: OwnedFd,
    logs: Logs,
    ended: Option<ExitStatus>,
    /// Asks it to end, once.
    stop: Option<Command>,
    /// How it had ended before it was stopped, if it had; set by the first stop.
    by_itself: Option<Option<String>>,
    /// It had to be killed.
    stubborn: bool,
    /// What the kernel had killed for want of memory when it started.
    kernel_kills: Option<u64>,
    /// Ends it where we end without a word; absent on a machine that has no shell.
    keeper: Option<Keeper>,
}

/// Why a server is not ready when it is asked.
struct NotYet {
    why: String,
    /// Time does not help.
    never: bool,
}

impl NotYet {
    fn maybe(why: String) -> NotYet {
        NotYet { why, never: false }
    }
}

impl Process {
    /// Starts a server; its output goes to a file that lives as long as this handle.
    pub fn start(start: &Start, logs: Logs) -> anyhow::Result<Process> {
        let (program, arguments) =
            start.command.split_first().with_context(|| format!("{} has no command", start.name))?;
        let output = logs.output().context("cannot write a log to the temporary folder")?;
        let mut command = Command::new(program);
        command.args(arguments).envs(start.variables.iter().map(|(k, v)| (k, v))).process_group(0);
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
        if let Some(folder) = &start.folder {
            command.current_dir(folder);
        }
        let mut keeper = Keeper::new(Some(logs.folder())).ok();
        let mut child = spawn_on(&mut command, &start.cpus)
            .with_context(|| format!("cannot start {}: {}", start.name, start.command.join(" ")))?;
        if let Some(keeper) = &mut keeper {
            // A keeper that is gone already keeps nothing; the server can still be measured.
            let _ = keeper.watch(child.id() as i32);
        }
        let pidfd = match pidfd_open(pid(&child), PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error).context("cannot watch a process (pidfd_open needs Linux 5.3)");
            }
        };
        STARTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(child.id() as i32);
        let stop = stop_command(start, output);
        Ok(Process {
            name: start.name.clone(),
            child,
            pidfd,
            logs,
            ended: None,
            stop,
            by_itself: None,
            stubborn: false,
            kernel_kills: last_words::kernel_kills(),
            keeper,
        })
    }

    /// Its process id, the root of the tree to watch.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Asks a URL until it answers 2xx. An error if the server ends first, shows a certificate that
    /// is not believed, or the time is over, with the last lines it wrote.
    pub fn wait_ready(&mut self, ready: &Control, within: Duration) -> anyhow::Result<Duration> {
        self.wait_until(within, |left| match http::get(ready, left) {
            Ok(answer) if answer.is_success() => Ok(()),
            Ok(answer) => Err(NotYet::maybe(format!("{} answers {}", ready.url, answer.status))),
            Err(error) => Err(NotYet { why: error.to_string(), never: error.is_of_certificate() }),
        })
    }

    /// Waits until something accepts connections on a port of this host; else as
    /// [`Process::wait_ready`].
    pub fn wait_accepting(&mut self, port: u16, within: Duration) -> anyhow::Result<Duration> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        self.wait_until(within, |left| match TcpStream::connect_timeout(&address, left) {
            Ok(_) => Ok(()),
            Err(error) => Err(NotYet::maybe(format!("port {port}: {error}"))),
        })
    }

    fn wait_until(
        &mut self,
        within: Duration,
        probe: impl Fn(Duration) -> Result<(), NotYet>,
    ) -> anyhow::Result<Duration> {
        let started = Instant::now();
        loop {
            let left = within.saturating_sub(started.elapsed());
            let probed = probe(left.clamp(PROBE, PROBE_MAX));
            // Also where something answers: another may sit on the port.
            if let Some(how) = self.ended() {
                let memory = if self.out_of_memory() { ", out of memory" } else { "" };
                bail!("{} ended before it was ready ({how}{memory})\n{}", self.name, self.log_tail());
            }
            let Err(NotYet { why, never }) = probed else { return Ok(started.elapsed()) };
            if never {
                bail!("{} will not be ready: {why}\n{}", self.name, self.log_tail());
            }
            if started.elapsed() >= within {
                bail!("{} is not ready after {within:?}: {why}\n{}", self.name, self.log_tail());
            }
            self.wait_end(PROBE)?;
        }
    }

    /// How it ended, if it did: `exit 1`, `signal 9`.
    pub fn ended(&mut self) -> Option<String> {
        if self.ended.is_none() {
            // An error here means that somebody else waited for it: it is gone all the same.
            self.ended = self.child.try_wait().unwrap_or(Some(ExitStatus::from_raw(0)));
        }
        self.ended.map(how)
    }

    /// The last lines it wrote, indented; says so if there are none.
    pub fn log_tail(&self) -> String {
        let lines = self.logs.last_lines();
        if lines.is_empty() {
            return "  it wrote nothing".into();
        }
        lines.iter().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
    }

    /// Ends it: its own command if it has one, SIGTERM, then SIGKILL, 3 s between them, the
    /// signals always for the whole group. Returns how it had ended by itself before, if it had.
    pub fn stop(&mut self) -> Option<String> {
        if let Some(by_itself) = &self.by_itself {
            return by_itself.clone();
        }
        let by_itself = self.ended();
        self.by_itself = Some(by_itself.clone());
        if by_itself.is_none() {
            self.ask_to_end();
        }
        if self.ended().is_none() {
            self.signal(Signal::TERM);
            // On an error there is no more to wait for: the next signal settles it.
            let _ = self.wait_end(GRACE);
        }
        self.stubborn = self.ended().is_none();
        self.kill();
        by_itself
    }

    /// What is left of it once it is stopped: how it ended, whether for want of memory, and the
    /// last lines it wrote.
    pub fn last_words(&self) -> LastWords {
        let how = match &self.by_itself {
            Some(Some(how)) => how.clone(),
            _ if self.stubborn => "killed: it did not end when it was told to".to_owned(),
            _ => "stopped by us".to_owned(),
        };
        LastWords {
            by_itself: self.by_itself.as_ref().is_some_and(Option::is_some),
            hung: self.stubborn,
            how,
            out_of_memory: self.out_of_memory(),
            lines: self.logs.last_lines(),
        }
    }

    fn out_of_memory(&self) -> bool {
        let ended = self.ended.map(how);
        last_words::out_of_memory(
            &self.logs,
            ended.as_deref(),
            (self.kernel_kills, last_words::kernel_kills()),
        )
    }

    /// Its log and what it put into `{log}`: the end of each file.
    pub fn logs(&self) -> Vec<KeptFile> {
        self.logs.take()
    }

    /// Makes sure that it is this server, or what it started, that listens on a port: never a
    /// stranger's figures in its place. `taken` says that somebody listened before it started;
    /// where nobody did, a listener that it had made by another (a container's) may be none of its
    /// own processes, so only `strict` asks for one.
    pub fn owns(&self, port: u16, taken: bool, strict: bool) -> anyhow::Result<()> {
        match listener(port, self.pid()) {
            Listener::Stranger(who) if taken || strict => {
                bail!("port {port} is served by {who}, not by {}\n{}", self.name, self.log_tail())
            }
            _ => Ok(()),
        }
    }

    /// Runs its own stop command; what that cannot do is left to the signals.
    fn ask_to_end(&mut self) {
        let Some(mut asking) = self.stop.take().and_then(|mut stop| stop.spawn().ok()) else { return };
        let _ = self.wait_end(GRACE);
        let _ = asking.kill();
        let _ = asking.wait();
    }

    /// Ends it at once.
    pub fn kill(&mut self) {
        // Before the leader is waited for its group's number cannot be given to another.
        let mut started = STARTED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let Some(at) = started.iter().position(|&group| group == self.pid()) else { return };
        self.signal(Signal::KILL);
        if self.ended.is_none() {
            self.ended = self.child.wait().ok();
        }
        started.swap_remove(at);
        drop(started);
        // Its number may be another's from now on.
        self.keeper = None;
        // Its children are not ours to wait for: look until they are gone, so that the next
        // server does not start beside them. A zombie nobody collects ends the patience.
        let started = Instant::now();
        while test_kill_process_group(pid(&self.child)).is_ok() && started.elapsed() < GROUP_GRACE {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn signal(&self, signal: Signal) {
        // ESRCH: everything in the group has ended already, which is what is wanted.
        let _ = kill_process_group(pid(&self.child), signal);
    }

    /// Waits until it has ended or the time is over; does not collect its status.
    fn wait_end(&self, within: Duration) -> io::Result<()> {
        let timeout = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
        match poll(&mut [PollFd::new(&self.pidfd, PollFlags::IN)], Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The command that asks a server to end; what it says goes to the server's log.
fn stop_command(start: &Start, output: File) -> Option<Command> {
    let (program, arguments) = start.stop.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments).envs(start.variables.iter().map(|(k, v)| (k, v))).stdin(Stdio::null());
    command.stdout(output.try_clone().ok()?).stderr(output);
    if let Some(folder) = &start.folder {
        command.current_dir(folder);
    }
    Some(command)
}

fn pid(child: &Child) -> Pid {
    Pid::from_raw(child.id() as i32).expect("a child's number is not 0")
}

/// `exit 1`, `signal 9`.
fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "ended".into(),
    }
}

/// Starts a command on some CPUs. Affinity is inherited: this thread takes it on for the
/// moment of the start, and gives it back.
fn spawn_on(command: &mut Command, cpus: &[u32]) -> io::Result<Child> {
    if cpus.is_empty() {
        return command.spawn();
    }
    let own = allowed_cpus()?;
    pin_current_thread(cpus)?;
    let child = command.spawn();
    pin_current_thread(&own)?;
    child
}

#[cfg(test)]
#[path = "process_tests.rs"]
mod tests;
