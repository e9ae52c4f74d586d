//! Real children: shells that serve, refuse to end, or end by themselves.

use super::*;
use std::io::Read;
use std::net::TcpListener;
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// A daemon without its environment may belong to any server: it is started alone (`lineage`).
static UNMARKED: RwLock<()> = RwLock::new(());

/// Held while a test would mistake an unmarked daemon for its own.
fn all_marked() -> RwLockReadGuard<'static, ()> {
    UNMARKED.read().unwrap_or_else(PoisonError::into_inner)
}

fn shell(script: &str) -> Process {
    let command = ["sh", "-c", script].map(String::from).to_vec();
    start(&Start { name: "test".into(), command, ..Start::default() }).unwrap()
}

fn start(start: &Start) -> anyhow::Result<Process> {
    Process::start(start, Logs::new("test").unwrap())
}

fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Waits until something holds.
fn until(mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
}

/// The number a script wrote into its log.
fn number_in_log(process: &Process) -> i32 {
    loop {
        let digits: String = process.log_tail().chars().filter(char::is_ascii_digit).collect();
        if let (true, Ok(number)) = (process.log_tail().contains('.'), digits.parse()) {
            return number;
        }
        std::thread::yield_now();
    }
}

#[test]
fn how_it_ended_is_told() {
    let _all_marked = all_marked();
    for (script, expected) in [("exit 3", "exit 3"), ("kill -9 $$", "signal 9"), ("true", "exit 0")] {
        let mut process = shell(script);
        process.wait_end(Duration::from_secs(30)).unwrap();
        assert_eq!(process.ended().as_deref(), Some(expected));
        assert_eq!(process.stop().as_deref(), Some(expected));
    }
}

#[test]
fn a_pid_namespace_entered_from_outside_has_no_daemons_of_its_own() {
    // There the number of the session is 0, for this process and for its children.
    let inside = |command: &[&std::ffi::OsStr]| {
        let mut unshare = Command::new("unshare");
        unshare.args(["--fork", "--pid", "--mount-proc", "--"]).args(command).output().unwrap()
    };
    if !inside(&["true".as_ref()]).status.success() {
        eprintln!("not tried: this machine makes no pid namespace");
        return;
    }
    let tests = std::env::current_exe().unwrap();
    let tried = inside(&[tests.as_os_str(), "how_it_ended_is_told".as_ref()]);
    let said = String::from_utf8_lossy(&tried.stdout);
    assert!(tried.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
fn a_server_that_lives_is_stopped_with_all_it_started() {
    let mut process = shell("sleep 1000 & echo $!.; wait");
    let (parent, child) = (process.pid(), number_in_log(&process));
    assert!(lives(parent) && lives(child));
    assert_eq!(process.stop(), None, "it did not end by itself");
    assert!(!lives(parent) && !lives(child));
}

#[test]
fn one_that_ignores_sigterm_is_killed() {
    // Its child keeps the group alive after the leader: the group is killed, not the leader.
    let mut process = shell("trap '' TERM; sleep 1000 & echo $!.; exec sleep 1000");
    let child = number_in_log(&process);
    process.signal(Signal::TERM);
    assert_eq!(process.ended(), None);
    process.kill();
    assert_eq!(process.ended().as_deref(), Some("signal 9"));
    assert!(!lives(child));
}

#[test]
fn daemons_end_with_the_server_they_came_from() {
    let _alone = UNMARKED.write().unwrap_or_else(PoisonError::into_inner);
    // A daemon in its own session, with the environment and without; a second server's daemon stays.
    for daemon in ["setsid -f sh", "setsid -f env -i sh"] {
        let script = format!("{daemon} -c 'echo $$.; exec sleep 1000'; exec sleep 1000");
        let (mut process, mut other) = (shell(&script), shell(&script));
        let (own, others) = (number_in_log(&process), number_in_log(&other));
        // Only the mark distinguishes two servers that run at the same time.
        let told_apart = !daemon.contains("env");
        until(|| process.lineage.orphans().contains(&own));
        assert_eq!(process.lineage.orphans().contains(&others), !told_apart, "{daemon}");
        assert_eq!(process.stop(), None);
        assert!(!lives(own) && lives(others) == told_apart, "{daemon}");
        assert!(!process.last_words().hung);
        other.kill();
        assert!(!lives(others) && other.lineage.orphans().is_empty(), "{daemon}");
    }
}

#[test]
fn one_that_goes_on_as_a_daemon_is_the_server() {
    let _all_marked = all_marked();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut process = shell("setsid sh -c 'sleep 1000 & echo $!.; wait' & exit 0");
    let child = number_in_log(&process);
    process.wait_end(Duration::from_secs(30)).unwrap();
    process.wait_accepting(port, Duration::from_secs(30)).unwrap();
    assert_eq!(process.ended(), None, "its daemon lives");
    assert_eq!(process.stop(), None);
    assert!(!lives(child));
    assert!(!process.last_words().hung, "{:?}", process.last_words());
    // A server whose daemon ends by itself has ended.
    let mut process = shell("setsid sh -c 'read -r go < go; echo gone.' & exit 0");
    process.wait_end(Duration::from_secs(30)).unwrap();
    until(|| process.ended().is_some());
}

#[test]
fn what_a_daemon_uses_is_the_servers() {
    let _all_marked = all_marked();
    let mut process = shell(
        "setsid -f sh -c 'x=$(head -c 30000000 /dev/zero | tr \"\\0\" a); \
         while :; do read -r a < /proc/self/stat; set -- $a; [ $((${14} + ${15})) -ge 30 ] && break; done; \
         echo $$.; exec sleep 1000'; exec sleep 1000",
    );
    let mut tree = crate::monitor::Tree::new(process.pid()).unwrap();
    number_in_log(&process);
    let used = tree.read();
    assert!((250_000_000..2_000_000_000).contains(&used.cpu_ns), "{used:?}");
    assert!(used.threads >= 2);
    process.stop();
    assert_eq!(tree.read().threads, 0);
    assert!(tree.read().cpu_ns >= used.cpu_ns);
}

#[test]
fn a_dropped_handle_leaves_no_process_and_no_log() {
    let process = shell("sleep 1000 & echo $!.; wait");
    let (child, log) = (number_in_log(&process), process.logs.folder().to_owned());
    drop(process);
    assert!(!lives(child) && !log.exists());
}

#[test]
fn one_that_ends_before_it_is_ready_shows_its_last_words() {
    let mut process = shell("echo starting; echo 'port in use' >&2; exit 1");
    let error = process.wait_ready(&"http://127.0.0.1:1/health".into(), Duration::from_secs(30)).unwrap_err();
    insta::assert_snapshot!(error, @"
    test ended before it was ready (exit 1)
      | starting
      | port in use
    ");
}

#[test]
fn ready_is_the_first_2xx() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/health", listener.local_addr().unwrap());
    let answers = std::thread::spawn(move || {
        use std::io::Write;
        for status in ["503 Busy", "404 No", "204 Yes"] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0u8; 1024];
            assert!(stream.read(&mut request).unwrap() > 0);
            write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n").unwrap();
        }
    });
    let mut process = shell("sleep 1000");
    process.wait_ready(&url.into(), Duration::from_secs(30)).unwrap();
    answers.join().unwrap();
    let error = process.wait_ready(&"http://127.0.0.1:1/".into(), Duration::ZERO).unwrap_err().to_string();
    assert!(
        error.starts_with("test is not ready after 0ns: http://127.0.0.1:1/ cannot be reached"),
        "{error}"
    );
    assert!(error.ends_with("it wrote nothing"));
}

#[test]
fn a_server_is_kept_to_its_cpus_and_we_are_not() {
    let own = allowed_cpus().unwrap();
    let last = *own.last().unwrap();
    let command = ["sleep", "1000"].map(String::from).to_vec();
    let what = Start { name: "pinned".into(), command, cpus: vec![last], ..Start::default() };
    let process = start(&what).unwrap();
    let status = std::fs::read_to_string(format!("/proc/{}/status", process.pid())).unwrap();
    let line = status.lines().find(|l| l.starts_with("Cpus_allowed_list:")).unwrap();
    assert_eq!(line.split_whitespace().nth(1), Some(last.to_string().as_str()));
    assert_eq!(allowed_cpus().unwrap(), own);
}

#[test]
fn a_command_that_is_not_there_is_named() {
    let command = vec!["no-such-server".to_string()];
    let what = Start { name: "x".into(), command, ..Start::default() };
    let error = format!("{:#}", start(&what).unwrap_err());
    assert!(error.starts_with("cannot start x: no-such-server"), "{error}");
    assert!(start(&Start::default()).is_err());
}
