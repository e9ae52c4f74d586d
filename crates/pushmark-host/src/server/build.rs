//! Builds of servers, by one process at a time, with progress, and with the end of the log if one fails. An
//! unchanged server is not built again and needs no network.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::process::{Pid, Signal, kill_process_group};

use super::keeper::Keeper;
use super::logs::last_lines;
use super::paths::search_path;
use super::registry::{Filling, Need, Registry, Server};
use super::state;
use pushmark_console::exit::{Ending, Exit};

/// Interval of progress lines of a long build.
const SAYS_EVERY: Duration = Duration::from_secs(10);
/// Time between two polls of a build.
const LOOK: Duration = Duration::from_millis(50);

/// Returns what is missing for a server with the command that installs it, or `None` if nothing is missing.
pub fn missing(registry: &Registry, server: &Server) -> Option<String> {
    let lines: Vec<String> =
        registry.missing(server).into_iter().map(|(name, need)| lacking(name, need)).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// `a JDK 17 is missing: apt-get install …`.
pub fn lacking(name: &str, need: &Need) -> String {
    let what = need.what.as_deref().unwrap_or(name);
    match &need.install {
        Some(install) => format!("{what} is missing: {install}"),
        None => format!("{what} is missing"),
    }
}

/// Builds a server if it is not built or has changed. Returns whether it was built.
///
/// # Errors
/// [`Exit::Refused`] if this machine lacks what the build needs, [`Exit::Unreachable`] if the build fails,
/// each with advice.
pub fn ensure(registry: &Registry, server: &Server, say: &mut dyn FnMut(&str)) -> anyhow::Result<bool> {
    let name = &server.name;
    if let Some(missing) = missing(registry, server) {
        return Err(Ending::error(Exit::Refused, format!("{name} cannot run here\n{missing}")));
    }
    if state::built(registry, server)?.is_ready() {
        return Ok(false);
    }
    let _lock = lock(registry, &mut |text| say(&format!("{name}: {text}")))?;
    // Another process may have built it during the wait.
    if state::built(registry, server)?.is_ready() {
        return Ok(false);
    }
    let made_of = state::build_digest(registry, server)?;
    let started = Instant::now();
    perform(registry, server, &server.build, "build", say)?;
    let folder = registry.folder_of(server).unwrap_or_default();
    if let Some(gone) = server.built.iter().find(|path| !folder.join(path).exists()) {
        let text = format!("{name}: the build succeeded, but {} does not exist", folder.join(gone).display());
        return Err(Ending::error(Exit::Unreachable, text));
    }
    let took = format!("built in {:.1} s", started.elapsed().as_secs_f64());
    state::record_build(registry, server, made_of, &took)?;
    say(&format!("{name}: {took}"));
    Ok(true)
}

/// Removes the build.
///
/// # Errors
/// Fails like [`ensure`].
pub fn clean(registry: &Registry, server: &Server, say: &mut dyn FnMut(&str)) -> anyhow::Result<()> {
    let _lock = lock(registry, &mut |text| say(&format!("{}: {text}", server.name)))?;
    state::forget_build(registry, server);
    perform(registry, server, &server.clean, "clean", say)
}

/// Locks builds, one at a time, because rows share folders and inputs.
fn lock(registry: &Registry, say: &mut dyn FnMut(&str)) -> anyhow::Result<File> {
    let path = state::place(registry, "lock");
    let file = fs::create_dir_all(path.parent().unwrap_or(Path::new(".")))
        .and_then(|()| File::create(&path))
        .with_context(|| format!("cannot write {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => return Ok(file),
        Err(TryLockError::WouldBlock) => say("waiting for another build to end"),
        Err(TryLockError::Error(error)) => {
            return Err(error).with_context(|| format!("cannot lock {}", path.display()));
        }
    }
    file.lock().with_context(|| format!("cannot lock {}", path.display()))?;
    Ok(file)
}

/// Runs a command of a server to its end, with its output in a log.
fn perform(
    registry: &Registry,
    server: &Server,
    command: &[String],
    what: &str,
    say: &mut dyn FnMut(&str),
) -> anyhow::Result<()> {
    let log = state::place(registry, &format!("{}.{what}.log", server.name));
    let mut command = self::command(registry, server, command)?;
    let shown = shown(&command);
    let output = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
    command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output).process_group(0);
    let status = run(&mut command, |elapsed| match elapsed {
        Duration::ZERO => say(&format!("{}: {shown}", server.name)),
        _ => {
            let last = last_lines(&log, 1).pop().unwrap_or_default();
            say(&format!("{}: {what} for {} s: {last}", server.name, elapsed.as_secs()));
        }
    });
    let why = match status {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) => status.to_string(),
        Err(error) => error.to_string(),
    };
    let lines: String = last_lines(&log, 30).iter().map(|line| format!("\n  | {line}")).collect();
    let text = format!("{}: {shown} failed: {why}{lines}\n  full log: {}", server.name, log.display());
    Err(Ending::error(Exit::Unreachable, text))
}

/// Returns a command of a server, to run in its folder, with the folders of daemons in `PATH`.
pub fn command(registry: &Registry, server: &Server, words: &[String]) -> anyhow::Result<Command> {
    let own = std::env::current_exe().context("cannot find the path of this program")?;
    let log = std::env::temp_dir();
    let filling = Filling { pushmark: &own, port: Some(0), log: Some(&log), flags: &BTreeMap::new() };
    let words = registry.command(server, words, &filling)?;
    in_folder(registry, server, &words)
}

/// Words that are filled in, as a command in the server's folder.
pub fn in_folder(registry: &Registry, server: &Server, words: &[String]) -> anyhow::Result<Command> {
    let (program, arguments) =
        words.split_first().with_context(|| format!("{} has no command", server.name))?;
    let mut command = Command::new(program);
    command.args(arguments).env("PATH", search_path());
    if let Some(folder) = registry.folder_of(server) {
        command.current_dir(folder);
    }
    Ok(command)
}

fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// Runs it to its end. Reports its start, and its progress at intervals.
fn run(command: &mut Command, mut goes_on: impl FnMut(Duration)) -> std::io::Result<ExitStatus> {
    let mut keeper = Keeper::new(None, None)?;
    let mut child = Killed(command.spawn()?);
    keeper.watch(child.0.id() as i32, &[])?;
    goes_on(Duration::ZERO);
    let (started, mut said) = (Instant::now(), 1);
    loop {
        if let Some(status) = child.0.try_wait()? {
            return Ok(status);
        }
        if started.elapsed() >= SAYS_EVERY * said {
            said += 1;
            goes_on(started.elapsed());
        }
        std::thread::sleep(LOOK);
    }
}

/// A child process that is killed on drop, so that it also ends on an early return.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        if let (Ok(None), Some(group)) = (self.0.try_wait(), Pid::from_raw(self.0.id() as i32)) {
            let _ = kill_process_group(group, Signal::KILL);
            let _ = self.0.wait();
        }
    }
}

/// Returns the log folder of a server that is started by hand.
pub fn foreground_logs(registry: &Registry, server: &Server) -> anyhow::Result<PathBuf> {
    let folder = state::place(registry, &format!("logs/{}", server.name));
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    folder.canonicalize().with_context(|| format!("cannot find {}", folder.display()))
}
