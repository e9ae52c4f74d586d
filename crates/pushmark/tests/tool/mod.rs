//! pushmark as users run it: a command in a folder, its output, its exit code, its files.

#![allow(dead_code, unreachable_pub, reason = "shared by test files, each of which uses its part")]

pub mod http;
pub mod keys;
pub mod terminator;
pub mod websocket;

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Longest wait for anything that must happen.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// With this variable set to 1 a missing tool is a failure, not a reason to skip.
const ALL: &str = "PUSHMARK_TEST_ALL";

/// A short load: the crowd is complete before anything is published, and the drain is long.
pub const LOAD: &str = "[load]
connections = 8
ramp = { rate = 400 }
settle = \"200ms\"
warmup = \"0s\"
duration = \"1s\"
drain = \"1s\"
";

/// Both pollers, as named by `--poller`.
pub const POLLERS: [&str; 2] = ["epoll", "io_uring"];

/// Returns the folder of the tree's servers.
pub fn servers() -> PathBuf {
    root().join("servers")
}

/// Returns the root of the workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the path of the program.
pub fn program() -> &'static str {
    env!("CARGO_BIN_EXE_pushmark")
}

/// Returns whether an outside tool is installed. If not, reports the skipped test past the test harness.
///
/// # Panics
/// If the tool is missing and every test was requested.
pub fn have(there: bool, what: &str) -> bool {
    if !there {
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        let advice = format!("{test} needs {what}: cargo xtask test --install");
        assert!(std::env::var_os(ALL).is_none_or(|value| value != "1"), "{advice}");
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr(), "SKIPPED {advice}");
    }
    there
}

/// The NATS server of this machine, where Debian and others put it.
pub fn nats_server() -> Option<PathBuf> {
    let found = ["/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"];
    let found = found.into_iter().map(PathBuf::from).find(|path| path.exists());
    have(found.is_some(), "nats-server");
    found
}

/// A temporary folder in which pushmark runs.
#[derive(Debug)]
pub struct Tool {
    folder: tempfile::TempDir,
}

/// How a command ended.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Tool {
    pub fn new() -> Tool {
        Tool { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file into the folder.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).expect("a file");
        path
    }

    /// Returns the program with arguments, in this folder, with an empty stdin and a fixed environment.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(program());
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env("PUSHMARK_SERVERS", servers()).env("LC_ALL", "C.UTF-8").env("TMPDIR", self.folder.path());
        command.env_remove("NO_COLOR");
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, arguments: &[&str]) -> Ended {
        end(self.command(arguments))
    }

    /// Runs a command again, at most eight times, if this machine was too busy for a verdict.
    pub fn run_judged(&self, arguments: &[&str]) -> Ended {
        for _ in 1..8 {
            let ended = self.run(arguments);
            if ended.code != 6 {
                return ended;
            }
            // The disturbance may be over soon.
            quiet();
            // -o names a folder that must not exist.
            if let Some(at) = arguments.iter().position(|&a| a == "-o") {
                let _ = fs::remove_dir_all(self.path(arguments[at + 1]));
            }
        }
        self.run(arguments)
    }

    /// Starts a command, so that its progress can be read while it runs.
    pub fn start(&self, arguments: &[&str]) -> Running {
        Running::of(self.command(arguments))
    }

    /// Runs a scenario and returns its `run.json`, whatever its verdict.
    ///
    /// The run is repeated, at most three times, if this machine made clients too late to be served or
    /// publications too late to be sent, and if the run itself reports that others had the CPU. Missing or
    /// repeated deliveries are no reason for a repeat. A target inside the test keeps its state, so it is
    /// measured once.
    pub fn measure(&self, scenario: &str, more: &[&str]) -> Value {
        self.write("scenario.toml", scenario);
        let mut arguments = vec!["run", "scenario.toml", "-o", "out", "-q"];
        arguments.extend_from_slice(more);
        for again in (0..4).rev() {
            self.run(&arguments).measured();
            let run = self.run_json("out");
            let target_is_new =
                !scenario.contains("[target.subscribe]") || scenario.contains("[target.process]");
            if again == 0 || !target_is_new || !held_up(&run) {
                return run;
            }
            quiet();
            fs::remove_dir_all(self.path("out")).expect("the last run's folder");
        }
        unreachable!("the last of them is given")
    }

    /// Reads the `run.json` of a folder.
    pub fn run_json(&self, folder: &str) -> Value {
        let path = self.path(folder).join("run.json");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).expect("JSON")
    }

    /// Returns the names in a folder, sorted.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    /// Returns all files of a folder as one text.
    pub fn all_text(&self, folder: &str) -> String {
        let read = |name: &String| {
            String::from_utf8_lossy(&fs::read(self.path(folder).join(name)).expect("a file")).into_owned()
        };
        self.names(folder).iter().map(read).collect::<Vec<_>>().join("\n")
    }
}

impl Ended {
    /// Fails with the whole output if the exit code is another.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code, code, "\nstdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Checks that the run was completed: counts and exit code are valid, even if latencies are not.
    #[track_caller]
    pub fn counted(self) -> Ended {
        assert!(matches!(self.code, 0 | 6), "{}\nstdout:\n{}\nstderr:\n{}", self.code, self.out, self.err);
        self
    }

    /// Checks that the run was completed. Its thresholds may fail: its target loses what it was told to lose.
    #[track_caller]
    pub fn measured(self) -> Ended {
        assert!(matches!(self.code, 0 | 6 | 99), "{self:#?}");
        self
    }

    /// Fails if stderr lacks one of these texts.
    #[track_caller]
    pub fn says(self, parts: &[&str]) -> Ended {
        for part in parts {
            assert!(self.err.contains(part), "stderr lacks {part:?}:\n{}", self.err);
        }
        self.never_panicked()
    }

    #[track_caller]
    pub fn never_panicked(self) -> Ended {
        assert!(!self.err.contains("panicked"), "{}", self.err);
        self
    }
}

/// Runs a command to its end, and reads both its outputs meanwhile.
pub fn end(command: Command) -> Ended {
    Running::of(command).end()
}

/// A running command. Dropping it ends it.
#[derive(Debug)]
pub struct Running {
    child: Child,
    err: BufReader<ChildStderr>,
    seen: String,
}

impl Running {
    pub fn of(mut command: Command) -> Running {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        Running::piped(command)
    }

    /// Starts a command and leaves its stdout as configured.
    pub fn piped(mut command: Command) -> Running {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let err = BufReader::new(child.stderr.take().expect("piped"));
        Running { child, err, seen: String::new() }
    }

    pub fn id(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits for a line of progress that contains a text.
    #[track_caller]
    pub fn wait_for(&mut self, text: &str) -> String {
        let started = Instant::now();
        loop {
            let mut line = String::new();
            let read = self.err.read_line(&mut line).expect("its stderr");
            self.seen.push_str(&line);
            if line.contains(text) {
                return line;
            }
            assert!(read > 0 && started.elapsed() < PATIENCE, "no {text:?} in\n{}", self.seen);
        }
    }

    /// Sends a signal.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.id()).expect("a child's number");
        rustix::process::kill_process(pid, signal).expect("it is there");
    }

    /// Closes the reading end of its stdout.
    pub fn close_stdout(&mut self) {
        drop(self.child.stdout.take());
    }

    /// Waits until it has ended.
    pub fn end(mut self) -> Ended {
        let stdout = self.child.stdout.take();
        let reader = std::thread::spawn(move || {
            let mut out = Vec::new();
            stdout.map(|mut stdout| stdout.read_to_end(&mut out));
            out
        });
        self.err.read_to_string(&mut self.seen).expect("its stderr");
        let status = self.child.wait().expect("its end");
        let out = String::from_utf8(reader.join().expect("a reader")).expect("UTF-8");
        Ended { code: code(status), out, err: std::mem::take(&mut self.seen) }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|status| status.is_none()) {
            // Its children end with it, so it first gets a SIGTERM.
            self.signal(rustix::process::Signal::TERM);
            let started = Instant::now();
            while self.child.try_wait().is_ok_and(|status| status.is_none()) {
                if started.elapsed() > Duration::from_secs(5) {
                    let _ = self.child.kill();
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

/// Returns the exit code as a shell reports it: 128 plus the signal's number if a signal ended the
/// process.
pub fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Waits until less than a fifth of this machine's CPU is in use, but not for long.
pub fn quiet() {
    let used = || {
        let stat = fs::read_to_string("/proc/stat").expect("/proc");
        let words = stat.lines().next().unwrap_or("").split_whitespace().skip(1);
        let ticks: Vec<u64> = words.map(|n| n.parse().unwrap_or(0)).collect();
        // User, nice and system ticks, and all ticks.
        (ticks.iter().take(3).sum::<u64>(), ticks.iter().sum::<u64>())
    };
    let started = Instant::now();
    let mut before = used();
    while started.elapsed() < PATIENCE / 4 {
        std::thread::sleep(Duration::from_millis(300));
        let now = used();
        if (now.0 - before.0) * 5 < now.1 - before.1 {
            return;
        }
        before = now;
    }
}

/// Lets time pass, if time is the subject of the test: a target that is slow, a signal at some point of a
/// phase. Never used to hope that something has happened meanwhile.
pub fn pass(time: Duration) {
    std::thread::sleep(time);
}

/// Waits until a condition holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Returns whether a process has ended; an unreaped process has.
pub fn is_gone(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

/// Returns the number at a JSON pointer.
#[track_caller]
pub fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} in {value:#}"))
}

/// A part's clock in `run.json` must hold the truth: `ahead_us` is what its machine's clock really is ahead of ours, so
/// all that its time is off is what was taken for the offset beside that.
#[track_caller]
pub fn is_true(clock: &Value, ahead_us: f64) {
    let (low, high) = (number(clock, "/low_us"), number(clock, "/high_us"));
    let truth = ahead_us - number(clock, "/offset_us");
    // Starts are told in whole µs.
    assert!(low <= truth + 1.0 && high >= truth - 1.0 && high - low < 20_000.0, "{truth}: {clock:#}");
}

/// Returns whether the run's own verdict is not valid.
pub fn is_doubted(run: &Value) -> bool {
    run["verdict"]["state"] != "valid"
}

/// Returns whether clients or publications were late because of this machine: some were not served, not
/// sent, or excused, and the run reports that it had to wait for others.
fn held_up(run: &Value) -> bool {
    let reasons = run["verdict"]["reasons"].as_array().map_or(&[][..], Vec::as_slice);
    let busy = ["foreign_cpu", "server_wait", "run_queue_wait", "steal"];
    let waited = reasons.iter().any(|reason| busy.iter().any(|code| reason["code"] == *code));
    let count = |arm: &Value, fate: &str| arm["delivery"][fate].as_f64().unwrap_or(0.0);
    let fates = ["unserved", "unpublished", "excused"];
    waited && arms(run).iter().any(|arm| fates.iter().any(|fate| count(arm, fate) > 0.0))
}

/// Returns the arms of a run.
pub fn arms(run: &Value) -> &[Value] {
    run["arms"].as_array().expect("arms")
}

/// Returns the received deliveries, in time or late.
#[track_caller]
pub fn came(arm: &Value) -> f64 {
    number(arm, "/delivery/delivered") + number(arm, "/delivery/late")
}

/// Checks that every intended delivery arrived, once. Times are not checked, because they depend on this
/// machine. Nor is order: a publication that is due while the one before it is unanswered is sent on
/// another connection, and may be read first.
#[track_caller]
pub fn whole(arm: &Value) {
    let delivery = &arm["delivery"];
    let connections = &arm["connections"];
    let intended = number(delivery, "/intended");
    assert!(intended > 0.0);
    assert_eq!(came(arm), intended, "{}: {connections} {delivery:#}", arm["transport"]);
    for count in ["missing", "duplicate", "foreign", "unserved", "unpublished", "excused"] {
        assert_eq!(number(delivery, &format!("/{count}")), 0.0, "{} {count}", arm["transport"]);
    }
    assert_eq!(connections["opened"], connections["asked"], "{connections}");
}
