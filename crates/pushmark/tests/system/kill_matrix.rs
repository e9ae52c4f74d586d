//! The killed process × the instant: pushmark, its server or an agent is killed while clients connect,
//! ramp or measure, while a result is written, and when it is there. Nothing is left running, no port
//! is left taken, a result is whole or absent, the exit code reports what happened, and the next run finds
//! everything in order.

use crate::tool;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::tool::{Ended, PATIENCE, Running, Tool, program, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// The instant of the kill, seen in pushmark's output or in its files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// The server was started, and no client is connected.
    Connect,
    Ramp,
    Measure,
    /// The result's folder is being written.
    Write,
    /// The result exists, and pushmark prints it.
    Print,
}

const ALL: [When; 5] = [When::Connect, When::Ramp, When::Measure, When::Write, When::Print];

/// Writes a scenario with a server that reports its process id and port, started by a shell script.
fn scenario(tool: &Tool) {
    tool.write(
        "start.sh",
        "echo $$ $2 > server.tmp; mv server.tmp server; exec \"$1\" serve --port \"$2\"\n",
    );
    tool.write(
        "s.toml",
        &format!(
            "[target.subscribe]\nsse = \"http://127.0.0.1:{{port}}/sse?channel={{channel}}\"\n\
             [target.publish]\nurl = \"http://127.0.0.1:{{port}}/publish?channel={{channel}}\"\n\
             [target.process]\nstart = [\"sh\", \"start.sh\", {:?}, \"{{port}}\"]\n\
             ready = \"http://127.0.0.1:{{port}}/health\"\n\
             [load]\nconnections = 8\nramp = {{ rate = 12 }}\nsettle = \"0s\"\nwarmup = \"0s\"\n\
             duration = \"700ms\"\ndrain = \"200ms\"\n[publisher]\nrate = \"20/s\"\n",
            program()
        ),
    );
}

/// The processes that a run started.
#[derive(Debug)]
struct Started {
    server: i32,
    port: u16,
    agents: Vec<i32>,
}

/// Starts a run and waits for the instant. Results are in the folder `results`.
fn reach(tool: &Tool, when: When, more: &[&str]) -> (Running, Started) {
    let _ = fs::remove_file(tool.path("server"));
    let mut running = tool.start(&[&["run", "s.toml"], more].concat());
    let own = running.id();
    until("its server was started", || tool.path("server").exists());
    let text = fs::read_to_string(tool.path("server")).unwrap();
    let (server, port) = text.trim().split_once(' ').unwrap();
    let mut started =
        Started { server: server.parse().unwrap(), port: port.parse().unwrap(), agents: Vec::new() };
    if more.contains(&"--agents") {
        until("its agents were started", || {
            started.agents = agents_of(own);
            started.agents.len() == 2
        });
    }
    match when {
        When::Connect => {}
        When::Ramp => drop(running.wait_for(" ramp ")),
        When::Measure => drop(running.wait_for(" measure ")),
        When::Write | When::Print => {
            drop(running.wait_for(" drain "));
            let before = kept(tool);
            // Without a pause, because the instant lasts only a few milliseconds.
            let began = Instant::now();
            while !(drafts(tool).iter().any(|name| name.contains(&format!(".{own}."))) && when == When::Write
                || kept(tool).len() > before.len())
            {
                assert!(began.elapsed() < PATIENCE, "nothing is written");
            }
        }
    }
    (running, started)
}

fn agents_of(run: i32) -> Vec<i32> {
    let is_agent = |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split(|b| *b == 0).nth(1) == Some(b"agent")
    };
    let mut agents: Vec<i32> = children(run).into_iter().filter(is_agent).collect();
    agents.sort_unstable();
    agents
}

fn children(of: i32) -> Vec<i32> {
    let all = procfs::process::all_processes().expect("/proc").flatten();
    let stats = all.filter_map(|process| process.stat().ok());
    stats.filter(|stat| stat.ppid == of).map(|stat| stat.pid).collect()
}

/// Returns the processes that were started below this folder: its path is in the environment of each.
fn alive(tool: &Tool) -> Vec<i32> {
    let mark = format!("TMPDIR={}", tool.path("").display());
    let mark = mark.trim_end_matches('/').as_bytes().to_vec();
    let all = procfs::process::all_processes().expect("/proc").flatten().map(|process| process.pid);
    let ours = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|b| *b == 0).any(|line| line == mark) && !tool::is_gone(*pid)
    };
    all.filter(ours).collect()
}

/// Returns the runs in the results folder, without drafts.
fn kept(tool: &Tool) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(tool.path("results")) else { return Vec::new() };
    let visible = |path: &PathBuf| !path.file_name().unwrap().to_string_lossy().starts_with('.');
    let mut runs: Vec<PathBuf> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir() && visible(path)).collect();
    runs.sort();
    runs
}

fn is_whole(run: &Path) -> Value {
    let text = fs::read_to_string(run.join("run.json")).unwrap_or_else(|error| panic!("{run:?}: {error}"));
    for name in ["scenario.toml", "windows.csv", "report.html"] {
        assert!(run.join(name).is_file(), "{run:?} lacks {name}");
    }
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{run:?}: {error}"))
}

fn drafts(tool: &Tool) -> Vec<String> {
    let Ok(entries) = fs::read_dir(tool.path("results")) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with('.') && name.ends_with(".partial")).collect()
}

/// Checks what holds for every killed process and every instant.
fn nothing_is_left(tool: &Tool, started: &Started, what: &str, ended: &Ended) {
    assert!(!ended.err.contains("panicked"), "{what}: {}", ended.err);
    until(&format!("{what}: nothing runs any more"), || alive(tool).is_empty());
    for pid in started.agents.iter().chain([&started.server]) {
        assert!(tool::is_gone(*pid), "{what}: {pid} is left");
    }
    until(&format!("{what}: port {} is free", started.port), || {
        TcpListener::bind(("127.0.0.1", started.port)).is_ok()
    });
    kept(tool).iter().for_each(|run| drop(is_whole(run)));
}

/// Checks that the next run is kept, hides nothing, and is listed with all earlier runs.
fn the_next_run_is_in_order(tool: &Tool) {
    let before = kept(tool).len();
    let ended = tool.run(&["run", "s.toml", "-q"]).never_panicked();
    assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    let runs = kept(tool);
    assert_eq!(runs.len(), before + 1);
    assert!(drafts(tool).is_empty(), "{:?}", drafts(tool));
    let asked = tool.run(&["runs", "list"]).expect(0);
    for run in &runs {
        let id = run.file_name().unwrap().to_string_lossy().into_owned();
        assert!(asked.out.contains(&id), "the list lacks {id}:\n{}", asked.out);
    }
    let rows = asked.out.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).count();
    assert_eq!(rows, runs.len(), "{}", asked.out);
}

#[test]
fn pushmark_is_killed() {
    let tool = Tool::new();
    scenario(&tool);
    for (when, (signal, code)) in
        ALL.into_iter().flat_map(|when| [(Signal::KILL, 137), (Signal::TERM, 143)].map(|s| (when, s)))
    {
        let what = format!("pushmark, {when:?}, {code}");
        let before = kept(&tool).len();
        let (running, started) = reach(&tool, when, &[]);
        running.signal(signal);
        let ended = running.end();
        nothing_is_left(&tool, &started, &what, &ended);
        let new = kept(&tool).split_off(before.min(kept(&tool).len()));
        match (when, signal) {
            // The last instants are milliseconds long: pushmark may have ended by itself just before.
            (When::Write | When::Print, _) => {
                assert!([code, 0, 6].contains(&ended.code), "{what}: {ended:#?}");
                assert!(when == When::Write || new.len() == 1, "{what}: it was there");
            }
            (_, Signal::KILL) => {
                assert_eq!(ended.code, code, "{what}");
                assert!(new.is_empty(), "{what}: {new:?}");
            }
            _ => {
                assert_eq!(ended.code, code, "{what}: {ended:#?}");
                // Either nothing was measured, or the measured part is kept.
                assert!(new.len() <= 1 && (when != When::Measure || new.len() == 1), "{what}: {ended:#?}");
                for run in &new {
                    let reasons = is_whole(run)["verdict"]["reasons"].clone();
                    let mut codes = reasons.as_array().unwrap().iter().map(|reason| &reason["code"]);
                    assert!(codes.any(|code| code == "interrupted"), "{what}: {reasons}");
                }
            }
        }
    }
    the_next_run_is_in_order(&tool);
}

#[test]
fn its_server_is_killed() {
    let tool = Tool::new();
    scenario(&tool);
    for (when, signal) in [When::Connect, When::Ramp, When::Measure]
        .into_iter()
        .flat_map(|when| [Signal::KILL, Signal::TERM].map(|s| (when, s)))
    {
        let what = format!("the server, {when:?}, {signal:?}");
        let before = kept(&tool).len();
        let (running, started) = reach(&tool, when, &[]);
        kill_process(Pid::from_raw(started.server).unwrap(), signal).expect(&what);
        let ended = running.end();
        nothing_is_left(&tool, &started, &what, &ended);
        let new = kept(&tool).split_off(before);
        // Before any client was connected, the server was unreachable; afterwards the death is an outcome,
        // and kept.
        match (ended.code, when) {
            (3, When::Connect | When::Ramp) => assert!(new.is_empty(), "{what}"),
            (137 | 143 | 101, _) => panic!("{what}: {ended:#?}"),
            _ => {
                assert_eq!(new.len(), 1, "{what}: {ended:#?}");
                assert_ne!(is_whole(&new[0])["arms"][0]["outcome"], "held", "{what}");
            }
        }
    }
    the_next_run_is_in_order(&tool);
}

#[test]
fn an_agent_is_killed() {
    let tool = Tool::new();
    scenario(&tool);
    for (when, signal) in
        [(When::Connect, Signal::KILL), (When::Ramp, Signal::KILL), (When::Measure, Signal::TERM)]
    {
        let what = format!("an agent, {when:?}, {signal:?}");
        let before = kept(&tool).len();
        let (running, started) = reach(&tool, when, &["--agents", "2"]);
        kill_process(Pid::from_raw(started.agents[1]).unwrap(), signal).expect(&what);
        let ended = running.end();
        nothing_is_left(&tool, &started, &what, &ended);
        // 6: the machine was too busy for valid times.
        assert!(matches!(ended.code, 5 | 6), "{what}: {ended:#?}");
        let new = kept(&tool).split_off(before);
        assert_eq!(new.len(), 1, "{what}: {ended:#?}");
        let run = is_whole(&new[0]);
        let reasons = run["verdict"]["reasons"].as_array().unwrap();
        assert!(reasons.iter().any(|reason| reason["code"] == "agent_lost"), "{what}: {reasons:#?}");
    }
    the_next_run_is_in_order(&tool);
}
