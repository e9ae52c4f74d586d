//! pushmark as its users have it: a command in a folder, what it prints, how it ends, what it keeps.

#![allow(dead_code, unreachable_pub, reason = "shared by test files, each of which uses its part")]

pub mod http;
pub mod keys;
pub mod terminator;

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

/// A load that is over soon: whole before anything is published, and patient at the end.
pub const LOAD: &str = "[load]
connections = 8
ramp = { rate = 400 }
settle = \"200ms\"
warmup = \"0s\"
duration = \"1s\"
drain = \"1s\"
";

/// Both ways to wait and read, as `--poller` has them.
pub const POLLERS: [&str; 2] = ["epoll", "io_uring"];

/// The tree's own servers.
pub fn servers() -> PathBuf {
    root().join("servers")
}

/// The workspace.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The program.
pub fn program() -> &'static str {
    env!("CARGO_BIN_EXE_pushmark")
}

/// Whether something from outside is there. Where it is not, says so past the test harness.
///
/// # Panics
/// If every test was asked for.
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

/// A folder to run in.
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

    /// The program with arguments, in this folder, as on a plain terminal's other side.
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

    /// Runs it again, at most eight times, where this machine was too busy for a verdict.
    pub fn run_judged(&self, arguments: &[&str]) -> Ended {
        for _ in 1..8 {
            let ended = self.run(arguments);
            if ended.code != 6 {
                return ended;
            }
            // -o names a folder that must not exist.
            if let Some(at) = arguments.iter().position(|&a| a == "-o") {
                let _ = fs::remove_dir_all(self.path(arguments[at + 1]));
            }
        }
        self.run(arguments)
    }

    /// Starts a command whose progress is read while it goes on.
    pub fn start(&self, arguments: &[&str]) -> Running {
        Running::of(self.command(arguments))
    }

    /// Runs a scenario and gives its `run.json`, whatever the machine made of its verdict.
    pub fn measure(&self, scenario: &str, more: &[&str]) -> Value {
        self.write("scenario.toml", scenario);
        let mut arguments = vec!["run", "scenario.toml", "-o", "out", "-q"];
        arguments.extend_from_slice(more);
        let ended = self.run(&arguments);
        assert!(matches!(ended.code, 0 | 6 | 99), "{ended:#?}");
        self.run_json("out")
    }

    /// The `run.json` of a folder.
    pub fn run_json(&self, folder: &str) -> Value {
        let path = self.path(folder).join("run.json");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_json::from_str(&text).expect("JSON")
    }

    /// The names in a folder, in order.
    pub fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).expect("a folder");
        let mut names: Vec<String> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    /// All that a folder keeps, one text.
    pub fn all_text(&self, folder: &str) -> String {
        let read = |name: &String| {
            String::from_utf8_lossy(&fs::read(self.path(folder).join(name)).expect("a file")).into_owned()
        };
        self.names(folder).iter().map(read).collect::<Vec<_>>().join("\n")
    }
}

impl Ended {
    /// Fails with everything that was printed where the code is another.
    #[track_caller]
    pub fn expect(self, code: i32) -> Ended {
        assert_eq!(self.code, code, "\nstdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Fails where stderr lacks one of these.
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

/// Runs a command to its end; both its outputs are read as they come.
pub fn end(command: Command) -> Ended {
    Running::of(command).end()
}

/// A command that goes on. Dropping it ends it.
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

    /// With stdout as the command has it.
    pub fn piped(mut command: Command) -> Running {
        let mut child = command.stderr(Stdio::piped()).spawn().expect("the program starts");
        let err = BufReader::new(child.stderr.take().expect("piped"));
        Running { child, err, seen: String::new() }
    }

    pub fn id(&self) -> i32 {
        self.child.id() as i32
    }

    /// Waits for a line of progress that holds a text.
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

    /// Gives up its stdout: nobody reads any more.
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
            // Its own children end with it: it is asked before it is made to.
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

/// As a shell tells it: 128 and the signal's number where one ended it.
fn code(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0))
}

/// Lets time pass, where time is what the test is about: a target that takes so long, a signal
/// so far into a phase. Never to hope that something has happened meanwhile.
pub fn pass(time: Duration) {
    std::thread::sleep(time);
}

/// Waits until something holds.
#[track_caller]
pub fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether a process has ended; one that nobody has waited for yet has.
pub fn is_gone(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).map_or(true, |stat| stat.contains(") Z "))
}

/// The number at a JSON pointer.
#[track_caller]
pub fn number(value: &Value, pointer: &str) -> f64 {
    let found = value.pointer(pointer).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no number at {pointer} in {value:#}"))
}

/// The arms of a run.
pub fn arms(run: &Value) -> &[Value] {
    run["arms"].as_array().expect("arms")
}

/// Everything intended arrived, once. The order is another matter: a publication that is due while
/// the one before it is unanswered goes out on a connection of its own, and may be read first.
#[track_caller]
pub fn whole(arm: &Value) {
    let delivery = &arm["delivery"];
    let connections = &arm["connections"];
    let intended = number(delivery, "/intended");
    assert!(intended > 0.0);
    assert_eq!(number(delivery, "/delivered"), intended, "{}: {connections} {delivery:#}", arm["transport"]);
    for count in ["missing", "late", "duplicate", "foreign", "unserved", "unpublished", "excused"] {
        assert_eq!(number(delivery, &format!("/{count}")), 0.0, "{} {count}", arm["transport"]);
    }
    assert_eq!(connections["opened"], connections["asked"], "{connections}");
}
