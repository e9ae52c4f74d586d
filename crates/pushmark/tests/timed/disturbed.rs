//! Runs that other programs disturb: they take the CPUs, their queues overflow, or they stop the
//! generator. Each disturbance is reported as what it is.

use crate::tool;
use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::tool::{Tool, arms, number, until};
use rustix::process::Signal;
use serde_json::Value;

const SCENARIO: &str = "transports = [\"sse\"]\n[target]\nserver = \"builtin\"\n[load]\nconnections = 20\n\
    ramp = { rate = 20 }\nsettle = \"200ms\"\nwarmup = \"0s\"\nduration = \"2s\"\ndrain = \"1s\"\n\
    [publisher]\nrate = \"20/s\"\n";

/// Programs that take every CPU. Dropping them ends them.
struct Spinners(Vec<Child>);

impl Spinners {
    fn on_every_cpu() -> Spinners {
        let cpus = std::thread::available_parallelism().unwrap().get();
        let spin = |_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Spinners((0..cpus).map(spin).collect())
    }
}

impl Drop for Spinners {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Returns the reasons of a run's verdict with a code.
fn reasons<'r>(run: &'r Value, code: &str) -> Vec<&'r Value> {
    run["verdict"]["reasons"].as_array().unwrap().iter().filter(|reason| reason["code"] == code).collect()
}

#[test]
fn a_busy_host_is_told_before_the_run_and_judged_after_it() {
    let tool = Tool::new();
    tool.write("s.toml", SCENARIO);
    let _spinners = Spinners::on_every_cpu();
    let ended = tool.run(&["run", "s.toml", "-o", "out"]).never_panicked();
    ended.says(&["this host is busy before the run begins: other programs use", "sh "]);
    let run = tool.run_json("out");
    let foreign = number(&arms(&run)[0], "/foreign/cpu");
    assert!((0.25..=1.0).contains(&foreign), "{foreign}");
    let said = reasons(&run, "foreign_cpu");
    assert_eq!(said.len(), 1, "{:#}", run["verdict"]);
    let seen = said[0]["seen"].as_str().unwrap();
    assert!(seen.starts_with("other programs used ") && seen.contains("sh "), "{seen}");
    // The fate of each delivery is known all the same.
    assert!(said[0]["concerns"].as_array().unwrap().iter().all(|family| family != "counts"));
}

#[test]
fn another_programs_full_queue_is_not_the_targets() {
    let tool = Tool::new();
    tool.write("s.toml", SCENARIO);
    // A listener whose queue has no room after a few connections.
    let full = TcpListener::bind("127.0.0.1:0").unwrap();
    rustix::net::listen(&full, 1).unwrap();
    let (at, over) = (full.local_addr().unwrap(), Arc::new(AtomicBool::new(false)));
    let knocking = {
        let over = Arc::clone(&over);
        std::thread::spawn(move || {
            let mut held = Vec::new();
            while !over.load(Ordering::Relaxed) {
                held.push(knock(at));
                if held.len() > 100 {
                    held.clear();
                }
                std::thread::park_timeout(Duration::from_millis(2));
            }
        })
    };
    let ended = tool.run(&["run", "s.toml", "-q", "-o", "out"]).never_panicked();
    over.store(true, Ordering::Relaxed);
    knocking.join().unwrap();
    let run = tool.run_json("out");
    let arm = &arms(&run)[0];
    assert!(number(arm, "/wire/listen_overflows") > 0.0, "{}", arm["wire"]);
    assert_eq!(number(arm, "/wire/listener_drops"), 0.0, "{}", arm["wire"]);
    assert_eq!(reasons(&run, "listen_overflows").len(), 0, "{ended:#?}");
    assert_eq!(arm["outcome"], "held");
}

/// Starts a connection without waiting for it.
fn knock(at: SocketAddr) -> rustix::fd::OwnedFd {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None).unwrap();
    // EINPROGRESS.
    let _ = connect(&socket, &at);
    socket
}

#[test]
fn a_generator_that_was_stopped_for_a_while_says_so() {
    let tool = Tool::new();
    tool.write("s.toml", SCENARIO);
    let mut running = tool.start(&["run", "s.toml", "-o", "out"]);
    running.wait_for("measure");
    running.signal(Signal::STOP);
    let stopped = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", running.id())).unwrap();
        stat.contains(") T ")
    };
    until("it stands still", stopped);
    tool::pass(Duration::from_secs(1));
    running.signal(Signal::CONT);
    running.end().never_panicked();
    let run = tool.run_json("out");
    let said = reasons(&run, "stood_still");
    assert_eq!(said.len(), 1, "{:#}", run["verdict"]);
    let seen = said[0]["seen"].as_str().unwrap();
    // One second, less the time for which its thread then waited for a core.
    let length = seen.strip_prefix("pushmark itself was paused for ").and_then(|rest| rest.split(' ').next());
    let length_s: f64 = length.and_then(|length| length.parse().ok()).unwrap_or_else(|| panic!("{seen}"));
    assert!((0.4..20.0).contains(&length_s) && seen.contains(" s of measure"), "{seen}");
    assert_eq!(said[0]["state"], "invalid", "a good part of measure");
}
