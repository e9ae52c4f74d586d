//! Crowds over several processes, and over more open files than one of them may have.

mod tool;

use std::process::Command;

use rustix::process::{Pid, Signal};
use serde_json::Value;
use tool::{Running, Tool, arms, end, is_gone, number, program, until, whole};

const SCENARIO: &str = "transports = [\"sse\", \"long-poll\"]\n[target]\nserver = \"builtin\"\n\
    args = [\"--drop\", \"1/7\", \"--dup\", \"1/11\"]\n[load]\nconnections = 60\nramp = { rate = 400 }\n\
    settle = \"300ms\"\nwarmup = \"500ms\"\nduration = \"2s\"\ndrain = \"1s\"\n\
    [subscriptions]\nchannels = 3\nper_connection = 2\n[publisher]\nrate = \"10/s\"\n";

/// What a run counted, by arm.
fn counted(run: &Value) -> Vec<Vec<f64>> {
    let keys = [
        "/connections/opened",
        "/published/due",
        "/published/sent",
        "/delivery/intended",
        "/delivery/expected",
        "/delivery/delivered",
        "/delivery/missing",
        "/delivery/duplicate",
    ];
    let mut arms: Vec<&Value> = arms(run).iter().collect();
    arms.sort_by_key(|arm| arm["transport"].to_string());
    arms.into_iter().map(|arm| keys.iter().map(|key| number(arm, key)).collect()).collect()
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

/// The agents that a run has started.
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
fn an_agent_that_dies_is_told() {
    let tool = Tool::new();
    tool.write("s.toml", SCENARIO);
    let running = tool.start(&["run", "s.toml", "-t", "sse", "--agents", "2", "-q", "-o", "out"]);
    let agent = Pid::from_raw(two_agents(&running)[0]).expect("a process");
    rustix::process::kill_process(agent, Signal::KILL).expect("it is ours");
    let ended = running.end();
    assert_ne!(ended.code, 0);
    let said = format!("{}{}", ended.out, ended.err);
    assert!(said.contains("an agent ended in the middle of its work"), "{said}");
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
