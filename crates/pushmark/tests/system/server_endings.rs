//! Servers that die, hang, refuse or answer wrongly: what a run records of them. No process is left
//! behind, whatever ends.

use crate::tool;
use std::fs;
use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::tool::{LOAD, Running, Tool, arms, number, program, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Returns a scenario with a target that this test starts through a shell script: `$1` is the program,
/// `$2` the port.
fn scripted(tool: &Tool, script: &str, transports: &[&str]) -> String {
    tool.write("start.sh", script);
    let templates: String = transports
        .iter()
        .map(|t| format!("{t} = \"http://127.0.0.1:{{port}}/{t}?channel={{channel}}\"\n"))
        .collect();
    format!(
        "[target.subscribe]\n{templates}[target.publish]\nurl = \"http://127.0.0.1:{{port}}/publish?channel={{channel}}\"\n\
         [target.process]\nstart = [\"sh\", \"start.sh\", {:?}, \"{{port}}\"]\n\
         ready = \"http://127.0.0.1:{{port}}/health\"\n{LOAD}",
        program()
    )
}

/// Reads the number that a script wrote into a file.
fn pid(tool: &Tool, name: &str) -> i32 {
    fs::read_to_string(tool.path(name)).unwrap().trim().parse().unwrap()
}

fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
}

/// Runs until the first arm measures.
fn measuring(tool: &Tool, scenario: &str, more: &[&str]) -> Running {
    tool.write("s.toml", scenario);
    let arguments = [&["run", "s.toml", "-o", "out"], more].concat();
    let mut running = tool.start(&arguments);
    running.wait_for("measure");
    tool::pass(Duration::from_millis(500));
    running
}

fn words(run: &Value) -> Vec<&Value> {
    arms(run).iter().filter_map(|arm| arm.get("last_words")).collect()
}

const OWN: &str = "echo $$ > pid; exec \"$1\" serve --port \"$2\"\n";

#[test]
fn one_that_is_killed_leaves_its_last_words_and_the_next_case_starts_clean() {
    let tool = Tool::new();
    let script =
        "echo up with 7 threads; echo \"gone soon\" >&2; echo $$ >> pids; exec \"$1\" serve --port \"$2\"\n";
    let mut running = measuring(&tool, &scripted(&tool, script, &["sse", "stream"]), &["-d", "1500ms"]);
    send(pid(&tool, "pids"), Signal::KILL);
    // The second arm, with a separate server.
    running.wait_for("measure");
    let ended = running.end().never_panicked();
    let run = tool.run_json("out");
    let (died, held): (Vec<_>, Vec<_>) = arms(&run).iter().partition(|arm| arm["outcome"] == "died");
    assert_eq!((died.len(), held.len()), (1, 1), "{ended:#?}");
    let said = &died[0]["last_words"];
    assert_eq!((&said["how"], &said["by_itself"]), (&"signal 9".into(), &true.into()));
    assert_eq!((&said["hung"], &said["out_of_memory"]), (&false.into(), &false.into()));
    assert!(said["lines"].as_array().unwrap().contains(&"gone soon".into()), "{said}");
    assert!(
        ended.out.contains("its server ended: signal 9") && ended.out.contains("| gone soon"),
        "{}",
        ended.out
    );
    let page = fs::read_to_string(tool.path("out/report.html")).unwrap();
    assert!(page.contains("ended: signal 9"));
    // Its whole log is kept beside the figures.
    let log = format!("out/{}.server.log", died[0]["transport"].as_str().unwrap());
    assert!(fs::read_to_string(tool.path(&log)).unwrap().starts_with("up with 7 threads\n"));
    tool::whole(held[0]);
    for pid in fs::read_to_string(tool.path("pids")).unwrap().lines() {
        assert!(tool::is_gone(pid.parse().unwrap()));
    }
}

#[test]
fn one_that_hangs_is_killed_in_the_end_and_keeps_nobody_waiting() {
    let tool = Tool::new();
    let running = measuring(&tool, &scripted(&tool, OWN, &["sse"]), &["-d", "1500ms"]);
    let server = pid(&tool, "pid");
    send(server, Signal::STOP);
    let stopped = Instant::now();
    let ended = running.end().never_panicked();
    assert!(stopped.elapsed() < Duration::from_secs(40), "{:?}", stopped.elapsed());
    let run = tool.run_json("out");
    let arm = &arms(&run)[0];
    assert_ne!(arm["outcome"], "held");
    let said = &arm["last_words"];
    assert_eq!((&said["hung"], &said["by_itself"]), (&true.into(), &false.into()), "{said}");
    assert!(ended.out.contains("hung and was killed"), "{}", ended.out);
    assert!(number(arm, "/delivery/missing") > 0.0, "{}", arm["delivery"]);
    assert!(tool::is_gone(server));
}

#[test]
fn want_of_memory_is_told() {
    let tool = Tool::new();
    let script = "echo $$ > pid; echo 'Exception: java.lang.OutOfMemoryError: Java heap space' >&2; exec \"$1\" serve --port \"$2\"\n";
    let running = measuring(&tool, &scripted(&tool, script, &["sse"]), &["-d", "1500ms"]);
    send(pid(&tool, "pid"), Signal::KILL);
    let ended = running.end().never_panicked();
    assert!(ended.out.contains("ended: signal 9, out of memory"), "{}", ended.out);
    assert_eq!(words(&tool.run_json("out"))[0]["out_of_memory"], true);

    let at_start = "echo 'Error: java.lang.OutOfMemoryError' >&2; exit 1\n";
    tool.write("s.toml", &scripted(&tool, at_start, &["sse"]));
    tool.run(&["run", "s.toml", "-q"])
        .expect(3)
        .says(&["ended before it was ready (exit 1, out of memory)", "| Error: java.lang.OutOfMemoryError"]);
}

#[test]
fn one_that_refuses_some_and_one_that_refuses_all() {
    let tool = Tool::new();
    let all = "echo $$ > pid; echo 'java.lang.OutOfMemoryError: native thread'; exec \"$1\" serve --port \"$2\" --refuse 1/1\n";
    // The server is then ready as soon as a port accepts.
    tool.write("s.toml", &scripted(&tool, all, &["sse"]).replace("ready = ", "# ready = "));
    tool.run(&["run", "s.toml", "-q"]).expect(3).says(&[
        "no client could subscribe",
        "8 of 8",
        "its server: stopped by us, out of memory",
        "| java.lang.OutOfMemoryError",
    ]);
    assert!(tool::is_gone(pid(&tool, "pid")));

    let some = "echo $$ > pid; echo refusing; exec \"$1\" serve --port \"$2\" --refuse 1/4\n";
    tool.write("s.toml", &scripted(&tool, some, &["sse"]));
    tool.run(&["run", "s.toml", "-q", "-o", "out"]).never_panicked();
    let run = tool.run_json("out");
    let arm = &arms(&run)[0];
    assert_eq!(arm["outcome"], "degraded", "{}", arm["connections"]);
    assert_eq!(arm["last_words"]["how"], "stopped by us");
    assert!(arm["last_words"]["lines"].as_array().unwrap().contains(&"refusing".into()));
}

#[test]
fn wrong_answers_are_counted_and_the_other_arm_is_whole() {
    let tool = Tool::new();
    let scenario = scripted(&tool, OWN, &["sse", "stream"]).replace("/sse?channel", "/no-such-page?channel");
    tool.write("s.toml", &scenario);
    tool.run(&["run", "s.toml", "-q", "-o", "out"]).never_panicked();
    let run = tool.run_json("out");
    let of = |name: &str| arms(&run).iter().find(|arm| arm["transport"] == name).expect("an arm");
    assert_eq!(number(of("sse"), "/connections/opened"), 0.0);
    let failed = of("sse")["connections"]["failed"].as_object().unwrap();
    assert_eq!(failed.values().filter_map(Value::as_u64).sum::<u64>(), 8, "{failed:?}");
    tool::whole(of("stream"));
}

#[test]
fn nothing_is_left_where_pushmark_itself_is_killed() {
    let tool = Tool::new();
    // A server with a child that holds the port, and a server that does nothing.
    let script =
        "sleep 1000 & echo $! > idle; \"$1\" serve --port \"$2\" & echo $! > child; echo $$ > pid; wait\n";
    let running = measuring(&tool, &scripted(&tool, script, &["sse"]), &["-d", "300s"]);
    let started = ["pid", "child", "idle"].map(|name| pid(&tool, name));
    assert!(started.iter().all(|&pid| !tool::is_gone(pid)));
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, 137);
    for pid in started {
        until("all that it started has ended", || tool::is_gone(pid));
    }
    // TMPDIR is this test's folder.
    until("its log is gone", || !tool.names("").iter().any(|name| name.starts_with("pushmark-")));
}

#[test]
fn a_stranger_on_the_port_is_never_measured() {
    let tool = Tool::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let stranger = tool.start(&["serve", "--port", &port.to_string()]);
    until("the stranger serves", || {
        tool::http::ask(&format!("127.0.0.1:{port}"), "GET", "/health", "")
            .is_ok_and(|(status, _)| status == 200)
    });
    tool.write(
        "s.toml",
        &format!(
            "[target.subscribe]\nsse = \"http://127.0.0.1:{port}/sse?channel={{channel}}\"\n\
             [target.publish]\nurl = \"http://127.0.0.1:{port}/publish?channel={{channel}}\"\n\
             [target.process]\nstart = [\"sh\", \"-c\", \"echo waiting for the port; exec sleep 1000\"]\n\
             ready = \"http://127.0.0.1:{port}/health\"\n{LOAD}"
        ),
    );
    let ended = tool.run(&["run", "s.toml", "-q"]).expect(3);
    ended.says(&[&format!("port {port} is served by process {}", stranger.id()), "not by target"]);
    stranger.signal(Signal::TERM);
    stranger.end().expect(0);
}

/// Writes a folder `own` with a registry of one row.
fn own(tool: &Tool, row: &str) {
    let text = fs::read_to_string(tool::servers().join("servers.toml")).unwrap();
    let contract = &text[..text.find("[[server]]").unwrap()];
    fs::create_dir_all(tool.path("own/it")).unwrap();
    let row = format!(
        "[[server]]\nname = \"it\"\nfolder = \"it\"\nstands_for = \"It 1.0\"\nfamily = \"its\"\n\
         architecture = \"event loop\"\ntransports = [\"sse\"]\ncontract = true\n{row}"
    );
    tool.write("own/servers.toml", &format!("{contract}{row}"));
}

#[test]
fn a_server_of_a_row_is_built_first_and_its_run_says_which_it_was() {
    let tool = Tool::new();
    own(
        &tool,
        "flags = { queue = \"256\", idle = \"1\" }\nbuild = [\"sh\", \"-c\", \"echo 1.7 > built\"]\nbuilt = [\"built\"]\n\
         version = [\"cat\", \"built\"]\n\
         run = [\"sh\", \"-c\", \"echo collected > {log}/gc.log; exec {pushmark} serve --port {port} --queue-max {queue}\"]\n",
    );
    tool.write(
        "s.toml",
        &format!("transports = [\"sse\"]\n[target]\nserver = \"it\"\nflags = {{ queue = 300 }}\n{LOAD}"),
    );
    let ended = tool.run(&["run", "s.toml", "-o", "out", "--servers", "own"]).never_panicked();
    assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    let ended = ended.says(&[
        "it: built in ",
        "it is not checked on this machine in its current state; check it with: pushmark check it",
    ]);
    let run = tool.run_json("out");
    let server = &run["environment"]["server"];
    for (key, value) in [
        ("name", "it"),
        ("version", "1.7"),
        ("stands_for", "It 1.0"),
        ("family", "its"),
        ("generation", "present"),
    ] {
        assert_eq!(server[key], value, "{server}");
    }
    assert_eq!(server["flags"], serde_json::json!({ "queue": "300", "idle": "1" }));
    assert_eq!(server["checked"], false);
    assert_eq!(fs::read_to_string(tool.path("out/sse.gc.log")).unwrap(), "collected\n");
    assert!(tool.names("out").contains(&"sse.server.log".to_owned()), "{ended:#?}");
    assert!(arms(&run)[0].get("last_words").is_none(), "it held");
}

#[test]
fn a_server_that_cannot_be_built_or_lacks_something_is_not_begun() {
    let tool = Tool::new();
    own(&tool, "build = [\"sh\", \"-c\", \"echo no compiler; exit 9\"]\nbuilt = [\"x\"]\nrun = [\"x\"]\n");
    tool.write("s.toml", "[target]\nserver = \"it\"\n");
    tool.run(&["run", "s.toml", "--servers", "own"]).expect(3).says(&["exit status: 9", "| no compiler"]);
    own(
        &tool,
        "needs = [\"tool\"]\nrun = [\"x\"]\n[need.tool]\nprogram = \"no-such-program\"\ninstall = \"get it\"\n",
    );
    tool.run(&["run", "s.toml", "--servers", "own"])
        .expect(4)
        .says(&["it cannot run here", "tool is missing: get it"]);
    assert_eq!(tool.names(""), ["own", "s.toml"]);
}
