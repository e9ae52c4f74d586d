//! How pushmark ends: every exit code, and the results that are kept if something ends it early.

use crate::tool;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::tool::http::Target;
use crate::tool::{LOAD, Running, Tool, arms, end, have, number, program, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

/// Returns a scenario with one arm against the built-in server.
fn builtin() -> String {
    format!("transports = [\"sse\"]\n[target]\nserver = \"builtin\"\n{LOAD}")
}

/// Returns a scenario with a target that this test starts through a shell script.
fn scripted(tool: &Tool, script: &str) -> String {
    tool.write("start.sh", script);
    format!(
        "transports = [\"sse\"]\n[target.subscribe]\nsse = \"http://127.0.0.1:{{port}}/sse?channel={{channel}}\"\n\
         [target.publish]\nurl = \"http://127.0.0.1:{{port}}/publish?channel={{channel}}\"\n\
         [target.process]\nstart = [\"sh\", \"start.sh\", {:?}, \"{{port}}\"]\n\
         ready = \"http://127.0.0.1:{{port}}/health\"\n{LOAD}",
        program()
    )
}

/// Returns the same with a server so slow that the queues of the generator are negligible beside its
/// delay.
fn judged(threshold: &str) -> String {
    let slow = "server = \"builtin\"\nargs = [\"--delay\", \"50ms\"]";
    format!("{}[thresholds]\n{threshold}\n", builtin().replace("server = \"builtin\"", slow))
}

#[test]
fn a_run_whose_thresholds_hold_ends_with_0() {
    let tool = Tool::new();
    tool.write("s.toml", &judged("\"delivery.missing\" = \"== 0\""));
    let ended = tool.run_judged(&["run", "s.toml"]).expect(0).never_panicked();
    assert!(ended.out.contains("delivery.missing == 0"), "{}", ended.out);
    let kept = tool.names("results");
    assert_eq!(kept.len(), 1, "a run and nothing else: {kept:?}");
}

#[test]
fn a_crossed_threshold_ends_with_99() {
    let tool = Tool::new();
    // A threshold on a count: it is crossed even on a machine whose latencies are invalid.
    tool.write("s.toml", &judged("\"delivery.missing\" = \"> 0\""));
    let ended = tool.run(&["run", "s.toml", "-q", "-o", "out"]).expect(99);
    assert!(ended.out.contains("delivery.missing > 0"), "{}", ended.out);
    assert_eq!(tool.run_json("out")["thresholds"][0]["ok"], false);
}

#[test]
fn what_the_files_alone_show_ends_with_2_before_anything_starts() {
    let tool = Tool::new();
    tool.write("bad.toml", "[target]\nserver = \"builtin\"\n[load]\nconections = 5\n");
    tool.run(&["run", "bad.toml"]).expect(2).says(&["bad.toml:4", "conections", "connections"]);
    tool.run(&["run", "gone.toml"]).expect(2).says(&["there is no such file"]);
    tool.run(&["run", "--no-such-flag"]).expect(2).says(&["--no-such-flag"]);
    tool.run(&["run", "-t", "webscoket"]).expect(2).says(&["did you mean websocket?"]);
    tool.run(&["run", "--set", "load.connections=0"]).expect(2);
    tool.run(&["run", "--servers", "/no/such/folder"]).expect(2).says(&["servers.toml", "no such file"]);
    tool.run(&["run", "http://[::1"]).expect(2);
    tool.run(&["run", "ftp://127.0.0.1:9/x"]).expect(2);
    tool.run(&[]).expect(2);
    assert_eq!(tool.names(""), ["bad.toml"], "nothing half-done is left behind");
}

#[test]
fn an_output_folder_that_exists_is_never_touched() {
    let tool = Tool::new();
    std::fs::create_dir(tool.path("out")).unwrap();
    std::fs::write(tool.path("out/mine"), "kept").unwrap();
    let ended = tool.run(&["run", "-o", "out"]).expect(2).says(&["-o out: this path already exists"]);
    assert_eq!(ended.out, "");
    assert_eq!(tool.names("out"), ["mine"]);
}

#[test]
fn an_output_folder_that_cannot_be_made_is_told_before_anything_is_measured() {
    let tool = Tool::new();
    tool.write("file", "no folder");
    // No server listens there: a command that tried the target first would end with 3.
    tool.write("s.toml", &format!("[target.subscribe]\nsse = \"http://127.0.0.1:1/a\"\n[target.publish]\nurl = \"http://127.0.0.1:1/p\"\n{LOAD}"));
    tool.write(
        "suite.toml",
        "name = \"s\"\nanalysis = \"a\"\n[scenario]\ntarget.server = \"builtin\"\n\
         [axes.clients]\nkey = \"load.connections\"\nvalues = [10]\n[[matrix]]\n",
    );
    for command in [
        &["run", "s.toml"][..],
        &["ab", "s.toml", "--set-b", "load.connections=9"],
        &["find-max", "s.toml"],
        &["suite", "suite.toml"],
    ] {
        let ended = tool.run(&[command, &["-o", "file/out"]].concat()).expect(2);
        assert!(ended.err.contains("file/out"), "{command:?}: {}", ended.err);
    }
    assert_eq!(tool.names(""), ["file", "s.toml", "suite.toml"], "nothing half-done is left behind");
}

#[test]
fn a_target_that_is_down_ends_with_3_at_once() {
    let tool = Tool::new();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    tool.write(
        "s.toml",
        &format!(
            "[target.subscribe]\nsse = \"http://127.0.0.1:{port}/a\"\nstream = \"http://127.0.0.1:{port}/b\"\n\
             [target.publish]\nurl = \"http://127.0.0.1:{port}/p\"\n{LOAD}"
        ),
    );
    let started = Instant::now();
    let ended = tool.run(&["run", "s.toml", "-d", "300s"]).expect(3);
    assert!(started.elapsed() < Duration::from_secs(60));
    ended.says(&[
        "no client could subscribe",
        "8 of 8: refused",
        &format!("127.0.0.1:{port}"),
        "Connection refused",
    ]);
    assert_eq!(tool.names(""), ["s.toml"]);
}

#[test]
fn a_name_nobody_knows_ends_with_3() {
    let tool = Tool::new();
    let ended = tool.run(&["run", "http://no-such-host.invalid:80/x", "-q"]).expect(3);
    ended.says(&["no-such-host.invalid"]);
}

#[test]
fn a_server_that_crashes_at_start_shows_its_last_words() {
    let tool = Tool::new();
    let scenario = scripted(&tool, "echo \"config: line 7: no such key\" >&2; exit 7\n");
    tool.write("s.toml", &scenario);
    let ended = tool.run(&["run", "s.toml", "-q"]).expect(3);
    ended.says(&["ended before it was ready", "exit 7", "config: line 7: no such key"]);
}

#[test]
fn a_port_that_is_taken_is_said_by_the_server_and_by_us() {
    let tool = Tool::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let ended = tool.run(&["serve", "--port", &port]).never_panicked();
    ended.expect(4).says(&[&format!("cannot listen on 127.0.0.1:{port}: Address already in use")]);
    // A target whose port is taken ends at once; its output is shown.
    tool.write(
        "s.toml",
        &format!(
            "[target.subscribe]\nsse = \"http://127.0.0.1:{port}/sse\"\n[target.process]\n\
             start = [{:?}, \"serve\", \"--port\", \"{port}\"]\nready = \"http://127.0.0.1:{port}/health\"\n{LOAD}",
            program()
        ),
    );
    // The listener of this test accepts and never answers: the probe must not hang on it.
    let started = Instant::now();
    let ended = tool.run(&["run", "s.toml", "-q"]).expect(3);
    ended.says(&["ended before it was ready", "in use"]);
    assert!(started.elapsed() < Duration::from_secs(30), "{:?}", started.elapsed());
}

#[test]
fn more_connections_than_descriptors_end_with_4_and_what_would_fit() {
    let tool = Tool::new();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -n 500; exec \"$0\" run -c 5000 -q", program()]);
    shell.current_dir(tool.path("")).env("PUSHMARK_SERVERS", tool::servers());
    let ended = end(shell).expect(4).says(&[
        "this machine cannot hold the plan",
        "open_files",
        "found",
        "needed",
        "nofile",
    ]);
    let fits: u64 = ended.err.rsplit("-c ").next().unwrap().trim().parse().expect("what would fit");
    assert!((100..500).contains(&fits), "{fits}");
    assert!(tool.names("").is_empty());
    // The suggested crowd does fit.
    let mut shell = Command::new("sh");
    let line = format!(
        "ulimit -n 500; exec \"$0\" run -c {fits} -t sse -d 300ms --set load.settle=100ms --set load.warmup=0s --set load.drain=1s -q -o out"
    );
    shell.args(["-c", &line, program()]).current_dir(tool.path("")).env("PUSHMARK_SERVERS", tool::servers());
    let ended = end(shell);
    assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    assert_eq!(number(&arms(&tool.run_json("out"))[0], "/connections/opened"), fits as f64);
}

#[test]
fn an_arm_that_cannot_start_leaves_the_others_and_ends_with_5() {
    let tool = Tool::new();
    let scenario = scripted(
        &tool,
        "[ -e second ] && { echo out of licences; exit 1; }; touch second; exec \"$1\" serve --port \"$2\"\n",
    );
    let scenario = scenario.replace("transports = [\"sse\"]\n", "").replace(
        "[target.publish]",
        "stream = \"http://127.0.0.1:{port}/stream?channel={channel}\"\n[target.publish]",
    );
    tool.write("s.toml", &scenario);
    let ended = tool.run(&["run", "s.toml", "-o", "out"]);
    let run = tool.run_json("out");
    incomplete(&run, "broken_off");
    let code = if run["verdict"]["state"] == "invalid" { 6 } else { 5 };
    assert_eq!(ended.code, code, "{ended:#?}");
    let (broken, sound): (Vec<_>, Vec<_>) = arms(&run).iter().partition(|arm| arm.get("error").is_some());
    assert_eq!((broken.len(), sound.len()), (1, 1));
    assert!(broken[0]["error"].as_str().unwrap().contains("out of licences"));
    assert_eq!(broken[0]["outcome"], "died");
    tool::whole(sound[0]);
}

#[test]
fn a_generator_that_cannot_publish_as_planned_ends_with_6() {
    // Each publication takes 100 ms, on one connection: 10 a second of the planned 100.
    let target = Target::start(|request, answer| match &*request.path {
        "/publish" => {
            tool::pass(Duration::from_millis(100));
            answer.sized("200 OK", "", b"")
        }
        _ => {
            answer.head("text/event-stream")?;
            while !answer.hub.over() {
                answer.hub.after(usize::MAX - 1, Duration::from_millis(500));
            }
            Ok(())
        }
    });
    let tool = Tool::new();
    tool.write(
        "s.toml",
        &format!(
            "[target.subscribe]\nsse = \"{at}/sse\"\n[target.publish]\nurl = \"{at}/publish\"\n{LOAD}\
             [publisher]\nrate = \"100/s\"\nconnections = 1\n[thresholds]\n\"delivery.p50\" = \"< 1us\"\n",
            at = target.url("")
        ),
    );
    let ended = tool.run(&["run", "s.toml", "-q", "-o", "out"]).expect(6);
    let run = tool.run_json("out");
    assert_eq!(run["verdict"]["state"], "invalid");
    let codes: Vec<&str> =
        run["verdict"]["reasons"].as_array().unwrap().iter().filter_map(|r| r["code"].as_str()).collect();
    assert!(codes.contains(&"achieved_rate"), "{codes:?}");
    assert!(ended.out.contains("invalid"), "{}", ended.out);
}

/// Checks that the run is marked incomplete, with the reason. A busy machine may have made it worse.
fn incomplete(run: &Value, code: &str) {
    let verdict = &run["verdict"];
    assert!(verdict["state"] == "incomplete" || verdict["state"] == "invalid", "{verdict:#}");
    let reasons = verdict["reasons"].as_array().expect("reasons");
    assert!(reasons.iter().any(|r| r["code"] == code && r["state"] == "incomplete"), "{verdict:#}");
}

fn reasons(run: &Value) -> Vec<String> {
    let all = run["verdict"]["reasons"].as_array().expect("reasons");
    all.iter().filter_map(|reason| Some(reason["code"].as_str()?.to_owned())).collect()
}

/// Sends a signal in the middle of measure. The measured part is kept and marked.
fn stopped_by(signal: Signal, code: i32) {
    let tool = Tool::new();
    tool.write("s.toml", &judged("\"delivery.p50\" = \"< 1us\""));
    let two_threads = ["--set", "threads=2", "--set", "publisher.rate=50/s"];
    let run = ["run", "s.toml", "-d", "300s", "-t", "sse,websocket", "-o", "out"];
    let mut running = tool.start(&[&run[..], &two_threads].concat());
    running.wait_for("measure");
    tool::pass(Duration::from_millis(1_500));
    let started = Instant::now();
    running.signal(signal);
    let ended = running.end().expect(code).never_panicked();
    assert!(started.elapsed() < Duration::from_secs(20));
    // The output contains the words of the verdict, among others.
    assert!(ended.out.contains("stopped") && ended.out.contains("shorter run"), "{}", ended.out);
    let run = tool.run_json("out");
    incomplete(&run, "interrupted");
    assert_eq!(arms(&run).len(), 1, "the second arm was not begun");
    let arm = &arms(&run)[0];
    let delivery = &arm["delivery"];
    let (intended, delivered) = (number(delivery, "/intended"), number(delivery, "/delivered"));
    assert!(delivered >= 8.0 * 5.0, "{delivery:#}");
    assert!(intended < 8.0 * 50.0 * 60.0, "what was never due is not counted: {intended}");
    // The server loses nothing: publications in flight are excused, and all threads count the same.
    assert_eq!(number(delivery, "/missing"), 0.0, "{delivery:#}");
    assert_eq!(intended, 8.0 * number(arm, "/published/due"), "{delivery:#}");
    assert!(!reasons(&run).contains(&"accounts".to_owned()), "{delivery:#}");
    assert!(tool.names("out").contains(&"report.html".to_owned()));
}

#[test]
fn ctrl_c_keeps_and_marks_what_was_measured() {
    stopped_by(Signal::INT, 130);
}

#[test]
fn sigterm_keeps_and_marks_what_was_measured() {
    stopped_by(Signal::TERM, 143);
}

#[test]
fn ctrl_c_before_anything_was_measured_leaves_nothing_half_done() {
    let tool = Tool::new();
    tool.write("s.toml", &builtin());
    let mut running = tool.start(&["run", "s.toml", "--set", "load.settle=60s", "-o", "out"]);
    running.wait_for("settle");
    running.signal(Signal::INT);
    running.end().expect(130).never_panicked();
    if tool.path("out").exists() {
        incomplete(&tool.run_json("out"), "interrupted");
    }
    let hidden = tool.names("").into_iter().filter(|name| name.contains("partial")).count();
    assert_eq!(hidden, 0);
}

#[test]
fn a_server_killed_in_the_middle_is_a_finding() {
    let tool = Tool::new();
    let scenario = scripted(&tool, "echo $$ > pid; exec \"$1\" serve --port \"$2\"\n");
    tool.write("s.toml", &format!("{scenario}[thresholds]\n\"connections.lost\" = \"== 0\"\n"));
    let mut running = tool.start(&["run", "s.toml", "-d", "2500ms", "-o", "out"]);
    running.wait_for("measure");
    tool::pass(Duration::from_millis(1_000));
    let pid = std::fs::read_to_string(tool.path("pid")).unwrap().trim().parse().unwrap();
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    let ended = running.end().never_panicked();
    let run = tool.run_json("out");
    let arm = &arms(&run)[0];
    assert_eq!(arm["outcome"], "died");
    assert_eq!(arm["server"]["ended"], "signal 9");
    assert_eq!(number(arm, "/connections/lost"), 8.0);
    assert_eq!(number(arm, "/delivery/intended"), 8.0 * 25.0, "what was planned stays: {}", arm["delivery"]);
    assert!(number(arm, "/delivery/delivered") >= 40.0);
    assert!(number(arm, "/delivery/unserved") > 0.0, "{}", arm["delivery"]);
    assert_eq!(run["thresholds"][0]["ok"], false);
    assert!(matches!(ended.code, 99 | 6), "a crash is a finding: {}\n{}", ended.code, ended.err);
    assert_ne!(run["verdict"]["state"], "incomplete");
}

#[test]
fn a_server_that_died_never_ends_with_0() {
    let tool = Tool::new();
    let scenario = scripted(&tool, "echo $$ > pid; exec \"$1\" serve --port \"$2\" --delay 50ms\n");
    // Without thresholds; and with thresholds on arrived messages only, which all pass.
    for (name, thresholds) in [("none", ""), ("kept", "[thresholds]\n\"delivery.missing\" = \"< 100\"\n")] {
        tool.write("s.toml", &format!("{scenario}{thresholds}"));
        let mut running = tool.start(&["run", "s.toml", "-d", "2500ms", "-o", name]);
        running.wait_for("measure");
        tool::pass(Duration::from_millis(1_000));
        let pid = std::fs::read_to_string(tool.path("pid")).unwrap().trim().parse().unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        let ended = running.end().never_panicked();
        assert!(matches!(ended.code, 99 | 6), "{name}: {}\n{}", ended.code, ended.out);
        let told = ended.out.lines().find(|line| line.contains("the server of sse died"));
        assert!(told.is_some_and(|line| line.contains("signal 9")), "{name}: {}", ended.out);
        let run = tool.run_json(name);
        let of = |threshold: &str| {
            let all = run["thresholds"].as_array().unwrap();
            all.iter()
                .find(|t| t["expression"].as_str().unwrap().starts_with(threshold))
                .map(|t| t["ok"] == true)
        };
        match name {
            "none" => assert_eq!(
                (of("delivery.of_intended"), of("delivery.unserved")),
                (Some(false), Some(false)),
                "{}",
                run["thresholds"]
            ),
            _ => assert_eq!(of("delivery.missing"), Some(true), "{}", run["thresholds"]),
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let tool = Tool::new();
    tool.write("s.toml", &builtin());
    for format in ["text", "json"] {
        let mut command = tool.command(&["run", "s.toml", "-o", format, "--format", format]);
        command.stdout(Stdio::piped());
        let mut running = Running::piped(command);
        running.close_stdout();
        let ended = running.end().never_panicked();
        assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
        assert!(tool.path(format).join("run.json").exists());
    }
    for arguments in [&["schema"][..], &["man"], &["completions", "bash"], &["--help"], &["servers", "list"]]
    {
        let mut command = tool.command(arguments);
        command.stdout(Stdio::piped());
        let mut running = Running::piped(command);
        running.close_stdout();
        running.end().expect(0).never_panicked();
    }
}

#[test]
fn nobody_reads_stderr_and_nothing_breaks() {
    let tool = Tool::new();
    tool.write("s.toml", &builtin());
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$0\" run s.toml -o out 2>&- >&-; echo $? > code", program()]);
    shell.current_dir(tool.path("")).env("PUSHMARK_SERVERS", tool::servers());
    end(shell).expect(0);
    let code = std::fs::read_to_string(tool.path("code")).unwrap();
    assert!(matches!(code.trim(), "0" | "6"), "{code}");
    let mut shell = Command::new("sh");
    shell.args(["-c", "\"$0\" run gone.toml 2>/dev/full", program()]).current_dir(tool.path(""));
    end(shell).expect(2);
}

#[test]
fn a_full_disk_keeps_the_result() {
    let tool = Tool::new();
    tool.write("s.toml", &builtin());
    let disk = tool.path("disk");
    std::fs::create_dir(&disk).unwrap();
    let mut mount = Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=32k", "tmpfs"]).arg(&disk).stderr(Stdio::null());
    let root = rustix::process::geteuid().is_root();
    let mounted = root && mount.status().is_ok_and(|status| status.success());
    if !mounted {
        have(!root, "the right to mount a small disk");
        eprintln!("SKIPPED a_full_disk_keeps_the_result: only root can mount a small disk");
        return;
    }
    let ended = tool.run(&["run", "s.toml", "-o", "disk/out"]);
    let left = tool.names("disk");
    let unmounted = Command::new("umount").arg(&disk).status().is_ok_and(|status| status.success());
    let ended = ended.never_panicked();
    assert!(unmounted);
    assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    assert!(ended.err.contains("No space left"), "{}", ended.err);
    assert!(left.is_empty(), "nothing half-done is left on it: {left:?}");
    // TMPDIR is this test's folder: it holds the spare folder, and stderr names it.
    let spare = tool.path(&format!("{}/out", spare()));
    assert!(ended.err.contains(&spare.display().to_string()), "{}", ended.err);
    assert!(spare.join("run.json").exists() && spare.join("report.html").exists());
    assert!(ended.out.contains("sse"), "{}", ended.out);
}

#[test]
fn no_place_at_all_still_prints_the_result() {
    let tool = Tool::new();
    tool.write("s.toml", &builtin());
    // Files take the places of the results folder and of the spare folder.
    tool.write("results", "");
    tool.write(&spare(), "");
    let ended = tool.run(&["run", "s.toml", "-q"]).expect(1).never_panicked();
    assert!(ended.out.contains("intended"), "{}", ended.out);
    let ended = ended.says(&["the run is not stored on disk; its figures are only those printed here"]);
    assert!(!ended.out.contains("report.html"), "{}", ended.out);
    assert_eq!(tool.names(""), [&spare(), "results", "s.toml"]);
}

/// Returns the folder of this user in the temporary folder, which is this test's.
fn spare() -> String {
    format!("pushmark-results-{}", rustix::process::geteuid().as_raw())
}

#[test]
fn everything_started_has_ended_when_the_tool_was_killed_softly() {
    let tool = Tool::new();
    let scenario = scripted(&tool, "echo $$ > pid; exec \"$1\" serve --port \"$2\"\n");
    tool.write("s.toml", &scenario);
    let mut running = tool.start(&["run", "s.toml", "-d", "300s", "-o", "out"]);
    running.wait_for("measure");
    running.signal(Signal::TERM);
    running.end().expect(143);
    let pid = std::fs::read_to_string(tool.path("pid")).unwrap();
    until("the server has ended", || tool::is_gone(pid.trim().parse().unwrap()));
}

#[test]
fn a_second_ctrl_c_ends_at_once_and_leaves_no_server() {
    let tool = Tool::new();
    // The shell ignores SIGTERM, so pushmark would wait for it.
    let scenario = scripted(
        &tool,
        "trap '' TERM; echo $$ > pid; \"$1\" serve --port \"$2\" & while :; do sleep 1; done\n",
    );
    tool.write("s.toml", &scenario);
    let mut running = tool.start(&["run", "s.toml", "-d", "300s", "-o", "out"]);
    running.wait_for("measure");
    let pid = std::fs::read_to_string(tool.path("pid")).unwrap();
    running.signal(Signal::INT);
    tool::pass(Duration::from_millis(300));
    let started = Instant::now();
    running.signal(Signal::INT);
    running.end().expect(130).never_panicked();
    assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    until("the server has ended", || tool::is_gone(pid.trim().parse().unwrap()));
}
