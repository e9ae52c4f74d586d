//! Crowds over several processes, and over more open files than one process may have.

use crate::tool;
use std::process::Command;
use std::time::Duration;

use crate::tool::{Running, Tool, arms, came, end, is_gone, number, program, until, whole};
use rustix::process::{Pid, Signal};
use serde_json::Value;

const SCENARIO: &str = "transports = [\"sse\", \"long-poll\"]\n[target]\nserver = \"builtin\"\n\
    args = [\"--drop\", \"1/7\", \"--dup\", \"1/11\"]\n[load]\nconnections = 60\nramp = { rate = 400 }\n\
    settle = \"300ms\"\nwarmup = \"500ms\"\nduration = \"2s\"\ndrain = \"1s\"\n\
    [subscriptions]\nchannels = 3\nper_connection = 2\n[publisher]\nrate = \"10/s\"\nconnections = 1\n";

/// Returns a run's counts, by arm. Late deliveries count as received, because lateness depends on the
/// machine.
fn counted(run: &Value) -> Vec<Vec<f64>> {
    let keys = [
        "/connections/opened",
        "/published/due",
        "/published/sent",
        "/delivery/intended",
        "/delivery/expected",
        "/delivery/missing",
        "/delivery/duplicate",
    ];
    let mut arms: Vec<&Value> = arms(run).iter().collect();
    arms.sort_by_key(|arm| arm["transport"].to_string());
    arms.into_iter().map(|arm| keys.iter().map(|key| number(arm, key)).chain([came(arm)]).collect()).collect()
}

#[test]
fn agents_count_what_threads_count() {
    let threads = Tool::new().measure(SCENARIO, &["--threads", "3"]);
    let agents = Tool::new().measure(SCENARIO, &["--agents", "3"]);
    assert_eq!(counted(&agents), counted(&threads));
    for arm in arms(&agents) {
        assert_eq!(number(arm, "/generator/shards"), 3.0, "a shard an agent, all of them watched");
        assert!(number(arm, "/generator/cpu_us") > 0.0);
    }
}

/// Returns the agents that a run has started.
fn agents_of(run: i32) -> Vec<i32> {
    let agent = |pid: i32| {
        let process = procfs::process::Process::new(pid).ok()?;
        let (stat, words) = (process.stat().ok()?, process.cmdline().ok()?);
        (stat.ppid == run && words.get(1)? == "agent").then_some(pid)
    };
    let all = procfs::process::all_processes().expect("/proc").filter_map(|p| Some(p.ok()?.pid));
    all.filter_map(agent).collect()
}

fn two_agents(run: &Running) -> Vec<i32> {
    let mut agents = Vec::new();
    until("two agents", || {
        agents = agents_of(run.id());
        agents.len() == 2
    });
    agents
}

#[test]
fn agents_end_with_their_run_though_it_is_killed() {
    let tool = Tool::new();
    tool.write("s.toml", &SCENARIO.replace("duration = \"2s\"", "duration = \"60s\""));
    let running = tool.start(&["run", "s.toml", "-t", "sse", "--agents", "2", "-o", "out"]);
    let agents = two_agents(&running);
    running.signal(Signal::KILL);
    drop(running.end());
    for pid in agents {
        until("an agent that is gone", || is_gone(pid));
    }
}

#[test]
fn an_agent_that_dies_is_told_and_the_other_goes_on() {
    let scenario = SCENARIO.replace(r#", "--drop", "1/7", "--dup", "1/11""#, "");
    let scenario = scenario.replace(r#"args = ["--drop", "1/7", "--dup", "1/11"]"#, "");
    // Each of the two agents: one of them publishes the first and the third channel.
    for which in 0..2 {
        let tool = Tool::new();
        tool.write("s.toml", &scenario);
        let mut running = tool.start(&["run", "s.toml", "-t", "sse", "--agents", "2", "-o", "out"]);
        let mut agents = two_agents(&running);
        agents.sort_unstable();
        running.wait_for("measure");
        tool::pass(Duration::from_millis(700));
        let agent = Pid::from_raw(agents[which]).expect("a process");
        rustix::process::kill_process(agent, Signal::KILL).expect("it is ours");
        let ended = running.end();
        // 6: the machine was too busy for valid times.
        assert!(matches!(ended.code, 5 | 6), "{ended:#?}");
        let lost = format!("agent {} of 2 ended (signal 9) at ", which + 1);
        assert!(ended.err.contains(&lost), "{}", ended.err);
        let run = tool.run_json("out");
        let reasons = run["verdict"]["reasons"].as_array().expect("reasons");
        let said: Vec<&Value> = reasons.iter().filter(|reason| reason["code"] == "agent_lost").collect();
        assert_eq!(said.len(), 1, "{reasons:#?}");
        assert!(said[0]["seen"].as_str().expect("text").starts_with(&lost), "{said:?}");
        // The server is not charged for deliveries without a client, or without a publication.
        let arm = &arms(&run)[0];
        let delivery = &arm["delivery"];
        let fate = |name: &str| number(delivery, &format!("/{name}"));
        let (missing, expected, delivered) = (fate("missing"), fate("expected"), fate("delivered"));
        assert_eq!((missing, fate("late"), fate("unserved")), (0.0, 0.0, 0.0), "{delivery}");
        assert_eq!(expected, delivered, "{delivery}");
        assert!(delivered > 0.0 && fate("unpublished") > 0.0, "{delivery}");
        // 30 clients of 2 channels, 10 messages a second, for 2 s: 1,200; all 60 clients: 2,400.
        assert!(fate("intended") < 2_400.0, "{delivery}");
        until("both are gone", || agents.iter().all(|pid| is_gone(*pid)));
    }
}

#[test]
fn a_crowd_beyond_the_limit_of_open_files_is_spread_at_both_ends() {
    let tool = Tool::new();
    let measure = |more: &str| {
        let mut shell = Command::new("sh");
        let line = format!(
            "ulimit -n 300; exec \"$0\" run -c 500 -t websocket -d 500ms --set load.ramp.rate=2000 \
             --set load.settle=100ms --set load.warmup=0s --set load.drain=1s {more} -q -o out"
        );
        shell
            .args(["-c", &line, program()])
            .current_dir(tool.path(""))
            .env("PUSHMARK_SERVERS", tool::servers());
        end(shell)
    };
    measure("").expect(4).says(&["server_open_files", "found   300"]);
    let ended = measure("--set target.flags.threads=4");
    assert!(matches!(ended.code, 0 | 6), "{ended:#?}");
    let run = tool.run_json("out");
    let arm = &arms(&run)[0];
    whole(arm);
    assert_eq!(number(arm, "/connections/opened"), 500.0);
    assert_eq!(number(arm, "/generator/shards"), 4.0, "500 ÷ (300 − 64 publishers − 100)");
}
