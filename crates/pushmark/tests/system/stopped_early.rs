//! A signal while pushmark waits for something that may never arrive: a server that is not ready, a
//! missing answer. Pushmark ends at once, with the signal's code, and leaves nothing running.

use crate::tool;
use std::fs;
use std::io::Read as _;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::tool::{Ended, LOAD, Running, Tool, program, until};
use rustix::process::Signal;

/// Longest time from the signal to the end. The interrupted waits are 5 s to 60 s long.
const AT_ONCE: Duration = Duration::from_secs(2);

const SIGNALS: [(Signal, i32); 3] = [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 143)];

/// Whether this test's parent left the signal enabled; `nohup` ignores SIGHUP.
fn is_heard(signal: Signal) -> bool {
    let status = procfs::process::Process::myself().and_then(|own| own.status()).expect("/proc");
    status.sigign & (1 << (signal.as_raw() - 1)) == 0
}

/// Writes a scenario with a target whose process runs and never serves.
fn never_ready(tool: &Tool, ready: &str) {
    tool.write(
        "s.toml",
        &format!(
            "[target.subscribe]\nsse = \"http://127.0.0.1:{{port}}/sse?channel={{channel}}\"\n\
             [target.publish]\nurl = \"http://127.0.0.1:{{port}}/publish?channel={{channel}}\"\n\
             [target.process]\nstart = [\"sh\", \"-c\", \"echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 1000\"]\n\
             {ready}\n{LOAD}"
        ),
    );
}

/// Two cases of such a target.
const SUITE: &str = r#"
name = "never"
analysis = "Servers that never are."
cooldown = { max = "0s" }
[scenario]
transports = ["sse"]
target.subscribe.sse = "http://127.0.0.1:{port}/sse?channel={channel}"
target.publish.url = "http://127.0.0.1:{port}/publish?channel={channel}"
target.process.start = ["sh", "-c", "echo $$ > pid.tmp; mv pid.tmp pid; exec sleep 1000"]
load = { duration = "1s" }
[axes.clients]
key = "load.connections"
values = [4, 8]
[[matrix]]
"#;

/// Waits until the process was started, and returns its number.
fn started(tool: &Tool) -> i32 {
    until("it was started", || tool.path("pid").exists());
    let pid = fs::read_to_string(tool.path("pid")).unwrap().trim().parse().unwrap();
    fs::remove_file(tool.path("pid")).unwrap();
    pid
}

fn ends_at_once(running: Running, signal: Signal, code: i32) -> Ended {
    let told = Instant::now();
    running.signal(signal);
    let ended = running.end().never_panicked().expect(code);
    assert!(told.elapsed() < AT_ONCE, "{:?} {ended:#?}", told.elapsed());
    ended
}

#[test]
fn while_a_server_is_awaited() {
    // First nothing listens; then a listener accepts and never answers, plain and over TLS.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = silent.local_addr().unwrap();
    let ready = [
        "".to_owned(),
        format!("ready = \"http://{at}/health\""),
        format!("ready = \"https://{at}/health\""),
    ];
    for (ready, (signal, code)) in
        ready.iter().flat_map(|ready| SIGNALS.map(|signal| (ready, signal))).filter(|(_, s)| is_heard(s.0))
    {
        let tool = Tool::new();
        never_ready(&tool, ready);
        let running = tool.start(&["run", "s.toml", "-o", "out"]);
        let server = started(&tool);
        let asked = if ready.is_empty() {
            None
        } else {
            // Pushmark waits for an answer.
            let (mut asked, _) = silent.accept().unwrap();
            assert_ne!(asked.read(&mut [0; 1]).unwrap(), 0);
            Some(asked)
        };
        ends_at_once(running, signal, code).says(&["stopped by a signal while target was starting"]);
        assert!(tool::is_gone(server));
        assert!(!tool.path("out").exists(), "nothing was measured");
        drop(asked);
    }
}

#[test]
fn while_a_suite_a_search_or_a_check_awaits_its_server() {
    let commands: [&[&str]; 4] = [
        &["suite", "suite.toml", "-o", "out"],
        &["find-max", "s.toml", "-o", "out"],
        &["check", "s.toml"],
        &["run", "s.toml", "-o", "out", "--repeat", "3"],
    ];
    for command in commands {
        let tool = Tool::new();
        never_ready(&tool, "");
        tool.write("suite.toml", SUITE);
        let running = tool.start(command);
        let server = started(&tool);
        let ended = ends_at_once(running, Signal::TERM, 143);
        // The server was killed, and perhaps not waited for.
        until("its server has ended", || tool::is_gone(server));
        // A case whose server never served has no run.
        let runs = match tool.path("out").exists() {
            true => tool.names("out").iter().filter(|name| tool.path("out").join(name).is_dir()).count(),
            false => 0,
        };
        assert_eq!(runs, 0, "{command:?} {ended:#?}");
        // TMPDIR is this test's folder.
        until("its log is gone", || !tool.names("").iter().any(|name| name.starts_with("pushmark-")));
    }
}

#[test]
fn a_daemon_is_measured_and_ends_with_us_however_we_end() {
    // The server leaves its parent and its session; in one variant the parent stays, in the other it ends.
    for after in ["exec sleep 1000", "exit 0"] {
        let tool = Tool::new();
        let script = format!(
            "setsid -f sh -c 'echo $$ > pid.tmp; mv pid.tmp pid; exec \"$0\" serve --port \"$1\"' \"$1\" \"$2\"\n{after}\n"
        );
        tool.write("start.sh", &script);
        let scenario = format!(
            "[target.subscribe]\nsse = \"http://127.0.0.1:{{port}}/sse?channel={{channel}}\"\n\
             [target.publish]\nurl = \"http://127.0.0.1:{{port}}/publish?channel={{channel}}\"\n\
             [target.process]\nstart = [\"sh\", \"start.sh\", {:?}, \"{{port}}\"]\n\
             ready = \"http://127.0.0.1:{{port}}/health\"\n{LOAD}",
            program()
        );
        let run = tool.measure(&scenario, &[]);
        let server = started(&tool);
        assert!(tool::is_gone(server), "{after}");
        let arm = &tool::arms(&run)[0];
        tool::whole(arm);
        assert_eq!(arm["outcome"], "held", "{after} {}", arm["server"]);
        // A shell alone would have neither.
        assert!(tool::number(arm, "/server/cpu_us") > 0.0, "{}", arm["server"]);
        assert!(tool::number(arm, "/server/rss_bytes_peak") > 4e6, "{}", arm["server"]);

        let mut running = tool.start(&["run", "scenario.toml", "-d", "300s", "-o", "killed"]);
        running.wait_for("measure");
        let server = started(&tool);
        running.signal(Signal::KILL);
        running.end().expect(137);
        until("the daemon has ended", || tool::is_gone(server));
    }
}
