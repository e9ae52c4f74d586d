//! Servers that a monitor watches and starts for a run: a real NATS server, the monitor as a process of its own.

use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use pushmark_model::draw::{Draw, Purpose};
use rustix::process::Signal;
use serde_json::Value;

use crate::machines::{Bus, HOUR_US, counted};
use crate::tool::{self, Running, Tool, arms, have, is_true, number, until, whole};

const LOAD: &str = "[load]\nconnections = 60\nramp = { rate = 400 }\nsettle = \"300ms\"\nwarmup = \"500ms\"\n\
    duration = \"2s\"\ndrain = \"1s\"\n[subscriptions]\nchannels = 7\nper_connection = 2\n[publisher]\n\
    rate = \"10/s\"\n";

fn of_server(more: &str) -> String {
    format!("transports = [\"sse\"]\n[target]\nserver = \"builtin\"\n{more}{LOAD}")
}

/// A server that the scenario only names: its command is the monitor's.
fn of_command(name: &str) -> String {
    format!(
        "[target.subscribe]\nsse = \"http://127.0.0.1:{{port}}/sse?channel={{channels}}\"\n[target.publish]\n\
         url = \"http://127.0.0.1:{{port}}/publish?channel={{channel}}\"\n[target.process]\nmonitor = {name:?}\n{LOAD}"
    )
}

/// Returns the monitor's part of the only arm, after a look at what it saw.
fn watched(run: &Value) -> &Value {
    let arm = &arms(run)[0];
    assert!(number(arm, "/server/cpu_us") > 0.0, "{:#}", arm["server"]);
    assert!(number(arm, "/server/rss_bytes_peak") > 1e6, "{:#}", arm["server"]);
    assert!(
        number(arm, "/softirq_us") >= 0.0 && number(arm, "/wire/listener_drops") == 0.0,
        "{:#}",
        arm["wire"]
    );
    assert!(arm["monitor"]["lost"].is_null(), "{:#}", arm["monitor"]);
    &arm["monitor"]
}

/// Returns the number of seconds in which a column of `windows.csv` has a value.
fn seconds_with(tool: &Tool, column: &str) -> usize {
    let text = std::fs::read_to_string(tool.path("out/windows.csv")).expect("windows.csv");
    let mut rows = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().expect("a head");
    let at = head.iter().position(|name| *name == column).expect("the column");
    rows.filter(|row| !row[at].is_empty()).count()
}

#[test]
fn a_monitor_starts_a_server_of_the_registry_and_watches_it() {
    let Some(mut bus) = Bus::open() else { return };
    bus.monitor("m", &["--serve", "builtin"]);
    let here = Tool::new().measure(&of_server(""), &[]);
    // The load of this machine, then that of two agents.
    for agents in [&[][..], &["a", "b"]] {
        agents.iter().for_each(|name| bus.agent(name, &[]));
        let tool = Tool::new();
        let run = bus.measure(&tool, &of_server(""), &[]);
        assert_eq!(counted(&run), counted(&here), "{agents:?}");
        let monitor = watched(&run);
        assert_eq!((monitor["name"].as_str(), monitor["started"].as_bool()), (Some("m"), Some(true)));
        let arm = &arms(&run)[0];
        assert!(number(arm, "/server/ready_us") > 0.0, "{:#}", arm["server"]);
        let known = seconds_with(&tool, "server_cpu_us");
        assert!(known >= 3, "the server's CPU stands in {known} seconds");
        let ours = seconds_with(&tool, "generator_cpu_us");
        assert_eq!(ours == 0, !agents.is_empty(), "this machine's own CPU, in {ours} seconds");
        let server = &run["environment"]["server"];
        assert_eq!((server["name"].as_str(), server["checked"].as_bool()), (Some("builtin"), Some(true)));
    }
    let listed = bus.tool.run(&["agents", "--nats", &bus.url()]).expect(0);
    assert!(listed.out.contains("monitor") && listed.out.contains("starts builtin"), "{listed:#?}");
}

#[test]
fn a_monitor_starts_its_own_command_and_no_other() {
    let Some(mut bus) = Bus::open() else { return };
    let program = tool::program();
    bus.tool.write(
        "own.toml",
        &format!(
            "[mine]\nstart = [{program:?}, \"serve\", \"--port\", \"{{port}}\"]\n\
             ready = \"http://127.0.0.1:{{port}}/health\"\n"
        ),
    );
    bus.monitor("m", &["--commands", "own.toml"]);
    let run = bus.measure(&Tool::new(), &of_command("mine"), &[]);
    whole(&arms(&run)[0]);
    assert_eq!(watched(&run)["started"].as_bool(), Some(true));

    let refused = |scenario: &str, more: &[&str]| {
        bus.tool.write("s.toml", scenario);
        bus.tool.run(&[&["run", "s.toml", "-q"], more].concat()).never_panicked()
    };
    let url = bus.url();
    refused(&of_command("other"), &["--nats", &url]).expect(3).says(&["no monitor offers other"]);
    refused(&of_command("mine"), &[]).expect(3).says(&["no monitor offers mine", "--nats URL"]);
    refused(&of_command("mine"), &["--nats", &url, "--monitor", "z"])
        .expect(3)
        .says(&["no monitor is named z; there are m"]);
    refused(&of_command("mine"), &["--nats", &url, "--monitor", "none"]).expect(3);
    refused(&of_command("mine").replace("monitor =", "start = [\"x\"]\nmonitor ="), &[])
        .expect(2)
        .says(&["either `monitor`, or `start`"]);
    // A server that it does not offer is started here, and watched from here.
    let here = bus.measure(&Tool::new(), &of_server(""), &[]);
    assert!(arms(&here)[0]["monitor"].is_null());
    // One that runs on a third machine is watched by no one here.
    let third = of_command("x")
        .replace("127.0.0.1:{port}", "192.0.2.1")
        .replace("[target.process]\nmonitor = \"x\"\n", "");
    refused(&third, &["--nats", &url]).expect(4).says(&["monitor m on", "does not watch 192.0.2.1"]);
}

#[test]
fn a_monitor_takes_no_flags_that_its_row_has_not() {
    let Some(mut bus) = Bus::open() else { return };
    bus.monitor("m", &["--serve", "builtin"]);
    bus.tool.write("s.toml", &of_server("flags = { batch = \"1ms; x\" }\n"));
    let ended = bus.tool.run(&["run", "s.toml", "-q", "--nats", &bus.url()]).never_panicked();
    ended.expect(3).says(&["monitor m: builtin: the flag batch has a value that is not taken from others"]);
    let run = bus.measure(&Tool::new(), &of_server("flags = { batch = \"1ms\" }\n"), &[]);
    watched(&run);
    let url = bus.url();
    let start = |more: &[&str]| bus.tool.run(&[&["monitor", "--nats", &url], more].concat()).never_panicked();
    start(&["--serve", "bultin"]).expect(2).says(&["there is no such server", "did you mean builtin?"]);
    start(&["--commands", "none.toml"]).expect(2).says(&["none.toml"]);
    start(&["--name", "n", "--serve", "builtin", "--address", "192.0.2.7"])
        .expect(3)
        .says(&["need --trust KEY"]);
}

#[test]
fn a_monitor_watches_a_server_that_runs_already_and_its_loss_is_told() {
    let Some(mut bus) = Bus::open() else { return };
    let port = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("it").port();
    let _server = bus.tool.start(&["serve", "--port", &port.to_string()]);
    until("it listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let scenario = of_command("x").replace("{port}", &port.to_string());
    let scenario = scenario.replace("[target.process]\nmonitor = \"x\"\n", "");
    bus.monitor("m", &[]);
    let run = bus.measure(&Tool::new(), &scenario, &[]);
    whole(&arms(&run)[0]);
    assert_eq!(watched(&run)["started"].as_bool(), Some(false));

    let tool = Tool::new();
    tool.write("s.toml", &scenario.replace("\"2s\"", "\"4s\""));
    let mut running = tool.start(&["run", "s.toml", "--nats", &bus.url(), "-o", "out"]);
    // It says so each second, and is heard of until it is gone.
    running.wait_for("measure");
    bus.agents[0].signal(Signal::KILL);
    let ended = running.end();
    assert!(matches!(ended.code, 5 | 6) && ended.err.contains("nothing is heard of monitor m"), "{ended:#?}");
    let run = tool.run_json("out");
    let arm = &arms(&run)[0];
    whole(arm);
    assert!(arm["server"].is_null() && arm["monitor"]["lost"].is_string(), "{:#}", arm["monitor"]);
    let reasons = run["verdict"]["reasons"].as_array().expect("reasons");
    assert!(reasons.iter().any(|reason| reason["code"] == "monitor_lost"), "{reasons:#?}");
}

#[test]
fn a_server_that_dies_there_is_said_to_have_died() {
    let Some(mut bus) = Bus::open() else { return };
    let program = tool::program();
    let command = format!("exec 3>&1; {program} serve --port $0 & sleep 4; kill -9 $!; wait $!");
    bus.tool.write(
        "own.toml",
        &format!(
            "[dies]\nstart = [\"sh\", \"-c\", {command:?}, \"{{port}}\"]\n\
             ready = \"http://127.0.0.1:{{port}}/health\"\n"
        ),
    );
    bus.monitor("m", &["--commands", "own.toml"]);
    let tool = Tool::new();
    tool.write("s.toml", &of_command("dies").replace("\"2s\"", "\"4s\""));
    tool.run(&["run", "s.toml", "-q", "--nats", &bus.url(), "-o", "out"]).never_panicked();
    let arm = arms(&tool.run_json("out"))[0].clone();
    assert_eq!(arm["outcome"], "died", "{arm:#}");
    assert!(
        arm["server"]["ended"].is_string() && number(&arm, "/server/ended_us") > 1e6,
        "{:#}",
        arm["server"]
    );
    assert!(arm["last_words"]["by_itself"].as_bool() == Some(true), "{:#}", arm["last_words"]);
}

/// One of the processes of a run is killed or frozen at an instant that is drawn: the account stays whole, and who was
/// lost is told. Two seeds here; as many as it says with `PUSHMARK_TEST_HITS`.
#[test]
fn whatever_is_hit_whenever_the_account_is_whole() {
    let seeds = std::env::var("PUSHMARK_TEST_HITS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let first = pushmark_net::Clock::realtime();
    for seed in (0..seeds).map(|n| first + n) {
        let Some(mut bus) = Bus::open() else { return };
        let mut draw = Draw::new(seed, Purpose::Check, 7);
        bus.agent("a", &["--spool", "a"]);
        bus.agent("b", &["--spool", "b"]);
        bus.monitor("m", &["--serve", "builtin", "--spool", "m"]);
        let tool = Tool::new();
        tool.write("s.toml", &of_server(""));
        let mut running = tool.start(&["run", "s.toml", "--nats", &bus.url(), "-o", "out"]);
        running.wait_for("ramp");
        tool::pass(Duration::from_millis(draw.below(4_500)));
        let (victim, killed) = (draw.below(4) as usize, draw.below(2) == 0);
        let freeze = Duration::from_millis(100 + draw.below(2_400));
        let what = format!("seed {seed}: victim {victim}, killed {killed}, else frozen for {freeze:?}");
        match (victim, killed) {
            (3, true) => bus.restart(freeze),
            (3, false) => bus.freeze_nats(freeze),
            (agent, true) => bus.agents[agent].signal(Signal::KILL),
            (agent, false) => {
                bus.agents[agent].signal(Signal::STOP);
                tool::pass(freeze);
                bus.agents[agent].signal(Signal::CONT);
            }
        }
        let ended = running.end();
        // A server ends with the monitor that started it: before the crowd has come, there is nothing to measure.
        if victim == 2 && killed && ended.code == 3 {
            assert!(ended.err.contains("nothing is heard of monitor m"), "{what}: {ended:#?}");
            continue;
        }
        assert!(matches!(ended.code, 0 | 5 | 6 | 99), "{what}: {ended:#?}");
        let run = tool.run_json("out");
        let arm = &arms(&run)[0];
        let fates = ["delivered", "late", "missing", "superseded", "excused", "unserved", "unpublished"];
        let sum: f64 = fates.iter().map(|fate| number(&arm["delivery"], &format!("/{fate}"))).sum();
        assert_eq!(sum, number(&arm["delivery"], "/intended"), "{what}: {:#}", arm["delivery"]);
        assert_eq!(number(&arm["delivery"], "/duplicate"), 0.0, "{what}");
        let reasons = run["verdict"]["reasons"].as_array().expect("reasons");
        let told = |code: &str| reasons.iter().any(|reason| reason["code"] == code);
        // One that has told all before it was hit is not lost.
        let done = arm["agents"].as_array().expect("agents").iter().all(|agent| agent["lost"].is_null());
        assert_eq!(told("agent_lost"), !done, "{what}: {reasons:#?}");
        assert!(done || victim < 2 && killed, "{what}: {:#}", arm["agents"]);
        assert_eq!(told("monitor_lost"), !arm["monitor"]["lost"].is_null(), "{what}: {reasons:#?}");
        assert!(!told("monitor_lost") || victim == 2 && killed, "{what}: {reasons:#?}");
        if victim == 3 {
            whole(arm);
        }
    }
}

#[test]
fn a_server_that_publishes_by_itself_may_have_another_clock() {
    let Some(mut bus) = Bus::open() else { return };
    let ahead = ["-T", "--monotonic", "3600", "--boottime", "3600"];
    let tried = Command::new("unshare").args(ahead).arg("true").stderr(Stdio::null()).status();
    if !have(tried.is_ok_and(|status| status.success()), "time namespaces (root)") {
        return;
    }
    let mut command = Command::new("unshare");
    command.args(ahead).args(["--", tool::program(), "monitor", "--nats", &bus.url(), "--name", "m"]);
    command.args(["--serve", "builtin"]).current_dir(bus.tool.path("")).stdin(Stdio::null());
    let mut monitor = Running::of(command);
    monitor.wait_for("waits at");
    bus.agents.push(monitor);
    let scenario = of_server("").replace("rate = \"10/s\"", "mode = \"emitter\"\ninterval = \"100ms\"");
    for agents in [&[][..], &["a", "b"]] {
        agents.iter().for_each(|name| bus.agent(name, &[]));
        let run = bus.measure(&Tool::new(), &scenario, &[]);
        let arm = &arms(&run)[0];
        whole(arm);
        let p50_us = number(arm, "/delivery/latency/p50_us");
        assert!((0.0..500_000.0).contains(&p50_us), "{p50_us} µs, {agents:?}");
        is_true(&watched(&run)["clock"], HOUR_US);
    }
}
