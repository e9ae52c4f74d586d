//! A server as a child process: started, awaited, watched and stopped, and never left running.
//!
//! It runs in its own process group, so that Ctrl-C at the terminal reaches only pushmark, and a stop
//! reaches everything the server started, including its daemons (`lineage`). Dropping the handle kills them
//! all.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
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
use super::lineage::{self, Lineage};
use super::listeners::{Listener, listener};
use super::logs::Logs;
use pushmark_console::stop;
use pushmark_store::KeptFile;

/// Time between two ready probes.
const PROBE: Duration = Duration::from_millis(20);
/// Longest wait for one probe's answer: between probes it is checked that the server still lives.
const PROBE_MAX: Duration = Duration::from_secs(5);
/// Longest wait for one connection to a port of this host: if the queue is full, the connection is retried.
const CONNECT_MAX: Duration = Duration::from_millis(200);
/// Time a server has to end after SIGTERM before it is killed.
const GRACE: Duration = Duration::from_secs(3);
/// Time between two polls of a daemon.
const LOOK: Duration = Duration::from_millis(5);
/// Time that its killed children have to end.
const GROUP_GRACE: Duration = Duration::from_millis(500);

/// Kills all started servers at once, for a process that is about to exit without dropping its handles.
pub fn kill_all() {
    for lineage in lineage::started().drain(..) {
        if let Some(group) = Pid::from_raw(lineage.root()) {
            let _ = kill_process_group(group, Signal::KILL);
        }
        kill_orphans(&lineage);
    }
}

/// Kills orphans that became children of pushmark until none is left: each that ends may leave others.
fn kill_orphans(lineage: &Lineage) {
    let started = Instant::now();
    while lineage.signal_orphans(Signal::KILL) > 0 && started.elapsed() < GROUP_GRACE {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The command to start. `{port}` is already filled in.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The name shown in messages.
    pub name: String,
    /// Program and arguments.
    pub command: Vec<String>,
    /// Working folder; absent: that of this process.
    pub folder: Option<PathBuf>,
    /// Variables added to the environment of this process.
    pub variables: Vec<(OsString, OsString)>,
    /// CPUs it is pinned to; empty: all CPUs of this process.
    pub cpus: Vec<u32>,
    /// Command that stops it; empty: SIGTERM.
    pub stop: Vec<String>,
}

/// A started server. Dropping it ends it.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    pidfd: OwnedFd,
    lineage: Lineage,
    logs: Logs,
    ended: Option<ExitStatus>,
    /// Its daemons, if it ended successfully and left some: then they are the server.
    daemons: Vec<i32>,
    /// The command that asks it to end, used once.
    stop: Option<Command>,
    /// How it ended before it was stopped, if it did; set by the first stop.
    by_itself: Option<Option<String>>,
    /// Whether it had to be killed.
    stubborn: bool,
    /// Number of processes that the kernel had killed for lack of memory when it started.
    kernel_kills: Option<u64>,
    /// Ends it if pushmark is killed; absent on a machine without a shell.
    keeper: Option<Keeper>,
}

/// Why a server is not ready.
struct NotYet {
    why: String,
    /// Waiting does not help.
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
        let mark = lineage::new_mark();
        if let Some((name, value)) = mark.split_once('=') {
            command.env(name, value);
        }
        let mut keeper = Keeper::new(Some(logs.folder()), Some(&mark)).ok();
        let mut child = spawn_on(&mut command, &start.cpus)
            .with_context(|| format!("cannot start {}: {}", start.name, start.command.join(" ")))?;
        if let Some(keeper) = &mut keeper {
            // If the keeper has already ended, the server can still be measured.
            let _ = keeper.watch(child.id() as i32, &[]);
        }
        let pidfd = match pidfd_open(pid(&child), PidfdFlags::empty()) {
            Ok(pidfd) => pidfd,
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error).context("cannot watch a process (pidfd_open needs Linux 5.3)");
            }
        };
        let lineage = Lineage::begin(child.id() as i32, mark);
        let stop = stop_command(start, output);
        Ok(Process {
            name: start.name.clone(),
            child,
            pidfd,
            lineage,
            logs,
            ended: None,
            daemons: Vec::new(),
            stop,
            by_itself: None,
            stubborn: false,
            kernel_kills: last_words::kernel_kills(),
            keeper,
        })
    }

    /// Returns its process id, the root of the tree to watch.
    pub fn pid(&self) -> i32 {
        self.child.id() as i32
    }

    /// Requests a URL until it answers 2xx. Fails if the server ends first, has an untrusted certificate, or
    /// the time is over. The error has the last lines that the server wrote.
    pub fn wait_ready(&mut self, ready: &Control, within: Duration) -> anyhow::Result<Duration> {
        self.wait_until(within, |left| match http::get(ready, left) {
            Ok(answer) if answer.is_success() => Ok(()),
            Ok(answer) => Err(NotYet::maybe(format!("{} answers {}", ready.url, answer.status))),
            Err(error) => Err(NotYet { why: error.to_string(), never: error.is_of_certificate() }),
        })
    }

    /// Waits until a port of this host accepts connections. Fails like [`Process::wait_ready`].
    pub fn wait_accepting(&mut self, port: u16, within: Duration) -> anyhow::Result<Duration> {
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        self.wait_until(within, |left| match TcpStream::connect_timeout(&address, left.min(CONNECT_MAX)) {
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
            if stop::heard() > 0 {
                return Err(stop::ended(&format!("{} was starting", self.name)));
            }
            // Also if something answers: another process may listen on the port.
            if let Some(how) = self.ended() {
                let memory = if self.out_of_memory() { ", out of memory" } else { "" };
                bail!("{} ended before it was ready ({how}{memory})\n{}", self.name, self.log_tail());
            }
            let Err(NotYet { why, never }) = probed else { return Ok(started.elapsed()) };
            if never {
                bail!("{} cannot become ready: {why}\n{}", self.name, self.log_tail());
            }
            if started.elapsed() >= within {
                bail!("{} is not ready after {within:?}: {why}\n{}", self.name, self.log_tail());
            }
            self.wait_end(PROBE)?;
        }
    }

    /// How it ended, if it did: `exit 1`, `signal 9`. A server that ended successfully and left a daemon
    /// continues in the daemon.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.leader_ended()?;
        if status.success() && self.by_itself.is_none() && self.has_daemons() {
            return None;
        }
        Some(how(status))
    }

    /// How the started process ended, whatever daemons it left.
    fn leader_ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            // An error means that other code waited for it: it has ended in this case too.
            self.ended = self.child.try_wait().unwrap_or(Some(ExitStatus::from_raw(0)));
        }
        self.ended
    }

    /// Whether any of its daemons lives. Searches again if no known one does.
    fn has_daemons(&mut self) -> bool {
        self.daemons.retain(|&pid| lineage::lives(pid));
        if self.daemons.is_empty() {
            self.find_daemons();
        }
        !self.daemons.is_empty()
    }

    /// Searches for its daemons and passes those without a mark to the keeper.
    fn find_daemons(&mut self) {
        self.daemons = self.lineage.orphans();
        self.daemons.retain(|&pid| lineage::lives(pid));
        if let Some(keeper) = self.keeper.as_mut().filter(|_| !self.daemons.is_empty()) {
            // If the keeper has ended, the server can still be measured, as above.
            let _ = keeper.watch(self.child.id() as i32, &self.daemons);
        }
    }

    /// Returns the last lines it wrote, indented, or a note that there are none.
    pub fn log_tail(&self) -> String {
        let lines = self.logs.last_lines();
        if lines.is_empty() {
            return "  it wrote nothing".into();
        }
        lines.iter().map(|line| format!("  | {line}")).collect::<Vec<_>>().join("\n")
    }

    /// Ends it: by its stop command if it has one, SIGTERM, then SIGKILL, 3 s apart. Signals go to the whole
    /// group. Returns how it had ended by itself before, if it had.
    pub fn stop(&mut self) -> Option<String> {
        if let Some(by_itself) = &self.by_itself {
            return by_itself.clone();
        }
        let by_itself = self.ended();
        if by_itself.is_none() {
            self.ask_to_end();
        }
        let is_daemon = self.leader_ended().is_some();
        if self.ended().is_none() {
            self.signal(Signal::TERM);
            self.lineage.signal_orphans(Signal::TERM);
            // On an error there is nothing to wait for: the next signal ends it.
            let _ = self.wait_end(GRACE);
        }
        self.stubborn = self.leader_ended().is_none() || is_daemon && self.ended().is_none();
        self.by_itself = Some(by_itself.clone());
        self.kill();
        by_itself
    }

    /// Returns, once it is stopped, how it ended, whether it ran out of memory, and the last lines of its
    /// output.
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

    /// Returns the end of its log and of each file in `{log}`.
    pub fn logs(&self) -> Vec<KeptFile> {
        self.logs.take()
    }

    /// Fails if another process than this server, or one that it started, listens on a port: figures of a
    /// foreign process must not be reported. `taken` means that the port had a listener before the start. If
    /// it had none, the listener may be outside the server's own processes (a container's), so only `strict`
    /// requires one of them. The server and its daemons are ready by then.
    pub fn owns(&mut self, port: u16, taken: bool, strict: bool) -> anyhow::Result<()> {
        self.find_daemons();
        match listener(port, self.pid()) {
            Listener::Stranger(who) if taken || strict => {
                bail!("port {port} is served by {who}, not by {}\n{}", self.name, self.log_tail())
            }
            _ => Ok(()),
        }
    }

    /// Runs its stop command. If that fails, the signals stop the server.
    fn ask_to_end(&mut self) {
        let Some(mut asking) = self.stop.take().and_then(|mut stop| stop.spawn().ok()) else { return };
        let _ = self.wait_end(GRACE);
        let _ = asking.kill();
        let _ = asking.wait();
    }

    /// Kills it at once.
    pub fn kill(&mut self) {
        // Before the leader is waited for its group's number cannot be given to another.
        let mut started = lineage::started();
        let Some(at) = started.iter().position(|lineage| lineage.root() == self.pid()) else { return };
        self.signal(Signal::KILL);
        if self.ended.is_none() {
            self.ended = self.child.wait().ok();
        }
        started.swap_remove(at);
        drop(started);
        // Processes that lost their parent must be ended and collected here.
        kill_orphans(&self.lineage);
        // From now on its process id may be reused.
        self.keeper = None;
        // Other processes of the group are not our children, so waitpid does not work: poll until they are
        // gone, so that the next server does not start beside them. A zombie that its parent never collects
        // is waited for only until the limit.
        let started = Instant::now();
        while test_kill_process_group(pid(&self.child)).is_ok() && started.elapsed() < GROUP_GRACE {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    fn signal(&self, signal: Signal) {
        // ESRCH: everything in the group has already ended, which is fine.
        let _ = kill_process_group(pid(&self.child), signal);
    }

    /// Whether it continues in a daemon and the started process has ended.
    fn is_daemonised(&self) -> bool {
        self.ended.is_some() && !self.daemons.is_empty()
    }

    /// Waits until it has ended or the time is over; does not collect its status.
    fn wait_end(&mut self, within: Duration) -> io::Result<()> {
        if self.is_daemonised() {
            let started = Instant::now();
            while self.has_daemons() && started.elapsed() < within {
                std::thread::sleep(LOOK.min(within));
            }
            return Ok(());
        }
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

/// Runs the command that stops a server, with its output in the server's log.
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
pub fn how(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "ended".into(),
    }
}

/// Starts a command on some CPUs. Affinity is inherited: this thread adopts it for the start and then
/// restores its own.
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
